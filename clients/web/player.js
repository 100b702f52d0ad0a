// The page of a player: personal bests, streaks, newest races, and the record against the user.

import { attempt, fetchAsGuest, fetchGames } from "./api.js";
import { calendar, dateOf, daysPlayed } from "./calendar.js";
import { fill, h, list, nameText, playerLink, section, tag } from "./dom.js";
import { counted, duration, gameTitle } from "./phrases.js";
import { guest } from "./storage.js";

export class PlayerPage {
  games = new Map();

  async open(main, player) {
    this.player = player;
    const [{ scores, races }, games] = await Promise.all([this.fetch(""), fetchGames()]);
    this.games = games;
    const { name, bot } = scores;
    document.title = `${name} · Same Deal`;
    const totals = [counted(scores.races, "race"), counted(scores.wins, "win"), counted(scores.solved, "deal")];
    const isOwn = guest()?.player === this.player;
    const record = guest() && !isOwn ? section(`You and ${name}`, await this.record()) : null;
    fill(
      main,
      h("h1", {}, nameText(name), isOwn ? " (you)" : null, bot ? tag("bot") : null),
      h("p", {}, `${totals.join(", ")} solved.`),
      scores.longest_streak ? h("p", {}, `Daily streak: ${counted(scores.streak, "day")}, longest ${counted(scores.longest_streak, "day")}.`) : null,
      isOwn ? calendar(dateOf(Date.now()), { played: daysPlayed(races) }) : null,
      h("div", { class: "columns" }, [
        record,
        section("Games", list(scores.games.map((game) => this.gameRow(game)), "No races yet.")),
        section("Newest races", list(races.map((race) => this.raceRow(race)), "No races yet.")),
      ]),
    );
  }

  /** Requests a document about the player. */
  fetch(path) {
    return fetchAsGuest(`/players/${encodeURIComponent(this.player)}${path}`);
  }

  async record() {
    const refused = ({ code, message }) => ({ problem: code === "not-found" ? "You have not raced each other yet." : message });
    const record = await attempt(() => this.fetch(`/versus/${encodeURIComponent(guest().player)}`), refused);
    if (record.problem) return h("p", {}, record.problem);
    const ties = ({ tied }) => (tied ? `, ${tied} tied` : "");
    const score = ({ ahead, behind }) => `${behind} : ${ahead}`;
    const row = (game) => h("li", {}, h("b", {}, gameTitle(this.games, game.game)), ` ${score(game)}${ties(game)}`);
    const { other_name: other, name } = record;
    const total = h("p", { class: "record" }, nameText(other), ` ${score(record)} `, nameText(name), ties(record));
    return [total, list(record.games.map(row))];
  }

  gameRow({ game, races, wins, solved, best, goal, counted: what, best_ms: ms }) {
    const result = what === "left" ? `best ${best} left` : `best ${best} of ${goal}`;
    const parts = [counted(races, "race"), counted(wins, "win"), `${solved} solved`, result];
    if (ms !== null) parts.push(`fastest ${duration(ms)}`);
    return h("li", {}, h("b", {}, gameTitle(this.games, game)), h("div", { class: "hint" }, parts.join(", ")));
  }

  raceRow({ race, game, ended_at: endedAt, racers }) {
    const link = h("a", { href: `/replay/${race}` }, h("b", {}, gameTitle(this.games, game)), ` ${race}`);
    const racer = ({ player, name, place }, index) => [
      `${index ? ", " : ""}${place}. `,
      player === this.player ? nameText(name) : playerLink(player, name),
    ];
    const date = new Date(endedAt).toLocaleDateString();
    return h("li", {}, link, ` ${date}`, h("div", { class: "hint" }, racers.map(racer)));
  }
}
