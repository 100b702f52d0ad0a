"""The web page: the URLs that people open, each with its own title."""

import gzip
import re
import shlex
from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.share import preview_picture as card
from samedeal.wire.documents import Listed
from samedeal_server.api.deal_codes import deal_of
from samedeal_server.api.endpoint import V1, ResponseSpec, route
from samedeal_server.api.page_files import MEDIA_TYPES, PageFiles
from samedeal_server.live.dailies import day_of
from samedeal_server.live.opening import checked_game
from samedeal_server.live.registry import Registry
from samedeal_server.net.requests import base_url
from samedeal_server.net.responses import MEDIA, PAGE, TEXT, accepted_quality, accepts_gzip, problem_response
from samedeal_server.net.root_path import below_root_path, route_path
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
SOURCE: Final = "<!-- source -->"
"""Where the page links to the source code."""
FACTS: Final = "<!-- facts -->"
CONTENT: Final = "<!-- content -->"
"""Where the page shows which race it is about, and a heading and a sentence until its modules have loaded."""
DAILY: Final = "One deal per game and day, the same for everyone, with the results and an archive."
NO_TAGS: Final[Mapping[str, str]] = {}
VARY: Final = {"Vary": "Accept, Accept-Encoding, User-Agent"}
TERMINAL_CLIENTS: Final = ("curl/", "wget/", "httpie/", "xh/")
"""How the User-Agent of clients starts that show what they receive in a terminal, in lower case. Like the clients that
fetch a link's preview for a chat, most accept every type."""
SHELL: Final = ResponseSpec(
    media=(PAGE, TEXT),
    description="The page; text for curl, Wget and HTTPie, and for clients that prefer text or JSON to HTML.",
    headers={"Vary": "The form depends on Accept, Accept-Encoding and User-Agent."},
)
HERO: Final = """<div class="home"><section class="hero">
<h1>Race your friends at patience on the same shuffled deck</h1>
<p>Everyone gets the same cards at the same moment, and afterwards <a href="/verify">anyone can verify</a> who won.</p>
</section></div>"""
"""The beginning of the front page, as its module shows it."""
PLAYER_ID: Final = re.compile(r"[0-9a-f]{16}")
PROGRAM_PATHS: Final = ("/api", "/page/", "/.well-known/")
"""What only programs request."""
RACE_REFUSALS: Final = ("not-found", "unsupported-version", "withdrawn", "store-unavailable")


class Page:
    """The endpoints that people open in a browser."""

    def __init__(self, registry: Registry, settings: Settings, page_files: PageFiles) -> None:
        self._registry, self._settings, self._files = registry, settings, page_files
        url = settings.source_url
        self._source = f'<a href="{escape(url)}">Source code</a>' if url else ""

    @route("GET", "/", SHELL)
    async def front(self, request: Request) -> Response:
        """The front page."""
        text = "Race your friends at patience on the same shuffled deck, and prove who won."
        command = f"samedeal --server {self._base(request)} new corners --join"
        return self._respond(request, TITLE, text, f"{TITLE}: {text}\n\n{command}\n", content=HERO)

    @route("GET", "/r/{race}", SHELL, refuses=RACE_REFUSALS, html_refusals=True)
    @route("GET", "/w/{race}", SHELL, refuses=RACE_REFUSALS, html_refusals=True)
    @route("GET", "/o/{race}", SHELL, refuses=RACE_REFUSALS, html_refusals=True)
    @route("GET", "/replay/{race}", SHELL, refuses=RACE_REFUSALS, html_refusals=True)
    async def race(self, request: Request) -> Response:
        """The invitation to a race, with its state; for other clients, how to join it."""
        try:
            summary = await self._registry.summary(request.path_params["race"])
            invites = isinstance(summary, Listed) and summary.stage == "open" and summary.max_racers > 1
            host = await self._registry.host(summary.race) if invites else None
        except Refused as refused:
            return self._refused(request, refused)
        race_id, content = summary.race, ""
        title = GAMES[summary.game].title if summary.game in GAMES else summary.game
        if isinstance(summary, Listed):
            seats = f"{summary.racers} of {summary.max_racers} seats taken."
            description = f"{title}: race {race_id} is {summary.stage}, {seats}"
            if summary.stage == "open" and route_path(request.scope).startswith("/r/"):
                content = _invitation(summary, host.name if host else "", title, seats)
            if host:
                description = f"{host.name} invites you to {title}. {seats}"
        else:
            racers = ", ".join(standing.name for standing in summary.standings)
            description = f"{title}: race {race_id} is over" + (f", raced by {racers}." if racers else ".")
        commands = ("Replay:  samedeal replay", "Verify:  samedeal verify")
        if isinstance(summary, Listed) and summary.stage in LIVE_STAGES:
            commands = ("Join:   samedeal join", "Watch:  samedeal watch")
        link = f"{self._base(request)}/r/{race_id}"
        text = "\n".join([description, "", *(f"{command} {link}" for command in commands), ""])
        tags = {
            "og:url": link,
            "og:image": f"{self._base(request)}{V1}/races/{race_id}/card.png",
            "og:image:type": MEDIA["png"],
            "og:image:width": f"{card.WIDTH}",
            "og:image:height": f"{card.HEIGHT}",
            "og:image:alt": description,
            "twitter:card": "summary_large_image",
        }
        return self._respond(request, f"{title} · {race_id} · {TITLE}", description, text, tags, content)

    @route("GET", "/solution/{race}", SHELL, refuses=RACE_REFUSALS, html_refusals=True)
    async def solution(self, request: Request) -> Response:
        """A winning line of a finished race's deal, to step through."""
        try:
            summary = await self._registry.summary(request.path_params["race"])
        except Refused as refused:
            return self._refused(request, refused)
        description = f"Whether the deal of race {summary.race} could be won, and how."
        command = f"samedeal solve {self._base(request)}/r/{summary.race}\n"
        return self._respond(request, f"How to win {summary.race} · {TITLE}", description, command)

    @route(
        "GET",
        "/practice/{deal:path}",
        SHELL,
        refuses=("not-found", "bad-request"),
        html_refusals=True,
    )
    async def practice(self, request: Request) -> Response:
        """A deal to play alone, with hints, at any position. The moves are in the fragment."""
        try:
            game, seed, _ = deal_of(request)
        except Refused as refused:
            return self._refused(request, refused)
        title, description = f"Practise {game.title} · {TITLE}", "Play this deal alone, with hints and undo."
        command = f"samedeal --server {self._base(request)} practice {shlex.quote(f'{game.slug}:{seed}')}\n"
        return self._respond(request, title, description, command)

    @route("GET", "/rules", SHELL)
    async def all_rules(self, request: Request) -> Response:
        """The rules of the first game, with links to those of the others."""
        return self._respond(
            request, f"Rules · {TITLE}", "How the games are played and raced.", "samedeal rules GAME\n"
        )

    @route("GET", "/rules/{game}", SHELL, refuses=("not-found",), html_refusals=True)
    async def rules(self, request: Request) -> Response:
        """The rules of a game."""
        try:
            game = checked_game(request.path_params["game"])
        except Refused as refused:
            return self._refused(request, refused)
        title, description = f"Rules of {game.title} · {TITLE}", f"How {game.title} is played and raced."
        return self._respond(request, title, description, f"samedeal rules {game.slug}\n")

    @route("GET", "/p/{player}", SHELL, refuses=("not-found",), html_refusals=True)
    async def player(self, request: Request) -> Response:
        """The page of a player, which looks the same here whether or not the player exists."""
        player = request.path_params["player"]
        if not PLAYER_ID.fullmatch(player):
            return self._refused(request, Refused("not-found", "This is not the public ID of a player."))
        description = "Races, best results and daily streaks of a player, and the record between the two of you."
        return self._respond(request, f"Player · {TITLE}", description, f"samedeal versus {player}\n")

    @route("GET", "/daily", SHELL)
    async def today(self, request: Request) -> Response:
        """Today's deals of the day, with results."""
        return self._respond(request, f"Deals of the day · {TITLE}", DAILY, "samedeal daily\n")

    @route("GET", "/daily/{date}", SHELL, refuses=("bad-request",), html_refusals=True)
    async def day(self, request: Request) -> Response:
        """The deals of a day, with results."""
        try:
            date = day_of(request.path_params["date"]).date
        except Refused as refused:
            return self._refused(request, refused)
        return self._respond(request, f"Deals of {date} · {TITLE}", DAILY, f"samedeal daily --date {date}\n")

    @route("GET", "/fairness", SHELL)
    async def fairness(self, request: Request) -> Response:
        """What a race proves, and what it cannot prove."""
        text = "What a race proves, and what it cannot prove."
        return self._respond(request, f"Fairness · {TITLE}", text, "samedeal verify RACE\n")

    @route("GET", "/sw.js", ResponseSpec(media=(MEDIA_TYPES[".js"],)))
    async def service_worker(self, request: Request) -> Response:
        """The page's service worker, which caches the page's files for use without a connection."""
        return self._files.service_worker(request)

    @route("GET", "/verify", SHELL)
    async def verify(self, request: Request) -> Response:
        """The page that verifies a replay file in the browser, without uploading it."""
        title, description = f"Verify a replay · {TITLE}", "Your browser verifies the file. It is not uploaded."
        return self._respond(request, title, description, "samedeal verify FILE\n")

    def _respond(
        self,
        request: Request,
        title: str,
        description: str,
        text: str,
        tags: Mapping[str, str] = NO_TAGS,
        content: str | None = None,
    ) -> Response:
        """Return the page or the text, whichever the client wants.

        `tags` are more tags of the page by name. `content` is the HTML that it shows first; by default, the title and
        the description.
        """
        if _wants_page(request):
            return self._page(request, title, description, tags=tags, content=content)
        return PlainTextResponse(text, headers=VARY)

    @route("GET", "/login", SHELL)
    async def login(self, request: Request) -> Response:
        """The page that logs in a device. The code is in the fragment, and is used after a click."""
        description = "Play under your name on this device, too."
        return self._respond(
            request, f"Log in · {TITLE}", description, f"samedeal --server {self._base(request)} login\n"
        )

    def not_found(self, request: Request) -> Response:
        """Return the response for an unknown path: the page for browsers, a problem for programs."""
        refused = Refused("not-found", "Not found.")
        path, accept = route_path(request.scope), request.headers.get("accept", "")
        if path.startswith(PROGRAM_PATHS) or "text/html" not in accept or not _wants_page(request):
            return problem_response(refused)
        return self._page(request, f"Not found · {TITLE}", "This page does not exist.", refused.status)

    def _refused(self, request: Request, refused: Refused) -> Response:
        if not _wants_page(request):
            raise refused
        return self._page(request, TITLE, refused.text, refused.status)

    def _page(
        self,
        request: Request,
        title: str,
        description: str,
        status: int = 200,
        tags: Mapping[str, str] = NO_TAGS,
        content: str | None = None,
    ) -> Response:
        path = route_path(request.scope)
        shell = self._files.html(path).replace(SOURCE, self._source)
        subject = escape(title.removesuffix(f" · {TITLE}"))
        if content is None:
            content = f"<h1>{subject}</h1>\n<p>{escape(description)}</p>"
        else:
            game = subject.partition(" · ")[0]
            shell = shell.replace(FACTS, f'<span class="what">{game}</span>' if tags else "")
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
        if not accepts_gzip(request):
            return HTMLResponse(shell, status, headers=self._files.html_headers | VARY)
        zipped = gzip.compress(shell.encode(), compresslevel=6, mtime=0)
        return HTMLResponse(zipped, status, headers=self._files.html_headers | VARY | {"Content-Encoding": "gzip"})

    def _base(self, request: Request) -> str:
        return base_url(request, self._settings)


def _invitation(race: Listed, host: str, title: str, seats: str) -> str:
    """Return the beginning of the page of an open race, as its module shows it."""
    heading = f"<bdi>{escape(host)}</bdi> invites you to {escape(title)}" if host else escape(title)
    text = "Play alone, against the clock." if race.max_racers == 1 else f"Everyone gets the same cards. {seats}"
    return f'<div class="card-form"><h1>{heading}</h1>\n<p>{text}</p></div>'


def _wants_page(request: Request) -> bool:
    """Return whether a client gets the page, with its tags for previews, rather than text."""
    page = accepted_quality(request, "text/html")
    text = accepted_quality(request, "text/plain", "application/json")
    is_terminal = request.headers.get("user-agent", "").lower().startswith(TERMINAL_CLIENTS)
    return page > text if is_terminal else page >= text
