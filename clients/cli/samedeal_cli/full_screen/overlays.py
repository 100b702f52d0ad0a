"""The texts that cover a race on request: help, rules, link and verification checks."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from samedeal.games.catalogue import GAMES
from samedeal_cli.commands.invite import qr_lines
from samedeal_cli.render.canvas import BOLD, PLAIN, Style
from samedeal_cli.render.phrases import points
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
            return _help_lines(width - 2)
        case "rules":
            return [(line, PLAIN) for line in _rules(state.game.slug if state.game else "", width - 2)]
        case "link":
            qr_code = qr_lines(state.link, ascii=state.ascii)
            return [*((line, BOLD) for line in wrap(state.link, width - 2)), *((line, PLAIN) for line in qr_code)]
        case "checks":
            return list(_check_lines(state.checks, width - 2))
        case "evening":
            return [(line, PLAIN) for line in _evening_lines(state)]
        case "games":
            return [(f"{number}  {game.title}", BOLD) for number, game in enumerate(GAMES.values(), start=1)]
        case _:
            return []


def _help_lines(width: int) -> Lines:
    lines: list[tuple[str, Style]] = []
    for title, keys in HELP.items():
        lines += [("", PLAIN)] if lines else []
        lines.append((title, BOLD))
        for key, description in keys:
            lines += [(line, PLAIN) for line in _wrapped(f"  {key:<19} ", description, width)]
    return lines


def _rules(slug: str, width: int) -> Iterable[str]:
    from samedeal_cli.commands.games import rules_lines

    if slug not in GAMES:
        return ["This version does not include the rules of this game."]
    return rules_lines(slug, width)


def _check_lines(checks: Sequence[Check], width: int) -> Iterator[tuple[str, Style]]:
    for check in checks:
        first, *others = _wrapped(f"{'✓' if check.holds else '✗'} {check.name:<12} ", check.text, width - 1)
        yield first, GOOD if check.holds else BAD
        yield from ((other, PLAIN) for other in others)


def _evening_lines(state: RaceState) -> Iterator[str]:
    if not state.evening or not state.evening.table:
        yield "No race is over yet."
        return
    for row in state.evening.table:
        races = f"{row.races} race{'' if row.races == 1 else 's'}, {row.wins} won"
        score = f"{points(row.points)} point{'' if row.points == 1 else 's'}"
        yield f"{row.place:>2}. {row.name}{' (bot)' if row.bot else ''}: {score}, {races}"


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """Wrap a text beside a label."""
    first, *others = wrap(text, width - len(label)) or [""]
    return [label + first, *(" " * len(label) + other for other in others)]


HELP: Final[dict[str, Keys]] = {
    "Playing": [
        ("letters, digits", "each pile has the key beside its name: pick it up, then press the key of its target"),
        ("the same again", "send the picked card home, or put it down"),
        ("Enter", "drop the card on the best pile; with the cursor, pick up or drop"),
        ("Space", "use the stock: draw, deal or redeal"),
        ("Backspace", "undo; with a card picked, put it down"),
        ("Esc", "put the card down"),
        ("arrows", "move the cursor"),
        ("/", "type a move: Tab completes it, ↑ recalls previous input"),
        ("Ctrl-R", "restart the deal (asks first)"),
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
        ("Ctrl-B", "hide or show your rivals"),
        ("Ctrl-O", "two or four suit colours"),
        ("Ctrl-T", "change the theme: terminal, dark, light, contrast"),
        ("Ctrl-K", "change the cards: automatic, compact, boxed"),
    ],
    "Race": [
        ("r", "ready, or not ready"),
        ("b", "in the lobby: add a server bot, the next one"),
        ("1, 2, 3", "in the lobby: add the beginner, the regular bot, the expert"),
        ("s, d", "in the lobby, as the host: start with those who are ready; remove a player"),
        ("e", "in the lobby and after the race: show the scores of the evening"),
        ("Ctrl-E", "send a reaction, or hide reactions; then press a number"),
        ("y", "outside the game: copy the link of the race"),
        ("Ctrl-L", "show the link as a QR code; then y copies it"),
        ("Ctrl-G", "show the rules of the game"),
        ("n", "after the race: ask for a rematch, or join it"),
        ("N", "the same, and be ready at once"),
        ("g", "ask for a rematch with another game"),
        ("v, f, s", "after the race: watch the replay, show the checks, copy the result to share it"),
        (
            "Ctrl-Q, Ctrl-C",
            "quit; your seat is reserved and the clock keeps running (in the lobby, it is held briefly)",
        ),
    ],
}
"""All keys, as the help shows them."""
