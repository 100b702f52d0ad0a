"""Guidance: what a game tells its player to do, why it ended, and what it marks, from visible cards only."""

import re
from random import Random

import pytest
from hypothesis import given

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import CornerStones
from samedeal.games.corners import Corners
from samedeal.games.gallery import Gallery
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from samedeal.values import replace
from support.aces_up import AcesUp
from support.positions import on_grid, places, position, with_hidden
from support.random_games import Variant, every_variant, few, luck, replayed, seeds, walk

CARD = re.compile(r"\b[A2-9TJQK][SHCD]\b")
FULL = "KS QS QH KH  JS 8C 9D JH  JD 8D 9C JC  KD QD QC 9S"
"""A full grid on which nothing makes ten."""


def is_word(move: str) -> bool:
    return move.isalpha() and len(move) > 1


@every_variant
@few
@given(seed=seeds, random=luck)
def test_instructions_and_endings_fit_every_position(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    for _, at in walk(game.from_seed(seed, **variant), random):
        assert bool(at.instruction) is not at.over
        assert bool(at.why_over) is at.over
        text = at.instruction or at.why_over
        assert text.isprintable()
        assert len(text) <= 80
        assert not text.endswith(".")
        assert set(CARD.findall(text)) <= {card for pile in at.view().values() for card in pile}
        words = {"redeal": "turn the waste over"}
        for move in filter(is_word, at.moves()):
            assert words.get(move, move) in text.lower()
        for word in ("draw", "deal", "turn the waste over"):
            named = re.search(rf"\b{word}\b", at.instruction.lower())
            assert not named or any(words.get(move, move) == word for move in at.moves())
        kinds = {"tens": "-", "make ten": "", "place the": "", "build": "", "move cards": ""}
        for kind, sign in kinds.items():
            if kind in at.instruction.lower():
                assert any(sign in move and not is_word(move) for move in at.moves()), kind
        if "nothing" in at.instruction.lower() or at.instruction == "Draw the next card":
            assert all(map(is_word, at.moves()))
        assert bool(at.why_over) == at.over
        assert "lost" not in text.lower(), "a race is lost, not a deal"


@every_variant
@few
@given(seed=seeds, random=luck)
def test_guidance_depends_only_on_visible_cards(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    for _, at in walk(game.from_seed(seed, **variant), random, most=60):
        other = with_hidden(at, lambda cards: Random(seed).sample(cards, len(cards)))
        assert other.view() == at.view()
        for query in ("instruction", "why_over", "facts", "marks"):
            assert getattr(other, query) == getattr(at, query)


@every_variant
@few
@given(seed=seeds, random=luck)
def test_marks_name_few_places_and_agree_with_the_moves(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    steps = walk(game.from_seed(seed, **variant), random)
    assert len(steps[0][1].marks) < len(places(game)) / 4
    for _, at in steps:
        assert set(at.marks) <= set(places(at))
        only = [place for place, mark in at.marks.items() if mark == "only"]
        assert bool(only) is bool(at.moves() and all(map(is_word, at.moves())))
        assert only in ([], [game.stock])
        for place in (place for place, mark in at.marks.items() if mark in ("home", "jammed")):
            assert place not in at.moves() or at.marks[place] == "jammed"


@pytest.mark.parametrize("slug", GAMES)
def test_a_won_game_says_so(slug: str) -> None:
    won = replayed(slug)[-1][1]
    assert won.instruction == ""
    assert won.why_over == {
        "the-edge": "All 12 face cards are in their cells",
        "kings-in-the-corners": "All 52 cards are placed",
    }.get(slug, f"All {won.goal} cards are home")


@pytest.mark.parametrize("game", [TheEdge, KingsInTheCorners])
def test_the_grid_names_the_card_and_its_cells(game: type[Game]) -> None:
    empty = ". . . . " * 4
    assert on_grid(game, empty, hand="JC").instruction == "Place the JC: jacks go to cells marked J"
    assert on_grid(game, empty, hand="QC").instruction == "Place the QC: queens go to cells marked Q"
    assert on_grid(game, empty, hand="KC").instruction == "Place the KC: kings go to cells marked K"
    assert on_grid(game, empty, hand="TC").instruction == "Place the TC on any empty cell"
    assert on_grid(game, empty, hand="TC").facts == ("face cards 0/12",)


@pytest.mark.parametrize(("game", "groups"), [(TheEdge, "groups"), (KingsInTheCorners, "pairs")])
def test_the_grid_names_what_can_be_cleared(game: type[Game], groups: str) -> None:
    def told(picture: str) -> str:
        return on_grid(game, picture, stock="2H").instruction

    assert told(FULL.replace("9S", "TS")) == "Clear tens"
    assert told(FULL.replace("8C", "AC")) == f"Clear {groups} that make ten"
    assert told(FULL.replace("8C", "AC").replace("9S", "TS")) == f"Clear tens and {groups} that make ten"


def test_the_edge_can_be_continued_after_the_first_group() -> None:
    cleared = on_grid(TheEdge, FULL.replace("8C", "AC").replace("8D", "TD"), stock="2H").after("b3-")
    assert cleared.instruction == "Draw the next card, or clear more groups that make ten"
    assert cleared.marks == {}
    cleared = cleared.after("b2+c2")
    assert (cleared.instruction, cleared.marks) == ("Draw the next card", {"stock": "only"})


@pytest.mark.parametrize("game", [TheEdge, KingsInTheCorners])
def test_the_grid_says_why_it_is_lost(game: type[Game]) -> None:
    assert on_grid(game, FULL, stock="2H").why_over == "The grid is full and nothing can be cleared"
    assert on_grid(game, FULL.replace("9D", "."), hand="JS").why_over == "No free cell for JS"


def test_corners_says_when_nothing_fits() -> None:
    reserve = "f1: 2S\nf2: 2H\nf3: 2C\nf4: 2D\nr1: 9S\nr2: 9H\nr3: 9C\nr4: 9D\nr5: TS\n"
    at = position(Corners, reserve + "waste: 5S\nstock: 6S")
    assert (at.instruction, at.marks) == ("Nothing fits a foundation: draw a card", {"stock": "only"})
    fits = position(Corners, reserve + "waste: 3S\nstock: 6S")
    assert (fits.instruction, fits.marks) == ("Build the foundations up in suit or draw a card", {})
    assert fits.facts == ("pass 1 of 3",)
    empty = position(Corners, reserve + "waste: 5S")
    assert (empty.instruction, empty.marks) == (
        "Nothing fits a foundation: turn the waste over",
        {"stock": "only"},
    )
    last = replace(empty, passed=3)
    assert last.why_over == "Nothing fits a foundation, and there are no cards left to draw"
    assert (last.instruction, last.marks) == ("", {})


def test_corner_stones_says_whether_a_card_can_go_to_a_foundation() -> None:
    foundations = "u1: AS\nu2: AH\nu3: AC\nu4: AD\nd1: KS\nd2: KH\nd3: KC\nd4: KD\n"
    ready = position(CornerStones, foundations + "c1: 2S\nc2: 5H\nc3: 8C\nc4: TC")
    assert ready.instruction == "Build the foundations up or down in suit, or move cards between stacks"
    waiting = position(CornerStones, foundations + "c1: 5S\nc2: 6H\nc3: 8C\nc4: TC")
    assert waiting.instruction == "No card can go to a foundation yet: move cards between stacks"
    stuck = position(CornerStones, foundations + "c1: 5S\nc2: 5H\nc3: 8C\nc4: TC")
    assert (stuck.why_over, stuck.instruction) == ("No card can be moved", "")


def test_gallery_marks_cards_that_are_home_and_piles_that_are_jammed() -> None:
    at = position(Gallery, "a1: 2S\na2: 9H\nb1: 3H 6H\nt1: 5D JD\nt2: 5D 8C\nt3: JD 5D\nstock: 4S")
    assert at.marks == {"a1": "home", "b1": "home", "t1": "jammed"} | {}
    assert at.instruction.startswith("Build the rows up by threes in suit")
    free = position(Gallery, "a1: 2D 5D\nt1: 5D JD\nstock: 4S")
    assert free.marks == {"a1": "home", "stock": "only"}, "the jack can go to the pile of the other five"
    taken = position(Gallery, "a1: 2D 5D 8D JD\nt1: 5D JD\nstock: 4S")
    assert taken.marks == {"a1": "home", "t1": "jammed", "stock": "only"}
    assert taken.instruction == "Nothing can be played: deal"


def test_gallery_ends_with_its_score() -> None:
    over = position(Gallery, "a1: 2S 5S 8S JS\nt1: KD")
    assert (over.why_over, over.instruction) == ("Nothing can be played", "")
    assert over.facts == ("score 92",)
    assert position(Gallery, "a1: 2S\nt1: 5S").instruction == "The stock is empty: build the rows up by threes in suit"


def test_a_game_without_its_own_texts_has_plain_ones() -> None:
    assert position(AcesUp, "p1: 2S\np2: 5S\ntalon: 4H").instruction == "Play a card or turn"
    turning = position(AcesUp, "p1: 2S\np2: 5H\np3: 2C\np4: 2D\ntalon: 4H")
    assert (turning.instruction, turning.marks) == ("Turn", {"talon": "only"})
    stuck = position(AcesUp, "p1: 2S\np2: 5H\np3: 2C\np4: 2D")
    assert (stuck.instruction, stuck.marks, stuck.facts) == ("", {}, ())
    assert stuck.why_over == "No card can be moved"
