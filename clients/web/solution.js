// The page of a winning line: the computer's way to win the deal of a finished race, as a replay.

import { fetchWhenReady, loadOptional } from "./api.js";
import { fill, h } from "./dom.js";
import { SEARCHING } from "./phrases.js";
import { ReplayPage } from "./replay.js";

export class SolutionPage extends ReplayPage {
  get path() {
    return `/solutions/${this.raceId}`;
  }

  get title() {
    return `How to win ${this.raceId}`;
  }

  get hint() {
    return "The computer found this way to win. Unlike the racers, it knew all cards.";
  }

  fetchSteps() {
    const say = (text) => fill(this.main, h("p", { class: "wait" }, text));
    const onProblem = (error) => say(`${error.message} Trying again…`);
    return fetchWhenReady(`${this.path}/steps`, { onWait: () => say(SEARCHING), onProblem });
  }

  createLinks() {
    return h("a", { class: "button", href: `/replay/${this.raceId}` }, "Replay of the race");
  }

  async showFacts() {
    await loadOptional("./verification.js", ({ showVerification }) => showVerification(this.checks, this.path));
  }
}
