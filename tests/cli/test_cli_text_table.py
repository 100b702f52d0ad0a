"""Tables and standings as text: every game, compared with the pictures in tests/screens/tables.txt.

After an intended change, run ``make generate`` to update the pictures.
"""

import re
import sys
from pathlib import Path

import pytest
from msgspec import structs

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.standings import Standing
from samedeal.wire.documents import GameDescription
from samedeal.wire.messages import Board, Guidance
from samedeal_cli.render.phrases import with_unique_names
from samedeal_cli.render.standings import standings_lines
from samedeal_cli.render.table_view import board_lines
from samedeal_cli.render.text_table import advice, facts
from samedeal_cli.render.text_width import cells
from samedeal_cli.settings import Settings

SCREENS = Path(__file__).parents[1] / "screens"
TABLES = SCREENS / "tables.txt"
HINT = "after an intended change, run `make generate` and review the diff"
STEPS = (0, 12, 45)
ANSI = re.compile(r"\x1b\[[\d;]+m")


def shown(game: Game) -> Board:
    """Return a position as the server sends it to its owner."""
    return Board(table=game.view(), notes=game.notes, outcome=game.outcome, home=game.home, attempt=1, ply=0)


def after(slug: str, steps: int, seed: str = "42") -> Game:
    """Return the position after some deterministic moves."""
    game = GAMES[slug].from_seed(seed)
    for step in range(steps):
        if game.over:
            break
        moves = game.moves()
        game = game.after(moves[step * 7 % len(moves)])
    return game


def pictures() -> str:
    """Draw a position of each game, and that of the first one also in ASCII on a narrow terminal."""
    blocks = []
    for slug, width in [(next(iter(GAMES)), 58), *((slug, 80) for slug in GAMES)]:
        game = after(slug, STEPS[-1])
        lines = board_lines(game, shown(game), Settings(ascii=width == 58, color="never"), width)
        blocks.append("\n".join([f"=== {slug}, {width} wide", *lines]))
    return "\n\n".join(blocks) + "\n"


def test_every_game_matches_its_pictures() -> None:
    assert TABLES.exists(), HINT
    assert pictures() == TABLES.read_text(), HINT


@pytest.mark.parametrize("slug", sorted(GAMES))
@pytest.mark.parametrize("width", [58, 80, 100])
def test_tables_fit_the_width_and_twenty_lines(slug: str, width: int) -> None:
    for steps in range(0, 120, 10):
        game = after(slug, steps)
        lines = board_lines(game, shown(game), Settings(), width)
        assert max(map(cells, lines)) <= width
        assert len(lines) <= 20


@pytest.mark.parametrize("slug", sorted(GAMES))
def test_every_top_card_is_shown_with_its_place(slug: str) -> None:
    for steps in STEPS:
        game = after(slug, steps)
        text = " ".join(board_lines(game, shown(game), Settings(ascii=True), 80))
        for place, pile in game.table.piles.items():
            if pile and place != game.stock:
                card = pile[-1].replace("T", "10")
                assert re.search(rf"\b{card}\b", text), (place, card)
            assert re.search(rf"\b{place}\b", text)


def test_colours_only_add_escape_sequences() -> None:
    game = after("corner-stones", 12)
    plain = board_lines(game, shown(game), Settings(color="never"), 80)
    colored = board_lines(game, shown(game), Settings(color="always"), 80)
    assert [ANSI.sub("", line) for line in colored] == plain
    assert "\x1b[1;91m8♥\x1b[0m" in "".join(colored)
    assert "\x1b[94m" in "".join(colored)
    assert "\x1b[32m" in "".join(colored)


def test_a_pile_that_fills_its_column_shows_its_bottom_card() -> None:
    board = shown(after("gallery", 0))
    board = structs.replace(board, table={**board.table, "a1": ("TD", "KD")})
    lines = board_lines(GameDescription.of(GAMES["gallery"]), board, Settings(), 80)
    assert lines[0].startswith("a1 10♦▸K♦ a2")


def test_cards_that_do_not_fit_on_a_fan_are_counted() -> None:
    board = Board(table={"c1": ("AS",) * 30, "l1": ()}, outcome="playing", home=0, attempt=1, ply=0)
    game = structs.replace(GameDescription.of(GAMES["corners"]), layout="c1 .\n. l1", fanned=("c1", "l1"), labels={})
    top, below, _ = board_lines(game, board, Settings(), 30)
    assert top.startswith("c1 +")
    assert int(top.split()[1]) + top.count("A♠") == 30
    assert below.strip() == "l1 ·"


def test_advice_and_facts_come_from_the_game() -> None:
    board = structs.replace(shown(GAMES["the-edge"].from_seed("1")), guidance=None)
    assert (advice(board), facts(board)) == ("", ("phase place", "faces 0 of 12"))
    guided = structs.replace(board, guidance=Guidance(instruction="Place the TC", facts=("face cards 0/12",)))
    assert (advice(guided), facts(guided)) == ("Place the 10♣", ("face cards 0/12",))
    ended = structs.replace(board, guidance=Guidance(ending="No free cell for JS"))
    assert advice(ended) == "No free cell for J♠"


def test_standings_show_all_columns() -> None:
    assert standings_lines(_standings(), seat=2) == [
        "  1 cy (bot)   ████████████████████  96/96  solved     4:12.3  ×3",
        "  2 ünnü (you) ██████████░░░░░░░░░░  48/96  playing    59.9 s",
        "  3 一一       ░░░░░░░░░░░░░░░░░░░░         scratched",
    ]


def test_standings_show_the_level_of_a_server_bot_if_there_is_room() -> None:
    cy, *_ = _standings()
    assert standings_lines([cy], levels={1: "beginner"})[0].startswith("  1 cy (beginner bot) █")
    assert standings_lines([cy], levels={1: "beginner"}, width=48)[0].startswith("  1 cy (bot) ")


def test_standings_with_equal_names_show_seats() -> None:
    one, two, three = (structs.replace(standing, name="a" * 24, bot=True) for standing in _standings())
    for width in (58, 80):
        lines = standings_lines(with_unique_names((one, two, three)), width=width)
        assert all(f" #{seat} (bot)" in line for seat, line in enumerate(lines, 1))
        assert max(map(cells, lines)) <= 80


def test_standings_fit_the_width() -> None:
    for width in (58, 80):
        assert max(map(cells, standings_lines(_standings(), width=width))) <= width
    roomy, narrow = (standings_lines(_standings(), width=width) for width in (60, 24))
    assert [line.split()[-1] for line in narrow] == [line.split()[-1] for line in roomy]


def test_the_time_of_a_racer_without_cards_home_is_shown_once_there_is_one() -> None:
    racer = structs.replace(_standings()[0], outcome="resigned", home=0, progress=0.0, attempts=1, ms=0)
    assert standings_lines([racer])[0].endswith("resigned")
    assert standings_lines([structs.replace(racer, ms=30_000)])[0].endswith("resigned  30.0 s")


def _standings() -> tuple[Standing, ...]:
    def standing(place: int, name: str, home: int, outcome: str, attempts: int, ms: int, bot: bool = False) -> Standing:
        return Standing(
            place=place,
            seat=place,
            name=name,
            bot=bot,
            outcome=outcome,
            done=outcome != "playing",
            home=home,
            goal=96,
            progress=home / 96,
            attempts=attempts,
            ms=ms,
        )

    return (
        standing(1, "cy", 96, "won", 3, 252_345, bot=True),
        standing(2, "ünnü", 48, "playing", 1, 59_999),
        standing(3, "一一", 0, "scratched", 0, 0),
    )


if __name__ == "__main__":
    TABLES.write_text(pictures())
    sys.stdout.write(f"{TABLES.stem}\n")
