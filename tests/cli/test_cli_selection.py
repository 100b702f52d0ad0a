"""The selection: every legal move of every game can be picked, and other picks make moves that explain the rules."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from samedeal.errors import IllegalMove
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal_cli.state.pile_keys import KEY_ROWS, layout_keys
from samedeal_cli.state.race_keys import on_key
from samedeal_cli.state.race_state import Notice
from samedeal_cli.state.selection import GUARD_S, Selection
from support.example_states import finished, racing
from support.vectors import WINS

every_game = pytest.mark.parametrize("slug", GAMES)


def selection(game: Game) -> Selection:
    return Selection(game.moves(), game.layout, game.foundations, game.stock)


def after(slug: str, *moves: str, seed: str = "42") -> Game:
    game = GAMES[slug].from_seed(seed)
    for move in moves:
        game = game.after(move)
    return game


def walked(slug: str) -> Iterator[Game]:
    """Yield every other position of a won game and of two other deals."""
    game = GAMES[slug].from_seed(WINS[slug]["seed"])
    for step, move in enumerate(WINS[slug]["moves"]):
        if step % 2 == 0:
            yield game
        game = game.after(move)
    for seed in ("1", "42"):
        game = GAMES[slug].from_seed(seed)
        for step in range(60):
            if step % 2 == 0:
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
            if number := selected.numbers and (move.partition(":")[2] or "1"):
                assert selected.drop() == selected.pick(selected.picks[-1]) == (fresh, [*selected.numbers.values()][-1])
                selected, played, _ = selected.press(number, 0.0)
            if not played:
                selected, played = selected.drop() if selected.picks else (selected, move)
                assert move in (fresh.stock_move, "home", *fresh.candidates)
            assert played == move
            assert selected.picks == ()


@pytest.mark.parametrize("slug", ["corner-stones", "freecell", "klondike"])
def test_how_many_cards_a_move_takes_is_known_before_the_server_answers(slug: str) -> None:
    for game in walked(slug):
        for choice in filter(lambda choice: choice.is_transfer, map(selection(game).parse, game.moves())):
            source, view = choice.places[0], game.view()
            assert len(view[source]) - choice.size(view, game.labels) == len(game.after(choice.move).table[source])


@every_game
def test_every_place_has_one_key_for_the_whole_game(slug: str) -> None:
    keys = layout_keys(GAMES[slug].layout)
    assert len(set(keys.values())) == len(keys)
    for game in walked(slug):
        assert selection(game).keys == keys
        assert set(keys) == set(selection(game).places)
        assert all(selection(game).place_of(key) == place for place, key in keys.items())


@every_game
def test_keys_lie_like_the_table(slug: str) -> None:
    """A place to the right of or below another has a key to the right of or below that of the other."""
    keys = layout_keys(GAMES[slug].layout)
    row_of = {key: at for at, row in enumerate(KEY_ROWS) for key in row}
    column_of = {key: at for row in KEY_ROWS for at, key in enumerate(row)}
    rows = [line.split() for line in GAMES[slug].layout.strip().splitlines()]
    for row in rows:
        columns = [column_of[keys[place]] for place in row if place != "."]
        assert columns == sorted(columns)
    for column in zip(*(row for row in rows if len(row[-1]) < 3), strict=True):
        lines = [row_of[keys[place]] for place in column if place != "."]
        assert lines == sorted(lines)


def test_grids_take_the_left_of_the_keyboard() -> None:
    keys = layout_keys(GAMES["the-edge"].layout)
    assert "".join(keys.values()) == "1234qwerasdfzxcv5tg"
    assert [layout_keys(GAMES["corner-stones"].layout)[place] for place in ("c1", "c2", "c3", "c4")] == list("16zn")


def test_any_layout_gets_keys_while_there_are_any() -> None:
    tall = layout_keys("\n".join(f"a{row} b{row}" for row in range(7)) + "\nstock")
    assert len(tall) == len(set(tall.values())) == 15
    wide = layout_keys(" ".join(f"x{number}" for number in range(50)))
    assert len(wide) == len(set(wide.values())) == sum(map(len, KEY_ROWS))


# Keys.


def pressed(game: Game, *names: str, now: float = 0, **fields: Any) -> tuple[Selection, list[str], str]:
    """Press keys of piles; return the selection, the moves and the last message."""
    current, moves, message = replace(selection(game), **fields), list[str](), ""
    for name in names:
        current, move, message = current.press(name, now)
        moves += [move] if move else []
    return current, moves, message


def test_a_move_that_names_two_piles_takes_both_keys() -> None:
    game = after("corner-stones")
    keys = selection(game).keys
    for choice in map(selection(game).parse, game.moves()):
        source, target = choice.places
        held, moves, message = pressed(game, keys[source])
        assert (held.picks, moves, message) == ((source,), [], "")
        assert pressed(game, keys[source], keys[target])[1] == [choice.move]


def test_the_key_of_a_picked_pile_sends_its_card_home_or_unpicks_it() -> None:
    seen = set()
    for game in walked("corner-stones"):
        for place in selection(game).choices:
            key, home = selection(game).keys[place], selection(game).home_move(place)
            selected, moves, _ = pressed(game, key, key)
            assert (selected.picks, moves) == ((), [home] if home else [])
            seen.add(home is None)
    assert seen == {True, False}


def test_the_second_half_of_a_played_move_starts_no_other() -> None:
    game = after("gallery")
    for choice in map(selection(game).parse, game.moves()):
        if not choice.places:
            continue
        (source,) = choice.places
        key = selection(game).keys[source]
        played, moves, _ = pressed(game, key, now=100)
        assert moves == [choice.move]
        assert played.played
        then = game.after(choice.move)
        meant = played.played.answered(game.view(), then.view(), game.fanned)
        assert (source in meant.places) == (source not in game.fanned)
        targets = meant.places - {source}
        assert targets
        for place in meant.places:
            again = selection(then).keys[place]
            guarded, moves, message = pressed(then, again, now=100 + GUARD_S / 2, played=meant)
            assert (moves, guarded.picks) == ([], ())
            wanted = "play its next card" if place == source else f"use {place}"
            assert message == f"{source} was just played. Press {again} again to {wanted}."
            assert "just" not in pressed(then, again, now=100 + GUARD_S, played=meant)[2]
            assert "just" not in guarded.press(again, 100 + GUARD_S / 2)[2]


def test_keys_without_an_effect_say_so() -> None:
    assert pressed(after("the-edge"), "9")[2] == "9 is not a key here."
    assert pressed(after("the-edge"), "ctrl+x")[2] == "^X is not a key here."
    stones = after("corner-stones")
    idle = next(place for place in selection(stones).places if place not in selection(stones).choices)
    assert pressed(stones, selection(stones).keys[idle])[2] == f"Nothing on {idle} can be played now."
    corners = after("corners")
    assert pressed(corners, selection(corners).keys["f1"])[1:] == ([], "Nothing on f1 can be played now.")
    assert pressed(after("the-edge"), "5")[1:] == ([], "Nothing on the hand can be played now.")


def test_the_key_of_the_stock_can_be_repeated() -> None:
    game = after("corners")
    stock = selection(game).keys["stock"]
    assert pressed(game, stock, stock)[1:] == (["draw", "draw"], "")


# Picks.


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
        for place in set(selection(game).places) - set(selection(game).choices) - {game.stock}:
            selected, move = selection(game).pick(place)
            assert selected.picks == ()
            if move:
                with pytest.raises(IllegalMove, match=r"\.$"):
                    game.after(move)


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


LATIN = "qwertyuioasdfghjkzxcvbnm"
LAYOUTS = {
    "Caps Lock": LATIN.upper(),
    "full width": "".join(chr(ord(letter) + 0xFEE0) for letter in LATIN),
    "Cyrillic": "йцукенгшщфывапролячсмить",
    "Greek": ";ςερτυθιοασδφγηξκζχψωβνμ",
    "Hebrew": "/'קראטוןםשדגכעיחלזסבהנמצ",
}
"""What the keys type that have the letters of LATIN on a keyboard for English."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("slug", GAMES)
def test_keys_of_piles_work_on_every_keyboard(slug: str, layout: str) -> None:
    state = racing(slug)
    for key, typed in zip(LATIN, LAYOUTS[layout], strict=True):
        if key in state.selection.keys.values() and typed.isalpha():
            assert on_key(state, typed) == on_key(state, key), typed


def test_digits_of_a_french_keyboard_need_no_shift() -> None:
    state = racing("the-edge")
    for key, typed in zip("1234", "&é\"'", strict=True):
        assert on_key(state, typed) == on_key(state, key)


def test_signs_with_a_meaning_of_their_own_keep_it() -> None:
    over = finished("corners")
    assert on_key(over, "N") == on_key(over, "n") == on_key(over, "т")
    assert on_key(over, "/") == (replace(over, notice=Notice("/ is not a key here. ? shows all keys.", "")), None)


def test_a_second_unknown_key_is_answered_with_a_hint() -> None:
    state = racing("corners")
    for key, words in (("%", ""), ("f5", "beside its name"), ("%", "beside its name")):
        state, _ = on_key(state, key)
        assert state.notice
        assert "is not a key here." in state.notice.text
        assert words in state.notice.text
