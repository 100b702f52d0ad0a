"""Changes since the last board that was sent lead to the same board as a full view, and contain no more than it."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from samedeal.cards import BACK
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Moved, Resigned
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run
from samedeal.values import replace
from samedeal.wire import codec
from samedeal.wire.changes import apply, changes_since
from samedeal.wire.messages import Changes, View
from samedeal.wire.views import view
from support.finished_races import Logged
from support.race_steps import WINS
from support.races_by_hand import at_random, closed, raced, run_of, running

every_game = pytest.mark.parametrize("slug", GAMES)
luck = st.integers(0, 2**64 - 1).map(Random)
few = settings(derandomize=True, deadline=None, max_examples=12)
SEAT = 1


class Copy:
    """A racer's copy of the view, from full views and changes like those that a server sends."""

    def __init__(self, race: Race, **wanted: Any) -> None:
        self.wanted = wanted
        self.changes = list[Changes]()
        self.view, self.run = view(race, SEAT, race.at, **self.wanted), run_of(race, SEAT)

    def update(self, race: Race) -> None:
        """Receive changes if possible, and otherwise a view."""
        full = view(race, SEAT, race.at, **self.wanted)
        changes = changes_since(race, SEAT, self.run, **self.wanted)
        if changes is None:
            self.view = full
        else:
            received = codec.decode_from_server(codec.encode(changes, "json"), "json")
            assert received == changes
            self.view = apply(self.view, changes)
            self.check(changes, full)
            self.changes.append(changes)
        self.run = run_of(race, SEAT)

    def check(self, changes: Changes, full: View) -> None:
        """The copy is the view, except for what `progress` reports and the clock, and nothing was sent for nothing."""
        others = {"clock_ms": None, "standings": ()}
        assert structs.replace(self.view, **others) == structs.replace(full, **others)
        assert full.board
        for name, value in structs.asdict(changes.board).items():
            if name != "table" and value is not None:
                assert value == getattr(full.board, name)
        assert all(full.board.table[place] == pile for place, pile in changes.board.table.items())
        assert all(set(changes.board.table.get(place, ())) <= {BACK} for place in self.run.game.hidden)
        before = self.run.game.view()
        assert all(before[place] != pile for place, pile in changes.board.table.items())


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
    assert every.changes or run_of(log.race).done


@every_game
def test_a_win_is_answered_with_a_view(slug: str) -> None:
    win = WINS[slug]
    log = running(2, slug=slug, seed=win["seed"], **win.get("variant", {}))
    copy = Copy(log.race, legal=True)
    for move in win["moves"]:
        log.say(Moved(seat=SEAT, move=move), 10)
        copy.update(log.race)
    assert len(copy.changes) == len(win["moves"]) - 1
    assert copy.view == view(log.race, SEAT, log.race.at, legal=True)
    assert copy.view.board
    assert copy.view.board.outcome == "won"


def test_undo_and_restart_change_what_they_turn_back() -> None:
    log = running(slug="corner-stones")
    copy = Copy(log.race, legal=True)
    for move in (run_of(log.race).game.moves()[0], UNDO, run_of(log.race).game.moves()[0], RESTART):
        log.say(Moved(seat=SEAT, move=move))
        copy.update(log.race)
    made, undone, again, restarted = (changes.board for changes in copy.changes)
    assert (made.undo, made.restart, made.attempt, made.ply) == (True, True, None, 1)
    assert (undone.undo, undone.restart, undone.attempt, undone.ply) == (False, False, None, 2)
    assert again == structs.replace(made, ply=3)
    assert restarted == structs.replace(undone, ply=4, attempt=2)
    assert set(made.table) == set(undone.table)
    assert made.moves is not None
    assert (made.guidance, made.outcome) == (None, None)


@every_game
def test_changes_have_only_what_was_requested(slug: str) -> None:
    log = running(slug=slug)
    before = run_of(log.race)
    log.say(Moved(seat=SEAT, move=before.game.moves()[0]))
    plain = changes_since(log.race, SEAT, before)
    guided = changes_since(log.race, SEAT, before, re=7, legal=True, guidance=True)
    assert plain
    assert guided
    assert (plain.board.moves, plain.board.guidance, plain.re) == (None, None, None)
    assert guided.board.moves == run_of(log.race).game.moves()
    assert guided == structs.replace(
        plain, re=7, board=structs.replace(plain.board, moves=guided.board.moves, guidance=guided.board.guidance)
    )
    assert len(codec.encode(plain, "msgpack")) < len(codec.encode(view(log.race, SEAT, log.race.at), "msgpack")) / 2


def test_without_a_move_only_the_receipt_differs() -> None:
    log = running(3)
    before = run_of(log.race)
    log.say(Moved(seat=2, move=run_of(log.race, 2).game.moves()[0]))
    changes = changes_since(log.race, SEAT, before, legal=True, guidance=True)
    assert changes
    assert structs.asdict(changes.board) == {**dict.fromkeys(structs.asdict(changes.board)), "table": {}}
    assert (changes.n, changes.h) == (log.race.n, log.race.digest)


@pytest.mark.parametrize("slug", [slug for slug, game in GAMES.items() if game.hidden])
def test_cards_that_change_only_under_their_backs_are_not_mentioned(slug: str) -> None:
    game = run_of(running(slug=slug).race).game
    (place,) = game.hidden
    other = replace(game, table=game.table.put({place: game.table[place][::-1]}))
    shorter = replace(game, table=game.table.put({place: game.table[place][1:]}))
    assert other.changed_view(game) == {}
    assert shorter.changed_view(game) == {place: (BACK,) * len(shorter.table[place])}


def test_who_is_done_or_not_racing_needs_a_view() -> None:
    log = running(3, slug="corner-stones")
    before = run_of(log.race)
    log.say(Resigned(seat=SEAT))
    assert changes_since(log.race, SEAT, before) is None
    assert changes_since(log.race, 2, run_of(log.race, 2))
    closed(log)
    assert changes_since(log.race, 2, run_of(log.race, 2)) is None
    open_race = raced("corners", Random(1), 0).race
    with pytest.raises(ValueError, match="no board"):
        apply(view(open_race, None, 0), Changes(n=1, h="0" * 64, board=changes_board(before)))


def changes_board(run: Run) -> Any:
    race = running(slug="corner-stones").race
    changes = changes_since(race, SEAT, run)
    assert changes
    return changes.board
