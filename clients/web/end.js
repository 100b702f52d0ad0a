// How a race ended: the podium, whether it is true, par, and what one can do next.

import { api, Problem } from "./api.js";
import { button, copy, fill, h, notice, pause, say } from "./dom.js";
import { differs, showPar, showProof } from "./proof.js";
import { podium, Rail } from "./rail.js";
import { clock, moment, ordinal, outcomeWord } from "./words.js";

const PUT_AWAY_MS = 500;
const TRIES = 10;

export class EndPage {
  constructor(page) {
    this.page = page;
    page.wasIn = false;
    const { stage } = page.session.view;
    document.title = `${stage === "over" ? "Over" : "Called off"} · ${page.game.title} · Same Deal`;
    this.element = stage === "over" ? this.result() : this.calledOff();
  }

  /** Nothing changes any more. */
  update() {}

  calledOff() {
    const again = button("Open another", () => this.rematch(), { class: "first" });
    const front = h("a", { class: "button", href: "/" }, "To the front page");
    return notice("The race was called off", "Nobody was dealt to.", again, front);
  }

  result() {
    const { session, race, game, header } = this.page;
    const { standings, mine } = session;
    const headline = headlineOf(mine, standings.length);
    say(headline);
    this.differed = h("p", { class: "differed" });
    this.proof = h("section", { class: "checks", "aria-label": "Verification" });
    this.par = h("section", { class: "par", "aria-label": "What the computer makes of this deal" });
    this.today = h("section", { "aria-label": "The deal of the day" });
    this.replay = h("a", { class: "button first", href: `/replay/${race}` }, "Replay");
    const score = mine
      ? ` ${mine.home}/${mine.goal} ${clock(mine.ms)} · ${ordinal(mine.place)} of ${standings.length}`
      : "";
    const line = `Same Deal ${race} · ${game.title}${score}`;
    const rail = new Rail();
    this.fetch(header, mine);
    return h(
      "div",
      { class: "end" },
      h("h1", {}, headline),
      standings.length > 1 ? podium(standings, session.view.seat) : null,
      h(
        "div",
        { class: "row" },
        this.replay,
        button("Rematch", () => this.rematch()),
        button("Copy the result", () => copy(line, "the result is copied")),
        h("a", { class: "button", href: "/" }, "Front page"),
      ),
      this.differed,
      h(
        "div",
        { class: "columns" },
        h(
          "section",
          { "aria-label": "Standings" },
          h("h2", {}, "Standings"),
          rail.show(standings, { mine: session.view.seat }),
        ),
        this.proof,
        this.par,
        this.today,
      ),
    );
  }

  /** What only the finished race can tell; of a deal of the day not before its day is over. */
  async fetch(header, mine) {
    const { race, session } = this.page;
    try {
      if (header.daily && (await this.sealed(header, mine))) return;
      await showProof(this.proof, race, session.receipts);
      if (mine) fill(this.differed, differs(await api(`/replays/${race}/steps`), mine.seat));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(this.proof, h("p", {}, error.message));
    }
    await showPar(this.par, race, mine?.seat);
  }

  /** The results on the deal of the day so far; answers with whether it is still sealed. */
  async sealed({ game, opened_at: openedAt }, mine) {
    const date = new Date(openedAt).toISOString().slice(0, 10);
    const address = `/daily/${date}/${game}`;
    let day = await api(address);
    for (let tries = 0; tries < TRIES && !day.results.length; tries++) {
      await pause(PUT_AWAY_MS); // a race is among the results a moment after its end
      day = await api(address);
    }
    const { stage, results, reveals_at: revealsAt } = day;
    const row = (one) =>
      h("li", { class: one.race === this.page.race && one.name === mine?.name ? "own" : false }, resultLine(one));
    const rows = results.length ? h("ol", { class: "list" }, results.map(row)) : h("p", {}, "None so far.");
    fill(this.today, h("h2", {}, `The deal of ${date}`), rows);
    if (stage === "revealed") return false;
    this.replay.hidden = true;
    const until =
      `Others may still play this deal of the day. So the replay, its proof and par are sealed until ` +
      `${moment(revealsAt)}.`;
    fill(this.proof, h("h2", {}, "Is it true?"), h("p", {}, until));
    return true;
  }

  rematch() {
    const { header } = this.page;
    const { game, daily, variant, options } = header;
    const wish = daily
      ? { game, daily, options: { max_racers: options.max_racers ?? 8 } }
      : { game, variant: variant ?? {}, options };
    return this.page.act("rematch", async () => {
      const { race } = await api("/races", { body: wish });
      location.href = `/r/${race}`;
    });
  }
}

function headlineOf(mine, places) {
  if (!mine) return "The race is over";
  if (mine.outcome === "scratched") return "You were not in this race";
  const rank = places > 1 ? `${ordinal(mine.place)} of ${places}` : "";
  if (mine.outcome === "won") return `Won in ${clock(mine.ms)}${rank && `: ${rank}`}`;
  return `${rank && `${rank}, `}${mine.home} of ${mine.goal} home`;
}

const resultLine = (one) =>
  `${one.place}. ${one.name}${one.bot ? " (bot)" : ""}: ` +
  (one.outcome === "won" ? `won in ${clock(one.ms)}` : `${one.home} of ${one.goal}, ${outcomeWord(one.outcome)}`);
