"""The selection: every legal move of every game can be picked, and other picks make moves that explain the rules."""

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


def selection(game: Game) -> Selection:
    return Selection(game.moves(), game.layout, game.foundations, game.hidden)


def after(slug: str, *moves: str, seed: str = "42") -> Game:
    game = GAMES[slug].from_seed(seed)
    for move in moves:
        game = game.after(move)
    return game


def walked(slug: str) -> Iterator[Game]:
    """Yield the positions of a won game and of some other deals."""
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
        fresh = replace(selection(game), auto_drop=auto_drop)
        for move in game.moves():
            selected, played = fresh, None
            for place in fresh.parse(move).places:
                assert place in selected.choices
                selected, played = selected.pick(place)
                if played:
                    break
            if not played:
                selected, played = (selected, selected.stock_move) if not selected.picks else selected.drop()
            assert played == move
            assert selected.picks == ()


@every_game
def test_letters_mark_movable_places_in_reading_order(slug: str) -> None:
    for game in walked(slug):
        letters = selection(game).letters
        assert list(letters.values()) == list(LETTERS[: len(letters)])
        assert list(letters) == list(selection(game).choices[: len(LETTERS)])
        movable = {place for move in game.moves() for place in selection(game).parse(move).places}
        assert set(letters) <= movable
        for place, letter in letters.items():
            assert selection(game).place_of(letter) == place


@every_game
def test_picking_choices_never_makes_an_illegal_move(slug: str) -> None:
    for game in walked(slug):
        for place in selection(game).choices:
            selected, move = selection(game).pick(place)
            assert move is None or move in game.moves()
            for target in selected.choices:
                _, move = selected.pick(target)
                assert move is None or move in game.moves()
            _, move = selected.drop()
            if not any(choice.is_group for choice in selected.candidates):
                assert move is None or move in game.moves()


@every_game
def test_picking_another_place_makes_a_move_that_the_rules_refuse(slug: str) -> None:
    for game in walked(slug):
        for place in set(selection(game).places) - set(selection(game).choices) - game.hidden:
            selected, move = selection(game).pick(place)
            assert selected.picks == ()
            if move:
                with pytest.raises(IllegalMove, match=r"\.$"):
                    game.after(move)


def test_a_pile_and_its_target_are_picked_in_turn() -> None:
    game = after("corner-stones")
    source, targets = next(
        (place, selected.choices)
        for place in selection(game).choices
        if (selected := selection(game).pick(place)[0]).picks
    )
    selected, move = selection(game).pick(source)
    assert (selected.picks, move) == ((source,), None)
    assert selected.pick(targets[1]) == (selection(game), source + targets[1])
    assert selected.pick(source) == (selection(game), None)


def test_a_card_with_one_target_is_played_at_once() -> None:
    game = after("corner-stones", seed="1")
    lone = next(
        choice
        for choice in map(selection(game).parse, game.moves())
        if sum(move.startswith(choice.places[0]) for move in game.moves()) == 1
    )
    assert selection(game).pick(lone.places[0]) == (selection(game), lone.move)
    selected, played = replace(selection(game), auto_drop=False).pick(lone.places[0])
    assert (selected.picks, played) == ((lone.places[0],), None)
    assert selected.drop()[1] == lone.move


def test_home_move_goes_only_to_a_foundation() -> None:
    for game in walked("corner-stones"):
        for source in selection(game).choices:
            home = selection(game).home_move(source)
            expected = [move for move in game.moves() if move[:2] == source and move[2:] in game.foundations]
            assert home == (expected[0] if expected else None)


def test_home_move_is_the_place_if_moves_name_no_target() -> None:
    for slug in ("corners", "gallery", "the-edge"):
        game = after(slug)
        for place in selection(game).choices:
            assert selection(game).home_move(place) in game.moves()


def test_the_waste_is_abbreviated_in_moves() -> None:
    game = next(game for game in walked("corners") if "w" in game.moves())
    assert selection(game).parse("w").places == ("waste",)
    assert selection(game).pick("waste")[1] == "w"


def test_the_stock_plays_its_move() -> None:
    assert selection(after("corners")).stock_move == "draw"
    assert selection(after("corners")).pick("stock")[1] == "draw"
    assert selection(after("gallery")).pick("stock")[1] == "deal"
    assert selection(after("the-edge")).stock_move is None


def test_cards_that_leave_together_are_picked_in_any_order() -> None:
    game = next(game for game in walked("the-edge") if any(move.count("+") == 2 for move in game.moves()))
    move = next(move for move in game.moves() if move.count("+") == 2)
    selected, played = selection(game), None
    for place in reversed(move.split("+")):
        if played is None:
            selected, played = selected.pick(place)
    assert (played or selected.drop()[1]) == move
    wrong = next(place for place in selection(game).choices if len(selection(game).pick(place)[0].picks) == 1)
    selected, _ = selection(game).pick(wrong)
    assert selected.drop()[1] == f"{wrong}-"


def test_the_cursor_moves_over_the_table_and_stops_at_its_edge() -> None:
    cursor = selection(after("corners")).move_cursor("right")
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
    source = next(place for place in selection(game).choices if selection(game).pick(place)[0].picks)
    selected, played = replace(selection(game), cursor=source).enter()
    assert (selected.picks, played) == ((source,), None)
    assert selected.enter()[1] == next(move for move in game.moves() if move.startswith(source))
    target = selected.choices[-1]
    assert replace(selected, cursor=target).enter()[1] == source + target
    assert selection(game).enter() == (selection(game), None)
