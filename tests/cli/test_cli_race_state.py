"""The race state: keys, clicks and messages, for every game."""

from dataclasses import replace
from typing import get_args

import pytest
from msgspec import structs

from cli.test_cli_text_table import after
from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from samedeal.wire.messages import Guidance
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.screen.running_view import instruction
from samedeal_cli.settings import Cards, Theme
from samedeal_cli.state.race_commands import Ask, Choose, Command, PlayMove, RaceAgain
from samedeal_cli.state.race_keys import handle_queued_key, on_click, on_drag, on_key
from samedeal_cli.state.race_state import Check, Notice, RaceState, state_of_next_race
from samedeal_cli.state.race_update import move_refused, update
from support.example_states import board, entered, finished, lobby, now, racing

every_game = pytest.mark.parametrize("slug", GAMES)


def keys(state: RaceState, *names: str) -> tuple[RaceState, list[Command]]:
    """Return the state after some keys, and their commands."""
    commands = []
    for name in names:
        state, command = on_key(state, name)
        commands += [command] if command else []
    return state, commands


@every_game
def test_every_place_can_be_reached_by_the_arrows(slug: str) -> None:
    state = racing(slug)
    seen: set[str | None] = set()
    frontier = [on_key(state, "right")[0]]
    while frontier:
        here = frontier.pop()
        if here.cursor not in seen:
            seen.add(here.cursor)
            frontier += [on_key(here, key)[0] for key in ("left", "right", "up", "down")]
    assert seen == set(state.selection.places)


@every_game
def test_no_key_raises_at_any_stage(slug: str) -> None:
    names = [*map(chr, range(33, 127)), "space", "enter", "escape", "tab", "shift+tab", "up", "left", "f1", "ctrl+a"]
    states = [entered(slug), lobby(slug), racing(slug), finished(slug), lobby(slug, watching=True)]
    for state in states:
        for name in names:
            later, _ = on_key(state, name)
            draw_screen(later, 80, 24)
            draw_screen(on_key(later, "down")[0], 60, 20)


@every_game
def test_letters_and_digits_of_a_running_race_are_only_keys_of_piles(slug: str) -> None:
    state = racing(slug)
    for key in "1234567890qwertyuiopasdfghjkl;zxcvbnm,.QWERTYASDFGZXCVB":
        later, command = on_key(state, key)
        assert command is None or isinstance(command, PlayMove)
        assert command or later.picks or (later.notice and later.notice != state.notice)
        assert (later.theme, later.suits, later.cards) == (state.theme, state.suits, state.cards)


def test_keys_pick_up_and_drop() -> None:
    state = racing("corner-stones")
    source = state.selection.choices[0]
    selected, commands = keys(state, state.selection.keys[source])
    assert commands == []
    target = selected.selection.choices[0]
    down, commands = keys(selected, state.selection.keys[target])
    assert commands == [PlayMove(selected.picks[0] + target)]
    assert (down.pending, down.picks) == (selected.picks[0] + target, ())
    assert keys(selected, "escape")[0].picks == keys(selected, "backspace")[0].picks == ()
    assert keys(state, "backspace")[1] == [PlayMove("undo")]
    assert keys(selected, "enter")[1] == [
        PlayMove(next(move for move in state.selection.moves if move.startswith(selected.picks[0])))
    ]


def test_keys_are_queued_while_a_move_is_pending() -> None:
    state, commands = keys(racing("corners"), "space", "space", "backspace")
    assert commands == [PlayMove("draw")]
    assert [queued.key for queued in state.queued_keys] == ["space", "backspace"]
    assert keys(state, "escape")[0].queued_keys == ()
    game = after("corners", 30).after("draw")
    answered = update(state, *now("corners", "running", "playing", game, 99))
    assert (answered.pending, answered.picks) == (None, ())
    again, command = handle_queued_key(answered)
    assert command == PlayMove(game.moves()[-1])
    assert [queued.key for queued in again.queued_keys] == ["backspace"]
    assert move_refused(state, "No.").queued_keys == ()


@pytest.mark.parametrize(
    ("slug", "key", "move"),
    [
        ("klondike", "+", "home"),
        ("klondike", "space", "redeal"),
        ("freecell", "+", "home"),
        ("freecell", "space", "home"),
        ("gallery", "space", "deal"),
        ("golf", "space", "draw"),
    ],
)
def test_a_word_that_is_not_possible_is_sent_so_that_the_refusal_says_why(slug: str, key: str, move: str) -> None:
    state = racing(slug, board=board(after(slug, 12), moves=[]))
    assert keys(state, key)[1] == [PlayMove(move)]
    assert keys(racing("corners"), "+")[0].notice == Notice("+ is not a key here.", "")


@pytest.mark.parametrize("waiting", [["w", "space"], ["cursor", "enter", "space"]], ids=" ".join)
def test_a_queued_key_whose_card_has_gone_is_dropped_with_those_behind_it(waiting: list[str]) -> None:
    state = racing("corners")
    if waiting[0] == "cursor":
        state, waiting = replace(state, cursor="waste"), waiting[1:]
    else:
        waiting = [state.selection.keys["waste"], *waiting[1:]]
    state, commands = keys(state, "space", *waiting)
    assert commands == [PlayMove("draw")]
    answered = update(state, *now("corners", "running", "playing", after("corners", 30).after("draw"), 99))
    dropped, command = handle_queued_key(answered)
    assert (command, dropped.queued_keys, dropped.pending) == (None, (), None)
    assert dropped.notice == Notice("The cards have changed. 2 queued keys were dropped.")


def test_the_cursor_moves_while_a_move_is_pending() -> None:
    state, _ = keys(replace(racing("corners"), cursor="f1"), "space", "right")
    assert (state.cursor, state.queued_keys) == ("r1", ())


def test_queued_keys_pick_up_and_drop_and_the_second_half_of_a_move_is_ignored() -> None:
    stones = racing("corner-stones")
    first = stones.selection.moves[0]
    game = after("corner-stones", 12).after(first)
    places = [*stones.selection.parse(first).places, *stones.selection.parse(game.moves()[0]).places]
    state, commands = keys(stones, *(stones.selection.keys[place] for place in places))
    assert commands == [PlayMove(first)]
    answered = update(state, *now("corner-stones", "running", "playing", game, 99))
    assert handle_queued_key(answered)[1] == PlayMove(game.moves()[0])

    gallery = racing("gallery", steps=0)
    start = after("gallery", 0)
    move = next(move for move in start.moves() if move != "deal")
    then = start.after(move)
    target = next(place for place in start.view() if len(then.table[place]) > len(start.table[place]))
    state, commands = keys(gallery, *(gallery.selection.keys[place] for place in (move, target)))
    assert commands == [PlayMove(move)]
    answered = update(state, *now("gallery", "running", "playing", then, 99))
    ignored, command = handle_queued_key(answered)
    assert (command, ignored.picks, ignored.queued_keys) == (None, (), ())
    assert ignored.notice
    assert "was just played" in ignored.notice.text


def test_two_cards_of_one_golf_column_follow_each_other_as_fast_as_they_are_typed() -> None:
    start = after("golf", 0, seed="49")
    state = update(racing("golf"), *now("golf", "running", "playing", start, 98))
    state, commands = keys(state, *[state.selection.keys["c2"]] * 3)
    assert (commands, len(state.queued_keys)) == ([PlayMove("c2")], 2)
    game = start
    for number in range(99, 101):
        game = game.after("c2")
        state, command = handle_queued_key(update(state, *now("golf", "running", "playing", game, number)))
        assert command == PlayMove("c2")


def test_a_refusal_is_shown_and_clears_the_selection() -> None:
    state, _ = keys(racing("corners"), "space")
    refused = move_refused(state, "6H does not follow 4H.")
    assert refused.notice == Notice("6♥ does not follow 4♥.", "bad")
    assert refused.pending is None
    assert refused.selection.choices


def confirmed(state: RaceState, key: str) -> list[Command]:
    """Press a key that asks, and return the commands after the answer yes."""
    asked, question = on_key(state, key)
    assert asked is state
    assert isinstance(question, Ask)
    return [command for command in (question.then(state)[1],) if command]


@pytest.mark.parametrize(
    ("key", "command"), [("!", m.Resign(id=0)), ("ctrl+r", PlayMove("restart"))], ids=["resign", "restart"]
)
def test_resigning_and_restarting_ask_first(key: str, command: Command) -> None:
    assert confirmed(racing("corners"), key) == [command]


def test_lobby_keys_toggle_ready_and_give_up_the_seat() -> None:
    assert keys(lobby("corners"), "r")[1] == [m.Ready(id=0)]
    ready = update(lobby("corners"), *now("corners", "open", "ready"))
    assert keys(ready, "r")[1] == [m.Ready(id=0, ready=False)]
    assert confirmed(ready, "!") == [m.Leave(id=0)]
    assert keys(lobby("corners", watching=True), "r", "!", "y")[1] == ["copy-link"]


def test_quit_copy_and_result_keys_return_commands() -> None:
    assert keys(racing("corners"), "ctrl+q")[1] == ["quit"]
    assert keys(finished("corners"), "q", "y")[1] == ["quit", "copy-link"]
    assert keys(finished("corners"), "n", "v", "s")[1] == [RaceAgain(), "open-replay", "copy-result"]
    choice = on_key(finished("corners"), "g")[1]
    assert isinstance(choice, Choose)
    assert choice.options["The Edge"](finished("corners"))[1] == RaceAgain("the-edge")
    checked = replace(finished("corners"), checks=(Check("moves", True, "all legal"),))
    assert keys(checked, "f")[1] == ["checks"]
    assert keys(finished("corners"), "f")[1] == []


def test_clicks_pick_drop_and_send_home() -> None:
    state = replace(racing("corner-stones"), auto_drop=False)
    source, target = state.selection.parse(state.selection.moves[0]).places
    selected, command = on_click(state, source)
    assert (selected.picks, command) == ((source,), None)
    assert on_click(selected, target)[1] == PlayMove(source + target)
    assert on_click(state, source, "right")[1] == PlayMove(state.selection.moves[0])
    home = state.selection.home_move(source)
    assert on_click(selected, source, "double")[1] == (PlayMove(home) if home else None)
    assert on_click(state, source, "double") == (state, None)
    assert on_drag(state, source, target)[1] == PlayMove(source + target)
    assert on_click(lobby("corners"), "key:y")[1] == "copy-link"
    assert on_click(state, "seat:1")[0].watched_seat == 1
    assert on_click(on_click(state, "seat:1")[0], "seat:1")[0].watched_seat is None
    assert on_click(state, "nowhere") == (state, None)


def test_a_drag_plays_a_move_that_names_one_place() -> None:
    edge = racing("the-edge", steps=0)
    assert on_drag(edge, "hand", "b2")[1] == PlayMove("b2")
    corners = racing("corners", steps=0)
    source = corners.selection.choices[0]
    assert on_drag(corners, source, "f1")[1] == PlayMove(source)
    assert on_drag(corners, "stock", "waste")[1] == PlayMove("draw")
    assert on_click(corners, "stock", "double")[1] == PlayMove("draw")


def test_an_unplayable_card_sends_a_move_or_shows_a_notice() -> None:
    corners = racing("corners", steps=0)
    idle = next(place for place in ("r1", "r2", "r3", "r4", "r5") if place not in corners.selection.choices)
    assert on_click(corners, idle)[1] == PlayMove(idle)
    stones = racing("corner-stones")
    later, command = on_click(stones, "u1")
    assert command is None
    assert later.notice == Notice("Nothing on u1 can be played now.", "")


def test_spectators_finished_racers_and_watchers_cannot_play() -> None:
    moves = racing("corners").selection.moves
    assert moves
    watching = update(lobby("corners", watching=True), *now("corners", "running", "playing", watching=True))
    done = update(racing("corners"), *now("corners", "running", "resigned", after("corners", 30), 99))
    other = board(after("corners", 3))
    open_race = now("corners", "running", "playing", after("corners", 30), 60, boards={1: other})
    looking = keys(update(racing("corners"), *open_race), "tab")[0]
    assert looking.board == other
    for state in (watching, done, looking):
        assert keys(state, "space", "a", "enter", "ctrl+r", "/", "!")[1] == []
        assert not state.selection.choices
    assert keys(looking, "escape")[0].board != other


def test_tab_moves_a_spectator_from_table_to_table() -> None:
    one, two = board(after("corners", 3)), board(after("corners", 7))
    state = update(
        lobby("corners", watching=True), *now("corners", "running", "playing", watching=True, boards={1: one, 2: two})
    )
    assert state.board == one
    seen = []
    for _ in range(3):
        state, _ = keys(state, "tab")
        seen.append(state.watched_seat)
    assert seen == [1, 2, 3]
    assert keys(state, "tab", "tab")[0].board == two


def test_display_keys_change_suits_theme_cards_and_rivals() -> None:
    state = racing("corners")
    assert keys(state, "ctrl+o")[0].suits == "two"
    assert keys(state, "ctrl+o", "ctrl+o")[0].suits == "four"
    for key, name, values in (("ctrl+t", "theme", get_args(Theme)), ("ctrl+k", "cards", get_args(Cards))):
        choice = on_key(state, key)[1]
        assert isinstance(choice, Choose)
        assert [getattr(run(state)[0], name) for run in choice.options.values()] == list(values)
    assert "┌" not in "".join(draw_screen(replace(state, cards="compact"), 100, 32).text()[3:20])
    assert keys(state, "ctrl+b")[0].rivals_hidden


def test_news_lists_racers_and_stages() -> None:
    counting = update(lobby("corners"), *now("corners", "countdown", "ready"))
    assert "everyone is ready" in [event.text for event in counting.news]
    assert [event.text for event in lobby("corners").news] == ["cy (bot) is ready"]
    assert "the race is over" in [event.text for event in finished("corners").news]
    assert racing("corners").news[-1].ms == 0


def test_a_small_screen_accepts_only_quit() -> None:
    state = replace(racing("corners"), width=59, height=19)
    assert keys(state, "space", "a", "!", "y", "?", "q")[1] == ["quit"]
    assert replace(state, width=60, height=20).selection.choices


@pytest.mark.parametrize("outcome", ["won", "lost", "stuck", "over", "resigned"])
def test_the_end_of_your_game_shows_what_you_can_do(outcome: str) -> None:
    state = racing("corners")
    assert state.view
    assert state.view.board
    guidance = Guidance(ending="No free cell for JS") if outcome == "lost" else None
    board = structs.replace(state.view.board, guidance=guidance, outcome=outcome)
    ended = structs.replace(board, ply=99, moves=[], undo=outcome == "stuck")
    news = now("corners", "running", "stuck" if outcome == "stuck" else outcome)
    updated = update(state, structs.replace(news[0], board=ended), *news[1:])
    text, _ = instruction(updated)
    texts = {
        "won": "Solved in",
        "resigned": "You resigned",
        "lost": "No free cell for J♠",
        "over": "Finished",
    }
    assert text.startswith(texts.get(outcome, ""))
    assert ("You can undo, restart or resign." in text) == (outcome == "stuck")
    assert ("Waiting for ada" in text) == (outcome != "stuck")
    assert not updated.notice


def test_the_next_race_keeps_the_display_settings() -> None:
    state = replace(finished("corners"), suits="two", rivals_hidden=True)
    other = state_of_next_race(state, "blue-fox-1", "http://there/r/blue-fox-1")
    assert (other.race_id, other.view, other.news) == ("blue-fox-1", None, ())
    assert (other.suits, other.rivals_hidden, other.width) == ("two", True, 80)
