// The page's elements: made, filled and shown.

/** An element with attributes (`on…` are listeners, `class`, `data-…`, true and false as they are) and children. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style")
      element.style.cssText = value; // as an attribute the security policy forbids it
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  fill(element, ...children);
  return element;
}

/** Puts these in place of all that an element had. */
export function fill(element, ...children) {
  const there = (child) => child !== null && child !== undefined && child !== false;
  element.replaceChildren(...children.flat(3).filter(there));
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

/** A page that says one thing, with what one can do about it. */
export function notice(head, text, ...ways) {
  return h("div", { class: "card-form" }, h("h1", {}, head), h("p", {}, text), h("div", { class: "row" }, ways));
}

/** Asks whether it is meant, and does it if so. */
export function sure(question, deed) {
  const no = h("button", { value: "no", autofocus: true }, "No");
  const yes = h("button", { value: "yes", class: "first" }, "Yes");
  const ask = h("p", { id: "question" }, question);
  const dialog = h(
    "dialog",
    { class: "sure", "aria-labelledby": "question" },
    ask,
    h("form", { method: "dialog", class: "row" }, no, yes),
  );
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") deed();
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Copies a text; where the browser keeps its clipboard for pages with a certificate, as one used to. */
export async function copy(text, told = "copied") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { readonly: true, class: "sr", value: text, "aria-hidden": "true", tabindex: "-1" });
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (!copied) return say(`not copied: ${text}`);
  }
  return say(told);
}
