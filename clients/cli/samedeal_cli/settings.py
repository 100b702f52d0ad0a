"""Settings: what holds for every command, and the options that say so."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import click

from samedeal_cli.failure import Failure
from samedeal_cli.net.addresses import DEFAULT_SERVER, server_address

Color = Literal["auto", "always", "never"]
Suits = Literal["four", "two"]
Theme = Literal["terminal", "dark", "light", "contrast"]
Cards = Literal["auto", "compact", "boxed"]


@dataclass(frozen=True)
class Settings:
    """What holds for one call; a command gets it with ``click.pass_obj``. A flag says it, else the environment, else
    the configuration, else the default here.
    """

    server: str = ""
    """As given, or empty; ``address`` is the one to use."""
    json: bool = False
    quiet: bool = False
    name: str = ""
    """Who to be without ``--as``; empty for the name of the account."""
    ascii: bool = False
    """Whether to write nothing but ASCII; ``plain`` knows of the terminal's encoding too."""
    color: Color = "auto"
    """``colored`` says what that means here."""
    suits: Suits = "four"
    """How many colours the suits have: one each, or black and red."""
    theme: Theme = "terminal"
    """The colours of the full screen."""
    cards: Cards = "auto"
    """How large the cards of the full screen are."""
    mouse: bool = True
    """Whether the full screen listens to the mouse."""
    animation: bool = True
    """Whether anything moves on the full screen that need not."""
    auto_drop: bool = True
    """Whether a card that was picked and can go to one place only goes there at once."""
    screen_reader: bool = False
    """Whether somebody listens: lines of words, never a full screen, and nothing written anew."""

    @property
    def address(self) -> str:
        """The server's address: the one given, a demo that runs on this machine, or the default."""
        return self.server or _demo_address() or DEFAULT_SERVER

    @property
    def colored(self) -> bool:
        """Whether standard output is to be coloured."""
        if self.color != "auto":
            return self.color == "always"
        return (color_from_environment() or ("always" if sys.stdout.isatty() else "never")) == "always"

    @property
    def plain(self) -> bool:
        """Whether only ASCII is to be written: because it was asked for, or the terminal's encoding has no suits."""
        if self.ascii:
            return True
        try:
            "♠♥♦♣█░".encode(sys.stdout.encoding or "ascii")
        except UnicodeEncodeError:
            return True
        return False

    def say(self, text: str) -> None:
        """Chatter: on standard error, and not at all with ``-q``."""
        if not self.quiet:
            click.echo(text, err=True)


def color_from_environment() -> Color | None:
    """What the variables say that all programs hear; None if nothing."""
    if os.environ.get("NO_COLOR"):
        return "never"
    if os.environ.get("FORCE_COLOR", "") not in ("", "0"):
        return "always"
    return "never" if os.environ.get("TERM") == "dumb" else None


def program() -> str:
    """How this program is called from here: by its name if the shell finds it, otherwise by its path."""
    if shutil.which("samedeal"):
        return "samedeal"
    path = Path(sys.executable).with_name("samedeal")
    if not path.exists():
        return f"{sys.executable} -m samedeal_cli.main"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def state_dir() -> Path:
    """Where this program keeps what it has to remember; made when needed, for its owner alone."""
    import platformdirs

    path = platformdirs.user_state_path("samedeal")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def demo_file() -> Path:
    """Where a running demo says where it is: a JSON object with ``url``."""
    return state_dir() / "demo.json"


def examples(*lines: str) -> str:
    """The end of a command's help: lines as one would type them."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def global_options() -> list[click.Option]:
    """The options that every command takes, before or after its name."""
    options = [
        # Heard first, as it says who knows the rest.
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
        option.expose_value = False
        option.callback = _kept(option.name or "")
    return options


def _kept(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if value is not None:
            said: dict[str, Any] = {name: server_address(value) if name == "server" else value}
            context.obj = replace(context.obj if isinstance(context.obj, Settings) else Settings(), **said)

    return keep


def _demo_address() -> str | None:
    """The address of a demo that runs on this machine and answers."""
    import json

    try:
        address = server_address(json.loads(demo_file().read_text())["url"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Failure):
        return None
    from samedeal_cli.net.http_api import Api

    return address if Api(address, timeout=0.5).answers() else None
