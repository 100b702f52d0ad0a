// The page's elements: made, filled and shown.

/** An element with attributes (`on…` are listeners, `class`, `data-…`, true and false as they are) and children. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style") element.style.cssText = value; // as an attribute the security policy forbids it
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Puts these in place of all that an element had. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Says one thing to those who listen to the page; the same said twice is heard twice. */
export function say(text) {
  const status = document.getElementById("status");
  status.textContent = status.textContent === text ? `${text}\u00a0` : text;
}

/** What stands at the right of the page's head. */
export function facts(...children) {
  fill(document.getElementById("facts"), ...children);
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** Copies a text, or where the browser does not let us, shows it to be copied by hand. */
export async function copy(text, told = "copied") {
  try {
    await navigator.clipboard.writeText(text);
    say(told);
  } catch {
    window.prompt("To be copied:", text);
  }
}
