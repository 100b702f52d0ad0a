// The player's devices: a code for another device, and logging out.

import { ApiError, fetchJson, logOut } from "./api.js";
import { announce, button, confirmAction, copyText, fill, h } from "./dom.js";
import { formatClock } from "./phrases.js";
import { goTo } from "./root.js";
import { guest, saveGuest } from "./storage.js";

const QUIET_ZONE = 4; // modules around a QR code
const TICK_MS = 1000;

/** Shows a code that logs in another device, as text and as a QR code, until it expires. */
export async function showCode() {
  const content = h("div");
  const close = h("button", { autofocus: true }, "Close");
  const dialog = h(
    "dialog",
    { class: "confirm", "aria-labelledby": "code-title" },
    h("h2", { id: "code-title" }, "Play on another device"),
    content,
    h("form", { method: "dialog", class: "row" }, close),
  );
  let timer = 0;
  dialog.addEventListener("close", () => {
    clearInterval(timer);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();

  const show = async () => {
    fill(content, h("p", {}, "Creating a code…"));
    try {
      const created = await fetchJson("/guests/pass", { body: "", token: guest()?.token });
      const expiresAt = performance.now() + 1000 * created.expires_in_s;
      const left = h("time");
      const tick = () => {
        const leftMs = expiresAt - performance.now();
        left.textContent = formatClock(Math.max(0, leftMs), false);
        if (leftMs <= 0) expire();
      };
      fill(content, instructions(created, left));
      tick();
      timer = setInterval(tick, TICK_MS);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fill(content, h("p", { class: "refusal", role: "alert" }, error.message));
    }
  };
  const expire = () => {
    clearInterval(timer);
    fill(content, h("p", { role: "alert" }, "The code has expired."), button("New code", show, { class: "first" }));
  };
  await show();
}

function instructions({ code, link, qr }, left) {
  return [
    h("p", {}, "Scan this with your other device, or enter the code there at ", h("b", {}, link.split("#")[0]), ":"),
    qrCode(qr),
    h("p", { class: "code" }, h("code", {}, code)),
    h("p", {}, "It works once and expires in ", left, ". Anyone who has it can play as you."),
    navigator.clipboard ? button("Copy code", () => copyText(code, "Code copied.")) : null,
  ];
}

/** Draws rows of modules, "1" for dark. */
function qrCode(rows) {
  const size = rows.length + 2 * QUIET_ZONE;
  const svg = svgElement("svg", { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img" });
  svg.setAttribute("aria-label", "Login link as a QR code");
  const squares = rows.flatMap((row, y) =>
    [...row].map((module, x) => (module === "1" ? `M${x + QUIET_ZONE} ${y + QUIET_ZONE}h1v1h-1z` : "")),
  );
  svg.append(svgElement("path", { d: squares.join("") }));
  return svg;
}

function svgElement(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Asks, and logs out this device. */
export function confirmLogOut() {
  const { name, token } = guest();
  const question =
    `Log out ${name} on this device? Your other devices stay logged in. ` +
    "If this is your only device, nobody can play as this player again.";
  const end = async () => {
    try {
      await logOut(token);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return announce(error.message);
    }
    saveGuest(null);
    goTo("/");
    return undefined;
  };
  confirmAction(question, end, "Log out");
}
