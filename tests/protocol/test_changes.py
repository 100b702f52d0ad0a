"""Changes since the last board that was sent lead to the same board as a full view, and contain no more than it."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from samedeal import codec
from samedeal.cards import BACK
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Moved, Resigned
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.values import replace
from samedeal.wire import decoding, views
from samedeal.wire.messages import Changes, View
from support.finished_races import Logged
from support.races_by_hand import at_random, closed, opened, run_of, running
from support.vectors import WINS

every_game = pytest.mark.parametrize("slug", GAMES)
luck = st.integers(0, 2**64 - 1).map(Random)
few = settings(derandomize=True, max_examples=12)
SEAT = 1


class Copy:
    """A racer's copy of the view, from full views and changes like those that a server sends."""

    def __init__(self, race: Race, **wanted: Any) -> None:
        self.wanted = wanted
        self.changes = list[Changes]()
        self.view, self.game = views.view(race, SEAT, race.at, **self.wanted), run_of(race, SEAT).game

    def update(self, race: Race) -> None:
        """Receive changes if possible, and otherwise a view. Check the copy, and that nothing else was sent."""
        full = views.view(race, SEAT, race.at, **self.wanted)
        changes = views.changes(race, SEAT, self.game, **self.wanted)
        if changes is None:
            self.view = full
        else:
            assert decoding.decode_from_server(codec.encode(changes, "json"), "json") == changes
            self.view = views.apply(self.view, changes)
            self.changes.append(changes)
            assert without_progress(self.view) == without_progress(full)
            before = self.game.view()
            assert all(before[place] != pile for place, pile in changes.board.table.items())
            assert {*changes.board.table.get(self.game.stock, ())} <= {BACK}
        self.game = run_of(race, SEAT).game


def without_progress(view: View) -> View:
    """The parts of a view that changes keep up to date."""
    return structs.replace(view, clock_ms=None, standings=())


def stages(log: Logged, start: int) -> Iterator[Race]:
    """The race after each entry from number `start` on."""
    race = Race.opened(log.race.header, log.race.secret)
    for entry in log.entries:
        race = race.after(entry)
        if race.n >= start:
            yield race


@every_game
@pytest.mark.parametrize("wanted", [{}, {"legal": True}, {"legal": True, "guidance": True}], ids=str)
@few
@given(random=luck)
def test_changes_since_any_earlier_board_lead_to_the_same_view(
    slug: str, wanted: dict[str, bool], random: Random
) -> None:
    log = running(2, slug=slug)
    start = log.race.n
    for _ in at_random(log, random, 60):
        pass
    every, some = (Copy(next(stages(log, start)), **wanted) for _ in range(2))
    for race in stages(log, start):
        every.update(race)
        if random.randrange(3) == 0:  # as after moves whose answers were lost
            some.update(race)
    assert every.changes


@every_game
def test_a_win_is_answered_with_a_view(slug: str) -> None:
    win = WINS[slug]
    log = running(2, slug=slug, seed=win["seed"], **win.get("variant", {}))
    copy = Copy(log.race, legal=True)
    for move in win["moves"]:
        log.say(Moved(seat=SEAT, move=move), 10)
        copy.update(log.race)
    assert len(copy.changes) == len(win["moves"]) - 1
    assert copy.view == views.view(log.race, SEAT, log.race.at, legal=True)
    assert copy.view.board
    assert copy.view.board.outcome == "won"


def test_undo_and_restart_change_the_same_piles_as_the_move() -> None:
    log = running(slug="corner-stones")
    copy = Copy(log.race, legal=True)
    move = run_of(log.race).game.moves()[0]
    for each in (move, UNDO, move, RESTART):
        log.say(Moved(seat=SEAT, move=each))
        copy.update(log.race)
    made, undone, again, restarted = (changes.board for changes in copy.changes)
    assert (made.undo, made.restart, made.attempt, made.ply) == (True, True, 1, 1)
    assert again == structs.replace(made, ply=3)
    assert (undone.undo, undone.restart, undone.attempt, undone.ply) == (False, False, 1, 2)
    assert restarted == structs.replace(undone, ply=4, attempt=2)
    assert set(made.table) == set(undone.table)
    assert len(made.table) < len(log.race.game.layout.split())


@every_game
def test_changes_have_only_what_was_requested(slug: str) -> None:
    log = running(slug=slug)
    before = run_of(log.race).game
    log.say(Moved(seat=SEAT, move=before.moves()[0]))
    plain = views.changes(log.race, SEAT, before)
    guided = views.changes(log.race, SEAT, before, re=7, legal=True, guidance=True)
    game = run_of(log.race).game
    assert plain
    assert guided
    assert (plain.board.moves, plain.board.guidance, plain.re) == (None, None, None)
    wanted = structs.replace(plain.board, moves=game.moves(), guidance=views.guidance_of(game))
    assert guided == structs.replace(plain, re=7, board=wanted)
    full = views.view(log.race, SEAT, log.race.at)
    assert len(codec.encode(plain, "msgpack")) < len(codec.encode(full, "msgpack"))


def test_a_rivals_move_changes_no_pile() -> None:
    log = running(3)
    before = run_of(log.race).game
    log.say(Moved(seat=2, move=before.moves()[0]))
    changes = views.changes(log.race, SEAT, before, legal=True)
    board = views.view(log.race, SEAT, log.race.at, legal=True).board
    assert changes
    assert board
    assert changes.board == structs.replace(board, table={})
    assert (changes.n, changes.h) == (log.race.n, log.race.digest)


@pytest.mark.parametrize("slug", [slug for slug, game in GAMES.items() if game.stock])
def test_cards_that_change_only_face_down_are_not_mentioned(slug: str) -> None:
    game = run_of(running(slug=slug).race).game
    place = game.stock
    other = replace(game, table=game.table.put({place: game.table[place][::-1]}))
    shorter = replace(game, table=game.table.put({place: game.table[place][1:]}))
    assert other.table != game.table
    assert other.changed_view(game) == {}
    assert shorter.changed_view(game) == {place: (BACK,) * len(shorter.table[place])}


def test_a_racer_who_has_finished_or_does_not_race_needs_a_view() -> None:
    log = running(3, slug="corner-stones")
    before = run_of(log.race).game
    log.say(Resigned(seat=SEAT))
    assert views.changes(log.race, SEAT, before) is None
    changes = views.changes(log.race, 2, before)
    assert changes
    closed(log)
    assert views.changes(log.race, 2, before) is None
    with pytest.raises(ValueError, match="no board"):
        views.apply(views.view(opened().race, None, 0), changes)
