"""Bots: they play by the rules, as docs/bots/bots.md specifies, and reproducibly."""

from hashlib import sha256
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from samedeal.computer.bots import BOTS, MAX_MOVES, play, plays
from samedeal.deck import Words
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import FIRSTS
from samedeal.games.gallery import Gallery
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from support.positions import position

PAGE = (Path(__file__).parents[2] / "docs" / "bots" / "bots.md").read_text(encoding="utf-8")
ROWS = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| `")]
PLAYS = [row for row in ROWS if len(row) == 7]

every_game = pytest.mark.parametrize("game", [GAMES[slug] for slug in BOTS], ids=BOTS)


def liked(start: Game, last: Move = "") -> list[Move]:
    return list(BOTS[start.slug].strategy(start, last, Words("test")))


def test_every_bot_has_a_version_and_is_documented() -> None:
    assert BOTS.keys() <= GAMES.keys()
    for slug, bot in BOTS.items():
        assert bot.name == f"{slug}-bot/1"
        assert f"`{bot.name}`" in PAGE, f"docs/bots/bots.md does not describe {bot.name}"
    assert {row[0].partition(":")[0] for row in PLAYS} == set(BOTS), "docs/bots/bots.md lists plays of every bot"


@pytest.mark.parametrize("row", PLAYS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_plays_match_the_documentation(row: list[str]) -> None:
    deal, k, moves, number, digest, home, won = row
    slug, _, seed = deal.partition(":")
    run = play(GAMES[slug], seed, int(k))
    assert (run.bot, run.k) == (f"{slug}-bot/1", int(k))
    assert " ".join(run.moves[:8]) == moves
    assert sha256(" ".join(run.moves).encode()).hexdigest()[:16] == digest
    assert (len(run.moves), run.home, run.won) == (int(number), int(home), won == "yes")


@every_game
def test_a_play_is_legal_finite_and_reproducible(game: type[Game]) -> None:
    variant = BOTS[game.slug].variant
    for seed in ("a", "b", "c"):
        first, second = plays(game, seed, (0, 1))
        assert (play(game, seed, 0), play(game, seed, 1)) == (first, second)
        for run in (first, second):
            end = game.from_seed(seed, **variant)
            for move in run.moves:
                end = end.after(move)
            assert (end.home, end.won) == (run.home, run.won)
            assert len(run.moves) <= MAX_MOVES
            assert end.over or (game.slug == "corner-stones" and len(run.moves) == MAX_MOVES)


@every_game
def test_plays_with_different_numbers_differ(game: type[Game]) -> None:
    assert len({run.moves for run in plays(game, "a friend", range(4))}) > 1


def test_plays_are_computed_lazily() -> None:
    endless = plays(TheEdge, "1", iter(range(10**12)))
    assert [run.k for run in islice(endless, 2)] == [0, 1]


def test_a_bot_plays_the_variant_of_the_race_except_in_gallery() -> None:
    corners = GAMES["corners"]
    assert play(corners, "4", 0, {"refill": "waste"}) != play(corners, "4", 0)
    assert play(Gallery, "4", 0, {"cap": True}) == play(Gallery, "4", 0, {"cap": False}) == play(Gallery, "4", 0)
    with pytest.raises(ValueError, match="has no variant"):
        play(corners, "4", 0, {"cap": True})


def test_corner_stones_bot_plays_home_and_looks_one_move_ahead() -> None:
    luck = Random(7)
    for seed in range(12):
        at, last = GAMES["corner-stones"].from_seed(str(seed)), ""
        for _ in range(30):
            if at.over:
                break
            moves = at.moves()
            onward = [move for move in moves if move != last[2:] + last[:2]] or list(moves)
            ready = [move for move in onward if goes_home(at.after(move))]
            assert liked(at, last) == (goes_home(at) or ready or onward)
            last = luck.choice(moves)
            at = at.after(last)


def goes_home(at: Game) -> list[Move]:
    return [move for move in at.moves() if move[2:] in FIRSTS]


def test_number_cards_go_to_the_centre_first_then_to_the_rank_with_most_spare_cells() -> None:
    assert liked(position(TheEdge, "hand: 3S\nstock: 4S\nb2: 2H")) == ["b3", "c2", "c3"]
    centre = "hand: 3S\nstock: 4S\nb2: 2H\nb3: 2S\nc2: 2D\nc3: 2C\n"
    assert liked(position(TheEdge, centre + "a1: 5S\na2: JS\nb1: 5H")) == ["a3", "d2", "d3"]
    assert liked(position(TheEdge, centre + "a2: 9S\nb1: 5H")) == ["a1", "a4", "d1", "d4"]


def test_cells_of_ranks_with_equally_many_spare_cells_are_equally_good() -> None:
    full = "hand: 3S\nstock: 4S\nb2: 2H\nb3: 2S\nc2: 2D\nc3: 2C\na1: 5S\na2: JS\na3: 6S\nd2: JH\nb1: 5H"
    assert liked(position(TheEdge, full)) == ["a4", "b4", "c1", "c4", "d1", "d4"]


def test_face_cards_go_to_any_of_their_own_cells() -> None:
    assert liked(position(TheEdge, "hand: KS\nstock: 4S\na4: KH")) == ["a1", "d1", "d4"]


FULL = "a1: KS\na2: 4H\na3: JS\na4: KH\nb1: QS\nb2: 6H\nb3: 7D\nb4: QH\nc1: QD\nc2: 8S\nc3: 2D\nc4: 2S\n"


@pytest.mark.parametrize("game", [TheEdge, KingsInTheCorners])
def test_tens_and_pairs_that_free_the_edge_go_first(game: type[Game]) -> None:
    assert liked(position(game, FULL + "d1: KD\nd2: TS\nd3: TD\nd4: KC\nstock: AS")) == ["a2+b2", "c2+c4", "d2-", "d3-"]


def test_larger_groups_are_removed_only_if_nothing_else_can_be_and_nothing_has_been() -> None:
    faces = "a1: KS\na4: KH\nb1: QS\nb4: QH\nc1: QD\nc4: QC\nd1: KD\nd4: KC\na2: JS\n"
    numbers = "b2: 2H\nb3: 2D\nc2: 5S\nc3: 3C\na3: 3D\nd2: 4S\n"
    assert liked(position(TheEdge, faces + numbers + "d3: 9D\nstock: AS")) == ["a3+c3+d2"]
    assert liked(position(TheEdge, faces + numbers + "stock: AS")) == ["draw"]


def test_corners_bot_plays_before_it_draws() -> None:
    bases = "f1: 2S\nf2: 2H\nf3: TC\nf4: AD\n"
    assert liked(position(GAMES["corners"], bases + "r1: 3S\nr3: 3H\nwaste: JC\nstock: 9S")) == ["r1", "r3", "w"]
    assert liked(position(GAMES["corners"], bases + "r1: 9H\nstock: 9S")) == ["draw"]


def test_gallery_bot_deals_when_nothing_is_playable_and_once_in_a_hundred_moves() -> None:
    start = Gallery.from_seed("3", cap=False)
    words = Words("impatience")
    dealt = [BOTS["gallery"].strategy(start, "", words) == ["deal"] for _ in range(5000)]
    assert 25 < sum(dealt) < 80
    cards = [move for move in start.moves() if move != "deal"]
    assert cards == liked(start)
