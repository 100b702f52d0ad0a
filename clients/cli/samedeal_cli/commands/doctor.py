"""The command ``doctor``: checks the installation, the terminal and the server."""

import locale
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module, metadata
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from samedeal.version import VERSION
from samedeal.wire.decoding import SUBPROTOCOLS
from samedeal_cli import config_file as config
from samedeal_cli.commands.output import show
from samedeal_cli.failure import Failure, Misused, Unreachable
from samedeal_cli.findings import Finding, Value
from samedeal_cli.local_server import check_installed
from samedeal_cli.net.http_api import Api, plain
from samedeal_cli.net.proxies import proxy_for, through
from samedeal_cli.render.phrases import counted
from samedeal_cli.render.text_width import cells
from samedeal_cli.settings import Settings, command, state_dir, state_path

SIGNS: Final = "♠♥♦♣█░▸"
"""The characters beyond ASCII that this program draws."""
CURSOR_S: Final = 0.5
"""Maximum wait for the terminal to report its cursor position."""
PINGS: Final = 5
REACHED: Final = "reached"
TIMEOUT_S: Final = 5.0
OF_ALL_PROGRAMS: Final = ("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL", "LC_CTYPE")
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]+)[^;]*(;.*?)?(?P<extra>extra == ['\"](?P<which>\w+)['\"])?$")


@command(
    "samedeal doctor",
    "samedeal doctor --json --server https://cards.example",
    "samedeal doctor --server-side --port 8640 --port 8641 --backups /var/backups/samedeal",
    checks=False,
)
@click.option("--server-side", is_flag=True, help="Check the installation of a server on this machine instead.")
@click.option(
    "--backups",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="With --server-side, the folder of its backups.",
)
@click.option(
    "--port",
    "ports",
    metavar="PORT",
    multiple=True,
    type=click.IntRange(1, 65535),
    help="With --server-side, a port on which a server must be running; can be repeated.",
)
def doctor(settings: Settings, server_side: bool, backups: Path | None, ports: tuple[int, ...]) -> int:
    """Check that everything works. The output contains no secrets: you can paste it into a bug report.

    Exits with 1 if there is a problem, and with 3 if the server set by a flag, the environment or the config file
    cannot be reached. With --server-side, checks the settings in the environment, the data directory, the store, the
    port and the public URL, as the server's user.
    """
    if (backups or ports) and not server_side:
        raise Misused(f"--{'backups' if backups else 'port'} needs --server-side")
    client = () if server_side else (*_paths(), *_terminal(settings), *_environment(), *_server(settings))
    findings = [*_program(), *client, *(_installation(backups, ports) if server_side else ())]
    wrong = [finding.wrong for finding in findings if finding.wrong]
    parts: dict[str, dict[str, Value]] = {}
    for finding in findings:
        part = parts.setdefault(finding.part.replace(" ", "_"), {})
        part[finding.name.replace(" ", "_")] = finding.value
    show(settings, parts | {"wrong": wrong}, _report(findings, wrong))
    if wrong:
        settings.say(f"samedeal: {counted(len(wrong), 'problem')} found")
    unreachable = any(finding.name == REACHED and finding.wrong for finding in findings)
    return Unreachable.exit_code if unreachable else int(bool(wrong))


def _report(findings: Sequence[Finding], wrong: Sequence[str]) -> Iterator[str]:
    """Format the findings by part, followed by the problems."""
    words: dict[Value, str] = {True: "yes", False: "no", None: "-"}
    for part, group in groupby(findings, lambda finding: finding.part):
        yield part
        for _, name, value, problem in group:
            text = words[value] if value is None or isinstance(value, bool) else value
            yield f"  {name:<16} {text}{'  <- problem' if problem else ''}"
    if wrong:
        yield "problems"
        yield from (f"  {text}" for text in wrong)


def _program() -> Iterator[Finding]:
    yield Finding("program", "samedeal", VERSION)
    yield Finding("program", "python", f"{platform.python_version()} ({platform.python_implementation()})")
    yield Finding("program", "system", f"{platform.system()} {platform.release()} {platform.machine()}")
    matches = map(_REQUIREMENT.match, metadata.requires("samedeal") or ())
    found = [match for match in matches if match and match["which"] in (None, "all")]
    libraries = {match["name"]: not match["extra"] for match in found}  # several extras can have the same one
    for name, needed in libraries.items():
        try:
            yield Finding("libraries", name, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding("libraries", name, None, f"{name} is not installed" if needed else "")


def _paths() -> Iterator[Finding]:
    file, (_, warnings) = config.config_file(), config.read()
    note = "" if file.exists() else " (missing)"
    yield Finding("paths", "config", f"{_without_home(file)}{note}", "; ".join(map(_without_home, warnings)))
    state, wanted = state_dir(), state_path()
    if state != wanted:
        yield Finding("paths", "state", None, f"{_without_home(wanted)} is not writable")
        return
    yield Finding("paths", "state", _without_home(state))
    receipts = state / "receipts"
    yield Finding("paths", "receipts", f"{_without_home(receipts)}{'' if receipts.is_dir() else ' (missing)'}")
    yield Finding("paths", "known players", len(list((state / "guests").glob("*.json"))))


def _installation(backups: Path | None, ports: Sequence[int]) -> list[Finding]:
    """Return what the server's package finds about an installation. Raises Failure if it cannot run."""
    check_installed(store="checked by the server's package")
    found: list[Finding] = import_module("samedeal_server.operate.doctor.installation").findings(backups, ports)
    return found


def _without_home(text: str | Path) -> str:
    """Replace the home directory, which contains the account name."""
    home = str(Path.home())
    return str(text).replace(home, "~") if len(home) > 1 else str(text)


def _terminal(settings: Settings) -> Iterator[Finding]:
    width, height = shutil.get_terminal_size()
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        yield Finding("terminal", name, "terminal" if stream.isatty() else "not a terminal")
    yield Finding("terminal", "size", f"{width}x{height}")
    yield Finding("terminal", "encoding", sys.stdout.encoding)
    yield Finding("terminal", "locale", locale.setlocale(locale.LC_CTYPE))
    yield Finding("terminal", "colours", _colours())
    yield Finding("terminal", "coloured", settings.colored)
    yield Finding("terminal", "only ASCII", settings.plain)
    yield _width(settings)


def _environment() -> Iterator[Finding]:
    for name in OF_ALL_PROGRAMS:
        if name in os.environ:
            yield Finding("environment", name, os.environ[name])
    _, wrong = config.environment_values()
    for name in sorted(os.environ):
        if name.startswith("SAMEDEAL_") or name == "REDIS_URL":
            yield Finding("environment", name, "is set", wrong.get(name, ""))  # the value may be secret


def _colours() -> int | None:
    """Return the number of colours of the terminal, or None if it is unknown."""
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return 1 << 24
    try:
        import curses

        curses.setupterm(os.environ.get("TERM") or "dumb", 1)
        return max(0, curses.tigetnum("colors"))
    except Exception:  # curses is missing or does not know the terminal
        return None


def _width(settings: Settings) -> Finding:
    """Check the width of suit symbols: draw them and query the cursor position."""
    name, wanted = "suit width", cells(SIGNS) // len(SIGNS)
    if settings.plain or settings.screen_reader or not sys.stdin.isatty() or os.environ.get("TERM") == "dumb":
        return Finding("terminal", name, "not checked")
    column = _column_after(SIGNS)
    if column is None:
        return Finding("terminal", name, "unknown: the terminal does not report its cursor")
    wide = column / len(SIGNS)
    wrong = "suit symbols are not one cell wide in this terminal: samedeal config set ascii on"
    return Finding("terminal", name, counted(wide, "cell"), "" if wide == wanted else wrong)


def _column_after(text: str) -> int | None:
    """Return the cursor's column, from 0, after writing a text at the start of a line. The line is cleared."""
    try:
        import termios
        import tty
        from select import select

        with open("/dev/tty", "r+b", buffering=0) as terminal:
            before = termios.tcgetattr(terminal)
            try:
                tty.setcbreak(terminal.fileno(), termios.TCSADRAIN)
                terminal.write(f"\r{text}\x1b[6n".encode())
                response, deadline = b"", time.monotonic() + CURSOR_S
                while select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    response += terminal.read(64) or b""
                    if match := re.search(rb"\x1b\[\d+;(\d+)R", response):
                        return int(match[1]) - 1
            finally:
                terminal.write(b"\r\x1b[K")
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    except (ImportError, OSError):
        pass
    return None


def _server(settings: Settings) -> Iterator[Finding]:
    api = Api(settings.address, timeout=TIMEOUT_S)
    yield Finding("server", "address", _without_user(api.server))
    if proxy := through(api.server):
        yield Finding("server", "proxy", proxy.removeprefix(" through the proxy "))
    wrong = _problem(api, "/healthz")
    down = isinstance(wrong, Unreachable)
    # A missing server is only a problem if the user has configured it.
    yield Finding("server", REACHED, not down, _without_user(f"{wrong}") if down and settings.server else "")
    if wrong:
        if not down:
            yield Finding("server", "healthy", False, _without_user(f"{wrong}"))
        return
    sent_at, info = time.time(), dict[str, Any]()
    with suppress(Failure):  # some servers do not publish it
        info = api.read(api.fetch("/.well-known/samedeal", base=""), dict[str, Any])
    midpoint = (sent_at + time.time()) / 2 * 1000
    if isinstance(version := info.get("server"), str):
        yield Finding("server", "program", version)
    if isinstance(now := info.get("time"), int):
        yield Finding("server", "clock ahead ms", round(now - midpoint))
    no_store = _problem(api, "/readyz")
    yield Finding("server", "ready", not no_store, f"{no_store or ''}")
    yield _round_trip(api.server)


def _problem(api: Api, path: str) -> Failure | None:
    """Return the failure of a request, if any."""
    try:
        api.download(path, base="")
    except Failure as failure:
        return failure
    return None


def _round_trip(address: str) -> Finding:
    """Measure the round-trip time of the WebSocket."""
    name = "round trip ms"
    try:
        with connect(
            f"ws{address.removeprefix('http')}/ws",
            subprotocols=[Subprotocol(protocol) for protocol in SUBPROTOCOLS],
            compression=None,
            open_timeout=TIMEOUT_S,
            close_timeout=TIMEOUT_S,
            proxy=proxy_for(address),
        ) as socket:
            trips = []
            for _ in range(PINGS):
                start = time.perf_counter()
                if not socket.ping().wait(TIMEOUT_S):
                    return Finding("server", name, None, "no response to a ping")
                trips.append((time.perf_counter() - start) * 1000)
            return Finding("server", name, round(median(trips), 1))
    except (OSError, WebSocketException) as error:
        return Finding("server", name, None, f"cannot open a WebSocket (is there a proxy in between?): {plain(error)}")


def _without_user(text: str) -> str:
    """Remove user names and passwords from URLs."""
    return re.sub(r"//[^/@\s]*@", "//", text)
