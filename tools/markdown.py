"""Markdown for generated pages: tables, and text between the marks of a page."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

END = "<!-- to here -->"
"""The mark after generated text. Each text has its own mark before it."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def put_between(page: Path, text: str, begin: str) -> None:
    """Replace the text between a mark and END in a page. Raises ValueError if the page lacks either."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{page} has no place between {begin} and {END}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{END}{after}", encoding="utf-8")
