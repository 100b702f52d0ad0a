"""Output of commands: lines of text and files."""

from pathlib import Path

import click

from samedeal_cli.failure import Misused
from samedeal_cli.net.sanitise import print_file
from samedeal_cli.render.transcript import in_ascii
from samedeal_cli.settings import Settings


def print_line(settings: Settings, line: str) -> None:
    """Print a line, in ASCII if the settings say so."""
    click.echo(in_ascii(line) if settings.plain else line, color=settings.colored)


def write_file(path: Path, data: bytes) -> None:
    """Write a file. Raises Misused."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise Misused(f"{path}: {error.strerror}") from error


def write_output(settings: Settings, path: Path | None, data: bytes) -> None:
    """Write data to a file or, without one, to standard output. Raises Misused."""
    if path is None:
        print_file(data)
        return
    write_file(path, data)
    settings.say(f"{path}: {len(data)} bytes")
