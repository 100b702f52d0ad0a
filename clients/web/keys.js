// Keys: what a key means, on every keyboard.

const FIELDS = "input:not([type=range]), select, textarea, summary";
const root = document.documentElement;
const BRACKETS = { BracketLeft: "[", BracketRight: "]" };

/**
 * Returns the action of a key, or undefined: in fields, and with Ctrl, Alt or Meta, keys have their usual meaning. Caps
 * Lock makes no difference. A key that types no Latin letter also has the action of its position on a US keyboard.
 * @param {any} event
 * @param {Record<string, () => void>} actions by the character in lower case, or the name of the key
 */
export function actionOf({ key, code, target, ctrlKey, altKey, metaKey }, actions) {
  if (ctrlKey || altKey || metaKey || target.matches(FIELDS) || document.querySelector("dialog[open]")) return undefined;
  if (/^[a-z]$/i.test(key)) return actions[key.toLowerCase()];
  return actions[key] ?? actions[BRACKETS[code] ?? code.replace(/^Key|^Digit/, "").toLowerCase()];
}

// Scripts focus piles, too, and browsers then show a frame, which looks like that of a legal move. It is for keys only.
document.addEventListener("keydown", () => root.toggleAttribute("data-keys", true), true);
document.addEventListener("pointerdown", () => root.toggleAttribute("data-keys", false), true);
