// The results page of a race: podium, verification, par, and what to do next.

import { attempt, fetchDaily, fetchJson, fetchOwn, fetchText } from "./api.js";
import { celebrate } from "./celebration.js";
import { showAnalysis, showPar } from "./computer.js";
import {
  actionOf,
  announce,
  button,
  clubLink,
  copyText,
  fill,
  goTo,
  h,
  homeLink,
  list,
  nameText,
  notice,
  playerLink,
  ROOT,
  select,
  sleep,
} from "./dom.js";
import { showEvening } from "./evening.js";
import { dealLine, matchHeadline, resultHeadline } from "./headlines.js";
import { openRace } from "./opening.js";
import {
  advice,
  capitalized,
  countsText,
  displayNames,
  formatTime,
  headStartText,
  rematchStart,
  rematchText,
  resultText,
} from "./phrases.js";
import { showReport } from "./reports.js";
import { GhostList, podium, StandingsList } from "./standings.js";
import { dropSeat, goToRace, guest, saveLastRace, seatIn } from "./storage.js";
import { positionsOf } from "./timeline.js";
import { showVerification } from "./verification.js";

const BACK = "Back to the challenge";
const RETRY_MS = 500;
const MAX_RETRIES = 10;

export class ResultsPage {
  list;

  constructor(page) {
    this.page = page;
    this.hasJustEnded = Boolean(page.panel);
    const { stage } = page.connection.view;
    if (stage === "over" && this.canHaveRematch) saveLastRace(page.raceId);
    dropSeat(page.raceId);
    document.title = `${stage === "over" ? "Results" : "Cancelled"} · ${page.game.title} · Same Deal`;
    this.element = stage === "over" ? this.results() : this.cancelled();
  }

  /** Whether the race has just ended, and its rematch would wait for the user: for a racer, or one who missed it. */
  get canHaveRematch() {
    const { connection, header, raceId } = this.page;
    const isRepeatable = connection.standings.length > 1 && !header.daily && !header.heat;
    return (this.hasJustEnded || seatIn(raceId)) && guest() && (connection.mine || header.follows) && isRepeatable;
  }

  /** Shows who wants a rematch, who is in and for whom it waits, and reactions. */
  update({ next, seat }) {
    const { connection, games, game, header } = this.page;
    this.list?.show(connection.standings, { mine: seat });
    /** @type {NodeListOf<HTMLElement>} */
    const marks = this.element.querySelectorAll(".podium .symbol");
    for (const mark of marks) mark.textContent = this.list?.symbols.get(Number(mark.dataset.seat)) ?? "";
    if (!this.again || !next) return;
    const isNews = next.race !== this.next?.race;
    this.next = next;
    const { stage = "open" } = next;
    const isOpen = stage === "open";
    const hasStarted = stage === "countdown" || stage === "running";
    const wish = rematchText(next, header.game, games, connection.mine?.name);
    fill(this.wish, isOpen || hasStarted ? wish : "");
    const canOnlyWatch = hasStarted || (!isOpen && !connection.mine);
    this.follows = hasStarted && seatIn(next.race) ? "r" : canOnlyWatch ? "w" : ""; // the page of the rematch to go to
    const follow = { r: "Back to the rematch", w: "Watch the rematch" }[this.follows] ?? "Rematch";
    this.again.textContent = isOpen ? "Join the rematch" : follow;
    this.otherGame.hidden = true;
    if (!isNews || !isOpen) return;
    document.title = `Rematch? · ${game.title} · Same Deal`;
    announce(wish);
  }

  /** Puts who has won the match with this race first, and the whole score of the evening with the other scores. */
  showMatch(evening) {
    const { connection, raceId, header } = this.page;
    const { standings, view } = connection;
    if (!this.title) return;
    const bestOf = header.options.best_of ?? 1;
    if (evening.table.length > 2) showEvening(this.evening, evening, { bestOf });
    const match = evening.best_of[bestOf] ? matchHeadline(evening, bestOf, raceId, standings, view.seat) : "";
    if (!match) return;
    fill(this.title, `${match}. ${this.text}`);
    announce(match);
  }

  /** Shows when an open rematch starts without those who are missing. */
  tick(left) {
    if (this.countdown) this.countdown.textContent = rematchStart(left);
  }

  onKey(event) {
    actionOf(event, { n: () => this.rematch() })?.();
  }

  cancelled() {
    const again = button(this.page.header.heat ? BACK : "New race", () => this.rematch(), { class: "first" });
    return notice("Race cancelled", "The cards were not dealt.", again, homeLink());
  }

  /** The button for the next race, and below it, who is in and when it starts. Players of this one are ready at once; the
   *  first also picks the game. */
  nextRace(mine) {
    this.wish = h("span", {});
    this.countdown = h("b", { class: "ready-clock", role: "timer" });
    const { heat, options } = this.page.header;
    const verb = !mine ? "New race" : options.max_racers === 1 ? "Play again" : "Rematch";
    this.again = button(heat ? BACK : verb, () => this.rematch(), { class: "first big", title: "Key: n" });
    const games = [...this.page.games.values()].map(({ slug, title }) => [slug, title]);
    const onchange = ({ target }) => this.rematch(target.value);
    const label = "Rematch with another game";
    this.otherGame = select({ "aria-label": label, onchange }, [["", "Another game…"], ...games]);
    this.otherGame.hidden = !mine || Boolean(heat);
    const who = h("p", { class: "who" }, this.otherGame, this.wish, " ", this.countdown);
    return h("div", { class: "next" }, this.again, who);
  }

  results() {
    const { connection, raceId, header, game, caller, evening } = this.page;
    const { standings, mine, view } = connection;
    this.text = resultHeadline(standings, view.seat, game);
    this.title = h("h1", {}, this.text);
    announce(this.text);
    const racers = standings.filter(({ attempts }) => attempts);
    const isWinner = mine?.attempts && racers.every((each) => each === mine || each.place > mine.place);
    if (this.hasJustEnded && isWinner && racers.length > 1) celebrate((tones) => caller.play(tones));
    this.difference = h("p", { class: "difference" });
    this.verification = h("section", { class: "checks", "aria-label": "Verification" });
    this.praise = h("p", { class: "better" });
    this.par = h("section", { class: "par", "aria-label": "The computer's results on this deal" });
    this.analysis = h("section", { "aria-label": "Could it be solved?" });
    this.today = h("section", { "aria-label": "Deal of the day" });
    this.evening = h("section", { class: "evening", "aria-label": "This evening" });
    this.replay = h("a", { href: `/replay/${raceId}` }, "Watch the replay");
    this.list = new StandingsList(game, { symbols: this.page.reactions.symbols });
    const ghosts = new GhostList(game).show(connection.ghosts);
    const others = standings.filter(({ seat }) => seat !== view.seat);
    const report = () => showReport(raceId, others, displayNames(standings));
    const ending = view.board && view.board.outcome !== "won" ? advice(view.board) : ""; // a win needs no cause
    const deal = mine?.attempts && racers.length > 1 ? dealLine(mine, game) : "";
    const ahead = headStartText(this.page, ["started", "started"]);
    const what = header.heat ? "link" : "result";
    const copy = () => copyText(this.shareText, `${capitalized(what)} copied.`);
    const share = () => navigator.share({ text: this.shareText }).catch(() => {});
    const canShare = Boolean(navigator.share);
    const own = mine && guest() ? h("p", {}, playerLink(guest().player, "Your scores")) : null;
    this.dealRow = row("Could it be solved?", this.analysis, this.difference, this.par);
    this.proof = row("Verification", this.verification);
    this.load(header, mine);
    const climax = [
      this.title,
      mine ? h("p", { class: "cause" }, [deal, ending, ahead].filter(Boolean).join(". ")) : null,
      this.praise,
      standings.length > 1 ? podium(game, standings, view.seat) : null,
      standings.length > 1 ? h("div", { class: "score" }, evening) : null,
    ];
    const next = [
      this.nextRace(mine),
      this.page.reactions.element,
      h("div", { class: "row share" }, canShare ? button("Share", share) : null, button(`Copy ${what}`, copy)),
      clubLink(header),
      this.today,
      h("div", { class: "rows" }, [
        this.replay,
        this.dealRow,
        this.proof,
        row("Scores", this.list.show(standings, { mine: view.seat }), ghosts, this.evening, own),
        guest() && others.length ? button("Report a player", report) : null,
      ]),
    ];
    return h("div", { class: "end" }, h("div", {}, climax), h("div", {}, next));
  }

  /** Loads everything that depends on the replay. Replays of daily deals are sealed until the day ends. */
  async load(header, mine) {
    const { raceId, connection } = this.page;
    const { daily, heat } = header;
    this.shareText = `${location.origin}${ROOT}/${heat ? `c/${heat.challenge}` : `r/${raceId}`}`; // until the server has answered
    await this.loadShareText(mine);
    const verify = async () => {
      if (daily && (await this.showDaily(header, mine))) return true;
      if (heat && !this.page.isRevealed) return this.seal(heat.reveals_at);
      const digests = [...connection.receipts].map(([n, digest]) => ["digest", n, digest]);
      this.list.players = await showVerification(this.verification, `/replays/${raceId}`, [["header", header], ...digests]);
      this.list.show(connection.standings, { mine: connection.view.seat });
      this.showVerdict();
      if (mine) fill(this.difference, firstDifference(await fetchJson(`/replays/${raceId}/steps`), mine.seat));
      return false;
    };
    const isSealed = await attempt(verify, ({ message }) => fill(this.verification, h("p", {}, message)));
    if (isSealed) return;
    await this.showBest(mine);
    this.showAnswer(header);
    const comparison = await showPar(this.par, raceId, mine?.seat);
    if (comparison?.boast && !this.praise.textContent) fill(this.praise, `${capitalized(comparison.boast)}.`);
    await this.loadShareText(mine);
  }

  /** Puts the verdict of the verification in its row, and opens that if something is wrong. */
  showVerdict() {
    const verdict = this.verification.querySelector(".verdict");
    if (!verdict) return;
    const isGood = verdict.matches(".good");
    fill(this.proof.firstChild, h("span", { class: isGood ? "good" : "bad" }, verdict.textContent.replace(/([✓✗]).*/, "$1")));
    this.proof.open ||= !isGood;
  }

  async showAnswer({ variant }) {
    const { raceId, connection } = this.page;
    const analysis = await showAnalysis(this.analysis, raceId, { names: displayNames(connection.standings), variant });
    const answer = { won: "Yes", lost: "No" }[analysis?.outcome];
    if (answer) this.dealRow.firstChild.append(" ", h("b", {}, answer));
  }

  /** Says so if the user has never solved a deal of this game before, or not as fast. */
  async showBest(mine) {
    const { header, game } = this.page;
    if (!this.hasJustEnded || mine?.outcome !== "won") return;
    const best = (await fetchOwn())?.scores.games.find((each) => each.game === header.game);
    if (!best || best.best_ms === null || mine.ms > best.best_ms) return;
    fill(this.praise, best.solved > 1 ? `New best: your fastest ${game.title}!` : `Your first solved ${game.title}!`);
  }

  /** Loads in advance what Copy and Share need: browsers permit both only right after a click. Of a heat, they share the
   *  link to its challenge. */
  async loadShareText(mine) {
    if (this.page.header.heat) return;
    const path = `/api/v1/races/${this.page.raceId}/card.txt${mine ? `?seat=${mine.seat}` : ""}`;
    this.shareText = (await attempt(() => fetchText(path))) ?? this.shareText;
  }

  /** Shows the results so far on the deal of the day. Returns whether replays are still sealed. */
  async showDaily(header, mine) {
    let day = await fetchDaily(header);
    for (let retries = 0; retries < MAX_RETRIES && !(mine ? day.yours : day.results.length); retries++) {
      await sleep(RETRY_MS); // results are listed shortly after the race ends
      day = await fetchDaily(header);
    }
    const { date, stage, results, yours, reveals_at: revealsAt } = day;
    const isOwn = ({ race, name }) => race === this.page.raceId && name === mine?.name;
    const row = (result) => {
      const text = `${result.bot ? " (bot)" : ""}: ${resultText(this.page.game, result)}`;
      return h("li", { class: isOwn(result) ? "own" : false }, `${result.place}. `, nameText(result.name), text);
    };
    const repeated = mine && yours && yours.race !== this.page.raceId;
    fill(
      this.today,
      h("h2", {}, `Deal of the day, ${date}`),
      repeated ? h("p", { class: "counts" }, countsText(this.page.game, yours)) : null,
      list(results.map(row), "No results yet."),
      mine && results.length === 1 ? h("p", {}, "Nobody else has played yet.") : null,
      h("p", {}, h("a", { href: `/daily/${date}` }, "All deals of the day")),
    );
    return stage !== "revealed" && this.seal(revealsAt);
  }

  /** Hides what would help others to play the deal, until the given time. Returns true. */
  seal(revealsAt) {
    this.replay.hidden = this.dealRow.hidden = true;
    const sealed = `Others can still play this deal. Its replay becomes public on ${formatTime(revealsAt)} and can then be verified here.`;
    fill(this.verification, h("p", {}, sealed));
    return true;
  }

  /** Joins the rematch, or opens it, also with another game; a race like this one for those who had no seat in it. */
  rematch(game = "") {
    const { page } = this;
    const { connection, raceId, header } = page;
    return page.run("rematch", async () => {
      if (header.heat) return goTo(`/c/${header.heat.challenge}`);
      if (this.follows) return goTo(`/${this.follows}/${this.next.race}`);
      if (connection.mine || !this.next) {
        const hadSeat = connection.mine && (connection.view.stage === "over" || header.follows);
        const body = hadSeat ? { again: raceId, ...(game ? { game } : {}) } : requestLike(header);
        const { race } = hadSeat ? await fetchJson("/races", { body, token: guest()?.token }) : await openRace(body);
        return goToRace(race, { ready: Boolean(hadSeat) });
      }
      return guest() ? goToRace(this.next.race, { ready: true }) : goTo(`/r/${this.next.race}`);
    });
  }
}

/** The request for a race with the same game and options, on another deal. */
function requestLike({ game, daily, variant, options, club }) {
  return daily
    ? { game, daily, options: { max_racers: options.max_racers ?? 8 } }
    : { game, variant: variant ?? {}, options, club: club?.club };
}

/** A row that opens: a title, and what belongs to it. */
const row = (title, ...content) => h("details", {}, h("summary", {}, title), content);

/** Describes the first move in which the racer at `seat` and the best other racer differed. */
function firstDifference(steps, seat) {
  const { racers, standings } = steps;
  const own = racers.find((racer) => racer.seat === seat);
  const other = racers.find((racer) => racer.seat !== seat);
  if (!own || !other) return "";
  const name = displayNames(standings).get(other.seat);
  const differs = own.steps.findIndex((step, index) => other.steps[index]?.move !== step.move);
  const index = differs < 0 ? own.steps.length : differs;
  if (!own.steps[index] || !other.steps[index]) return `You and ${name} played the same first ${index} moves.`;
  const action = (racer) => positionsOf(steps, racer)[index + 1].text;
  return `You and ${name} first differed at move ${index + 1}. You: ${action(own)}. ${name}: ${action(other)}.`;
}
