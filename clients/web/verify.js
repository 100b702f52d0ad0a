// The page that verifies a file on the reader's own device. It needs no connection once it is loaded.

import { fetchGames, fetchKeys } from "./api.js";
import { announce, fill, h, labelled, terms } from "./dom.js";
import { capitalized, gameTitle } from "./phrases.js";
import { StandingsList } from "./standings.js";
import { explanations, factList, outcomeLabel, toneOf } from "./verification.js";
import { checkReplay, startVerifier } from "./verifier.js";
import { FormatError } from "./verify/encoding.mjs";
import { readReceipts } from "./verify/format.mjs";

const TITLE = "Verify a replay";

export class VerifyPage {
  keys;
  games;
  runs = 0;

  async open(main) {
    document.title = `${TITLE} · Same Deal`;
    [this.keys, this.games] = await Promise.all([fetchKeys(), fetchGames(), startVerifier()]);
    const fileInput = (id) =>
      h("input", { type: "file", id, "aria-describedby": `${id}-hint`, onchange: () => this.check() });
    this.replay = fileInput("replay");
    this.receipts = fileInput("receipts");
    this.result = h("section", { "aria-label": "Result" });
    const field = (input, label, hint, command) => {
      const text = h("p", { class: "hint", id: `${input.id}-hint` }, hint, h("code", {}, command), ".");
      return labelled(label, input, text);
    };
    const files = "JSON or NDJSON, from the page of a replay (More) or “samedeal export”. MessagePack needs ";
    const said = "What the server said during the race, as printed by ";
    const receipts = field(this.receipts, "Receipts of somebody who was there", said, "samedeal receipts RACE");
    const content = [
      h("h1", {}, TITLE),
      h("p", {}, "Checked by your browser, not by us. The file does not leave this device."),
      field(this.replay, "Replay: choose a file, or drop it anywhere on this page", files, "samedeal verify FILE"),
      h("details", {}, h("summary", {}, "Compare with receipts"), receipts),
      this.result,
    ];
    fill(main, h("div", { class: "verify" }, content));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => this.drop(event));
  }

  drop(event) {
    event.preventDefault(); // the browser would open the file
    const { files } = event.dataTransfer;
    if (files.length === 0) return;
    const input = event.target === this.receipts ? this.receipts : this.replay;
    input.files = files;
    this.check();
  }

  /** Verifies the chosen file. If another one is chosen meanwhile, its result is not shown. */
  async check() {
    const [file] = this.replay.files;
    if (!file) return;
    const run = (this.runs += 1);
    const progress = h("progress", { "aria-label": "Verification" });
    fill(this.result, h("p", {}, "Verifying…"), progress);
    announce("Verifying…");
    const onProgress = (done, total) => Object.assign(progress, { max: total, value: done });
    const shown = await this.verify(file, onProgress);
    if (run !== this.runs) return;
    fill(this.result, shown);
    announce(this.result.querySelector(".verdict").textContent);
  }

  /** Returns what to show about a file. */
  async verify(file, onProgress) {
    const { keys, games } = this;
    try {
      const [receipts] = this.receipts.files;
      const lines = receipts && readReceipts(await bytesOf(receipts));
      const check = await checkReplay(await bytesOf(file), { keys, games, receipts: lines, onProgress });
      return [...verdict(toneOf(check.outcome), capitalized(outcomeLabel(check)), explanations(check)), this.race(check)];
    } catch (/** @type {any} */ error) {
      if (error instanceof FormatError) return verdict("bad", "These are not receipts", [`What is wrong: ${error.message}.`]);
      console.error(error);
      return verdict("bad", `The file could not be verified: ${error.message}`, []);
    }
  }

  race({ replay, keyKnown, outcome, facts }) {
    if (!replay) return null;
    const { header, standings, signature } = replay;
    const opened = new Date(header.opened_at).toLocaleString([], { dateStyle: "long", timeStyle: "short" });
    const rows = [
      ["Game", gameTitle(this.games, header.game)],
      ["Race", header.race],
      ["Opened", opened],
      ["Key", [h("code", {}, signature.key), `, which this server ${keyKnown ? "publishes" : "does not publish"}`]],
    ];
    const isVerified = outcome === "verified";
    return [
      h("h2", {}, isVerified ? "The race" : "What the file says"),
      h("div", { class: "terms" }, terms(rows)),
      standings.length ? new StandingsList(this.games.get(header.game)).show(standings) : h("p", {}, "No racers."),
      h("h2", {}, "The checks"),
      factList(facts, header),
    ];
  }
}

const bytesOf = async (file) => new Uint8Array(await file.arrayBuffer());

const verdict = (tone, text, reasons) => [
  h("p", { class: `verdict ${tone}` }, text),
  ...reasons.map((reason) => h("p", {}, reason)),
];
