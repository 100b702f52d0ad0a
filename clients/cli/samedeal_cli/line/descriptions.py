"""How line mode describes cards, tables and standings: as a picture or in words."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Final, Literal

from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved, duration
from samedeal.wire.documents import GameDescription
from samedeal.wire.messages import Board
from samedeal_cli.render import phrases
from samedeal_cli.render.standings import standings_lines
from samedeal_cli.render.table_view import board_lines
from samedeal_cli.render.text_table import WIRE_CARD, advice, card_text, facts
from samedeal_cli.settings import Settings, program

Boards = Literal["picture", "words", "none"]
"""How line mode shows tables."""
HELP: Final = {
    "undo": "take back a move",
    "board": "show the table",
    "restart": "start this deal again",
    "legal": "list the legal moves",
    "resign": "stop for good, or finish",
    "standings": "show the standings",
    "ready": "be ready",
    "clock": "show the time left",
    "unready": "be not ready",
    "start": "as host, start with those ready",
    "remove ada": "as host, remove ada",
    "p 6h": "find the six of hearts",
    "quit": "leave; you can rejoin",
    "last": "repeat the last event",
    "rules": "show the rules",
    "scan l": "list piles l1, l2, ...",
    "react wow": "send a reaction",
    "bot": "before the race, add a bot",
    "bot expert": "or beginner, regular",
    "?": "show this help",
}
TWO_COLUMNS: Final = 70
"""Minimum terminal width for help in two columns."""


class Descriptions:
    """Describes the tables of one game."""

    def __init__(self, game: GameDescription, settings: Settings, *, boards: Boards, width: int) -> None:
        self._game, self._pictures = game, boards == "picture"
        self._settings, self._width, self._ascii = settings, width, settings.plain
        self._places = [place for place in game.layout.split() if place != "."]

    def card(self, card: str) -> str:
        return card_text(card, ascii=self._ascii) if self._pictures else phrases.card_name(card)

    def table(self, board: Board) -> Iterable[str]:
        if self._pictures:
            lines = board_lines(self._game, board, self._settings, self._width)
        else:
            piles = (self._pile(board, place) for place in self._places)
            lines = [*dict.fromkeys((*piles, self.progress(board), *facts(board)))]
        return filter(None, [*lines, self.advice(board)])

    def advice(self, board: Board) -> str:
        """What the racer can do, or why the attempt ended."""
        return advice(board, self.card)

    def standings(self, standings: tuple[Standing, ...], seat: int | None, levels: Mapping[int, str]) -> Iterable[str]:
        if not self._pictures:
            return phrases.standing_sentences(standings, self._game.slug, levels)
        return standings_lines(
            phrases.with_unique_names(standings),
            game=self._game.slug,
            seat=seat,
            levels=levels,
            width=self._width,
            ascii=self._ascii,
        )

    def piles(self, board: Board, prefix: str) -> Iterator[str]:
        """The piles whose names start with a prefix, each from bottom to top."""
        places = [place for place in self._places if prefix and place.startswith(prefix)]
        for place in places:
            yield self._pile(board, place)
        if not places:
            kinds = dict.fromkeys(place.rstrip("0123456789") for place in self._places)
            yield f"which piles? Type scan and one of: {', '.join(kinds)}"

    def progress(self, board: Board) -> str:
        """How many cards are home, or the score."""
        return achieved(self._game.slug, board.home, self._game.goal, board.outcome)

    def _pile(self, board: Board, place: str) -> str:
        """A pile or, if it is empty, which card belongs there and whether a move can fill it now."""
        rank = self._game.labels.get(place)
        reserved = f", for {'an' if rank in ('A', '8') else 'a'} {phrases.RANKS.get(rank, rank)}" if rank else ""
        fills = any(move.endswith(place) for move in board.moves or ())
        return phrases.pile_sentence(place, board.table[place], f"{reserved}{', accepts a card now' if fills else ''}")

    def help(self, example: str, commands: Mapping[str, str] = HELP) -> Iterator[str]:
        """The help text. `example` is a move."""
        yield f"type a move such as {example} to play it; rules explains the moves"
        items = [f"{word:<11}{meaning}" for word, meaning in commands.items()]
        if self._width < TWO_COLUMNS:
            yield from items
        else:
            pairs = zip_longest(items[::2], items[1::2], fillvalue="")
            yield from (f"{left:<36}{right}".rstrip() for left, right in pairs)


def find_card(board: Board | None, text: str, no_table: str) -> str:
    """Describe where a card lies. `no_table` is the answer without a board."""
    card = text.upper().replace("10", "T")
    if not text:
        return "which card? For example, p 6h finds the six of hearts"
    if not WIRE_CARD.fullmatch(card):
        return f"{text!r} is not a valid card (try 6h, 10s or qd)"
    if not board:
        return no_table
    positions = [
        f"{place}, {'on top' if above == 0 else f'under {above}'}"
        for place, pile in board.table.items()
        for above, other in enumerate(reversed(pile))
        if other == card
    ]
    return f"{phrases.card_name(card)}: {'; '.join(positions) or 'not visible'}"


def outcome_phrase(board: Board, standing: Standing | None, stop: str = "resign") -> str:
    """Describe the outcome of the player's game, and how to continue. `stop` is the command that stops for good."""
    match board.outcome:
        case "won":
            return f"you solved the deal{f' in {duration(standing.ms)}' if standing else ''}"
        case "playing":
            return "you are playing again"
        case _:
            ways = [way for way, possible in (("undo", board.undo), ("restart", board.restart)) if possible]
            return f"this attempt is over: {', '.join([*ways, stop]) if ways else 'you are done'}"


def next_commands(link: str, *, challenge: str, sealed: bool, deal: str | None, has_seat: bool) -> Iterator[str]:
    """Yield what to do after a race; `sealed` if the replay is not available yet. `challenge` is a link, or empty."""
    then = " then" if sealed else ""
    yield f"To watch the replay{then}: {program()} replay {link}"
    yield f"To verify it{then}: {program()} verify {link}"
    if deal:
        yield f"To compare with the computer: {program()} par {link}"
    if challenge:
        yield f"To see the challenge: {program()} challenge {challenge}"
    elif has_seat:
        yield f"For a rematch: {program()} again {link}"
