"""Reading: the texts that lie over a race when one asks for them, line by line and as wide as they may be."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from samedeal_cli.commands.invite import qr_lines
from samedeal_cli.render.canvas import BOLD, PLAIN, Style

GOOD: Final = Style("good", bold=True)
BAD: Final = Style("bad", bold=True)
FRAME: Final = 4
"""How many lines of a screen are not for the text: its heading and its keys."""

Keys = Sequence[tuple[str, str]]
"""Keys as they are written, and what they do."""
Lines = Sequence[tuple[str, Style]]


class Finding(NamedTuple):
    """One thing that a verification found."""

    name: str
    holds: bool
    text: str


def help_lines(width: int) -> Lines:
    """Every key there is."""
    lines: list[tuple[str, Style]] = []
    for title, keys in HELP.items():
        lines += [("", PLAIN)] if lines else []
        lines.append((title, BOLD))
        for key, does in keys:
            first, *others = wrap(does, width - 22) or [""]
            lines.append((f"  {key:<19} {first}", PLAIN))
            lines += [(f"{'':<22}{other}", PLAIN) for other in others]
    return lines


def rules_text(slug: str, width: int) -> Lines:
    """The rules of a game, if this program knows it."""
    from samedeal.games.catalogue import GAMES
    from samedeal_cli.commands.games import rules_lines

    if slug not in GAMES:
        return [("The rules of this game are not known to this program.", PLAIN)]
    return [(line, PLAIN) for line in rules_lines(slug, width)]


def link_lines(link: str, width: int, *, ascii: bool = False) -> Lines:  # noqa: A002 (the word for it)
    """The link, and as a code that a phone reads."""
    lines: list[tuple[str, Style]] = [(line, BOLD) for line in wrap(link, width)]
    return [*lines, *((line, PLAIN) for line in qr_lines(link, ascii=ascii))]


def findings_lines(findings: Sequence[Finding], width: int) -> Lines:
    """What a verification found, fact by fact."""
    return list(_found(findings, width))


def _found(findings: Sequence[Finding], width: int) -> Iterator[tuple[str, Style]]:
    for finding in findings:
        first, *others = wrap(finding.text, width - 16) or [""]
        yield f"{'✓' if finding.holds else '✗'} {finding.name:<12} {first}", GOOD if finding.holds else BAD
        yield from ((f"{'':<15}{other}", PLAIN) for other in others)


HELP: Final[dict[str, Keys]] = {
    "Playing": [
        ("a s d f g j k l …", "pick up the pile with that letter; then the letter of where it goes"),
        ("Shift and a letter", "send the card of that pile home"),
        ("Enter", "put down where it goes best; with the cursor, pick up or put down"),
        ("Space", "the stock: draw, deal or redeal"),
        ("u", "undo"),
        ("Esc, Backspace", "let go"),
        ("arrows", "move the cursor from pile to pile"),
        ("/", "type a move: Tab completes it, ↑ brings back what was typed before"),
        ("b", "begin the same deal again; asks"),
        ("!", "resign for good, or give up the seat before the race; asks"),
    ],
    "With the mouse": [
        ("click, click", "pick up, put down"),
        ("drag", "the same in one go"),
        ("double click", "send the card home"),
        ("right click", "put down where it goes best"),
    ],
    "Rivals and screen": [
        ("Tab, Shift+Tab", "look at the next racer, and at the table if it may be seen"),
        ("z", "hide the rivals, or show them"),
        ("4", "two colours for the suits, or four"),
        ("c", "other colours for the screen: terminal, dark, light, contrast"),
        ("x", "smaller or larger cards"),
    ],
    "Race": [
        ("r", "ready, or not after all"),
        ("y", "copy the link of the race"),
        ("Q", "the link as a QR code"),
        ("i", "the rules of the game"),
        ("n, v, f", "after the race: another one, its replay, what was checked"),
        ("q, Ctrl-C", "quit; your seat is reserved and the clock runs, before the countdown it is held briefly"),
    ],
}
"""Every key there is, as the help and the manual have it."""
