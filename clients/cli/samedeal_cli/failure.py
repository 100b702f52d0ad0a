"""Failures: error messages and exit codes."""

import sys
from typing import Any, Final

import click

from samedeal_cli.sanitise import safe_text

EXIT_CODES: Final[dict[int, str]] = {
    0: "success",
    1: "unexpected error",
    2: "invalid command line",
    3: "server unreachable",
    4: "refused by the server; standard error has the reason and, unless it is a terminal, its code",
    5: "replay verification failed",
    130: "interrupted",
    141: "output closed by its reader",
    143: "terminated",
}
"""The exit codes. They are stable."""
TOO_LATE: Final = ("untimely", "race-full")
"""The codes with which the server refuses a seat in a race that can still be watched."""
INTERRUPTED, READER_GONE, TERMINATED = 130, 141, 143


class Failure(click.ClickException):
    """Ends a command with an error message, usually of one line, and an exit code."""

    exit_code = 1
    code = ""
    """The code of the server's problem, if it refused a request. Only scripts are shown it."""

    def show(self, file: Any = None) -> None:
        text = safe_text(self.format_message(), "\n").removesuffix(".")
        code = f" ({self.code})" if self.code and not sys.stderr.isatty() else ""
        click.echo(f"samedeal: {text}{code}", file=file, err=file is None)


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra of this program."""
    return f"pip install 'samedeal[{extra}]' (with pipx: pipx inject samedeal 'samedeal[{extra}]')"


def warn(what: str, error: OSError) -> None:
    """Report an error on standard error that does not end the command."""
    click.echo(f"samedeal: {what}: {error.strerror or error}", err=True)


class Misused(Failure):
    """The command line is invalid."""

    exit_code = 2


class Unreachable(Failure):
    """The server cannot be reached."""

    exit_code = 3

    def __init__(self, server: str, why: object, through: str = "") -> None:
        super().__init__(f"{server} cannot be reached{through}: {why}")


class NotRunning(Unreachable):
    """No server is running on this machine."""

    def __init__(self, server: str) -> None:
        text = f"no server is running at {server}: start one with samedeal serve, or try samedeal demo"
        Failure.__init__(self, text)


class BadAnswer(Unreachable):
    """The server sent an invalid response."""

    def __init__(self, server: str, why: str) -> None:
        Failure.__init__(self, f"{server} sent an invalid response: {why}")


class Declined(Failure):
    """The server refused a request. `code` is the code of the problem."""

    exit_code = 4

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text.rstrip("."))
        self.code, self.text = code, text


class NameRefused(Declined):
    """The server refused the name of a new guest; `why` is its reason."""

    def __init__(self, name: str, why: str) -> None:
        text = f"the name {name} was refused: {why.rstrip('.')}; use --as NAME for another one"
        super().__init__("name-refused", text)


class Unverified(Failure):
    """A replay failed verification."""

    exit_code = 5
