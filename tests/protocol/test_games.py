"""Properties of every game in the catalogue, in each of its variants."""

import re
from collections import Counter
from functools import reduce
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal.cards import BACK, RANKS, Card
from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import FIRSTS, STACKS, CornerStones
from samedeal.games.gallery import SPOTS, TABLEAU, Gallery
from samedeal.games.grid import CELLS
from samedeal.values import replace
from support.positions import places
from support.random_games import Variant, every_variant, few, luck, replayed, seeds, walk
from support.vectors import WINS


def cards_of(position: Game) -> Counter[Card]:
    return Counter(card for pile in position.table.piles.values() for card in pile)


def test_the_catalogue_lists_the_games_by_slug_and_new_games_last() -> None:
    assert list(GAMES)[:5] == ["corner-stones", "the-edge", "corners", "kings-in-the-corners", "gallery"]
    assert {slug: game.slug for slug, game in GAMES.items()} == {slug: slug for slug in GAMES}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_game_states_its_rules_and_their_version(game: type[Game]) -> None:
    assert game.rules == f"{game.slug}/1"
    assert game.__doc__ == f"A position of {game.title}."
    assert all(field.isprintable() and field for field in (game.title, game.slug))
    assert game.limit_ms % 60_000 == 0
    assert ": " in game.from_seed("1").why_not("?"), "`samedeal rules` shows the moves that follow the colon"


def test_the_time_limits_suit_the_games() -> None:
    minutes = {slug: game.limit_ms // 60_000 for slug, game in GAMES.items()}
    chosen = {"corner-stones": 15, "the-edge": 5, "corners": 6, "kings-in-the-corners": 5, "gallery": 6}
    assert {slug: minutes[slug] for slug in chosen} == chosen


def check_layout(game: type[Game]) -> None:
    drawn = places(game)
    assert len(set(drawn)) == len(drawn)
    assert game.fanned <= set(drawn)
    assert game.labels.keys() <= set(drawn)
    assert set(game.labels.values()) <= set(RANKS)
    assert game.foundations <= set(drawn)
    assert game.stock in ("", *drawn), "set `stock`: by default it is called so"
    assert all(len(place) >= 2 for place in drawn)


def check_cards(position: Game) -> None:
    """No card is lost or added, and every place is in the layout and the view."""
    cards = Counter(position.pack())
    if isinstance(position, CornerStones):
        cards += Counter(FIRSTS.values())
    assert len(list(cards.elements())) in (52, 104)
    assert cards_of(position) == cards
    assert set(position.table.piles) == set(places(position)) == set(position.view())


def check_moves(position: Game) -> None:
    """Moves are unique printable words in which clients find the places."""
    place = "|".join(map(re.escape, places(position)))
    initial = "|".join({re.escape(name[0]) for name in places(position) if len(name) > 2})
    form = re.compile(
        rf"(?:{place})|(?:{place}|{initial})(?:{place})(?::\d+)?|(?:{place})(?:-|(?:\+(?:{place}))+)|{initial}|[a-z]{{3,}}"
    )
    moves = position.moves()
    assert len(set(moves)) == len(moves)
    for move in moves:
        assert type(move) is str
        assert move.isascii()
        assert move.isprintable()
        assert move not in ("undo", "restart")
        assert form.fullmatch(move), f"{move} has none of the forms that the docstring of Game._moves lists"


def check_view(position: Game) -> None:
    """A view shows backs exactly where cards are hidden, and can be encoded."""
    view = position.view()
    for place, pile in view.items():
        cards = position.table[place]
        assert pile == (BACK,) * (count := position.hidden.get(place, 0)) + cards[count:]
        assert all(type(card) is str for card in pile)
    assert all(type(note) is str for note in position.notes.values())
    sent = (view, position.notes, position.moves(), position.score)
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(sent))[0]
    assert decoded == msgspec.json.decode(msgspec.json.encode(sent))[0]
    assert decoded == {place: list(pile) for place, pile in view.items()}


def check_end(position: Game) -> None:
    """Progress and outcome agree."""
    assert 0 <= position.home <= position.goal
    assert position.won == (position.outcome == "won")
    assert position.over == (not position.moves()) == (position.outcome != "playing")
    assert position.outcome in ("playing", "won", position.dead_end)
    if position.over:
        with pytest.raises(IllegalMove, match=f"The game is {position.outcome}"):
            position.after("undo")


def check_step(before: Game, move: str, later: Game) -> None:
    """Cards leave foundations only by a move from there, and only turning up a hidden card is a reveal."""
    for place in before.foundations - {move[:2]}:
        assert later.table[place][: len(before.table[place])] == before.table[place]
    seen = [
        sum((Counter(pile[each.hidden.get(place, 0) :]) for place, pile in each.view().items()), Counter())
        for each in (before, later)
    ]
    assert before.reveals(later) == (seen[0] != seen[1] or move == "redeal")


@every_variant
@few
@given(seed=seeds, random=luck)
def test_every_position_of_a_play_is_what_clients_rely_on(
    game: type[Game], variant: Variant, seed: str, random: Random
) -> None:
    check_layout(game)
    steps = walk(game.from_seed(seed, **variant), random)
    for _, position in steps:
        for check in (check_cards, check_moves, check_view, check_end):
            check(position)
    for (_, before), (move, later) in pairwise(steps):
        check_step(before, move, later)


@every_variant
@few
@given(seed=seeds, random=luck)
def test_every_legal_move_can_be_made_and_changes_the_position(
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
def test_any_other_text_is_refused_with_a_reason_and_changes_nothing(
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
    position = reduce(game.after, moves, game.from_seed(seed, **variant))
    assert position == steps[-1][1]
    assert {position, steps[-1][1]} == {position}


# Recorded wins.


@pytest.mark.parametrize("slug", GAMES)
def test_every_game_has_a_recorded_win(slug: str) -> None:
    assert slug in WINS, f'add "{slug}": {{"seed": …, "moves": […]}} to "wins" in tests/vectors.json'
    steps = replayed(slug)
    for _, position in steps[:-1]:
        check_end(position)
        assert position.outcome == "playing"
    won = steps[-1][1]
    check_end(won)
    assert won.outcome == "won"
    assert won.score == (0 if won.counted == "left" else won.home)


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
