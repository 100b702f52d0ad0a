"""The command ``doctor``: what is here, what of it works, and a text about it for whoever is asked for help."""

import locale
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import click
import msgspec
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from samedeal.wire.codec import SUBPROTOCOLS
from samedeal_cli import config
from samedeal_cli.failure import Declined, Failure, Unreachable
from samedeal_cli.net.addresses import is_local
from samedeal_cli.net.http_api import Api, plain
from samedeal_cli.render.text_width import cells
from samedeal_cli.settings import Settings, examples, state_dir

SIGNS: Final = "♠♥♦♣█░▸"
"""What is drawn beyond ASCII."""
CURSOR_S: Final = 0.5
"""How long a terminal may take to say where its cursor is."""
PINGS: Final = 5
REACHED: Final = "reached"
TIMEOUT_S: Final = 5.0
OF_ALL_PROGRAMS: Final = ("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL", "LC_CTYPE")
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]+)[^;]*(;.*?)?(?P<extra>extra == ['\"](?P<which>\w+)['\"])?$")

Value = str | float | bool | None


class Finding(NamedTuple):
    """One thing that was looked at."""

    part: str
    name: str
    value: Value
    wrong: str = ""
    """What is wrong with it, if something is."""


@click.command(epilog=examples("samedeal doctor", "samedeal doctor --json --server https://cards.example"))
@click.pass_obj
def doctor(settings: Settings) -> int:
    """Look whether everything works here: for yourself, or to put into a bug report.

    There is no secret in it. Exits with 1 if something is wrong, and with 3 if a server was named, here, in the
    environment or in the configuration, that cannot be reached.
    """
    findings = [*_program(), *_paths(), *_terminal(settings), *_environment(), *_server(settings)]
    wrong = [finding.wrong for finding in findings if finding.wrong]
    if settings.json:
        parts: dict[str, dict[str, Value]] = {}
        for finding in findings:
            parts.setdefault(finding.part, {})[finding.name.replace(" ", "_")] = finding.value
        click.echo(msgspec.json.encode(parts | {"wrong": wrong}))
    else:
        click.echo("\n".join(report(findings)))
    if wrong:
        settings.say(f"samedeal: {len(wrong)} {'thing is' if len(wrong) == 1 else 'things are'} wrong")
    unreachable = any(finding.name == REACHED and finding.wrong for finding in findings)
    return Unreachable.exit_code if unreachable else int(bool(wrong))


def report(findings: Sequence[Finding]) -> Iterator[str]:
    """The findings for people, part by part, and at the end what is wrong."""
    part = ""
    for finding in findings:
        if finding.part != part:
            part = finding.part
            yield part
        yield f"  {finding.name:<16} {_shown(finding.value)}{'  <- wrong' if finding.wrong else ''}"
    if wrong := [finding.wrong for finding in findings if finding.wrong]:
        yield "wrong"
        yield from (f"  {text}" for text in wrong)


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


# What is here.


def _program() -> Iterator[Finding]:
    yield Finding("program", "samedeal", metadata.version("samedeal"))
    yield Finding("program", "python", f"{platform.python_version()} ({platform.python_implementation()})")
    yield Finding("program", "system", f"{platform.system()} {platform.release()} {platform.machine()}")
    for requirement in metadata.requires("samedeal") or ():
        found = _REQUIREMENT.match(requirement)
        if not found or found["which"] == "dev":
            continue
        name, needed = found["name"], not found["extra"]
        try:
            yield Finding("libraries", name, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding("libraries", name, None, f"{name} is not installed" if needed else "")


def _paths() -> Iterator[Finding]:
    file, (_, complaints) = config.config_file(), config.read()
    there = "" if file.exists() else " (not there)"
    yield Finding("paths", "config", f"{_from_home(file)}{there}", "; ".join(map(_without_home, complaints)))
    try:
        state = state_dir()
        writable = os.access(state, os.W_OK | os.X_OK)
        wrong = "" if writable else f"{_from_home(state)} cannot be written to"
    except OSError as error:
        yield Finding("paths", "state", None, f"{_without_home(str(error.filename))}: {error.strerror}")
        return
    yield Finding("paths", "state", _from_home(state), wrong)
    receipts = state / "receipts"
    yield Finding("paths", "receipts", f"{_from_home(receipts)}{'' if receipts.is_dir() else ' (not there)'}")
    yield Finding("paths", "guests", len(list((state / "guests").glob("*.json"))))


def _from_home(path: Path) -> str:
    return _without_home(str(path))


def _without_home(text: str) -> str:
    """A text that does not tell the name of the account."""
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text


# The terminal.


def _terminal(settings: Settings) -> Iterator[Finding]:
    width, height = shutil.get_terminal_size()
    yield Finding("terminal", "input", "terminal" if sys.stdin.isatty() else "no terminal")
    yield Finding("terminal", "output", "terminal" if sys.stdout.isatty() else "no terminal")
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
    for name in sorted(os.environ):
        if name.startswith("SAMEDEAL_") or name == "REDIS_URL":
            yield Finding("environment", name, "is set")  # to what may be a secret


def _colours() -> int | None:
    """How many colours the terminal has, as far as it says."""
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return 1 << 24
    try:
        import curses

        curses.setupterm(os.environ.get("TERM") or "dumb", 1)
        return max(0, curses.tigetnum("colors"))
    except Exception:  # there is no such library, or it does not know this terminal
        return None


def _width(settings: Settings) -> Finding:
    """Whether what is drawn is as wide as we think: it is drawn, and the terminal asked where its cursor is then."""
    name, wanted = "suits take", cells(SIGNS) // len(SIGNS)
    if settings.plain or settings.screen_reader or not sys.stdin.isatty() or os.environ.get("TERM") == "dumb":
        return Finding("terminal", name, "not looked at")
    column = _column_after(SIGNS)
    if column is None:
        return Finding("terminal", name, "the terminal does not say")
    wide = column / len(SIGNS)
    wrong = "" if wide == wanted else "the suits are not one cell wide here: samedeal config set ascii on"
    return Finding("terminal", name, f"{wide:g} cell{'' if wide == 1 else 's'}", wrong)


def _column_after(text: str) -> int | None:
    """In which column, from 0, the cursor is after a text at the beginning of a line, which is wiped then."""
    try:
        import termios
        import tty
        from select import select

        with open("/dev/tty", "r+b", buffering=0) as terminal:
            before = termios.tcgetattr(terminal)
            try:
                tty.setcbreak(terminal.fileno(), termios.TCSADRAIN)
                terminal.write(f"\r{text}\x1b[6n".encode())
                answer, until = b"", time.monotonic() + CURSOR_S
                while select([terminal], [], [], max(0.0, until - time.monotonic()))[0]:
                    answer += terminal.read(64) or b""
                    if found := re.search(rb"\x1b\[\d+;(\d+)R", answer):
                        return int(found[1]) - 1
            finally:
                terminal.write(b"\r\x1b[K")
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    except (ImportError, OSError):
        pass
    return None


# The server.


def _server(settings: Settings) -> Iterator[Finding]:
    address = settings.address
    api = Api(address, timeout=TIMEOUT_S)
    yield Finding("server", "address", _without_user(address))
    try:
        api.download("/healthz", base="")
    except Unreachable as failure:
        # That no server runs on this machine is wrong only if there should be one.
        yield Finding("server", REACHED, False, _without_user(failure.format_message()) if settings.server else "")
        return
    except Declined as declined:
        yield Finding("server", REACHED, True)
        yield Finding("server", "healthy", False, _without_user(declined.format_message()))
        return
    yield Finding("server", REACHED, True)
    yield from _told(api)
    yield _ready(api)
    yield _round_trip(address)


def _told(api: Api) -> Iterator[Finding]:
    """What the server tells of itself: its program, and how far its clock is ahead of ours. Not every server does."""
    asked = time.time()
    try:
        told = api.read(api.fetch("/.well-known/samedeal", base=""), dict[str, Any])
    except Failure:
        return
    between = (asked + time.time()) / 2 * 1000
    if isinstance(its_program := told.get("server"), str):
        yield Finding("server", "program", its_program)
    if isinstance(now := told.get("time"), int):
        yield Finding("server", "clock ahead ms", round(now - between))


def _ready(api: Api) -> Finding:
    """Whether it has its store."""
    try:
        api.download("/readyz", base="")
    except Failure as failure:
        return Finding("server", "ready", False, failure.format_message())
    return Finding("server", "ready", True)


def _round_trip(address: str) -> Finding:
    """How long a message takes to the server and back, over the socket that races are played on."""
    name = "round trip ms"
    try:
        with connect(
            f"ws{address.removeprefix('http')}/ws",
            subprotocols=[Subprotocol(protocol) for protocol in SUBPROTOCOLS],
            compression=None,
            open_timeout=TIMEOUT_S,
            close_timeout=TIMEOUT_S,
            proxy=None if is_local(address) else True,
        ) as socket:
            trips = []
            for _ in range(PINGS):
                start = time.perf_counter()
                if not socket.ping().wait(TIMEOUT_S):
                    return Finding("server", name, None, "the socket does not answer")
                trips.append((time.perf_counter() - start) * 1000)
            return Finding("server", name, round(median(trips), 1))
    except (OSError, WebSocketException) as error:
        return Finding("server", name, None, f"no socket can be opened, is a proxy between? {plain(error)}")


def _without_user(text: str) -> str:
    """A text whose addresses have no name and no password in them."""
    return re.sub(r"//[^/@\s]*@", "//", text)
