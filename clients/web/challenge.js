// The page of a challenge: its deadline, who has played, and the results once the user may see them.

import { attempt, fetchAsGuest, fetchGames } from "./api.js";
import { button, clubLink, fill, h, hint, list, nameList, nameText, refusalText, repeatWhileVisible, section, tableRow, updateContent, waitText } from "./dom.js";
import { challengeDeals, challengeName, ownRow, player, remember, resultRow, resultsTable, timeLeft } from "./field.js";
import { invitingButtons, lesson, raceOptions } from "./lobby.js";
import { createRace, SOLO } from "./opening.js";
import { achieved, counted, formatTime, gameTitle, ordinal, pointsText, resultText } from "./phrases.js";
import { lessonLink, practicePath } from "./practice.js";
import { guest, seatIn } from "./storage.js";

const REFRESH_MS = 5000;
const MIN_FIELD = 10; // for which a share says more than the place
const TOGETHER = { max_racers: 4, start_delay_ms: 5000 };

export class ChallengeView {
  challenge;
  games = new Map();
  entry = h("div", { class: "go" });
  races = h("div");
  dealList = h("div");
  table = h("div");
  problem = refusalText();

  async open(main, id) {
    this.path = `/challenges/${encodeURIComponent(id)}`;
    if (!main.querySelector("h1")) fill(main, waitText("Loading the challenge…"));
    const [challenge, games] = await Promise.all([fetchAsGuest(this.path), fetchGames()]);
    this.games = games;
    const { header, stage, counts } = challenge;
    const [deal] = header.deals;
    const game = games.get(deal.game);
    const isInvited = stage === "open" && counts.includes(null);
    const sharing = invitingButtons(`/c/${id}`, this.path, `Beat me at ${challengeDeals(challenge, games)}`);
    sharing[0].classList.toggle("first", stage === "open" && !isInvited);
    const options = game && raceOptions({ game, header: { ...header, ...deal } });
    fill(
      main,
      h("div", { class: `card-form ${isInvited ? "invitation" : ""}` }, [
        h("h1", {}, challengeName(challenge, games, isInvited)),
        isInvited && game ? lesson(game) : null,
        h("div", { class: "entry go" }, this.entry, h("div", { class: "row share" }, sharing), this.problem, options, clubLink(header)),
      ]),
      h("div", { class: "challenge" }, this.races, this.dealList, this.table),
    );
    document.title = `${main.querySelector("h1").textContent} · Same Deal`;
    this.show(challenge);
    repeatWhileVisible(REFRESH_MS, async () => this.show(await attempt(() => fetchAsGuest(this.path), () => this.challenge)));
  }

  show(challenge) {
    this.challenge = challenge;
    remember(challenge, this.games);
    const { stage, counts, yours, played, players, heats, results } = challenge;
    updateContent(this.entry, [stage, counts, yours, players, ownRow(challenge)?.place, timeLeft(challenge)], () => this.entryParts());
    updateContent(this.races, heats, () => this.openRaces());
    updateContent(this.dealList, [stage, yours, played], () => this.deals());
    const isLong = this.table.querySelectorAll("tbody tr").length > (results?.length ?? 0); // more were asked for
    if (!isLong) updateContent(this.table, [stage, results, players], () => this.results());
  }

  /** The deadline, what counts, and what to do next. */
  entryParts() {
    const { stage, header, counts, yours, players } = this.challenge;
    const { length } = header.deals;
    const time = formatTime(header.until);
    const until = h("p", {}, stage === "open" ? ["Until ", h("b", {}, time), ` · ${timeLeft(this.challenge)}`] : `Ended on ${time}`);
    const own = ownRow(this.challenge) ?? (length === 1 && yours[0]?.place ? yours[0] : null);
    // Points count ties by half.
    const beaten = length === 1 && own && yours[0] ? Math.round(2 * yours[0].points * (players - 1) - (players - own.place)) : 0;
    const share = beaten && players >= MIN_FIELD ? `: better than ${Math.floor((100 * beaten) / (players - 1))}% of the field` : "";
    const praise = own && (players > 1 ? `You’re ${ordinal(own.place)} of ${players}${share}.` : "You’re the first to have played.");
    const running = counts.findIndex((race, index) => race && !yours[index]);
    const next = counts.indexOf(null);
    const counting = (text) => h("p", { class: "counts" }, text);
    const isRunning = stage !== "revealed" && running >= 0;
    const back = isRunning && h("a", { class: "button first big", href: `/r/${counts[running]}` }, "Back to your race");
    if (isRunning && (stage !== "open" || next < 0)) return [until, counting("Your first race on this deal is still running."), back];
    if (stage !== "open" || next < 0) return [until, counting(praise || (next < 0 ? "You’ve played." : "")), length === 1 && this.action(0)];
    return [
      until,
      counting(`Your first race${length > 1 ? " on each deal" : ""} counts, even if you give up.`),
      back,
      button(length > 1 ? `Play deal ${next + 1} of ${length}` : "Play", () => this.play(next), { class: isRunning ? "big" : "first big" }),
      h("div", { class: "row" }, button("Play with friends", () => this.play(next, TOGETHER)), lessonLink(this.games.get(header.deals[next].game))),
    ];
  }

  play(index, options = SOLO) {
    return createRace({ challenge: this.challenge.challenge, deal: index + 1, options }, this.problem);
  }

  /** What can be done with a deal that the user has played, or that is public. */
  action(index) {
    const { header, stage, yours, codes } = this.challenge;
    const { variant } = header.deals[index];
    if (codes[index]) return h("a", { class: "button", href: practicePath({ deal: codes[index], variant }) }, "Play it with hints");
    return stage === "open" && yours[index] ? button("Play again", () => this.play(index), { title: "This race won’t count." }) : null;
  }

  openRaces() {
    const races = this.challenge.heats.filter(({ racers, max_racers: most }) => racers && racers < most);
    const row = ({ race, host, racers, max_racers: most }) => {
      const text = h("span", {}, host ? [nameText(host), " is waiting"] : "Waiting for players", `: ${racers} of ${most}`);
      return h("li", { class: "split" }, text, h("a", { class: "button", href: `/r/${race}` }, seatIn(race) ? "Back" : "Join"));
    };
    return races.length ? section("Open races", list(races.map(row))) : null;
  }

  /** The user's results by deal, if there are several. */
  deals() {
    const { header, yours, played } = this.challenge;
    const row = ({ game }, index) => {
      const own = yours[index];
      const place = own?.place ? `, ${ordinal(own.place)} of ${played[index]}` : "";
      const text = own ? `you: ${resultText(this.games.get(game), own)}${place}` : `${played[index]} played`;
      return h("li", { class: "split" }, h("span", {}, h("b", {}, `${index + 1}. ${gameTitle(this.games, game)}`), ` · ${text}`), this.action(index));
    };
    return header.deals.length > 1 ? section("Deals", list(header.deals.map(row))) : null;
  }

  results() {
    const { header, link, stage, reveals_at: revealsAt, players, names, results, next } = this.challenge;
    const isSeveral = header.deals.length > 1;
    const isPublic = stage === "revealed";
    const seen = stage === "open" && !results ? `You’ll see the results once you’ve played${isSeveral ? " all deals" : ""}. ` : "";
    const sealed = hint(`${seen}${results ? "All replays" : "Results and all replays"} become public on ${formatTime(revealsAt)}.`);
    const more = players > names.length ? ` and ${players - names.length} more` : "";
    const who = players ? ["Played by ", nameList(names), more, "."] : "Nobody has played yet.";
    if (!results?.length) return section("Results", h("p", {}, who), isPublic ? null : sealed);
    const row = (result) => this.resultRow(result, isPublic);
    const fetchMore = (skip) => fetchAsGuest(`${this.path}?skip=${skip}`);
    const heads = isSeveral ? ["Place", "Player", "Points"] : undefined;
    const log = h("a", { href: `/api/v1${this.path}/log`, download: true }, "the log");
    const check = ["To check the table, download ", log, " or run ", h("code", {}, `samedeal table ${link}`)];
    return section("Results", [
      resultsTable(counted(players, "player"), { results, next }, row, fetchMore, heads),
      isPublic ? hint("The replays also show the computer’s results. ", check) : sealed,
    ]);
  }

  resultRow(row, isPublic) {
    const own = row.player === guest()?.player;
    const games = this.challenge.header.deals.map(({ game }) => this.games.get(game));
    if (games.length === 1) return resultRow(games[0], { ...row, ...row.deals[0] }, { own, isPublic });
    const result = (deal, index) => {
      const text = deal ? `${achieved(games[index], deal, { short: true })} (${ordinal(deal.place)})` : "–";
      return [index ? " · " : "", deal && isPublic ? h("a", { href: `/replay/${deal.race}` }, text) : text];
    };
    const cells = [`${row.place}.`, [player(row, own), hint(row.deals.map(result))], pointsText(row.points)];
    return tableRow(cells, { class: own ? "own" : false });
  }
}
