"""Settings: what holds for every command, from flags and the environment."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from samedeal_cli.addresses import DEFAULT_SERVER, server_address
from samedeal_cli.failure import Failure


@dataclass(frozen=True)
class Settings:
    """The global options of one call; a command gets it with ``click.pass_obj``."""

    server: str = ""
    """As given, or empty; ``address`` is the one to use."""
    json: bool = False
    ascii: bool = False
    color: str = "auto"
    quiet: bool = False

    @property
    def address(self) -> str:
        """The server's address: the one given, a demo that runs on this machine, or the default."""
        return self.server or _demo_address() or DEFAULT_SERVER

    @property
    def colored(self) -> bool:
        """Whether standard output is to be coloured."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR", "") not in ("", "0"):
            return True
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

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
    server = click.Option(
        ["--server"], metavar="URL", envvar="SAMEDEAL_SERVER", show_envvar=True, help="The server to talk to."
    )
    options = [
        server,
        click.Option(["--json"], is_flag=True, default=None, help="Write JSON, for programs."),
        click.Option(["--ascii"], is_flag=True, default=None, help="Write nothing but ASCII."),
        click.Option(
            ["--color"], type=click.Choice(["auto", "always", "never"]), help="Colour the cards.  [default: auto]"
        ),
        click.Option(["-q", "--quiet"], is_flag=True, default=None, help="Say only what was asked for."),
    ]
    for option in options:
        option.expose_value = False
        option.callback = _kept(option.name or "")
    return options


def _kept(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        settings = context.obj if isinstance(context.obj, Settings) else Settings()
        if value is not None:
            # The environment was heard before the command's name; after it, only a flag says more.
            if name == "server":
                source = context.get_parameter_source(name)
                if context.parent is not None and source is click.core.ParameterSource.ENVIRONMENT:
                    return
                value = server_address(value)
            settings = replace(settings, **{name: value})
        context.obj = settings

    return keep


def _demo_address() -> str | None:
    """The address of a demo that runs on this machine and answers."""
    import json

    try:
        address = server_address(json.loads(demo_file().read_text())["url"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Failure):
        return None
    from samedeal_cli.api import Api

    return address if Api(address, timeout=0.5).answers() else None
