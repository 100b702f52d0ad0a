// The player's devices: a code for another device, and logging out.

import { attempt, fetchJson, logOut } from "./api.js";
import { announce, button, confirmAction, copyText, dialog, fill, goTo, h, refusalText, svg } from "./dom.js";
import { formatClock } from "./phrases.js";
import { guest, saveGuest } from "./storage.js";

const QUIET_ZONE = 4; // modules around a QR code
const TICK_MS = 1000;

/** Shows a code that logs in another device, as text and as a QR code, until it expires. */
export async function showCode() {
  const content = h("div");
  const close = h("form", { method: "dialog", class: "row" }, h("button", { autofocus: true }, "Close"));
  const shown = dialog(h("h2", {}, "Play on another device"), content, close);
  let timer = 0;
  shown.addEventListener("close", () => clearInterval(timer));

  const show = async () => {
    fill(content, h("p", {}, "Creating a code…"));
    const request = () => fetchJson("/guests/pass", { body: "", token: guest()?.token });
    const created = await attempt(request, ({ message }) => fill(content, refusalText({}, message)));
    if (!created) return;
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
    qrCode(qr, "Login link as a QR code"),
    h("p", { class: "code" }, h("code", {}, code)),
    h("p", {}, "It works once and expires in ", left, ". Anyone who has it can play as you."),
    navigator.clipboard ? button("Copy code", () => copyText(code, "Code copied.")) : null,
  ];
}

/** Draws rows of modules, "1" for dark. */
export function qrCode(rows, label) {
  const size = rows.length + 2 * QUIET_ZONE;
  const squares = rows.flatMap((row, y) =>
    [...row].map((module, x) => (module === "1" ? `M${x + QUIET_ZONE} ${y + QUIET_ZONE}h1v1h-1z` : "")),
  );
  const attributes = `class="qr" role="img" aria-label="${label}"`;
  return svg(`0 0 ${size} ${size}`, `<path d="${squares.join("")}"/>`, attributes);
}

/** Asks, and logs out this device. */
export function confirmLogOut() {
  const { name, token } = guest();
  const question =
    `Log out ${name} on this device? Your other devices stay logged in. ` +
    "If this is your only device, nobody can play as this player again.";
  const end = async () => {
    await logOut(token);
    saveGuest(null);
    goTo("/");
  };
  confirmAction(question, () => attempt(end, ({ message }) => announce(message)), "Log out");
}
