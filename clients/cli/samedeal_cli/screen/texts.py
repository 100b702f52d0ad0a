"""The texts that dialogs show over a race: help, rules, link, verification checks and the evening's scores."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header
from samedeal.share.phrases import clock, played_for_score
from samedeal.wire.documents import GameDescription
from samedeal_cli.addresses import is_local
from samedeal_cli.render.canvas import BOLD, PLAIN, Style
from samedeal_cli.render.phrases import bot_mark, counted, game_scores, personal_phrases, title_of, versus_phrase
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.state.actions import help_rows
from samedeal_cli.state.race_actions import PLAYING, SECTIONS
from samedeal_cli.state.race_commands import Text
from samedeal_cli.state.race_state import Check, RaceState

SPECTATORS: Final = {
    "progress": "see scores only",
    "after": "see nothing until the end",
    "open": "see all tables",
}
GOOD: Final = Style("good", bold=True)
BAD: Final = Style("bad", bold=True)

Lines = Sequence[tuple[str, Style]]
MOUSE: Final = (
    ("click, click", "pick up, drop"),
    ("drag", "pick up and drop"),
    ("double click", "send the card home"),
    ("right click", "drop the card on the best pile"),
)
OTHERS: Final = (
    "Everywhere",
    (("^P", "find and run any command that works now"), ("^Z", "suspend; fg returns"), ("^C", "quit")),
)
PILES: Final = (
    ("letters, digits", "each pile has the key beside it: pick it up, then press the key of its target"),
    ("the same again", "send the picked card home, or put it down"),
    ("arrows", "move the cursor"),
)


def text_lines(state: RaceState, text: Text, width: int) -> Lines:
    """Return the lines of a text, wrapped to a width."""
    match text:
        case "help":
            left_out = "" if state.game and state.game.stock else "space"
            sections = list[tuple[str, Sequence[tuple[str, str]]]]()
            for title, _, actions in sorted(SECTIONS, key=lambda section: not section[1](state)):
                keys = help_rows(action for action in actions if action.keys != left_out)
                sections.append((title, [*PILES, *keys] if actions is PLAYING else keys))
                sections += [("Mouse", MOUSE)] if actions is PLAYING else []
            return help_lines([*sections, OTHERS], width)
        case "rules":
            from samedeal_cli.render.rules import rules_lines

            slug = state.game.slug if state.game else ""
            unknown = ["This version does not include the rules of this game."]
            return [(line, PLAIN) for line in (rules_lines(slug, width) if slug in GAMES else unknown)]
        case "link":
            limit = "Only this machine can open it; for others, use samedeal serve --lan." * is_local(state.link)
            code = qr_lines(state.link, ascii=state.ascii)
            if len(code) > state.height - 3:  # without the frame and the footer
                code = ["Make the window taller to see the QR code."]
            link = [(line, BOLD) for line in wrap(state.link, width)]
            return [*((line, PLAIN) for line in code), *link, *((line, PLAIN) for line in wrap(limit, width))]
        case "options":
            header, game = state.header, state.game
            rows = settings_of_race(header, game) if header and game else ()
            return [(line, PLAIN) for name, value in rows for line in _wrapped(f"{name:<11} ", value, width)]
        case "checks":
            return list(_check_lines(state.checks, width))
        case "evening":
            return [(part, style) for line, style in _score_lines(state) for part in wrap(line, width) or [""]]


def settings_of_race(header: Header, game: GameDescription) -> Iterator[tuple[str, str]]:
    """Yield the settings of a race and their values."""
    options = header.options
    if options.best_of > 1:
        yield "match", f"best of {options.best_of}"
    minutes = options.limit_ms / 60_000
    yield "time limit", f"{minutes:g} min" if minutes.is_integer() else clock(options.limit_ms, tenths=False)
    yield "ranking", f"solving time, then {'score' if played_for_score(game.slug) else 'cards'}"
    yield "undo", "until a card is revealed" if options.undo else "off"
    yield "attempts", f"at most {options.attempts}" if options.attempts else "unlimited"
    yield "spectators", SPECTATORS[options.spectators]
    secret = "fair shuffle" if options.filter == "any" else f"fair shuffle, {options.filter.partition('/')[0]}"
    common = "deal of the day" if header.daily else "deal of a challenge" if header.heat else secret
    yield "shuffle", common if header.seed is None else "from a known seed"
    if options.end_when_stuck:
        yield "early end", "10 s after everyone is stuck"
    if header.head_start:
        yield "head start", f"{header.head_start.ms / 1000:g} s"
    for name, value in header.variant.items():
        yield name, value if isinstance(value, str) else "on" if value else "off"
    yield "countdown", f"{options.start_delay_ms / 1000:g} s"
    sha256 = " ".join(header.commitment[at : at + 16] for at in range(0, 64, 16))
    yield "commitment", f"sha256 {sha256}" if header.seed is None else f"{header.game}:{header.seed}"


def help_lines(sections: Iterable[tuple[str, Iterable[tuple[str, str]]]], width: int) -> Lines:
    """Return the lines of a help: each section's title, keys and what they do."""
    lines: list[tuple[str, Style]] = []
    for title, keys in sections:
        lines += [("", PLAIN)] if lines else []
        lines.append((title, BOLD))
        for key, description in keys:
            lines += [(line, PLAIN) for line in _wrapped(f"  {key:<17} ", description, width)]
    return lines


def _check_lines(checks: Sequence[Check], width: int) -> Iterator[tuple[str, Style]]:
    for check in checks:
        first, *others = _wrapped(f"{'✓' if check.holds else '✗'} {check.name:<12} ", check.text, width)
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
            yield f"{title_of(game.game)}: {', '.join(game_scores(game))}", PLAIN


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """Wrap a text beside a label."""
    first, *others = wrap(text, width - len(label)) or [""]
    return [label + first, *(" " * len(label) + other for other in others)]
