"""The texts that cover a race on request: help, rules, link and verification checks."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from samedeal_cli.commands.invite import qr_lines
from samedeal_cli.render.canvas import BOLD, PLAIN, Style
from samedeal_cli.state.race_state import Check, RaceState

GOOD: Final = Style("good", bold=True)
BAD: Final = Style("bad", bold=True)
FRAME: Final = 4
"""The number of lines taken by the heading and the footer."""

Keys = Sequence[tuple[str, str]]
"""The labels of keys, and what they do."""
Lines = Sequence[tuple[str, Style]]


def overlay_lines(state: RaceState, width: int) -> Lines:
    """Return the lines of the overlay on a screen of this width."""
    match state.overlay:
        case "help":
            return help_lines(width - 2)
        case "rules":
            return rules_text(state.game.slug if state.game else "", width - 2)
        case "link":
            return link_lines(state.link, width - 2, ascii=state.ascii)
        case "checks":
            return list(_check_lines(state.checks, width - 2))
        case _:
            return []


def help_lines(width: int) -> Lines:
    """Return the help: all keys."""
    lines: list[tuple[str, Style]] = []
    for title, keys in HELP.items():
        lines += [("", PLAIN)] if lines else []
        lines.append((title, BOLD))
        for key, description in keys:
            first, *others = wrap(description, width - 22) or [""]
            lines.append((f"  {key:<19} {first}", PLAIN))
            lines += [(f"{'':<22}{other}", PLAIN) for other in others]
    return lines


def rules_text(slug: str, width: int) -> Lines:
    """Return the rules of a game."""
    from samedeal.games.catalogue import GAMES
    from samedeal_cli.commands.games import rules_lines

    if slug not in GAMES:
        return [("This version does not include the rules of this game.", PLAIN)]
    return [(line, PLAIN) for line in rules_lines(slug, width)]


def link_lines(link: str, width: int, *, ascii: bool = False) -> Lines:  # noqa: A002
    """Return the link, and its QR code."""
    lines: list[tuple[str, Style]] = [(line, BOLD) for line in wrap(link, width)]
    return [*lines, *((line, PLAIN) for line in qr_lines(link, ascii=ascii))]


def _check_lines(checks: Sequence[Check], width: int) -> Iterator[tuple[str, Style]]:
    for check in checks:
        first, *others = wrap(check.text, width - 16) or [""]
        yield f"{'✓' if check.holds else '✗'} {check.name:<12} {first}", GOOD if check.holds else BAD
        yield from ((f"{'':<15}{other}", PLAIN) for other in others)


HELP: Final[dict[str, Keys]] = {
    "Playing": [
        ("a s d f g j k l …", "pick up the pile with that letter; then press the letter of its target"),
        ("Shift and a letter", "send the card of that pile home"),
        ("Enter", "drop the card on the best pile; with the cursor, pick up or drop"),
        ("Space", "use the stock: draw, deal or redeal"),
        ("u", "undo"),
        ("Esc, Backspace", "cancel the selection"),
        ("arrows", "move the cursor"),
        ("/", "type a move: Tab completes it, ↑ recalls previous input"),
        ("b", "restart the deal (asks first)"),
        ("!", "resign, or give up your seat before the race (asks first)"),
    ],
    "Mouse": [
        ("click, click", "pick up, drop"),
        ("drag", "pick up and drop"),
        ("double click", "send the card home"),
        ("right click", "drop the card on the best pile"),
    ],
    "Rivals and screen": [
        ("Tab, Shift+Tab", "watch the next racer, and their table if it is visible"),
        ("z", "hide or show your rivals"),
        ("4", "two or four suit colours"),
        ("c", "change the theme: terminal, dark, light, contrast"),
        ("x", "change the cards: automatic, compact, boxed"),
    ],
    "Race": [
        ("r", "ready, or not ready"),
        ("y", "copy the link of the race"),
        ("Q", "show the link as a QR code"),
        ("i", "show the rules of the game"),
        ("n, v, f", "after the race: create another one, watch the replay, show the checks"),
        ("q, Ctrl-C", "quit; your seat is reserved and the clock keeps running (in the lobby, it is held briefly)"),
    ],
}
"""All keys, as the help shows them."""
