"""The scene: what each key, click and piece of news makes of a race, for every game."""

from dataclasses import replace

import pytest
from msgspec import structs

from cli.test_cli_text_table import after
from samedeal.games.catalogue import GAMES
from samedeal_cli.race_app.overlays import Finding
from samedeal_cli.race_app.race_view import page
from samedeal_cli.state.race_state import (
    Checked,
    Command,
    CopyLink,
    Cut,
    Leave,
    OpenReplay,
    Play,
    Quit,
    Ready,
    Rematch,
    Resign,
    Resized,
    Said,
    Scene,
    Ticked,
    Turned,
    caught_up,
    clicked,
    dragged,
    of_another,
    pressed,
    told,
)
from samedeal_cli.state.selection import LETTERS
from support.example_states import board, entered, finished, lobby, now, racing

every_game = pytest.mark.parametrize("slug", GAMES)


def keys(scene: Scene, *names: str) -> tuple[Scene, list[Command]]:
    """The scene after some keys, and what they asked for."""
    commands = []
    for name in names:
        scene, command = pressed(scene, name)
        commands += [command] if command else []
    return scene, commands


@every_game
def test_every_legal_move_can_be_made_by_keys_alone(slug: str) -> None:
    for steps in (0, 5, 19, 40, 70):
        scene = racing(slug, steps=steps)
        for move in scene.hand.moves:
            assert keys(scene, "/", *move, "enter")[1] == [Play(move)]
            spelt = replace(scene, auto_drop=False)
            asked: list[Command] = []
            for place in spelt.hand.placed(move).places or ("",):
                letter = spelt.hand.letters.get(place, "space" if not place else "")
                if not letter:
                    break  # more piles than letters: the cursor or the move line is for these
                spelt, found = keys(spelt, letter)
                asked += found
            else:
                assert (asked or keys(spelt, "enter")[1]) == [Play(move)]


@every_game
def test_every_place_can_be_reached_by_the_arrows(slug: str) -> None:
    scene = racing(slug)
    seen: set[str | None] = set()
    frontier = [pressed(scene, "right")[0]]
    while frontier:
        here = frontier.pop()
        if here.cursor not in seen:
            seen.add(here.cursor)
            frontier += [pressed(here, key)[0] for key in ("left", "right", "up", "down")]
    assert seen == set(scene.hand.places)


@every_game
def test_no_key_does_harm_at_any_stage(slug: str) -> None:
    names = [*map(chr, range(33, 127)), "space", "enter", "escape", "tab", "shift+tab", "up", "left", "f1", "ctrl+a"]
    scenes = [entered(slug), lobby(slug), racing(slug), finished(slug), lobby(slug, watching=True)]
    for scene in (*scenes, replace(racing(slug), page="help"), replace(racing(slug), typing="a")):
        for name in names:
            later, _ = pressed(scene, name)
            page(later, 80, 24)
            page(pressed(later, "down")[0], 60, 20)


@pytest.mark.parametrize("letter", LETTERS)
def test_no_letter_that_jumps_is_a_command(letter: str) -> None:
    scene = replace(racing("the-edge"), view=racing("the-edge", steps=0).view)
    assert letter in scene.hand.letters.values()
    later, command = pressed(scene, letter)
    assert isinstance(command, Play) or later.picks


def test_a_letter_picks_up_and_a_letter_puts_down() -> None:
    scene = replace(racing("corner-stones"), auto_drop=False)
    held, asked = keys(scene, "a")
    assert asked == []
    (target, letter), *_ = held.hand.letters.items()
    down, asked = keys(held, letter)
    assert asked == [Play(held.picks[0] + target)]
    assert (down.pending, down.picks) == (held.picks[0] + target, ())
    assert keys(held, "escape")[0].picks == ()
    assert keys(held, "enter")[1] == [Play(next(move for move in scene.hand.moves if move.startswith(held.picks[0])))]


def test_while_a_move_is_pending_only_the_stock_is_heard_and_waits_its_turn() -> None:
    scene, asked = keys(racing("corners"), "space", "a", "space", "u")
    assert asked == [Play("draw")]
    assert scene.ahead == ("space", "u")
    game = after("corners", 30).after("draw")
    answered = told(scene, now("corners", "running", "playing", game, 99))
    assert (answered.pending, answered.picks) == (None, ())
    again, command = caught_up(answered)
    assert command == Play(game.moves()[-1])
    assert again.ahead == ("u",)
    assert told(scene, Turned("No.")).ahead == ()


def test_a_refusal_is_shown_with_its_cards_and_nothing_is_held_any_more() -> None:
    scene, _ = keys(racing("corners"), "space")
    refused = told(scene, Turned("6H does not follow 4H."))
    assert refused.said == Said("6♥ does not follow 4♥.", "bad")
    assert refused.pending is None
    assert refused.hand.letters


@pytest.mark.parametrize(("key", "command"), [("!", Resign()), ("b", Play("restart"))], ids=["resign", "begin again"])
def test_what_is_for_good_takes_a_y_and_no_enter(key: str, command: Command) -> None:
    scene = racing("corners")
    assert keys(scene, key, "y")[1] == [command]
    for other in ("enter", "Y", "space", "n", "escape", key):
        later, asked = keys(scene, key, other)
        assert (later.page, asked) == ("", [])


def test_in_the_lobby_one_is_ready_or_not_and_may_give_the_seat_up() -> None:
    assert keys(lobby("corners"), "r")[1] == [Ready(True)]
    ready = told(lobby("corners"), now("corners", "open", "ready"))
    assert keys(ready, "r")[1] == [Ready(False)]
    assert keys(ready, "!", "y")[1] == [Leave()]
    assert keys(lobby("corners", watching=True), "r", "!", "y")[1] == [CopyLink()]


def test_quitting_copying_and_what_follows_the_race() -> None:
    assert keys(racing("corners"), "q")[1] == [Quit()]
    assert keys(racing("corners"), "ctrl+c")[1] == [Quit(interrupted=True)]
    assert keys(racing("corners"), "y")[1] == [CopyLink()]
    assert keys(finished("corners"), "n", "v")[1] == [Rematch(), OpenReplay()]
    checked = told(finished("corners"), Checked((Finding("moves", True, "all legal"),)))
    assert keys(checked, "f")[0].page == "facts"
    assert keys(finished("corners"), "f")[0].page == ""


def test_what_is_read_scrolls_and_closes_and_q_in_it_does_not_quit() -> None:
    for key in ("?", "i", "Q"):
        scene, _ = keys(racing("corners", 60, 20), key)
        down, _ = keys(scene, *["down"] * 500)
        assert down.scroll <= len(down.reading(60))
        assert keys(down, "up")[0].scroll == max(0, down.scroll - 1)
        closed, asked = keys(scene, "q")
        assert (closed.page, asked) == ("", [])


def test_the_move_line_completes_recalls_and_closes() -> None:
    scene, _ = keys(racing("corner-stones"), "/", "l")
    moves = [move for move in scene.board.moves or () if move.startswith("l")] if scene.board else []
    assert list(scene.completions) == moves
    once, _ = keys(scene, "tab")
    assert once.typing == moves[0]
    assert keys(once, "tab")[0].typing == moves[1]
    assert keys(once, "shift+tab")[0].typing == moves[-1]
    _, asked = keys(once, "enter")
    assert asked == [Play(moves[0])]
    used = told(keys(scene, "9", "enter")[0], Turned("'l9' is no move."))
    assert keys(used, "/", "up")[0].typing == "l9"
    assert keys(used, "/", "up", "down")[0].typing == ""
    assert keys(used, "/", "x", "escape")[0].typing is None
    assert keys(used, "/", "backspace")[0].typing is None
    assert keys(scene, *"xyz")[0].typing == "lxyz"
    resigning, asked = keys(racing("corners"), "/", *"resign", "enter")
    assert (resigning.page, asked) == ("resign", [])


def test_shift_and_a_letter_sends_home_or_says_that_it_cannot() -> None:
    scene = racing("corner-stones")
    homes = {letter: scene.hand.home(place) for place, letter in scene.hand.letters.items()}
    assert None in homes.values()
    for letter, move in homes.items():
        later, asked = keys(scene, letter.upper())
        assert asked == ([Play(move)] if move else [])
        assert move or (later.said and later.said.text.endswith("cannot go home now."))


def test_clicks_pick_drop_and_send_home() -> None:
    scene = replace(racing("corner-stones"), auto_drop=False)
    source, target = scene.hand.placed(scene.hand.moves[0]).places
    held, command = clicked(scene, source)
    assert (held.picks, command) == ((source,), None)
    assert clicked(held, target)[1] == Play(source + target)
    assert clicked(scene, source, "right")[1] == Play(scene.hand.moves[0])
    home = scene.hand.home(source)
    assert clicked(held, source, "twice")[1] == (Play(home) if home else None)
    assert clicked(scene, source, "twice") == (scene, None)
    assert dragged(scene, source, target)[1] == Play(source + target)
    assert clicked(scene, "key:q") == (scene, Quit())
    assert clicked(scene, "seat:1")[0].look == 1
    assert clicked(clicked(scene, "seat:1")[0], "seat:1")[0].look is None
    assert clicked(scene, "nowhere") == (scene, None)


def test_a_drag_says_a_move_that_names_only_one_end() -> None:
    edge = racing("the-edge", steps=0)
    assert dragged(edge, "hand", "b2")[1] == Play("b2")
    corners = racing("corners", steps=0)
    source = corners.hand.choices[0]
    assert dragged(corners, source, "f1")[1] == Play(source)
    assert dragged(corners, "stock", "waste")[1] == Play("draw")
    assert clicked(corners, "stock", "twice")[1] == Play("draw")


def test_what_cannot_be_played_is_asked_of_the_server_or_said_here() -> None:
    corners = racing("corners", steps=0)
    idle = next(place for place in ("r1", "r2", "r3", "r4", "r5") if place not in corners.hand.choices)
    assert clicked(corners, idle)[1] == Play(idle)
    stones = racing("corner-stones")
    later, command = clicked(stones, "u1")
    assert command is None
    assert later.said == Said("Nothing on u1 can be played now.", "")


def test_nobody_plays_who_looks_on_has_stopped_or_looks_at_a_rival() -> None:
    moves = racing("corners").hand.moves
    assert moves
    watching = told(lobby("corners", watching=True), now("corners", "running", "playing", watching=True))
    done = told(racing("corners"), now("corners", "running", "resigned", after("corners", 30), 99))
    other = board(after("corners", 3))
    open_race = now("corners", "running", "playing", after("corners", 30), 60, boards={1: other})
    looking = keys(told(racing("corners"), open_race), "tab")[0]
    assert looking.board == other
    for scene in (watching, done, looking):
        assert keys(scene, "space", "a", "enter", "u", "/", "!")[1] == []
        assert not scene.hand.letters
    assert keys(looking, "escape")[0].board != other


def test_an_onlooker_goes_from_table_to_table() -> None:
    one, two = board(after("corners", 3)), board(after("corners", 7))
    scene = told(
        lobby("corners", watching=True), now("corners", "running", "playing", watching=True, boards={1: one, 2: two})
    )
    assert scene.board == one
    seen = []
    for _ in range(3):
        scene, _ = keys(scene, "tab")
        seen.append(scene.look)
    assert seen == [1, 2, 3]
    assert keys(scene, "tab", "tab")[0].board == two


def test_the_keys_of_the_screen_change_how_it_looks() -> None:
    scene = racing("corners")
    assert keys(scene, "4")[0].suits == "two"
    assert keys(scene, "4", "4")[0].suits == "four"
    assert [keys(scene, *"c" * times)[0].theme for times in range(5)] == [
        "terminal",
        "dark",
        "light",
        "contrast",
        "terminal",
    ]
    assert keys(scene, "x")[0].cards == "compact"
    assert "┌" not in "".join(page(keys(scene, "x")[0], 100, 32).text()[3:20])
    assert keys(scene, "z")[0].hiding


def test_news_says_who_came_and_what_became_of_the_race() -> None:
    counting = told(lobby("corners"), now("corners", "countdown", "ready"))
    assert "all are ready" in [event.text for event in counting.events]
    assert [event.text for event in lobby("corners").events] == ["cy (bot) is ready"]
    assert "the race is over" in [event.text for event in finished("corners").events]
    assert racing("corners").events[-1].ms == 0


def test_time_size_and_loss_are_told() -> None:
    scene = told(told(told(racing("corners"), Ticked(12_000)), Resized(100, 40)), Cut("gone"))
    assert (scene.left_ms, scene.width, scene.height, scene.lost) == (12_000, 100, 40, "gone")
    assert told(scene, Cut("")).lost == ""
    assert scene.elapsed_ms == 288_000


def test_a_screen_that_is_too_small_knows_only_how_to_quit() -> None:
    scene = told(racing("corners"), Resized(59, 19))
    assert keys(scene, "space", "a", "!", "y", "?", "q")[1] == [Quit()]
    assert told(scene, Resized(60, 20)).hand.letters


@pytest.mark.parametrize("outcome", ["won", "lost", "stuck", "over", "resigned"])
def test_the_end_of_ones_own_game_is_said_with_what_can_be_done(outcome: str) -> None:
    scene = racing("corners")
    assert scene.view
    assert scene.view.board
    ended = structs.replace(scene.view.board, outcome=outcome, ply=99, moves=[], undo=outcome == "stuck")
    news = now("corners", "running", "stuck" if outcome == "stuck" else outcome)
    told_so = told(scene, replace(news, view=structs.replace(news.view, board=ended)))
    assert told_so.said
    wanted = {"won": "You have won in", "resigned": "You have resigned"}.get(outcome, f"Your game is {outcome}")
    assert told_so.said.text.startswith(wanted)
    assert ("u undo" in told_so.said.text) == (outcome == "stuck")


def test_another_race_begins_anew_but_looks_the_same() -> None:
    scene = replace(keys(finished("corners"), "4", "z")[0], typed=("draw",))
    other = of_another(scene, "blue-fox-1", "http://there/r/blue-fox-1")
    assert (other.race, other.view, other.events) == ("blue-fox-1", None, ())
    assert (other.suits, other.hiding, other.typed, other.width) == ("two", True, ("draw",), 80)
