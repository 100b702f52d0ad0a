"""The web page: the URLs that people open, each with its own title."""

import gzip
import re
import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from html import escape
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.race import Stage
from samedeal.share import preview_picture as card
from samedeal.share.phrases import listed
from samedeal.wire.documents import Listed
from samedeal_server.api.deal_codes import Deal
from samedeal_server.api.endpoint import RACE_REFUSALS, STORE_REFUSALS, V1, H, ResponseSpec, route
from samedeal_server.api.page_files import MEDIA_TYPES, NOT_EMBEDDABLE, PageFiles
from samedeal_server.live.challenges import Challenges
from samedeal_server.live.dailies import day_of
from samedeal_server.live.fields import FIRST_PAGE
from samedeal_server.live.lobby_changes import replacement
from samedeal_server.live.opening import checked_game
from samedeal_server.live.registry import Registry
from samedeal_server.net.requests import below_root_path, route_path
from samedeal_server.net.responses import MEDIA, PAGE, TEXT, accepted_quality, accepts_gzip, problem_response
from samedeal_server.settings import Settings
from samedeal_server.store.live_races import LIVE_STAGES

TITLE: Final = "Same Deal"
DATA: Final = {
    "r": f"{V1}/races/{{}}",
    "w": f"{V1}/races/{{}}",
    "replay": f"{V1}/replays/{{}}/steps",
    "solution": f"{V1}/solutions/{{}}/steps",
}
"""The data that a page loads first, by the first part of its path; only what it requests without a token."""
EMBEDDABLE: Final = ("replay", "o")
"""The pages that other sites may embed if the operator permits it, by the first part of their path."""
SOURCE: Final = "<!-- source -->"
"""Where the page links to the source code."""
FACTS: Final = "<!-- facts -->"
CONTENT: Final = "<!-- content -->"
"""Where the page shows which race it is about, and a heading and a sentence until its modules have loaded."""
DAILY: Final = "One deal per game and day, the same for everyone, with the results and an archive."
PAGES: Final = {
    "/rules": ("Rules", "How the games are played and raced.", "samedeal rules GAME"),
    "/daily": ("Deals of the day", DAILY, "samedeal daily"),
    "/fairness": ("Fairness", "What a race proves, and what it cannot prove.", "samedeal verify RACE"),
    "/verify": (
        "Verify a replay",
        "Your browser verifies the file. It is not uploaded.",
        "samedeal verify FILE",
    ),
    "/login": ("Log in", "Play under your name on this device, too.", "samedeal --server {base} login"),
}
"""The pages that are the same for everyone: their titles, descriptions and commands."""
NO_TAGS: Final[Mapping[str, str]] = {}
VARY: Final = {"Vary": "Accept, Accept-Encoding, User-Agent"}
TERMINAL_CLIENTS: Final = ("curl/", "wget/", "httpie/", "xh/")
"""How the User-Agent of clients starts that show what they receive in a terminal, in lower case. Like the clients that
fetch a link's preview for a chat, most accept every type."""
SHELL: Final = ResponseSpec(
    media=(PAGE, TEXT),
    description="The page; text for curl, Wget and HTTPie, and for clients that prefer text or JSON to HTML.",
    headers=("Vary",),
)
HERO: Final = """<div class="home"><section class="hero">
<h1>Race your friends at patience on the same shuffled deck</h1>
<p>Everyone gets the same cards at the same moment, and afterwards <a href="/verify">anyone can verify</a> who won.</p>
</section></div>"""
"""The beginning of the front page, as its module shows it."""
STATES: Final[Mapping[Stage, str]] = {
    "countdown": "the race is about to start.",
    "running": "the race is running.",
    "over": "the race is over.",
    "cancelled": "the race was cancelled.",
}
"""How previews describe races after the lobby."""
CLUB_ID: Final = re.compile(r"[a-z0-9-]{1,64}")
PLAYER_ID: Final = re.compile(r"[0-9a-f]{16}")
PROGRAM_PATHS: Final = ("/api", "/page/", "/.well-known/")
"""What only programs request."""


def page(path: str, *refuses: str) -> Callable[[H], H]:
    """Declare a method as the page at a path. Browsers get refusals as a page, too."""
    return route("GET", path, SHELL, refuses=refuses, html_refusals=bool(refuses))


class Page:
    """The endpoints that people open in a browser."""

    def __init__(self, registry: Registry, challenges: Challenges, settings: Settings, page_files: PageFiles) -> None:
        self._registry, self._challenges = registry, challenges
        self._settings, self._files = settings, page_files
        url = settings.source_url
        self._source = f'<a href="{escape(url)}">Source code</a>' if url else ""
        self._frame_ancestors = "'none'" if settings.frame_ancestors == "none" else settings.frame_ancestors

    @page("/")
    async def front(self, request: Request, base: str) -> Response:
        """The front page."""
        text = "Race your friends at patience on the same shuffled deck, and prove who won."
        command = f"{TITLE}: {text}\n\nsamedeal --server {base} new corners --join"
        return self._respond(request, "", text, command, content=HERO)

    @page("/rules")
    @page("/daily")
    @page("/fairness")
    @page("/verify")
    @page("/login")
    async def same_for_all(self, request: Request, base: str) -> Response:
        """The rules, the deals of the day, what a race proves, how to verify a replay, and how to log in."""
        title, description, command = PAGES[route_path(request.scope)]
        return self._respond(request, title, description, command.format(base=base))

    @page("/r/{race}", *RACE_REFUSALS)
    @page("/w/{race}", *RACE_REFUSALS)
    @page("/o/{race}", *RACE_REFUSALS)
    @page("/replay/{race}", *RACE_REFUSALS)
    async def race(self, request: Request, race: str, base: str) -> Response:
        """The invitation to a race, with its state; for other clients, how to join it. The link to a race that its host
        has replaced leads to the new one.
        """
        summary, content, host = await self._registry.summary(race), "", None
        path = route_path(request.scope)
        if isinstance(summary, Listed) and (new := await replacement(summary, self._registry)):
            if _wants_page(request):
                return RedirectResponse(f"{self._settings.root_path}{path.removesuffix(race)}{new.race}", headers=VARY)
            summary = new
        title = game = GAMES[summary.game].title if summary.game in GAMES else summary.game
        commands = ("Replay:  samedeal replay", "Verify:  samedeal verify")
        if isinstance(summary, Listed):
            if summary.stage == "open" and summary.max_racers > 1:
                host = await self._registry.host(summary.race)
            seats = f"{summary.racers} of {summary.max_racers} seats taken."
            if summary.stage == "open" and path.startswith("/r/"):
                content = _invitation(summary, host.name if host else "", game)
            description = f"{game}: {STATES.get(summary.stage, seats)}"
            if host:
                title = f"{host.name} challenges you to {game}"
                description = f"{title}. {seats}"
            if summary.stage in LIVE_STAGES:
                commands = ("Join:   samedeal join", "Watch:  samedeal watch")
        else:
            is_public = summary.reveals_at <= self._registry.clock.now()
            names = [standing.name for standing in summary.standings]
            racers = ", ".join(names if is_public else sorted(names))  # their order would be the result
            description = f"{game}: the race is over" + (f", raced by {racers}." if racers else ".")
        link = f"{base}/r/{summary.race}"
        text = "\n".join([description, "", *(f"{command} {link}" for command in commands)])
        tags = {
            "og:url": link,
            "og:image": f"{base}{V1}/races/{summary.race}/card.png",
            "og:image:type": MEDIA["png"],
            "og:image:width": f"{card.WIDTH}",
            "og:image:height": f"{card.HEIGHT}",
            "og:image:alt": description,
            "twitter:card": "summary_large_image",
        }
        return self._respond(request, title, description, text, tags, content, game)

    @page("/c/{challenge}", "not-found", *STORE_REFUSALS)
    async def challenge(self, request: Request, challenge: str, base: str) -> Response:
        """A challenge: who challenges you, until when, and how many have played."""
        found = await self._challenges.page(challenge, FIRST_PAGE, None, base)
        games = listed(list(dict.fromkeys(GAMES[deal.game].title for deal in found.header.deals if deal.game in GAMES)))
        title = f"{found.by} challenges you to {games}" if found.by else f"A challenge: {games}"
        until = datetime.fromtimestamp(found.header.until / 1000, UTC)
        state = f"until {until:%A, %d %B, %H:%M} UTC" if found.stage == "open" else "over"
        description = f"{title}, {state}. {found.players} {'has' if found.players == 1 else 'have'} played."
        commands = ("Play:   samedeal play", "Show:   samedeal challenge")
        text = "\n".join([description, "", *(f"{command} {found.link}" for command in commands)])
        return self._respond(request, title, description, text, {"og:url": found.link})

    @page("/g/{club}", "not-found")
    async def club(self, request: Request, club: str, base: str) -> Response:
        """The page of a club, which looks the same here whether or not the club exists. The invitation is in the
        fragment.
        """
        if not CLUB_ID.fullmatch(club):
            raise Refused("not-found", "This is not the ID of a club.")
        description = "A private club, with races, tables and ratings for its members."
        return self._respond(request, "Club", description, f"samedeal club {base}/g/{club}")

    @page("/solution/{race}", *RACE_REFUSALS)
    async def solution(self, request: Request, race: str, base: str) -> Response:
        """A winning line of a finished race's deal, to step through."""
        race_id = (await self._registry.summary(race)).race
        description = f"Whether the deal of race {race_id} could be won, and how."
        return self._respond(request, f"How to win {race_id}", description, f"samedeal solve {base}/r/{race_id}")

    @page("/practice/{deal:path}", "not-found", "bad-request")
    async def practice(self, request: Request, deal: Deal, base: str) -> Response:
        """A deal to play alone, with hints, at any position. The moves are in the fragment."""
        command = f"samedeal --server {base} practice {shlex.quote(f'{deal.game.slug}:{deal.seed}')}"
        description = "Play this deal alone, with hints and undo."
        return self._respond(request, f"Practise {deal.game.title}", description, command)

    @page("/rules/{game}", "not-found")
    async def rules(self, request: Request, game: str) -> Response:
        """The rules of a game."""
        title = checked_game(game).title
        description = f"How {title} is played and raced."
        return self._respond(request, f"Rules of {title}", description, f"samedeal rules {game}")

    @page("/p/{player}", "not-found")
    async def player(self, request: Request, player: str) -> Response:
        """The page of a player, which looks the same here whether or not the player exists."""
        if not PLAYER_ID.fullmatch(player):
            raise Refused("not-found", "This is not the public ID of a player.")
        description = "Races, best results and daily streaks of a player, and the record between the two of you."
        return self._respond(request, "Player", description, f"samedeal versus {player}")

    @page("/daily/{date}", "bad-request")
    async def day(self, request: Request, date: str) -> Response:
        """The deals of a day, with results."""
        date = day_of(date).date
        return self._respond(request, f"Deals of {date}", DAILY, f"samedeal daily --date {date}")

    @route("GET", "/sw.js", ResponseSpec(media=(MEDIA_TYPES[".js"],)))
    async def service_worker(self, request: Request) -> Response:
        """The page's service worker, which caches the page's files for use without a connection."""
        return self._files.service_worker(request)

    def refused(self, request: Request, refused: Refused) -> Response:
        """Return the response for a refused request: the page for browsers, a problem for programs."""
        return (
            self._html(request, "", refused.text, refused.status) if _wants_page(request) else problem_response(refused)
        )

    def not_found(self, request: Request) -> Response:
        """Return the response for an unknown path: the page for browsers, a problem for programs."""
        path, accept = route_path(request.scope), request.headers.get("accept", "")
        if path.startswith(PROGRAM_PATHS) or "text/html" not in accept or not _wants_page(request):
            return problem_response(Refused("not-found", "Not found."))
        return self._html(request, "Not found", "This page does not exist.", HTTPStatus.NOT_FOUND)

    def _respond(
        self,
        request: Request,
        title: str,
        description: str,
        text: str,
        tags: Mapping[str, str] = NO_TAGS,
        content: str | None = None,
        game: str = "",
    ) -> Response:
        """Return the page or the text, whichever the client wants.

        `title` is without the program's. `tags` are more tags of the page by name. `content` is the HTML that it shows
        first; by default, the title and the description. `game` is the title of the game that it names above it.
        """
        if _wants_page(request):
            return self._html(request, title, description, HTTPStatus.OK, tags, content, game)
        return PlainTextResponse(f"{text}\n", headers=VARY)

    def _html(
        self,
        request: Request,
        title: str,
        description: str,
        status: int,
        tags: Mapping[str, str] = NO_TAGS,
        content: str | None = None,
        game: str = "",
    ) -> Response:
        path, subject = route_path(request.scope), escape(title or TITLE)
        title = f"{title} · {TITLE}" if title else TITLE
        shell = self._files.html(path).replace(SOURCE, self._source)
        if content is None:
            content = f"<h1>{subject}</h1>\n<p>{escape(description)}</p>"
        else:
            shell = shell.replace(FACTS, f'<span class="what">{escape(game)}</span>' if game else "")
        shell = shell.replace(CONTENT, content)
        shell = shell.replace(f"<title>{TITLE}</title>", f"<title>{escape(title)}</title>")
        for name, text in (("og:title", title), ("description", description), ("og:description", description)):
            before, attribute, rest = shell.partition(f'="{name}" content="')
            shell = before + attribute + escape(text) + rest[rest.index('"') :]
        more = "".join(f'    <meta property="{name}" content="{escape(text)}">\n' for name, text in tags.items())
        first, *names = path.strip("/").split("/")
        if first in DATA and names and status == HTTPStatus.OK:
            url = escape(DATA[first].format(quote(names[0])))
            more += f'    <link rel="preload" href="{url}" as="fetch" crossorigin>\n'
        shell = below_root_path(shell.replace("  </head>", f"{more}  </head>"), self._settings.root_path)
        headers = self._files.html_headers | VARY
        if first in EMBEDDABLE:
            policy = headers["Content-Security-Policy"]
            allowed = f"frame-ancestors {self._frame_ancestors}"
            headers["Content-Security-Policy"] = policy.replace(NOT_EMBEDDABLE, allowed)
        if not accepts_gzip(request):
            return HTMLResponse(shell, status, headers=headers)
        zipped = gzip.compress(shell.encode(), compresslevel=6, mtime=0)
        return HTMLResponse(zipped, status, headers=headers | {"Content-Encoding": "gzip"})


def _invitation(race: Listed, host: str, title: str) -> str:
    """Return the beginning of the page of an open race, as its module shows it."""
    heading = f"<bdi>{escape(host)}</bdi> challenges you to {escape(title)}" if host else escape(title)
    text = "<p>Play alone, against the clock.</p>" if race.max_racers == 1 else ""
    return f'<div class="card-form invitation"><h1>{heading}</h1>\n{text}</div>'


def _wants_page(request: Request) -> bool:
    """Return whether a client gets the page, with its tags for previews, rather than text."""
    page = accepted_quality(request, "text/html")
    text = accepted_quality(request, "text/plain", "application/json")
    is_terminal = request.headers.get("user-agent", "").lower().startswith(TERMINAL_CLIENTS)
    return page > text if is_terminal else page >= text
