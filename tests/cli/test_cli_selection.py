"""The hand: every legal move can be picked, whatever game it is, and what does not go asks for its rule."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal_cli.state.selection import LETTERS, Selection

WINS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["wins"]
every_game = pytest.mark.parametrize("slug", GAMES)


def hand(game: Game) -> Selection:
    return Selection(game.moves(), game.layout, game.foundations, game.hidden)


def after(slug: str, *moves: str, seed: str = "42") -> Game:
    game = GAMES[slug].from_seed(seed)
    for move in moves:
        game = game.after(move)
    return game


def walked(slug: str) -> Iterator[Game]:
    """Positions of some deals, as one comes to them by playing on, and those of a game that was won."""
    game = GAMES[slug].from_seed(WINS[slug]["seed"])
    for move in WINS[slug]["moves"]:
        yield game
        game = game.after(move)
    for seed in ("1", "2", "42"):
        game = GAMES[slug].from_seed(seed)
        for step in range(80):
            yield game
            if game.over:
                break
            game = game.after(game.moves()[step * 7 % len(game.moves())])


@every_game
@pytest.mark.parametrize("auto_drop", [True, False])
def test_every_legal_move_can_be_picked(slug: str, auto_drop: bool) -> None:
    for game in walked(slug):
        fresh = replace(hand(game), auto_drop=auto_drop)
        for move in game.moves():
            held, made = fresh, None
            for place in fresh.parse(move).places:
                assert place in held.choices
                held, made = held.pick(place)
                if made:
                    break
            if not made:
                held, made = (held, held.stock_move) if not held.picks else held.drop()
            assert made == move
            assert held.picks == ()


@every_game
def test_letters_stand_beside_what_can_move_in_reading_order(slug: str) -> None:
    for game in walked(slug):
        letters = hand(game).letters
        assert list(letters.values()) == list(LETTERS[: len(letters)])
        assert list(letters) == list(hand(game).choices[: len(LETTERS)])
        movable = {place for move in game.moves() for place in hand(game).parse(move).places}
        assert set(letters) <= movable
        for place, letter in letters.items():
            assert hand(game).place_of(letter) == place


@every_game
def test_no_pick_makes_an_illegal_move_of_places_that_may_be_picked(slug: str) -> None:
    for game in walked(slug):
        for place in hand(game).choices:
            held, made = hand(game).pick(place)
            assert made is None or made in game.moves()
            for target in held.choices:
                _, made = held.pick(target)
                assert made is None or made in game.moves()
            _, made = held.drop()
            if not any(choice.is_group for choice in held.candidates):
                assert made is None or made in game.moves()


@every_game
def test_whatever_else_is_picked_asks_for_a_move_that_the_rules_refuse_in_words(slug: str) -> None:
    for game in walked(slug):
        for place in set(hand(game).places) - set(hand(game).choices) - game.hidden:
            held, made = hand(game).pick(place)
            assert held.picks == ()
            if made:
                with pytest.raises(IllegalMove, match=r"\.$"):
                    game.after(made)


def test_a_pile_and_its_target_are_picked_one_after_the_other() -> None:
    game = after("corner-stones")
    source, targets = next(
        (place, held.choices) for place in hand(game).choices if (held := hand(game).pick(place)[0]).picks
    )
    held, made = hand(game).pick(source)
    assert (held.picks, made) == ((source,), None)
    assert held.pick(targets[1]) == (hand(game), source + targets[1])
    assert held.pick(source) == (hand(game), None)


def test_what_has_one_way_to_go_goes_there_at_once() -> None:
    game = after("corner-stones", seed="1")
    lone = next(
        choice
        for choice in map(hand(game).parse, game.moves())
        if sum(move.startswith(choice.places[0]) for move in game.moves()) == 1
    )
    assert hand(game).pick(lone.places[0]) == (hand(game), lone.move)
    held, made = replace(hand(game), auto_drop=False).pick(lone.places[0])
    assert (held.picks, made) == ((lone.places[0],), None)
    assert held.drop()[1] == lone.move


def test_a_card_goes_to_a_foundation_only_when_sent_home() -> None:
    for game in walked("corner-stones"):
        for source in hand(game).choices:
            home = hand(game).home_move(source)
            expected = [move for move in game.moves() if move[:2] == source and move[2:] in game.foundations]
            assert home == (expected[0] if expected else None)


def test_a_place_alone_is_home_already_named() -> None:
    for slug in ("corners", "gallery", "the-edge"):
        game = after(slug)
        for place in hand(game).choices:
            assert hand(game).home_move(place) in game.moves()


def test_the_waste_is_called_by_its_letter() -> None:
    game = next(game for game in walked("corners") if "w" in game.moves())
    assert hand(game).parse("w").places == ("waste",)
    assert hand(game).pick("waste")[1] == "w"


def test_the_stock_plays_the_word() -> None:
    assert hand(after("corners")).stock_move == "draw"
    assert hand(after("corners")).pick("stock")[1] == "draw"
    assert hand(after("gallery")).pick("stock")[1] == "deal"
    assert hand(after("the-edge")).stock_move is None


def test_cards_that_leave_together_are_picked_in_any_order() -> None:
    game = next(game for game in walked("the-edge") if any(move.count("+") == 2 for move in game.moves()))
    move = next(move for move in game.moves() if move.count("+") == 2)
    held, made = hand(game), None
    for place in reversed(move.split("+")):
        if made is None:
            held, made = held.pick(place)
    assert (made or held.drop()[1]) == move
    wrong = next(place for place in hand(game).choices if len(hand(game).pick(place)[0].picks) == 1)
    held, _ = hand(game).pick(wrong)
    assert held.drop()[1] == f"{wrong}-"


def test_the_cursor_walks_over_the_table_and_stops_at_its_edge() -> None:
    cursor = hand(after("corners")).move_cursor("right")
    assert cursor.cursor in cursor.choices
    cursor = replace(cursor, cursor="f1")
    assert cursor.move_cursor("right").cursor == "r1"
    assert cursor.move_cursor("left").cursor == "f1"
    assert cursor.move_cursor("up").cursor == "f1"
    assert cursor.move_cursor("down").cursor == "r2"
    assert replace(cursor, cursor="f4").move_cursor("down").cursor == "waste"
    assert replace(cursor, cursor="waste").move_cursor("down").cursor == "waste"


def test_enter_picks_under_the_cursor_and_then_drops() -> None:
    game = after("corner-stones")
    source = next(place for place in hand(game).choices if hand(game).pick(place)[0].picks)
    held, made = replace(hand(game), cursor=source).enter()
    assert (held.picks, made) == ((source,), None)
    assert held.enter()[1] == next(move for move in game.moves() if move.startswith(source))
    target = held.choices[-1]
    assert replace(held, cursor=target).enter()[1] == source + target
    assert hand(game).enter() == (hand(game), None)
