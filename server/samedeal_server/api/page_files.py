"""The files of the web page: its modules, styles and icons, and the service worker that caches them."""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from json import dumps
from mimetypes import guess_type
from pathlib import Path
from posixpath import dirname, normpath
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from samedeal.errors import Refused
from samedeal_server.net.request_log import ENDPOINT
from samedeal_server.net.responses import accepts_gzip, if_none_match_matches

NOT_EMBEDDABLE: Final = "frame-ancestors 'none'"
POLICY: Final = f"default-src 'self'; base-uri 'none'; form-action 'self'; {NOT_EMBEDDABLE}; object-src 'none'"
"""The page loads from this server only. It has no inline scripts, and no inline styles but its own stylesheet."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
IMMUTABLE: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
VERIFIER: Final = "verify"
"""The directory below the page's with the modules that verify replays in the browser."""
NODE_PROGRAMS: Final = (
    "verify.mjs",
    "play.mjs",
    "table.mjs",
    "challenge.mjs",
    "club.mjs",
    "scores.mjs",
    "printing.mjs",
)
"""The modules next to them that the page does not use."""
SERVICE_WORKER: Final = "sw.js"
ALL_FILES: Final = "all.json"
"""The file with the version, and the media types and contents of all files except pictures, for the service worker."""
STYLESHEET: Final = '<link rel="stylesheet" href="/page/style.css">'
MEDIA_TYPES: Final = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".webmanifest": "application/manifest+json",
}
"""Media types that differ between versions of Python and between systems."""
_VERSION = re.compile(r"[0-9a-f]{16}/")
_ROUTE = re.compile(r'^  \[/\^\\/(\w*).*loadModule\("\./(.+?)"\)', re.MULTILINE)
"""The first part of a path, and the module of its page, in main.js."""
_IMPORT = re.compile(r'^(?:import|export|\}) .*"(\.{1,2}/.+)";$', re.MULTILINE)


def page_dir() -> Path:
    """Return the directory of the page: in the installed package, or next to the server in a checkout."""
    installed = Path(str(files("samedeal_server"))) / "page"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "clients" / "web"


def verifier_dir() -> Path:
    """Return the directory of the second verifier, which is part of an installed page."""
    installed = page_dir() / VERIFIER
    return installed if installed.is_dir() else Path(__file__).parents[3] / "examples" / "verify"


def page_paths() -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each file of the page."""
    page, verifier = page_dir(), verifier_dir()
    for path in page.rglob("*"):
        if path.is_file() and verifier not in path.parents:
            yield path.relative_to(page).as_posix(), path
    for path in verifier.rglob("*.mjs"):
        if path.name not in NODE_PROGRAMS:
            yield f"{VERIFIER}/{path.relative_to(verifier).as_posix()}", path


class _File(NamedTuple):
    """A file of the page, plain and compressed."""

    body: bytes
    gzipped: bytes
    media: str
    etag: str


class PageFiles:
    """The page's files in memory: serving a precompressed one takes 0.01 ms instead of 1.4 ms."""

    def __init__(self) -> None:
        bodies = {name: path.read_bytes() for name, path in sorted(page_paths())}
        digest = sha256()
        for name, body in bodies.items():
            digest.update(f"{name} {len(body)}\n".encode() + body)
        self.version = digest.hexdigest()[:16]
        """Identifies the content of all files. Browsers cache the files of a version forever."""
        self.root = f"/page/{self.version}/"
        cached = [name for name in bodies if name not in ("index.html", SERVICE_WORKER) and not name.endswith(".png")]
        texts = {name: (_media(name), bodies[name].decode()) for name in cached}
        bodies[ALL_FILES] = dumps({"version": self.version, "files": texts}).encode()
        bodies[SERVICE_WORKER] = f'self.SHELL = {{ version: "{self.version}" }};\n'.encode() + bodies[SERVICE_WORKER]
        self._files = {name: _load(name, body) for name, body in bodies.items()}
        style = b64encode(sha256(f"\n{self._text('style.css')}".encode()).digest()).decode()
        self.html_headers = HEADERS | {"Content-Security-Policy": f"{POLICY}; style-src 'self' 'sha256-{style}'"}
        """The headers of HTML that contains the stylesheet."""
        routes = {match[1]: match[2] for match in _ROUTE.finditer(self._text("main.js"))}
        self._html = {first: self._with_preloads("main.js", module) for first, module in routes.items()}
        self._html["w"] = self._with_preloads("main.js", routes["w"], "play.js")
        self._html["unknown"] = self._with_preloads("main.js")

    def route(self) -> Mount:
        """Return the route of the files and of the current version.

        Files without a version, or with another one, are revalidated each time: an open page of another version can
        still load its other modules, and two servers with different versions can serve the same page.
        """

        async def serve(request: Request) -> Response:
            request.scope[ENDPOINT] = "GET /page/{file}"
            requested: str = request.path_params["file"]
            return self._respond(request, _VERSION.sub("", requested, count=1), requested.startswith(self.version))

        async def version(request: Request) -> Response:
            return PlainTextResponse(self.version, headers=HEADERS)

        return Mount("/page", routes=[Route("/version", version), Route("/{file:path}", serve)])

    def is_current(self, path: str) -> bool:
        """Return whether a path is that of a file of the current version."""
        return path.startswith(self.root) and path[len(self.root) :] in self._files

    def service_worker(self, request: Request) -> Response:
        """Return the service worker. Its scope is all of the site, so it is not among the other files."""
        return self._respond(request, SERVICE_WORKER)

    def html(self, path: str) -> str:
        """Return the HTML for the path of a URL.

        It preloads the modules that this page loads first, and contains the stylesheet, so that a phone shows text one
        round trip earlier.
        """
        return self._html.get(path.removeprefix("/").partition("/")[0], self._html["unknown"])

    def _with_preloads(self, *modules: str) -> str:
        names = dict.fromkeys(name for module in modules for name in (module, *self._imports(module)))
        links = "".join(f'    <link rel="modulepreload" fetchpriority="low" href="/page/{name}">\n' for name in names)
        shell = self._text("index.html").replace("  </head>", f"{links}  </head>")
        shell = shell.replace(STYLESHEET, f"<style>\n{self._text('style.css')}</style>")
        return shell.replace('="/page/', f'="{self.root}')

    def _imports(self, module: str) -> list[str]:
        """Return the modules that a module imports statically, directly or not."""
        found = {module: None}
        for name in (order := [module]):
            for match in _IMPORT.finditer(self._text(name)):
                imported = normpath(f"{dirname(name)}/{match[1]}".removeprefix("/"))
                if imported not in found:
                    found[imported] = None
                    order.append(imported)
        return order[1:]

    def _text(self, name: str) -> str:
        return self._files[name].body.decode()

    def _respond(self, request: Request, name: str, immutable: bool = False) -> Response:
        if (file := self._files.get(name)) is None:
            raise Refused("not-found", "Not found.")
        headers = HEADERS | {"ETag": f"W/{file.etag}", "Vary": "Accept-Encoding"} | (IMMUTABLE if immutable else {})
        if if_none_match_matches(request, file.etag):
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request):
            return Response(file.gzipped, headers=headers | {"Content-Encoding": "gzip"}, media_type=file.media)
        return Response(file.body, headers=headers, media_type=file.media)


def _load(name: str, body: bytes) -> _File:
    return _File(body, gzip.compress(body, mtime=0), _media(name), f'"{sha256(body).hexdigest()[:32]}"')


def _media(name: str) -> str:
    return MEDIA_TYPES.get(Path(name).suffix) or guess_type(name)[0] or "text/plain"
