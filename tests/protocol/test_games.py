"""What every game promises, tried on every game of the catalogue in each of its variants."""

from collections import Counter
from functools import reduce
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal.cards import ACE, BACK, KING, RANKS, TEN, Card, rank_of, suit_of
from samedeal.deck import Words
from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import FIRSTS, STACKS, CornerStones
from samedeal.games.corners import Corners
from samedeal.games.gallery import BASES, ROWS, SPOTS, TABLEAU, Gallery
from samedeal.games.grid import CELLS, OWN_CELLS, Grid
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from samedeal.table import Table
from samedeal.values import replace
from support.positions import places

WINS = msgspec.json.decode((Path(__file__).parents[1] / "vectors.json").read_bytes())["wins"]
VARIANTS = [
    pytest.param(game, dict(zip(game.options, choice, strict=True)), id="-".join([slug, *map(str, choice)]))
    for slug, game in GAMES.items()
    for choice in product(*game.options.values())
]

Variant = dict[str, Any]
Walk = list[tuple[str, Game]]
"""Moves with the positions that they led to; the first move is empty."""

every_variant = pytest.mark.parametrize(("game", "variant"), VARIANTS)
few = settings(derandomize=True, deadline=None, max_examples=12)
luck = st.randoms(use_true_random=False)
seeds = st.text(st.characters(codec="utf-8", exclude_characters="|"), max_size=6)


def walk(start: Game, random: Random, most: int = 120) -> Walk:
    """A random game. One move in four is the last one listed, or no stock would come to its end before the moves do."""
    steps = [("", start)]
    while (moves := steps[-1][1].moves()) and len(steps) <= most:
        move = moves[-1] if random.randrange(4) == 0 else moves[random.randrange(len(moves))]
        steps.append((move, steps[-1][1].after(move)))
    return steps


def replayed(slug: str) -> Walk:
    """The recorded win of a game."""
    steps: Walk = [("", GAMES[slug].from_seed(WINS[slug]["seed"]))]
    for move in WINS[slug]["moves"]:
        steps.append((move, steps[-1][1].after(move)))
    return steps


def cards_of(position: Game) -> Counter[Card]:
    return Counter(card for pile in position.table.piles.values() for card in pile)


def test_the_catalogue_lists_the_five_games_by_slug() -> None:
    assert list(GAMES) == ["corner-stones", "the-edge", "corners", "kings-in-the-corners", "gallery"]
    assert {slug: game.slug for slug, game in GAMES.items()} == {slug: slug for slug in GAMES}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_game_states_its_rules_and_their_version(game: type[Game]) -> None:
    assert game.rules == f"{game.slug}/1"
    assert game.__doc__ == f"A position of {game.title}."
    assert all(field.isprintable() and field for field in (game.title, game.slug))
    assert game.limit_ms % 60_000 == 0


def test_the_time_limits_suit_the_games() -> None:
    minutes = {slug: game.limit_ms // 60_000 for slug, game in GAMES.items()}
    assert minutes == {"corner-stones": 15, "the-edge": 5, "corners": 6, "kings-in-the-corners": 5, "gallery": 6}


@every_variant
@few
@given(seed=seeds, random=luck)
def test_no_card_is_lost_or_made(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    whole = Counter(game.pack())
    if game is CornerStones:
        whole += Counter(FIRSTS.values())
    assert len(list(whole.elements())) in (52, 104)
    for _, position in walk(game.from_seed(seed, **variant), random):
        assert cards_of(position) == whole


@every_variant
@few
@given(seed=seeds, random=luck)
def test_moves_are_unique_printable_tokens(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    for _, position in walk(game.from_seed(seed, **variant), random):
        moves = position.moves()
        assert len(set(moves)) == len(moves)
        for move in moves:
            assert type(move) is str
            assert move
            assert move.isascii()
            assert move.isprintable()
            assert " " not in move
            assert move not in ("undo", "restart")


@every_variant
@few
@given(seed=seeds, random=luck)
def test_every_move_listed_can_be_made_and_leads_on(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    for _, position in walk(game.from_seed(seed, **variant), random, most=30):
        before = position.view()
        for move in position.moves():
            later = position.after(move)
            assert later != position
            assert type(later) is type(position)
        assert position.view() == before


ODD_TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["draw", "redeal", "deal", "w", "undo", "restart", "a1", "stock", "hand", "c2-", "a1+a2", "l1u1"]),
    st.lists(st.sampled_from(CELLS), min_size=1, max_size=5).map("+".join),
    st.sampled_from(CELLS).map("{}-".format),
    st.builds(str.__add__, st.sampled_from([*STACKS, *FIRSTS]), st.sampled_from([*STACKS, *FIRSTS])),
    st.sampled_from([*SPOTS, *TABLEAU]),
)


@every_variant
@settings(few, max_examples=25)
@given(seed=seeds, random=luck, texts=st.lists(ODD_TEXTS, max_size=8), length=st.integers(0, 60))
def test_any_other_text_is_refused_in_words_and_changes_nothing(
    game: type[Game], variant: Variant, seed: str, random: Random, texts: list[str], length: int
) -> None:
    _, position = walk(game.from_seed(seed, **variant), random, length)[-1]
    twin = replace(position)
    for text in {*texts, ""} - set(position.moves()):
        with pytest.raises(IllegalMove) as refused:
            position.after(text)
        assert refused.value.code == "illegal-move"
        assert refused.value.text.endswith(".") or "not a move in" in refused.value.text
        assert position == twin
        assert position.why_not(text)


@every_variant
@few
@given(seed=seeds, random=luck)
def test_folding_the_moves_from_the_seed_gives_an_equal_position(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    steps = walk(game.from_seed(seed, **variant), random)
    moves = [move for move, _ in steps[1:]]
    assert reduce(game.after, moves, game.from_seed(seed, **variant)) == steps[-1][1]


@every_variant
@few
@given(seed=seeds, random=luck)
def test_every_place_is_drawn_and_seen(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    drawn = places(game)
    assert len(set(drawn)) == len(drawn)
    assert game.fanned <= set(drawn)
    assert game.labels.keys() <= set(drawn)
    assert set(game.labels.values()) <= set(RANKS)
    assert game.hidden | game.foundations <= set(drawn)
    for _, position in walk(game.from_seed(seed, **variant), random):
        assert set(position.table.piles) == set(drawn) == set(position.view())


@every_variant
@few
@given(seed=seeds, random=luck)
def test_cards_on_foundations_stay_there(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    for (_, before), (_, after) in pairwise(walk(game.from_seed(seed, **variant), random)):
        for place in game.foundations:
            pile = before.table[place]
            assert after.table[place][: len(pile)] == pile


@every_variant
@few
@given(seed=seeds, random=luck)
def test_a_view_shows_backs_exactly_where_cards_are_hidden(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    for _, position in walk(game.from_seed(seed, **variant), random):
        for place, pile in position.view().items():
            cards = position.table[place]
            assert pile == ((BACK,) * len(cards) if place in game.hidden else cards)


@every_variant
@few
@given(seed=seeds, random=luck)
def test_a_view_can_be_sent(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    for _, position in walk(game.from_seed(seed, **variant), random):
        sent = (position.view(), position.notes, position.moves(), position.score, position.progress)
        assert all(type(card) is str for pile in position.view().values() for card in pile)
        assert all(type(note) is str for note in position.notes.values())
        view = msgspec.msgpack.decode(msgspec.msgpack.encode(sent))[0]
        assert view == msgspec.json.decode(msgspec.json.encode(sent))[0]
        assert view == {place: list(pile) for place, pile in position.view().items()}


def check_the_end(position: Game) -> None:
    assert 0 <= position.home <= position.goal
    assert 0 <= position.progress <= 1
    assert (position.progress == 1) == position.won == (position.outcome == "won")
    assert position.over == (not position.moves()) == (position.outcome != "playing")
    assert position.outcome in ("playing", "won", position.dead_end)


@every_variant
@few
@given(seed=seeds, random=luck)
def test_progress_and_outcome_agree(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    for _, position in walk(game.from_seed(seed, **variant), random):
        check_the_end(position)
        if position.over:
            with pytest.raises(IllegalMove, match=f"The game is {position.outcome}"):
                position.after("undo")


@every_variant
@few
@given(seed=seeds, random=luck)
def test_twins_are_equal_for_every_rule(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    _, position = walk(game.from_seed(seed, **variant), random)[-1]
    copied = Table({place: tuple(card[0] + card[1] for card in pile) for place, pile in position.table.piles.items()})
    twin = replace(position, table=copied)
    assert twin == position
    assert twin.moves() == position.moves()
    assert [twin.after(move) for move in twin.moves()] == [position.after(move) for move in position.moves()]


@every_variant
@few
@given(seed=seeds, random=luck)
def test_only_what_turns_up_a_hidden_card_is_a_reveal(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    steps = walk(game.from_seed(seed, **variant), random)
    for (_, before), (move, later) in pairwise(steps):
        seen = [
            sum((Counter(pile) for place, pile in position.view().items() if place not in game.hidden), Counter())
            for position in (before, later)
        ]
        assert before.reveals(later) == (seen[0] != seen[1] or move == "redeal")


# The recorded wins.


@pytest.mark.parametrize(
    ("slug", "moves", "home"),
    [
        ("corner-stones", 187, 96),
        ("the-edge", 65, 45),
        ("corners", 119, 48),
        ("kings-in-the-corners", 72, 52),
        ("gallery", 51, 96),
    ],
)
def test_a_recorded_win(slug: str, moves: int, home: int) -> None:
    steps = replayed(slug)
    for _, position in steps[:-1]:
        check_the_end(position)
        assert position.outcome == "playing"
    won = steps[-1][1]
    check_the_end(won)
    assert won.outcome == "won"
    assert (len(steps) - 1, won.home) == (moves, home)
    assert won.score == (0 if slug == "gallery" else home)


def test_the_recorded_win_of_gallery_has_as_many_automatic_moves_as_choices() -> None:
    """42 choices and 9 deals. Of the 96 cards but the aces, those that were dealt into their places never moved."""
    steps = replayed("gallery")
    deals = sum(move == "deal" for move, _ in steps)
    choices = len(steps) - 1 - deals
    bare = Table.laid(shuffled("gallery", "31"), dict.fromkeys((*SPOTS, *TABLEAU), 1), rest="stock")
    in_place = sum(rank_of(bare[spot][0]) == BASES[spot[0]] for spot in SPOTS)
    assert (deals, choices, Gallery.goal - in_place - choices) == (9, 42, 51)


def shuffled(slug: str, seed: str) -> tuple[Card, ...]:
    return Words(f"{slug}|{seed}").shuffled(GAMES[slug].pack())


# What each game keeps to, whatever is played.


def keep_corner_stones(before: CornerStones, move: str, later: CornerStones) -> None:
    for foundation, first in FIRSTS.items():
        step = 1 if foundation[0] == "u" else -1
        pile = later.table[foundation]
        assert len(pile) <= KING
        assert [(rank_of(card), suit_of(card)) for card in pile] == [
            (rank_of(first) + step * place, suit_of(first)) for place in range(len(pile))
        ]
        assert pile[: len(before.table[foundation])] == before.table[foundation]
    assert not [side for side in before.table.empty(STACKS) if side[0] != "c" and later.table[side]]
    assert sum(before.table[place] != later.table[place] for place in before.table.piles) == 2


def keep_grid(before: Grid, move: str, later: Grid) -> None:
    assert len(later.table["hand"]) <= 1
    for cell in CELLS:
        pile = later.table[cell]
        assert len(pile) <= 1
        assert all(rank_of(card) <= TEN or cell in OWN_CELLS[rank_of(card)][1] for card in pile)
        assert before.table[cell] in ((), pile) or not pile
    assert later.home - before.home == (move in CELLS)
    gone = later.table["discard"][len(before.table["discard"]) :]
    assert later.table["discard"][: len(before.table["discard"])] == before.table["discard"]
    assert sum(rank_of(card) for card in gone) in (0, TEN)
    assert len(gone) <= type(later).largest_group
    assert bool(gone) == ("+" in move or "-" in move)
    assert later.won or later.table["hand"] or "-" in move or "+" in move or not any(later.table.empty(CELLS))


def keep_corners(before: Corners, move: str, later: Corners) -> None:
    foundations = ("f1", "f2", "f3", "f4")
    for foundation, suit in zip(foundations, "SHCD", strict=True):
        pile = later.table[foundation]
        assert 1 <= len(pile) <= KING
        assert all(suit_of(card) == suit for card in pile)
        assert all((rank_of(upper) - rank_of(card)) % KING == 1 for card, upper in pairwise(pile))
    reserve = [later.table[f"r{cell}"] for cell in range(1, 6)]
    assert all(len(pile) <= 1 for pile in reserve)
    assert all(reserve) or not later.table["stock"]
    assert 1 <= later.passed <= 3
    assert later.outcome != "stuck" or (later.passed == 3 and not later.table["stock"])


def keep_gallery(before: Gallery, move: str, later: Gallery) -> None:
    for spot in SPOTS:
        pile = later.table[spot]
        base = BASES[spot[0]]
        if pile and rank_of(pile[0]) == base:
            assert [(rank_of(card), suit_of(card)) for card in pile] == [
                (base + 3 * place, suit_of(pile[0])) for place in range(len(pile))
            ]
            assert len(pile) <= 4
        else:
            assert len(pile) <= 1
    assert not any(rank_of(card) == ACE for _, card in later.table.tops((*SPOTS, *TABLEAU)))
    assert all(rank_of(card) == ACE for card in later.table["aces"])
    assert len(later.table["stock"]) == len(before.table["stock"]) - 8 * (move == "deal")
    assert later.home >= before.home


def check_kept(before: Game, move: str, later: Game) -> None:
    match before, later:
        case CornerStones(), CornerStones():
            keep_corner_stones(before, move, later)
        case Grid(), Grid():
            keep_grid(before, move, later)
        case Corners(), Corners():
            keep_corners(before, move, later)
        case Gallery(), Gallery():
            keep_gallery(before, move, later)
        case _:
            raise AssertionError(f"{before.slug} keeps to nothing yet")


@every_variant
@few
@given(seed=seeds, random=luck)
def test_the_rules_are_kept_in_any_game(game: type[Game], variant: Variant, seed: str, random: Random) -> None:
    steps = walk(game.from_seed(seed, **variant), random, most=200)
    for (_, before), (move, later) in pairwise(steps):
        check_kept(before, move, later)


@pytest.mark.parametrize("slug", GAMES)
def test_the_rules_are_kept_in_a_recorded_win(slug: str) -> None:
    steps = replayed(slug)
    for (_, before), (move, later) in pairwise(steps):
        check_kept(before, move, later)


def sorted_rows(position: Game) -> list[list[tuple[Card, ...]]]:
    return [
        *(sorted(position.table[spot] for spot in row) for row in ROWS.values()),
        *([position.table[pile]] for pile in (*TABLEAU, "stock")),
    ]


@settings(few, max_examples=30)
@given(seed=seeds, random=luck)
def test_all_places_that_take_a_card_of_gallery_are_alike(seed: str, random: Random) -> None:
    """Wherever a card could go, the rows come out the same but for the order of their spots, and so do the moves."""
    for _, position in walk(Gallery.from_seed(seed, cap=False), random):
        for source in position.moves():
            if source == "deal":
                continue
            card = position.table[source][-1]
            if rank_of(card) <= 4:
                row = next(row for row, base in BASES.items() if base == rank_of(card))
                targets = [spot for spot in ROWS[row] if not position.table[spot]]
            else:
                below = "A23456789TJQK"[rank_of(card) - 4] + suit_of(card)
                targets = [
                    spot
                    for spot in SPOTS
                    if position.table.top(spot) == below and rank_of(position.table[spot][0]) == BASES[spot[0]]
                ]
            assert position.after(source).table[targets[0]][-1] == card
            others = [replace(position, table=position.table.moved(source, target)) for target in targets]
            assert all(sorted_rows(other) == sorted_rows(others[0]) for other in others)
            assert all(
                Counter(other.table[move][-1] for move in other.moves() if move != "deal")
                == Counter(others[0].table[move][-1] for move in others[0].moves() if move != "deal")
                for other in others
            )


def best_score(position: Gallery, known: dict[tuple[object, ...], int], most: int) -> int | None:
    """The lowest score that any play can reach, by trying them all, or None where that would take too long."""
    key = (position.table["aces"], *map(tuple, sorted_rows(position)))
    if key not in known:
        if len(known) > most:
            return None
        known[key] = position.score
        for move in position.moves():
            score = best_score(position.after(move), known, most)
            if score is None:
                return None
            known[key] = min(score, known[key])
    return known[key]


def test_cap_never_makes_the_best_score_that_can_be_reached_any_worse() -> None:
    """Tried on positions after the last deal, and on all that can become of them."""
    helped = 0
    for seed in range(60):
        random, position = Random(seed), Gallery.from_seed(str(seed), cap=False)
        while position.table["stock"]:
            plays = position.moves()[:-1]
            position = position.after(random.choice(plays) if plays and random.random() < 0.97 else "deal")
        best = best_score(position, {}, most=1000)
        if best is not None:
            capped = replace(position, cap=True)._settled()
            assert best_score(capped, {}, most=10_000) == best
            helped += capped.table != position.table
    assert helped > 40


def test_kings_in_the_corners_and_the_edge_share_the_grid_but_not_the_deal() -> None:
    kings, edge = KingsInTheCorners.from_seed("1"), TheEdge.from_seed("1")
    assert kings.layout == edge.layout
    assert kings.table != edge.table


@pytest.mark.parametrize("variant", [{"cap": "yes"}, {"cap": 1}, {"refill": "stock"}, {"Cap": True}])
def test_an_unknown_variant_is_refused(variant: Variant) -> None:
    with pytest.raises(ValueError, match="gallery has no variant"):
        Gallery.from_seed("1", **variant)


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_the_first_choice_of_an_option_is_the_default(game: type[Game]) -> None:
    defaults = {option: choices[0] for option, choices in game.options.items()}
    assert game.from_seed("1") == game.from_seed("1", **defaults)
    for option, choices in game.options.items():
        assert [getattr(game.from_seed("1", **{option: choice}), option) for choice in choices] == list(choices)


# Perft: how many games of a given length there are. A single number that hardly any mistake in the rules leaves alone.


def perft(position: Game, depth: int) -> int:
    if depth == 1:
        return len(position.moves())
    return sum(perft(position.after(move), depth - 1) for move in position.moves())


PERFT = [
    # game, seed, how many moves of the recorded win are made first, the counts
    ("corner-stones", "1", 0, [25, 606, 14384]),
    ("corner-stones", "1", 100, [35, 1038, 27054]),
    ("the-edge", "2", 0, [4, 16, 224, 2912]),
    ("the-edge", "731", 16, [13, 83, 226]),
    ("corners", "2", 0, [2, 3, 4, 5, 6, 7, 8, 9]),
    ("corners", "225", 80, [2, 3, 6, 11, 21, 40, 85, 176, 343, 555, 828, 1319]),
    ("kings-in-the-corners", "2", 0, [4, 16, 224, 2912]),
    ("kings-in-the-corners", "31", 16, [9, 62, 318, 1152]),
    ("gallery", "2", 0, [4, 21, 105, 556]),
    ("gallery", "31", 30, [5, 21, 78, 276, 992]),
]


@pytest.mark.parametrize(("slug", "seed", "made", "counts"), PERFT)
def test_the_number_of_games_of_each_length(slug: str, seed: str, made: int, counts: list[int]) -> None:
    start = replayed(slug)[made][1] if made else GAMES[slug].from_seed(seed)
    assert [perft(start, depth) for depth in range(1, len(counts) + 1)] == counts
