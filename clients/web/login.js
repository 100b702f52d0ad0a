// The page that logs in this device with a code from another one. It uses the code only when asked to.

import { attempt, fetchJson, logOut } from "./api.js";
import { confirmAction, fill, form, h, homeLink, notice, refusalText } from "./dom.js";
import { guest, saveGuest } from "./storage.js";

export class LoginPage {
  async open(main) {
    this.main = main;
    document.title = "Log in · Same Deal";
    this.code = h("input", {
      id: "code",
      maxlength: "64",
      required: true,
      autocomplete: "one-time-code",
      autocapitalize: "characters",
      spellcheck: "false",
      "aria-describedby": "code-hint",
    });
    this.problem = refusalText();
    this.submit = h("button", { class: "first" }, "Log in");
    const hint = "On a device where you already play, choose Settings, Play on another device, or run samedeal pass.";
    const content = [
      h("h1", {}, "Log in on this device"),
      h("label", { for: "code" }, "Code from your other device"),
      this.code,
      h("p", { class: "hint", id: "code-hint" }, hint),
      this.problem,
      h("div", { class: "row" }, this.submit, homeLink()),
    ];
    fill(main, form(() => this.confirm(), { class: "card-form" }, content));
    this.readCode();
    window.addEventListener("hashchange", () => this.readCode());
  }

  /** Takes the code from the link and removes it from the address. */
  readCode() {
    if (location.hash) this.code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
  }

  /** Logs in, after asking if this device would lose another player. */
  confirm() {
    const current = guest();
    if (!current) return this.logIn();
    const question =
      `You play as ${current.name} on this device. Replace this player? ` +
      `Without another device, nobody can play as ${current.name} again.`;
    return confirmAction(question, () => this.logIn(), "Replace");
  }

  async logIn() {
    const replaced = guest();
    this.submit.disabled = true;
    const request = () => fetchJson("/guests/login", { body: { code: this.code.value } });
    const known = await attempt(request, (error) => fill(this.problem, explanation(error)));
    this.submit.disabled = false;
    if (!known) return;
    const { player, name, token } = known;
    saveGuest({ player, name, token });
    if (replaced) logOut(replaced.token).catch(() => {}); // otherwise it expires
    fill(this.main, notice(`You are ${name}`, "You can play on this device now.", homeLink({ class: "button first" })));
  }
}

function explanation({ code, message }) {
  if (code === "bad-code") return `${message} Create a new one on your other device.`;
  if (code === "unreachable") return `${message} If a second try is refused, create a new code.`;
  return message;
}
