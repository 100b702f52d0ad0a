"""The texts that cover a race on request: help, rules, link and verification checks."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from samedeal.games.catalogue import GAMES
from samedeal_cli.commands.invite import qr_lines
from samedeal_cli.render.canvas import BOLD, PLAIN, Style
from samedeal_cli.render.phrases import bot_mark, counted, game_scores_phrase, personal_phrases, versus_phrase
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
            return list(_score_lines(state))
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


def _score_lines(state: RaceState) -> Iterator[tuple[str, Style]]:
    """Yield the scores of the evening, your records against the other racers, and your own scores."""
    yield "This evening", BOLD
    rows = state.evening.table if state.evening else ()
    for row in rows:
        races = f"{counted(row.races, 'race')}, {row.wins} won"
        yield f"{row.place:>2}. {row.name}{bot_mark(row.bot)}: {counted(row.points, 'point')}, {races}", PLAIN
    if not rows:
        yield "No race with several racers is over yet.", PLAIN
    if state.records:
        yield from (("", PLAIN), ("You against the other racers", BOLD))
        yield from ((versus_phrase(record, "You"), PLAIN) for record in state.records)
    if scores := state.scores:
        yield from (("", PLAIN), ("You", BOLD))
        yield from ((text, PLAIN) for text in personal_phrases(scores))
        for game in scores.games:
            yield f"{GAMES[game.game].title if game.game in GAMES else game.game}: {game_scores_phrase(game)}", PLAIN


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """Wrap a text beside a label."""
    first, *others = wrap(text, width - len(label)) or [""]
    return [label + first, *(" " * len(label) + other for other in others)]


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
        ("!", "resign or finish, or give up your seat before the race (asks first)"),
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
        ("b", "in the lobby: add a server bot, the next one"),
        ("1, 2, 3", "in the lobby: add the beginner, the regular bot, the expert"),
        ("s, d", "in the lobby, as the host: start with those who are ready; remove a player"),
        ("e", "in the lobby and after the race: show the scores of the evening, and your own"),
        ("m", "send a reaction, or hide reactions; then press a number"),
        ("y", "copy the link of the race"),
        ("Q", "show the link as a QR code"),
        ("i", "show the rules of the game"),
        ("n", "after the race: ask for a rematch, or join it"),
        ("N", "the same, and be ready at once"),
        ("g", "ask for a rematch with another game"),
        ("h", "after the race: race on the same deal against its racers' ghosts"),
        ("v, f, s", "after the race: watch the replay, show the checks, copy the result to share it"),
        ("q, Ctrl-C", "quit; your seat is reserved and the clock keeps running (in the lobby, it is held briefly)"),
    ],
}
"""All keys, as the help shows them."""
