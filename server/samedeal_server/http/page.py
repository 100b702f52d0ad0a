"""The page: the web client's files, and the addresses that people open, each with a title of its own."""

import gzip
from hashlib import sha256
from html import escape
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal_server.access.network import base_of
from samedeal_server.http.endpoint import Answer, at
from samedeal_server.http.responses import PAGE, TEXT, has
from samedeal_server.races.live_races import LIVE_STAGES, Listed
from samedeal_server.races.registry import Registry, checked_game
from samedeal_server.settings import Settings

TITLE: Final = "Same Deal"
POLICY: Final = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
"""What the page may load: nothing but what this server has, and no inline script or style."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def folder() -> Path:
    """Where the files are: inside the installed package, or beside the server in a checkout."""
    installed = Path(str(files("samedeal_server"))) / "page"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "clients" / "web"


SHELL: Final = Answer(media=(PAGE, TEXT), told="Browsers get the page, all others a text.")
RACE_REFUSALS: Final = ("not-found", "unsupported-version", "store-unavailable")


class Page:
    """The endpoints that people open, over a registry."""

    def __init__(self, registry: Registry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings
        self._shell = (folder() / "index.html").read_text(encoding="utf-8")

    @at("GET", "/", SHELL)
    async def front(self, request: Request) -> Response:
        """The front page."""
        text = "Race your friends at patience on the same shuffled deck, and prove afterwards who won."
        if _is_browser(request):
            return self._page(TITLE, text)
        return PlainTextResponse(f"{TITLE}: {text}\n\nsamedeal --server {self._base(request)} new corners --join\n")

    @at("GET", "/r/{race}", SHELL, refuses=RACE_REFUSALS, pages=True)
    @at("GET", "/w/{race}", SHELL, refuses=RACE_REFUSALS, pages=True)
    @at("GET", "/replay/{race}", SHELL, refuses=RACE_REFUSALS, pages=True)
    async def race(self, request: Request) -> Response:
        """A race's invitation: for browsers the page, which also tells what is wrong; else how to join by hand."""
        try:
            race = await self._registry.summary(request.path_params["race"])
        except Refused as refused:
            return self._refused(request, refused)
        title = GAMES[race.game].title if race.game in GAMES else race.game
        if isinstance(race, Listed):
            told = f"{title}: race {race.race} is {race.stage}, {race.racers} of {race.max_racers} seats are taken."
        else:
            racers = ", ".join(standing.name for standing in race.standings)
            told = f"{title}: race {race.race} is over" + (f", raced by {racers}." if racers else ".")
        if _is_browser(request):
            return self._page(f"{title} · {race.race} · {TITLE}", told)
        link = f"{self._base(request)}/r/{race.race}"
        ways = ("Look at it:   samedeal replay", "Check it:     samedeal verify")
        if isinstance(race, Listed) and race.stage in LIVE_STAGES:
            ways = ("Take a seat:  samedeal join", "Look on:      samedeal watch")
        return PlainTextResponse("\n".join([told, "", *(f"{way} {link}" for way in ways), ""]))

    @at("GET", "/rules/{game}", SHELL, refuses=("not-found",), pages=True)
    async def rules(self, request: Request) -> Response:
        """The rules of a game."""
        try:
            game = checked_game(request.path_params["game"])
        except Refused as refused:
            return self._refused(request, refused)
        if _is_browser(request):
            return self._page(f"Rules of {game.title} · {TITLE}", f"How {game.title} is played and raced.")
        return PlainTextResponse(f"samedeal rules {game.slug}\n")

    def _refused(self, request: Request, refused: Refused) -> Response:
        if not _is_browser(request):
            raise refused
        return self._page(TITLE, refused.text, refused.status)

    def _page(self, title: str, description: str, status: int = 200) -> Response:
        shell = self._shell.replace(f"<title>{TITLE}</title>", f"<title>{escape(title)}</title>")
        shell = shell.replace(
            f'property="og:title" content="{TITLE}"', f'property="og:title" content="{escape(title)}"'
        )
        for name in ('name="description"', 'property="og:description"'):
            before, _, rest = shell.partition(f'{name} content="')
            shell = f'{before}{name} content="{escape(description)}"{rest.partition(chr(34))[2]}'
        return HTMLResponse(shell, status, headers=HEADERS | {"Vary": "Accept"})

    def _base(self, request: Request) -> str:
        return base_of(request, self._settings)


class _File(NamedTuple):
    """A file of the page, as it is and compressed."""

    body: bytes
    zipped: bytes
    media: str
    tag: str


class _Files:
    """The files of a folder, kept in memory: serving one takes 0.01 ms, where compressing it each time took 1.4 ms.

    Browsers ask for them each time: a new version of the server is a new version of the page.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {str(path.relative_to(folder)): _read(path) for path in folder.rglob("*") if path.is_file()}

    async def answer(self, request: Request) -> Response:
        """The file that the address names. Raises Refused("not-found")."""
        if (file := self._files.get(request.path_params["file"])) is None:
            raise Refused("not-found", "There is nothing at this address.")
        headers = HEADERS | {"ETag": f"W/{file.tag}", "Vary": "Accept-Encoding"}
        if has(request, file.tag):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(file.zipped, headers=headers | {"Content-Encoding": "gzip"}, media_type=file.media)
        return Response(file.body, headers=headers, media_type=file.media)


def _read(path: Path) -> _File:
    body = path.read_bytes()
    media = guess_type(path.name)[0] or "text/plain"
    return _File(body, gzip.compress(body, mtime=0), media, f'"{sha256(body).hexdigest()[:32]}"')


def files_of_page() -> Mount:
    """The files that the page is made of."""
    return Mount("/page", routes=[Route("/{file:path}", _Files(folder()).answer)])


def _is_browser(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")
