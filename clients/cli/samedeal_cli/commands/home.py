"""The home screen: what ``samedeal`` shows without a command. What the user chooses there runs as a command."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from msgspec import structs
from textual.events import MouseDown, Resize

from samedeal.games.catalogue import GAMES
from samedeal.race.challenge import HOUR_MS
from samedeal.share.phrases import ordinal
from samedeal.wire.documents import ChallengePage, Today
from samedeal_cli.addresses import DEFAULT_SERVER
from samedeal_cli.commands.me import SHOWN, lines_of
from samedeal_cli.failure import Failure
from samedeal_cli.net import guests
from samedeal_cli.net.connect import running_race
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.saved_challenges import SavedChallenge, place_in, save_challenge, saved_challenges
from samedeal_cli.render.canvas import PLAIN
from samedeal_cli.render.phrases import deals_phrase, have_played, span, title_of
from samedeal_cli.render.themes import look
from samedeal_cli.screen.canvas_widget import CanvasScreen, LineInput
from samedeal_cli.screen.dialogs import Choice, TextDialog
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.settings import Settings
from samedeal_cli.state.home_state import QUICK_GAME, ChallengeLine, HomeState
from samedeal_cli.state.pile_keys import key_meant

REFRESH_S: Final = 10.0
"""How often the screen asks the server what is going on (s)."""
TIMEOUT_S: Final = 2.0
MAX_RACES: Final = 3
"""How many races of others can be chosen."""

Words = tuple[str, ...]
"""A command and its arguments."""
JOIN: Final[Words] = ("join", "--")
"""What joins a race, whose link or id is typed."""


class HomeScreen(CanvasScreen):
    """Shows what the user can do, until the user chooses a command or quits."""

    def __init__(self, settings: Settings, state: HomeState) -> None:
        super().__init__()
        self.settings, self.state = settings, state
        self.chosen: Words = ()
        """The chosen command; empty to quit."""
        self._look = look(settings.theme, settings.suits, colored=settings.colored)
        self._saved = saved_challenges()
        """With the places of the user before this visit."""

    def on_mount(self) -> None:
        """Draw the first frame, and ask the server what is going on."""
        self._change(width=self.size.width, height=self.size.height)
        self._refresh()
        self.set_interval(REFRESH_S, self._refresh)

    def on_resize(self, event: Resize) -> None:
        """Redraw at the new size."""
        self._change(width=event.size.width, height=event.size.height)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Press the key of what is under the mouse."""
        if spot := self.spot_at(event):
            self.press(spot.removeprefix("key:"))

    def press(self, key: str) -> None:
        """Handle a key."""
        keys = [offer.key for offer in self.state.offers]
        match keys[0] if key == "enter" else key_meant(key, [*keys, "q"]):
            case "q":
                self.app.exit()
            case "b" if "b" in keys:
                self._run(("resume",))
            case "p":
                self._run(("play",))
            case "d":
                self._choose("Today's deals", self._dailies)
            case "c":
                self._choose("Challenges", self._challenges)
            case "f":
                self._choose("Race friends", self._friends)
            case "t":
                self._choose("Practise", {game.title: ("practice", slug) for slug, game in GAMES.items()})
            case "r":
                lines = [
                    (line, PLAIN) for line in (lines_of(self.state.page) if self.state.page else ["No races yet."])
                ]
                self.app.push_screen(TextDialog("Your results", lambda _: lines, self._look, plain=self.state.ascii))

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Join the race that has been typed."""
        self.action_close_line()
        if text := event.value.strip():
            self._run((*JOIN, text))

    def _choose(self, title: str, options: Mapping[str, Words]) -> None:
        self.app.push_screen(Choice(title, tuple(options)), lambda name: self._run(options[name]) if name else None)

    def _run(self, words: Words) -> None:
        if words == JOIN:
            self.ask_for_line("a link or an id")
        else:
            self.chosen = words
            self.app.exit()

    @property
    def _dailies(self) -> Mapping[str, Words]:
        raced = {daily.game for daily in self.state.daily if daily.yours}
        slugs = sorted(GAMES, key=lambda slug: (slug in raced, slug != QUICK_GAME))
        return {title_of(slug) + " (raced)" * (slug in raced): ("solo", slug, "--daily") for slug in slugs}

    @property
    def _friends(self) -> Mapping[str, Words]:
        title = title_of(QUICK_GAME)
        options: dict[str, Words] = {
            f"Open a race at {title}, two minutes": ("new", QUICK_GAME, "--unlisted", "--join")
        }
        options["Join a race by its link or id"] = JOIN
        for race in self.state.races[:MAX_RACES]:
            label, words = ("Join", JOIN) if race.stage == "open" else ("Watch", ("watch", "--"))
            host = f", opened by {race.host}" if race.host else ""
            options[f"{label} {race.race}: {title_of(race.game)}{host}"] = (*words, race.race)
        others = {
            f"Open a race at {title_of(slug)}": ("new", slug, "--unlisted", "--join")
            for slug in GAMES
            if slug != QUICK_GAME
        }
        return options | others

    @property
    def _challenges(self) -> Mapping[str, Words]:
        known: dict[str, Words] = {line.text: line.words for line in self.state.challenges}
        opened = {f"Challenge friends to {title_of(slug)}, 48 h": ("challenge", slug) for slug in GAMES}
        return known | {"Open a challenge link": JOIN} | opened

    def _refresh(self) -> None:
        self.run_worker(self._look_around(), exclusive=True)
        self.run_worker(self._look_at_challenges(), exclusive=True, group="challenges")

    async def _look_around(self) -> None:
        self._change(**await asyncio.to_thread(look_around, self.settings))

    async def _look_at_challenges(self) -> None:
        """Show the challenges whose servers answer, without delaying the rest."""
        self._change(challenges=await asyncio.to_thread(_challenge_lines, self.settings, self._saved))

    def _change(self, **fields: Any) -> None:
        self.state = replace(self.state, **fields)
        self.show(draw_home(self.state), self._look, self.state.entries)


def _challenge_lines(settings: Settings, known: Sequence[SavedChallenge]) -> Sequence[ChallengeLine]:
    """Return the challenges whose servers answer, and save the user's present places."""
    pages = list[tuple[SavedChallenge, ChallengePage]]()
    for each in known:
        with suppress(Failure):
            token = guests.credentials_of(settings, each.server, each.name).token
            pages.append((each, Api(each.server, timeout=TIMEOUT_S).challenge(each.challenge, token)))
    for each, page in reversed(pages):
        save_challenge(structs.replace(each, place=place_in(page)))
    return sorted((_challenge_line(*pair) for pair in pages), key=lambda line: not line.is_urgent)


def _challenge_line(known: SavedChallenge, page: ChallengePage) -> ChallengeLine:
    place, is_open = place_in(page), page.stage == "open"
    what = f"{page.by or 'A former player'}: {deals_phrase([deal.game for deal in page.header.deals])}"
    left_ms, may_play = page.header.until - time.time_ns() // 1_000_000, is_open and None in page.counts
    left, is_late = f"{span(left_ms)} left" if is_open else "over", may_play and left_ms < 24 * HOUR_MS
    passed = place if place and place > (known.place or place) else 0
    text = f"{left} to play · {what}" if is_late else f"{what} · {left} · {have_played(page.players)}"
    if passed:
        text = f"Somebody passed you: {ordinal(passed)} of {page.players} · {what}"
    name = ("--as", known.name) if known.name else ()
    words = ("play" if may_play else "challenge", *name, "--", f"{known.server}/c/{known.challenge}")
    return ChallengeLine(text, bool(passed) or is_late, words)


def look_around(settings: Settings) -> dict[str, Any]:
    """Return the fields of the state that depend on the server."""
    server, found = settings.address, dict[str, Any]()
    api, host = Api(server, timeout=TIMEOUT_S), server.partition("://")[2]
    guest = guests.find(server, guests.chosen_name(settings, server))
    try:
        found["races"] = api.live_races()
        found["page"] = page = api.player(guest.player, guest.token, SHOWN) if guest else None
        token = guest.token if page and guest else None  # the server may have forgotten the user
        found["daily"] = api.read(api.fetch("/daily", token=token), Today).daily
    except Failure:
        return {"server": "on this machine" if server == DEFAULT_SERVER else f"{host} cannot be reached"}
    with suppress(Failure):  # the race may be on another server
        if running := running_race(TIMEOUT_S):
            last, view = running
            found["running"] = f"{title_of(view.header.game)} · {last.race}" if view.header else last.race
    return {"server": host, "running": ""} | found
