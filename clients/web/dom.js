// Helpers to create and update elements, what keys mean on every keyboard, and where the server is on its host.

/** The prefix of every path on the server: empty, or for example "/cards". */
export const ROOT = /^(.*)\/page\//.exec(new URL(import.meta.url).pathname)?.[1] ?? "";

/** The path of the open page, without ROOT. */
export const pagePath = () =>
  `${location.pathname}/`.startsWith(`${ROOT}/`) ? location.pathname.slice(ROOT.length) || "/" : location.pathname;

/** Opens another page. */
export function goTo(path) {
  location.href = ROOT + path;
}

/** Creates an element. Attributes `on…` are listeners; true sets an attribute; false, null and undefined omit it. The
 *  paths in `href` and `src` are relative to ROOT. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style")
      element.style.cssText = value; // the content security policy forbids style attributes
    else if ((name === "href" || name === "src") && value?.startsWith?.("/")) element.setAttribute(name, ROOT + value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  fill(element, ...children);
  return element;
}

/** A drawing in a box: its elements and its attributes are trusted text. */
export function svg(box, content, attributes) {
  const holder = h("div");
  holder.innerHTML = `<svg viewBox="${box}" ${attributes}>${content}</svg>`;
  return holder.firstChild;
}

/** Replaces the children of an element. Skips null, undefined and false. */
export function fill(element, ...children) {
  const isNode = (child) => child !== null && child !== undefined && child !== false;
  element.replaceChildren(...children.flat(Infinity).filter(isNode));
}

/** Like fill, but leaves the children alone if they are the same, so that taps and focus are not lost. */
export function fillOnce(element, children) {
  const { length } = element.children;
  if (children.length === length && children.every((child, index) => child === element.children[index])) return;
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  fill(element, children);
  if (element.contains(focused)) focused.focus();
}

/** Fills an element again only if what it shows has changed, for the same reason. */
export function updateContent(element, shown, content) {
  const key = JSON.stringify(shown);
  if (element.dataset.content === key) return;
  element.dataset.content = key;
  fill(element, content());
}

/** Whether the user prefers a page without animations. */
export const motionIsOff = () =>
  document.documentElement.dataset.motion === "false" || matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A name chosen by a player, in its own writing direction. */
export const nameText = (name) => h("bdi", { dir: "auto" }, name);

const ANNOUNCED_MS = 10_000;
let clearing = 0;

/** Announces a text in the status line and to screen readers, even if it repeats the previous one. It disappears before
 *  it is out of date. */
export function announce(text) {
  const status = byId("status");
  status.textContent = status.textContent === text ? `${text}\u00a0` : text;
  clearTimeout(clearing);
  clearing = setTimeout(() => (status.textContent = ""), ANNOUNCED_MS);
}

/** An element of index.html. */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Sets the right side of the page header. */
export const fillHeader = (...children) => fill(byId("facts"), ...children);

/** Creates a button that calls `onclick`. */
export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** Creates a box with a title, a message, and links or buttons to continue. */
export function notice(title, text, ...actions) {
  return h("div", { class: "card-form" }, h("h1", {}, title), h("p", {}, text), h("div", { class: "row" }, actions));
}

export function homeLink(attributes = {}) {
  return h("a", { class: "button", href: "/", ...attributes }, "Home");
}

/** Links the name of a player to the player's page. */
export const playerLink = (player, name) => h("a", { href: `/p/${player}` }, nameText(name));

/** A link to the club of a race or a challenge, if it has one. */
export const clubLink = ({ club }) => (club ? h("p", {}, h("a", { href: `/g/${club.club}` }, "Back to the club")) : null);

/** Names in one line, separated by commas. */
export const nameList = (names) => names.map((name, index) => [index ? ", " : "", nameText(name)]);

/** Marks a player as a bot, or in another way. */
export const tag = (...text) => h("small", { class: "tag" }, text);

/** A section with a heading. */
export const section = (title, ...parts) => h("section", { "aria-label": title }, h("h2", {}, title), parts);

/** A list, with a `placeholder` if it is empty. */
export const list = (items, placeholder) =>
  h("ul", { class: "list" }, items.length ? items : h("li", {}, placeholder));

/** A table with the headings of its columns. */
export const table = (attributes, caption, heads, rows) =>
  h("table", attributes, caption, h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), rows);

export const tableRow = (cells, attributes = {}) => h("tr", attributes, cells.map((cell) => h("td", {}, cell)));

/** Pairs of a term and what it is. */
export const terms = (rows) => h("dl", {}, rows.map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));

/** A text that some users need. */
export const hint = (...text) => h("p", { class: "hint" }, text);

/** What is shown while a page has nothing else to show. */
export const waitText = (text) => h("p", { class: "wait" }, text);

// Forms and dialogs.

/** The place for the reason why something was refused, which screen readers read at once. */
export const refusalText = (attributes = {}, text = "") => h("p", { class: "refusal", role: "alert", ...attributes }, text);

/** A menu of `choices`: pairs of a value and a text. */
export const select = (attributes, choices, chosen) =>
  h("select", attributes, choices.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));

/** An input below its label, with what else belongs to it. */
export const labelled = (text, input, ...others) =>
  h("div", { class: "labelled" }, h("label", { for: input.id }, text), input, others);

/** A checkbox before its label. */
export const checkbox = (text, input) =>
  h("div", { class: "check" }, input, h("label", { for: input.id }, text));

/** The field for the player's name, with a hint, and with the reason if the server has `refused` a name. */
export const nameField = ({ value = "", refused = "", explanation = "" }) => [
  h("label", { for: "name" }, "Your name"),
  h("input", {
    id: "name",
    dir: "auto",
    maxlength: "24",
    required: true,
    autocomplete: "nickname",
    enterkeyhint: "go",
    placeholder: "e.g. Ben",
    value,
    "aria-describedby": explanation ? "name-hint name-problem" : "name-problem",
    "aria-invalid": refused ? "true" : false,
  }),
  h("p", { class: "hint", id: "name-hint" }, explanation),
  refusalText({ id: "name-problem" }, refused),
];

/** A form that calls `submit`. */
export function form(submit, attributes, ...content) {
  const onsubmit = (event) => {
    event.preventDefault();
    submit(event);
  };
  return h("form", { onsubmit, ...attributes }, content);
}

/** Opens a dialog, and returns it. It is removed when it is closed. Its `heading` names it. */
export function dialog(heading, ...content) {
  heading.id = "dialog-heading";
  const element = h("dialog", { class: "confirm", "aria-labelledby": heading.id }, heading, content);
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  return element;
}

/** A button with a sign, and the drawer that it opens. */
export function drawer(sign, name, ...content) {
  const id = name.toLowerCase().replace(" ", "-");
  const attributes = { type: "button", "aria-label": name, title: name, popovertarget: id };
  return [
    h("button", attributes, sign),
    h("div", { id, class: "drawer", popover: "", role: "dialog", "aria-label": name }, h("h2", {}, name), content),
  ];
}

/** Asks in a dialog before an action. `verb` is the text of the button that calls it. */
export function confirmAction(question, action, verb) {
  const no = h("button", { value: "no", autofocus: true }, "Cancel");
  const yes = h("button", { value: "yes" }, verb);
  const asked = dialog(h("p", {}, question), h("form", { method: "dialog", class: "row" }, no, yes));
  asked.addEventListener("close", () => asked.returnValue === "yes" && action());
}

// Waiting.

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Like sleep, but returns at once when the device is back online or the page is visible again. */
export async function sleepUntilAwake(ms) {
  const listening = new AbortController();
  const { signal } = listening;
  const awake = new Promise((resolve) => {
    const wake = (event) => document.visibilityState === "visible" && resolve(event);
    window.addEventListener("online", wake, { signal });
    document.addEventListener("visibilitychange", wake, { signal });
  });
  await Promise.race([sleep(ms), awake]);
  listening.abort();
}

/** Repeats an action for ever, with pauses, while the page is visible and as soon as it is so again. */
export async function repeatWhileVisible(ms, action) {
  for (;;) {
    await sleepUntilAwake(ms);
    if (document.visibilityState === "visible") await action();
  }
}

/** Copies a text and announces it. Without HTTPS, where there is no clipboard API, it uses execCommand. */
export async function copyText(text, message) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { readonly: true, class: "sr", value: text, "aria-hidden": "true", tabindex: "-1" });
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (!copied) return announce(`Could not copy: ${text}`);
  }
  return announce(message);
}

const REPEAT_MS = 90;

/** Creates a button that repeats its action while it is held down. */
export function repeatButton(text, action, attributes) {
  let timer = 0;
  const repeat = (ms) => {
    action();
    timer = setTimeout(repeat, ms, REPEAT_MS);
  };
  const onpointerdown = (event) => event.button === 0 && repeat(4 * REPEAT_MS);
  const stop = () => clearTimeout(timer);
  const onclick = (event) => event.detail === 0 && action(); // a key, or a screen reader
  const listeners = { onpointerdown, onpointerup: stop, onpointerleave: stop, onpointercancel: stop };
  return button(text, onclick, { ...listeners, ...attributes });
}

// Keys.

const FIELDS = "input:not([type=range]), select, textarea, summary";
const root = document.documentElement;
const BRACKETS = { BracketLeft: "[", BracketRight: "]" };

/**
 * Returns the action of a key, or undefined: in fields, and with Ctrl, Alt or Meta, keys have their usual meaning. Caps
 * Lock makes no difference. A key that types no Latin letter also has the action of its position on a US keyboard.
 * `actions` are by the character in lower case, or the name of the key.
 */
export function actionOf({ key, code, target, ctrlKey, altKey, metaKey }, actions) {
  if (ctrlKey || altKey || metaKey || target.matches(FIELDS) || document.querySelector("dialog[open]")) return undefined;
  if (/^[a-z]$/i.test(key)) return actions[key.toLowerCase()];
  return actions[key] ?? actions[BRACKETS[code] ?? code.replace(/^Key|^Digit/, "").toLowerCase()];
}

// Scripts focus piles, too, and browsers then show a frame, which looks like that of a legal move. It is for keys only.
document.addEventListener("keydown", () => root.toggleAttribute("data-keys", true), true);
document.addEventListener("pointerdown", () => root.toggleAttribute("data-keys", false), true);

// A tap that closes a drawer does nothing else, except that it can open another one.
let isClosing = false;
const swallow = (/** @type {any} */ event) => {
  const isPress = event.type === "pointerdown";
  const open = document.querySelector(".drawer:popover-open");
  if (isPress) isClosing = Boolean(open) && !open?.contains(event.target) && !event.target.closest("[popovertarget]");
  if (!isClosing || (!isPress && event.detail === 0)) return; // keys click, too
  event.stopPropagation();
  event.preventDefault();
};
for (const kind of ["pointerdown", "click"]) document.addEventListener(kind, swallow, true);
