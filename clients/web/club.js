// The page of a club: today's challenge, races, tables and ratings, the members, and how to join.

import { attempt, fetchAsGuest, fetchGames, fetchJson, fetchText, lazyDetails } from "./api.js";
import { dateOf, DAY_MS } from "./calendar.js";
import { openChallenge } from "./custom_race.js";
import { qrCode } from "./devices.js";
import {
  button,
  confirmAction,
  fill,
  goTo,
  h,
  hint,
  homeLink,
  list,
  nameField,
  nameList,
  nameText,
  notice,
  playerLink,
  refusalText,
  repeatWhileVisible,
  section,
  select,
  svg,
  table,
  tableRow,
  tag,
  updateContent,
  waitText,
} from "./dom.js";
import { player } from "./field.js";
import { raceRow } from "./home.js";
import { nameForm, shareButton } from "./lobby.js";
import { askForClubName, createRace, enter, postAsHost, register, shortRace } from "./opening.js";
import { capitalized, counted, dealsText, formatTime, gameTitle, pointsText } from "./phrases.js";
import { guest } from "./storage.js";

const REFRESH_MS = 5000;
const PROVISIONAL = 10; // the races from which on a rating is reliable
const LINES = 6; // the styles of lines in style.css
const STEP = 100; // between the lines of the grid
const REFUSALS = ["not-allowed", "bad-token"]; // for others than members

export class ClubView {
  /** @type {any} */
  club;
  /** @type {any} */
  scores;
  history = { weeks: /** @type {number[]} */ ([]), strengths: {} };
  games = new Map();
  /** @type {Record<string, string>} */
  chosen = {}; // in menus
  isManaging = false; // whether the controls are open
  title = h("span");
  parts = Object.fromEntries(["challenges", "races", "tables", "invitation", "ratings", "members"].map((name) => [name, h("div")]));
  element = h("div", { class: "columns club" });
  problem = refusalText();
  refused = refusalText(); // why the club was not changed

  async open(main, id) {
    this.main = main;
    this.path = `/clubs/${encodeURIComponent(id)}`;
    const token = location.hash.slice(1);
    if (!main.querySelector("h1")) fill(main, waitText("Loading the club…"));
    const refused = (error) => this.refuse(error);
    const request = () => (token ? fetchAsGuest(`${this.path}/preview`, { body: { invitation: token } }) : fetchAsGuest(this.path));
    const [club, games] = await Promise.all([attempt(request, refused), fetchGames()]);
    if (!club) return;
    this.games = games;
    document.title = `${club.name} · Same Deal`;
    if (!club.is_member) return this.invite(club, token);
    history.replaceState(history.state, "", location.pathname); // without the invitation
    const past = attempt(() => fetchAsGuest(`${this.path}/history`), () => this.history);
    [this.history, this.scores] = await Promise.all([past, fetchAsGuest(`${this.path}/scores`)]);
    await this.show(club);
    const { challenges, races, tables, invitation, ratings, members } = this.parts;
    fill(this.element, h("div", {}, challenges, races, tables, invitation), h("div", {}, ratings, members));
    fill(main, h("h1", {}, this.title), this.problem, this.element);
    const missed = ({ code }) => REFUSALS.includes(code) && location.reload(); // those who are no longer members see why
    repeatWhileVisible(REFRESH_MS, async () => this.show((await attempt(() => fetchAsGuest(this.path), missed)) || this.club));
  }

  /** Shows why the club cannot be seen. Other errors are for the caller. */
  refuse(error) {
    if (!REFUSALS.includes(error.code)) throw error;
    addEventListener("hashchange", () => location.reload()); // an invitation
    const ended = "This invitation is not valid. Ask a member for a new link.";
    const text = location.hash ? ended : "Only members can see this club. Ask one of them for an invitation.";
    fill(this.main, notice("A private club", text, homeLink({ class: "button first" })));
    return null;
  }

  /** Shows who the members are, and asks for a name if there is none. */
  invite({ name, members }, invitation) {
    const [label, input, explanation, problem] = nameField({});
    const join = (chosen) =>
      enter(async () => {
        if (!guest()) await register(chosen);
        await postAsHost(`${this.path}/members`, { invitation });
        history.replaceState(history.state, "", location.pathname);
        location.reload();
      }, problem);
    fill(
      this.main,
      nameForm(join, "", [
        h("h1", {}, "Join ", nameText(name)),
        h("p", {}, `A private club with ${counted(members.length, "member")}: `, nameList(members.map((each) => each.name)), "."),
        hint("Its members race each other, and the club keeps their scores and ratings."),
        guest() ? hint("You’ll join as ", nameText(guest().name), ".") : [label, input, explanation],
        problem,
        h("button", { class: "first big" }, "Join the club"),
      ]),
    );
  }

  /** Shows what has changed, with the newest scores. */
  async show(club) {
    if (this.scores.n < club.n || this.scores.rated < club.n) {
      this.scores = await attempt(() => fetchAsGuest(`${this.path}/scores`), () => this.scores);
    }
    this.club = club;
    const { challenges, races, tables, invitation, ratings, members } = this.parts;
    const { names, dissolved } = club;
    const today = dateOf(Date.now());
    const isAlone = club.members.length < 2;
    this.element.classList.toggle("alone", isAlone);
    updateContent(this.title, [club.name], () => [nameText(club.name)]);
    updateContent(challenges, [club.challenges, dissolved, today, isAlone], () => this.challengePart(today, isAlone));
    updateContent(races, [club.races, dissolved], () => this.racePart());
    updateContent(tables, [this.scores.tables, names, today], () => this.tablePart());
    updateContent(ratings, [this.scores.ratings, names], () => this.ratingPart());
    updateContent(invitation, [isAlone, this.isOwner, club.invitation, club.name, dissolved], () => this.invitation(isAlone));
    updateContent(members, [club.members, club.invitation, club.name, dissolved], () => this.memberPart());
  }

  /** Sends a request that changes the club, and then calls `done`, or shows the club as it is. Throws ApiError. */
  async send(method, path, body, done) {
    const club = await fetchJson(this.path + path, { method, body, token: guest()?.token });
    await (done ? done() : this.show(club ?? (await fetchAsGuest(this.path))));
  }

  /** Like send, without a body, but shows why it is refused. */
  change(method, path, done) {
    fill(this.refused);
    return enter(() => this.send(method, path, undefined, done), this.refused);
  }

  // What to play.

  challengePart(today, isAlone) {
    const { challenges, dissolved, club } = this.club;
    const open = challenges.filter(({ until }) => until > Date.now());
    const isOpened = open.some(({ until }) => dateOf(until - DAY_MS) === today);
    const game = [...this.games.keys()][Math.floor(Date.now() / DAY_MS) % this.games.size];
    const publish = () => enter(() => openChallenge({ club, deals: [{ game }], until_ms: DAY_MS }), this.problem);
    const row = ({ challenge, games, names, played, until }) => {
      const who = names.length ? [nameList(names), names.length > 1 ? " have played" : " has played"] : "Nobody has played yet";
      const text = h("span", {}, h("b", {}, dealsText(games, this.games)), ` until ${formatTime(until)}`, hint(who, "."));
      return h("li", { class: "split" }, text, h("a", { class: `button ${played ? "" : "first"}`, href: `/c/${challenge}` }, played ? "Results" : "Play"));
    };
    if (dissolved) return hint("This club has been dissolved. Its tables remain.");
    return section("Today’s challenge", [
      open.length ? list(open.map(row)) : null,
      isOpened ? null : button(`Open today’s challenge: ${gameTitle(this.games, game)}`, publish, { class: isAlone ? "big" : "first big" }),
      isOpened ? null : hint("Everyone plays the same deal within 24 hours, whenever they like."),
    ]);
  }

  racePart() {
    const { races, dissolved, club } = this.club;
    if (dissolved) return null;
    this.chosen.race ??= shortRace(this.games).game;
    const onchange = ({ target }) => (this.chosen.race = target.value);
    const choices = [...this.games.values()].map(({ slug, title }) => [slug, title]);
    const game = select({ "aria-label": "Game of the race", onchange }, choices, this.chosen.race);
    const race = () => createRace({ game: this.chosen.race, club }, this.problem);
    const rows = races.map((each) => raceRow(each, this.games, ""));
    return section("Races", [h("div", { class: "row" }, game, button("Race now", race)), list(rows, "No race is open.")]);
  }

  // The scores.

  /** Names a player of the scores. */
  player(id) {
    const isOwn = id === guest()?.player;
    return id in this.club.names ? player({ name: this.club.names[id], bot: false }, isOwn) : "Former player";
  }

  row(id, cells) {
    return tableRow(cells, { class: id === guest()?.player ? "own" : false });
  }

  /** A section with a menu of `choices` and what `content(value)` returns for the chosen one. */
  choice(title, label, choices, content) {
    const shown = h("div");
    const values = choices.map(([value]) => value);
    const show = (value) => fill(shown, content((this.chosen[title] = value)));
    const onchange = ({ target }) => show(target.value);
    const chosen = values.includes(this.chosen[title]) ? this.chosen[title] : values[0];
    if (chosen) show(chosen);
    return section(title, chosen ? [select({ "aria-label": label, onchange }, choices, chosen), shown] : h("p", {}, "No races yet."));
  }

  tablePart() {
    const { tables } = this.scores;
    const played = tables.filter(({ rows }) => rows.length);
    const show = (period) =>
      table({ class: "results" }, h("caption", { class: "sr" }, "Table"), ["Place", "Player", "Points", "Races", "Won"], [
        h("tbody", {}, tables.find((each) => each.period === period).rows.map((row) =>
          this.row(row.player, [`${row.place}.`, this.player(row.player), pointsText(row.points), row.races, row.wins]),
        )),
      ]);
    return this.choice("Scores", "Period", played.map((each) => [each.period, periodText(each)]), show);
  }

  ratingPart() {
    const { ratings } = this.scores;
    if (!Object.keys(ratings).length) return null;
    const show = (game) => {
      const row = ({ player: id, strength, races }, index) => {
        const line = `class="curve l${index}" width="24" height="10" aria-hidden="true"`;
        const key = index < LINES ? svg("0 0 24 10", '<path d="M0 5H24"/>', line) : null;
        const provisional = races < PROVISIONAL ? tag("provisional") : null;
        return this.row(id, [key, [this.player(id), provisional], ratingOf(strength), races]);
      };
      const body = h("tbody", {}, ratings[game].map(row));
      const caption = h("caption", { class: "sr" }, `Ratings in ${gameTitle(this.games, game)}`);
      return [table({ class: "results" }, caption, ["", "Player", "Rating", "Races"], body), this.chart(game)];
    };
    const games = Object.keys(ratings).map((game) => [game, gameTitle(this.games, game)]);
    return this.choice("Ratings", "Game", games, show);
  }

  /** The ratings of the best players at the ends of the last weeks, and now. */
  chart(game) {
    const { weeks, strengths } = this.history;
    if (!weeks.length) return null;
    const before = (id) => strengths[game]?.[id] ?? weeks.map(() => null);
    const shown = this.scores.ratings[game].slice(0, LINES);
    const lines = shown.map(({ player: id, strength }) => [...before(id), strength].map((each) => each && ratingOf(each)));
    const all = lines.flat().filter(Boolean);
    const low = STEP * Math.floor(Math.min(...all) / STEP - 0.01);
    const high = STEP * Math.ceil(Math.max(...all) / STEP + 0.01);
    const x = (index) => Math.round(32 + (282 * index) / weeks.length);
    const y = (value) => Math.round(8 + (104 * (high - value)) / (high - low));
    const point = (value, index, line) => (value ? `${line[index - 1] ? "L" : "M"}${x(index)} ${y(value)}` : "");
    const curves = lines.map((line, index) => `<path class="l${index}" d="${line.map(point).join("")}"/>`);
    const grid = [low, high].map((value) => `<path class="grid" d="M32 ${y(value)}H314"/><text x="0" y="${y(value) + 4}">${value}</text>`);
    const dates = [`<text x="32" y="128">${dayText(weeks[0])}</text>`, '<text x="314" y="128" text-anchor="end">now</text>'];
    const text = shown.map(({ player: id }, index) => `${this.club.names[id] ?? "a former player"} from ${lines[index].find(Boolean)} to ${lines[index].at(-1)}`);
    const drawing = svg("0 0 320 132", [...grid, ...dates, ...curves].join(""), 'class="curve chart" role="img"');
    drawing.setAttribute("aria-label", `Ratings since ${dayText(weeks[0])}: ${text.join(", ")}.`);
    return drawing;
  }

  // The members.

  get isOwner() {
    const { members, dissolved } = this.club;
    return !dissolved && members[0]?.player === guest()?.player;
  }

  memberPart() {
    const { members, link } = this.club;
    const isOwner = this.isOwner;
    const log = button("Download the log", () => enter(() => this.download(), this.refused));
    return [
      section("Members", list(members.map((each, index) => this.memberRow(each, index, isOwner))), this.refused),
      this.controls(isOwner),
      section("Prove it", [
        h("p", {}, "Each race is logged before it is dealt, so none can be left out unnoticed. Any member can recompute the tables and ratings:"),
        h("p", {}, h("code", {}, `samedeal club verify ${link}`)),
        h("div", { class: "row" }, log),
      ]),
    ];
  }

  memberRow({ player: id, name }, index, isOwner) {
    const remove = () => this.change("DELETE", `/members/${id}`);
    const end = this.club.invitation ? " The invitation link will stop working, too." : "";
    const ask = () => confirmAction(`Remove ${name} from the club?${end}`, remove, "Remove");
    const removal = isOwner && index ? button("Remove", ask, { "aria-label": `Remove ${name}` }) : null;
    const own = id === guest()?.player ? " (you)" : null;
    return h("li", { class: "split" }, h("span", {}, playerLink(id, name), own, index ? null : tag("owner")), removal);
  }

  invitation(isAlone) {
    const { invitation, name, dissolved } = this.club;
    const load = async () => qrCode((await fetchAsGuest(`${this.path}/invitation`)).qr, "Invitation link as a QR code");
    const invite = () => this.change("POST", "/invitation");
    if (dissolved || (!invitation && !this.isOwner)) return null;
    const share = shareButton(invitation, `Join ${name} on Same Deal`);
    share.classList.toggle("first", isAlone);
    return section("Invite friends", invitation ? [share, lazyDetails("QR code", load)] : button("New invitation", invite));
  }

  /** What the owner can change, and how to leave. */
  controls(isOwner) {
    const { name, invitation, dissolved } = this.club;
    const rename = () => askForClubName("Rename the club", name, (chosen) => this.send("PATCH", "", { name: chosen }));
    const renew = () => confirmAction("Replace the invitation? The old link stops working.", () => this.change("POST", "/invitation"), "Replace");
    const dissolve = () => confirmAction(`Dissolve ${name}? Nobody can race in it any more.`, () => this.change("DELETE", ""), "Dissolve");
    const leaving = () => this.change("DELETE", `/members/${guest().player}`, () => goTo("/"));
    const back = dissolved ? "You cannot come back." : "You will need an invitation to come back.";
    const leave = () => confirmAction(`Leave ${name}? ${back}`, leaving, "Leave");
    const revoke = () => this.change("DELETE", "/invitation");
    const ontoggle = ({ target }) => (this.isManaging = target.open);
    return h("details", { open: this.isManaging, ontoggle }, h("summary", {}, isOwner ? "Manage the club" : "Leave the club"), [
      h("div", { class: "row" }, [
        isOwner && [button("Rename", rename), invitation && [button("New invitation", renew), button("Close the invitation", revoke)]],
        isOwner && button("Dissolve", dissolve),
        button("Leave the club", leave),
      ]),
    ]);
  }

  /** Downloads the log, which only members can read. */
  async download() {
    const text = await fetchText(`/api/v1${this.path}/log`, guest()?.token);
    const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    h("a", { href, download: `${this.club.club}.json` }).click();
    URL.revokeObjectURL(href);
  }
}

const ratingOf = (strength) => Math.round(1000 + 400 * Math.log10(strength));

const dayText = (ms) => new Date(ms).toLocaleDateString([], { day: "numeric", month: "long", timeZone: "UTC" });

/** The name of a table: "This week", or "Week from 16 November" if that is over. */
function periodText({ period, since }) {
  if (period === "all") return "All time";
  const quarter = (ms) => Math.floor((new Date(ms).getUTCMonth() + 12 * new Date(ms).getUTCFullYear()) / 3);
  const isNow = period === "season" ? quarter(since) === quarter(Date.now()) : Date.now() < since + (period === "day" ? 1 : 7) * DAY_MS;
  if (period === "day") return isNow ? "Today" : dayText(since);
  return isNow ? `This ${period}` : `${capitalized(period)} from ${dayText(since)}`;
}
