"""Settings and options common to all commands."""

import os
import shutil
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Annotated, Any, Final, Literal, get_args

import click

from samedeal_cli.addresses import DEFAULT_SERVER, server_address
from samedeal_cli.failure import Failure, Misused

Color = Literal["auto", "always", "never"]
Suits = Literal["four", "two"]
Theme = Literal["terminal", "dark", "light", "contrast"]
Cards = Literal["auto", "compact", "boxed"]


INVALID: Final = "samedeal_cli.invalid"
"""Where a context's ``meta`` has what is wrong with a variable of the environment, if anything."""
_TEMPORARY: Final[dict[Path, TemporaryDirectory[str]]] = {}
"""The directories that replace state directories that cannot be written."""


@dataclass(frozen=True)
class Settings:
    """The settings of one call, passed with ``click.pass_obj``. Precedence: flag, environment, config file, default.

    Fields with a description are keys of the configuration file.
    """

    server: Annotated[str, "the server to use"] = ""
    """As given, or empty. Use ``address`` instead."""
    name: Annotated[str, "your name on servers where you have none yet, or several"] = ""
    """Empty for the account name."""
    color: Annotated[Color, "colour the cards"] = "auto"
    """As given. Use ``colored`` instead."""
    suits: Annotated[Suits, "number of suit colours: one per suit, or black and red"] = "four"
    theme: Annotated[Theme, "full-screen colours"] = "terminal"
    ascii: Annotated[bool, "write ASCII only"] = False
    """As given. Use ``plain``, which also considers the terminal's encoding."""
    cards: Annotated[Cards, "card size on the full screen"] = "auto"
    mouse: Annotated[bool, "use the mouse"] = True
    animation: Annotated[bool, "animate the full screen"] = True
    auto_drop: Annotated[bool, "play a clicked card that has only one destination"] = True
    reactions: Annotated[bool, "show the racers' reactions"] = True
    clock: Annotated[bool, "show the clock of a running race on the full screen"] = True
    screen_reader: Annotated[bool, "plain sentences instead of drawings, and no full screen"] = False
    json: bool = False
    quiet: bool = False

    @property
    def address(self) -> str:
        """The address of the given server, of a demo running on this machine, or of the default server."""
        return self.server or _demo_address() or DEFAULT_SERVER

    @property
    def colored(self) -> bool:
        """Whether to use colours on standard output."""
        if self.color != "auto":
            return self.color == "always"
        return (color_from_environment() or ("always" if sys.stdout.isatty() else "never")) == "always"

    @property
    def plain(self) -> bool:
        """Whether to write ASCII only: on request, or because the output's encoding has no suit symbols."""
        if self.ascii:
            return True
        try:
            "♠♥♦♣█░".encode(sys.stdout.encoding or "ascii")
        except UnicodeEncodeError:
            return True
        return False

    def say(self, text: str) -> None:
        """Write a notice to standard error, except with ``-q``."""
        if not self.quiet:
            click.echo(text, err=True)


def color_from_environment() -> Color | None:
    """Return the setting of variables such as NO_COLOR that many programs use; None if there is none."""
    if os.environ.get("NO_COLOR"):
        return "never"
    if forced := os.environ.get("FORCE_COLOR"):
        return "never" if forced == "0" else "always"
    return "never" if os.environ.get("TERM") == "dumb" else None


def program() -> str:
    """Return the command to run this program: its name if it is on the PATH, otherwise its path."""
    if shutil.which("samedeal"):
        return "samedeal"
    path = Path(sys.executable).with_name("samedeal")
    if not path.exists():
        return f"{sys.executable} -m samedeal_cli.main"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file of the state directory in one step, readable only by its owner. Raises OSError."""
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:  # with mode 0600
        file.write(data)
    os.replace(file.name, path)


def state_dir() -> Path:
    """Return the state directory. Creates it if it is missing, readable only by its owner.

    If it cannot be written, a temporary one with the same names replaces it until this program ends.
    """
    path = state_path()
    if path in _TEMPORARY:
        return Path(_TEMPORARY[path].name)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(path, os.W_OK | os.X_OK):
            return path
        why = "Permission denied"
    except OSError as error:
        why = error.strerror or f"{error}"
    _TEMPORARY[path] = TemporaryDirectory(prefix="samedeal-")
    with suppress(OSError, shutil.Error):
        shutil.copytree(path / "guests", Path(_TEMPORARY[path].name) / "guests")
    click.echo(f"samedeal: {path}: {why}; names, seats and receipts are lost when this command ends", err=True)
    return Path(_TEMPORARY[path].name)


def state_path() -> Path:
    """Return where the state directory is, or should be."""
    import platformdirs

    return platformdirs.user_state_path("samedeal")


def demo_file() -> Path:
    """The file in which a running demo publishes its address: a JSON object with ``url``."""
    return state_dir() / "demo.json"


def check_environment(context: click.Context) -> None:
    """Raises Misused if a variable such as ``SAMEDEAL_COLOR`` was invalid when the program started."""
    if problem := context.meta.get(INVALID):
        raise Misused(problem)


def command(
    *examples: str, instead_of_json: str = "", checks: bool = True
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function of the settings and the parameters a command.

    Its help ends with the examples. A command without JSON output says what to use `instead_of_json`. Without `checks`,
    it runs even if a variable of the environment is invalid.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.command(epilog="\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples))
        @click.pass_obj
        @wraps(function)
        def call(settings: Settings, /, **parameters: Any) -> Any:
            context = click.get_current_context()
            if checks:
                check_environment(context)
            if settings.json and instead_of_json:
                raise Misused(f"{context.info_name} has no JSON output; {instead_of_json}")
            return function(settings, **parameters)

        return call

    return decorate


def global_options(hidden: Collection[str] = ()) -> list[click.Option]:
    """Return the options that all commands accept, before or after their name. Some are `hidden` from the help."""
    options = [
        # Eager, because other parameters may ask the server.
        click.Option(["--server"], metavar="URL", is_eager=True, help="The server to use.  [env: SAMEDEAL_SERVER]"),
        click.Option(["--json"], is_flag=True, default=None, help="Write JSON."),
        click.Option(["--ascii/--no-ascii"], default=None, help="Write ASCII only."),
        click.Option(["--color"], type=click.Choice(get_args(Color)), help="Colour the cards.  [default: auto]"),
        click.Option(
            ["--screen-reader/--no-screen-reader"], default=None, help="Write plain sentences for a screen reader."
        ),
        click.Option(["--mouse/--no-mouse"], default=None, hidden=True),
        click.Option(["--animation/--no-animation"], default=None, hidden=True),
        click.Option(["-q", "--quiet"], is_flag=True, default=None, help="Print only the requested output."),
    ]
    for option in options:
        option.expose_value, option.callback = False, _set_option
        option.hidden = option.hidden or option.name in hidden
    return options


def _set_option(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None:
        change: dict[str, Any] = {f"{option.name}": server_address(value) if option.name == "server" else value}
        context.obj = replace(context.obj or Settings(), **change)


def _demo_address() -> str | None:
    """Return the address of a demo that is running on this machine, if any."""
    import json

    try:
        address = server_address(json.loads(demo_file().read_text())["url"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Failure):
        return None
    from http.client import HTTPException
    from urllib.request import ProxyHandler, build_opener

    with suppress(OSError, HTTPException), build_opener(ProxyHandler({})).open(f"{address}/healthz", timeout=5):
        return address
    return None  # a dead one refuses at once
