"""Output of commands: lines of text, tables, JSON documents, links and files."""

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from samedeal_cli.addresses import is_local
from samedeal_cli.failure import Misused
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.transcript import in_ascii
from samedeal_cli.sanitise import print_file
from samedeal_cli.settings import Settings

WIDE: Final = 74
"""Minimum terminal width for tables. On narrower terminals, each cell gets its own line."""
_AMOUNT: Final = re.compile(r"(\d[\d.:]*[ a-z%]*)?")

qr_option = click.option("--qr", is_flag=True, help="Also show the link as a QR code.")


def print_line(settings: Settings, line: str) -> None:
    """Print a line, in ASCII if the settings say so."""
    click.echo(in_ascii(line) if settings.plain else line, color=settings.colored)


def show(settings: Settings, document: object, lines: Iterable[str]) -> None:
    """Print a document with --json, otherwise the lines. Bytes are printed as they are."""
    if settings.json:
        click.echo(document if isinstance(document, bytes) else msgspec.json.encode(document))
    else:
        for line in lines:
            print_line(settings, line)


def table_lines(rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> list[str]:
    """Align the cells of rows of equal length. Columns of amounts, such as ``2 wins``, are aligned to the right.

    The headings are left out if there are no rows, or no room for columns.
    """
    table = list(rows)
    if shutil.get_terminal_size().columns < WIDE:
        return [line for head, *facts in table for line in (head.strip(), *(f"  {fact}" for fact in facts if fact))]
    columns = list(zip(*table, strict=True))
    right = [all(map(_AMOUNT.fullmatch, column)) for column in columns]
    table[:0] = [headings] if headings and table else []
    widths = [max(map(cells, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(_aligned, row, right, widths)).rstrip() for row in table]


def _aligned(cell: str, right: bool, width: int) -> str:
    blank = " " * (width - cells(cell))
    return blank + cell if right else cell + blank


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


def explain_link(settings: Settings, link: str, others: str, *, qr: bool) -> None:
    """Say if only this machine can open a link. `others` is what else it would be for. With `qr`, draw it."""
    if is_local(link):
        settings.say(f"Only this machine can open that link; {others}, use samedeal serve --lan")
    if qr:
        click.echo("\n".join(qr_lines(link, ascii=settings.plain, color=settings.colored)), err=True)
