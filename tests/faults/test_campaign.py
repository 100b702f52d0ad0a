"""The check of replays against what racers saw: every planted fault is found by the right check."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from samedeal.commitments import nonce_commitment
from samedeal.errors import Refused
from samedeal.proof import receipts
from samedeal.race.events import AnyEvent, Closed, Counting, Dealt, Joined, Moved, Nonce, Readied, Resigned, Taken
from samedeal.race.race import Race
from samedeal.race.standings import Standing
from samedeal.replays.replay import Replay
from support.campaign import History, MoveRequest
from support.finished_races import NAMES, OPENED_AT, SECRET, Logged, nonce, opened
from support.race_check import find_violations

pytestmark = pytest.mark.tier(2)


def make_race() -> tuple[Replay, list[History]]:
    """Return a race of two and their histories, as if every response had arrived immediately."""
    log, chance = opened("corners"), Random(7)
    for seat in (1, 2):
        promise = nonce_commitment(log.race.id, nonce(seat))
        log.say(Joined(seat=seat, player=f"player-{seat}", name=NAMES[seat], commitment=promise))
    for seat in (1, 2):
        log.say(Readied(seat=seat))
    log.say(Counting())
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
    log.say(Dealt(), 5_000)
    for turn in range(30):
        run = log.race.seat(seat := 1 + turn % 2).run
        assert run
        log.say(Moved(seat=seat, move=chance.choice(run.game.moves())), 100)
    for seat in (1, 2):
        log.say(Resigned(seat=seat))
    log.say(Closed(secret=SECRET.hex()))
    return log.replay(), histories_of(log.replay())


def histories_of(replay: Replay) -> list[History]:
    histories = {seat: History(NAMES[seat], f"player-{seat}", resigned=True) for seat in (1, 2)}
    for history in histories.values():
        history.receipts.append(receipts.HeaderReceipt(replay.header))
        history.standings = replay.standings
    for entry in replay.entries:
        for seat, history in histories.items():
            history.receipts.append(receipts.DigestReceipt(entry.n, entry.h))
            if isinstance(entry.event, Counting):
                history.receipts.append(receipts.NonceReceipt(seat, nonce(seat).hex()))
        if isinstance(entry.event, Moved):
            tries = histories[entry.event.seat].tries
            tries.append(MoveRequest(len(tries), entry.event.move, entry.n - 1, entry.n, entry.n + 0.5, entry.n))
    return list(histories.values())


def rewritten(replay: Replay, events: list[AnyEvent]) -> Replay:
    """Return a replay of other events with correct digests, as a dishonest server would write it."""
    log = Logged(Race.opened(replay.header, SECRET))
    times = iter([entry.at for entry in replay.entries])
    for event in events:
        log.say(event, max(0, next(times, 0) - log.race.at))
    return log.replay()


def race_after(replay: Replay, count: int) -> Race:
    """Return the race after `count` entries."""
    return Race.opened(replay.header, SECRET).after_all(replay.entries[:count])


def moves_in(events: list[AnyEvent]) -> list[int]:
    return [position for position, event in enumerate(events) if isinstance(event, Moved)]


def kinds(problems: list[str]) -> set[str]:
    """Return the kinds of violations, without their details and without different digests."""
    kinds = {problem.partition(":")[0].partition(" ply")[0] for problem in problems}
    return {kind for kind in kinds if "another digest" not in kind} - {"receipts does not hold"}


def test_valid_race_has_no_violations() -> None:
    replay, histories = make_race()
    assert find_violations(replay, histories) == []
    assert find_violations(rewritten(replay, [entry.event for entry in replay.entries]), histories) == []


Case = tuple[Replay, list[History]]
Planted = Callable[[Replay, list[History]], Case]


def events_of(replay: Replay) -> list[AnyEvent]:
    return [entry.event for entry in replay.entries]


def lost_move(replay: Replay, histories: list[History]) -> Case:
    events = events_of(replay)
    del events[moves_in(events)[-1]]
    return rewritten(replay, events), histories


def lost_tail(replay: Replay, histories: list[History]) -> Case:
    events = events_of(replay)
    first, *_, last = moves_in(events)[-7:]
    del events[first : last + 1]
    return rewritten(replay, events), histories


def duplicated_move(replay: Replay, _: list[History]) -> Case:
    events = events_of(replay)
    draw = max(position for position in moves_in(events) if events[position] == Moved(seat=1, move="draw"))
    del events[draw + 1 : moves_in(events)[-1] + 1]
    once = histories_of(rewritten(replay, events))
    return rewritten(replay, [*events[: draw + 1], events[draw], *events[draw + 1 :]]), once


def swapped_moves_of_two_racers(replay: Replay, histories: list[History]) -> Case:
    events = events_of(replay)
    first, second, *_ = moves_in(events)
    events[first], events[second] = events[second], events[first]
    return rewritten(replay, events), histories


def swapped_moves_of_one_racer(replay: Replay, histories: list[History]) -> Case:
    """Swap two moves that are legal in either order."""
    for first, second in pairwise(moves_in(events_of(replay))[::2]):
        events = events_of(replay)
        if events[first] != events[second]:
            events[first], events[second] = events[second], events[first]
            with suppress(Refused):
                return rewritten(replay, events), histories
    raise AssertionError("no two moves can be swapped")


def invented_move(replay: Replay, histories: list[History]) -> Case:
    run = race_after(replay, moves_in(events_of(replay))[-1] + 1).seat(1).run
    assert run
    events = events_of(replay)
    events.insert(moves_in(events)[-1] + 1, Moved(seat=1, move=run.game.moves()[0]))
    return rewritten(replay, events), histories


def move_of_another_racer(replay: Replay, histories: list[History]) -> Case:
    """Record a move for the wrong racer."""
    for position in moves_in(events_of(replay)):
        events = events_of(replay)
        event = events[position]
        assert isinstance(event, Moved)
        events[position] = Moved(seat=3 - event.seat, move=event.move)
        with suppress(Refused):
            return rewritten(replay, events), histories
    raise AssertionError("no move is legal for both racers")


def different_logs(replay: Replay, histories: list[History]) -> Case:
    """Send one racer a log that differs from the replay's."""
    events = events_of(replay)
    del events[moves_in(events)[-1]]
    other = rewritten(replay, events)
    histories[1].receipts = histories_of(other)[1].receipts
    return replay, histories


def missing_number(replay: Replay, histories: list[History]) -> Case:
    entries = [replace(entry, n=entry.n + (entry.n > 20)) for entry in replay.entries]
    return replace(replay, entries=tuple(entries)), histories


def with_entry(index: int, **fields: Any) -> Planted:
    """Return a change of an entry of the replay."""

    def change(replay: Replay, histories: list[History]) -> Case:
        entries = list(replay.entries)
        entries[index] = replace(entries[index], **fields)
        return replace(replay, entries=tuple(entries)), histories

    return change


def with_standings(change: Callable[[tuple[Standing, ...]], tuple[Standing, ...]]) -> Planted:
    """Return a change of the standings of the replay."""
    return lambda replay, histories: (replace(replay, standings=change(replay.standings)), histories)


def received(change: Callable[[Replay, list[History]], object]) -> Planted:
    """Return a change of what the racers received."""

    def planted(replay: Replay, histories: list[History]) -> Case:
        change(replay, histories)
        return replay, histories

    return planted


FAULTS: dict[str, tuple[Planted, str]] = {
    "lost move": (lost_move, "acknowledged and lost"),
    "lost tail": (lost_tail, "acknowledged and lost"),
    "duplicated move": (duplicated_move, "in the log, but not requested"),
    "swapped moves of two racers": (swapped_moves_of_two_racers, "out of order"),
    "swapped moves of one racer": (swapped_moves_of_one_racer, "acknowledged and lost"),
    "invented move": (invented_move, "in the log, but not requested"),
    "move of another racer": (move_of_another_racer, "in the log, but not requested"),
    "different logs": (different_logs, "cy saw entry"),
    "missing number": (missing_number, "the entries are not numbered from 1"),
    "wrong digest": (with_entry(12, h="0" * 64), "chain does not hold"),
    "time running backwards": (with_entry(20, at=OPENED_AT), "times does not hold"),
    "deal of another secret": (with_entry(-1, event=Closed(secret="7" * 64)), "commitment does not hold"),
    "wrong number of cards": (
        with_standings(lambda table: (replace(table[0], home=table[0].home + 1), *table[1:])),
        "seat 1 had",
    ),
    "wrong order of racers": (with_standings(lambda table: table[::-1]), "standings does not hold"),
    "foreign signature": (
        lambda replay, histories: (replace(replay, signature=replace(replay.signature, value="0" * 128)), histories),
        "signature does not hold",
    ),
    "acknowledgement before the entry": (received(lambda _, seen: setattr(seen[0].tries[4], "n", 1)), "out of place"),
    "entry before the request": (received(lambda _, seen: setattr(seen[0].tries[4], "seen", 99)), "out of place"),
    "refused move in the log": (
        received(lambda _, seen: setattr(seen[0].tries[4], "refused", "illegal-move")),
        "in the log, but not requested",
    ),
    "refused legal move": (
        received(lambda _, seen: seen[0].refusals.append("draw: stale-move")),
        "bo was refused draw: stale-move",
    ),
    "wrong receipt": (
        received(lambda _, seen: seen[0].receipts.insert(3, receipts.DigestReceipt(3, "0" * 64))),
        "receipts does not hold",
    ),
    "another header": (
        received(
            lambda replay, seen: seen[0].receipts.insert(
                0, receipts.HeaderReceipt(replace(replay.header, salt="11" * 16))
            )
        ),
        "a racer received another header than the replay's",
    ),
    "other standings": (
        received(lambda replay, seen: setattr(seen[1], "standings", replay.standings[::-1])),
        "cy received other standings than the replay's",
    ),
}
"""The planted faults, and the start of the violation that the check reports."""


@pytest.mark.parametrize("fault", FAULTS)
def test_check_finds_planted_fault(fault: str) -> None:
    plant, violation = FAULTS[fault]
    problems = find_violations(*plant(*make_race()))
    assert any(problem.startswith(violation) for problem in problems), problems


def test_check_finds_swapped_moves_without_entry_numbers() -> None:
    replay, histories = make_race()
    for attempt in (attempt for history in histories for attempt in history.tries):
        attempt.seen, attempt.n = 0, len(replay.entries)
    assert find_violations(replay, histories) == []
    assert kinds(find_violations(*swapped_moves_of_two_racers(replay, histories))) == {"out of order"}


def test_unacknowledged_move_may_be_in_the_log_or_not() -> None:
    replay, histories = make_race()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    last = moves_in(events)[-1]
    histories[1].tries[-1].answered_at = None
    for history in histories:
        history.receipts = [
            receipt
            for receipt in history.receipts
            if not isinstance(receipt, receipts.DigestReceipt) or receipt.n <= last
        ]
    assert find_violations(replay, histories) == []
    assert find_violations(rewritten(replay, events[:last] + events[last + 1 :]), histories) == []
    histories[1].tries[-1].refused = "illegal-move"
    assert kinds(find_violations(replay, histories)) == {"in the log, but not requested"}


def test_check_finds_events_without_a_request() -> None:
    replay, histories = make_race()
    histories[0].resigned = False
    assert find_violations(replay, histories) == ["a racer resigned without a request"]
    assert "unknown players joined" in find_violations(replay, histories[1:])
    assert "an unknown seat moved" in find_violations(replay, histories[1:])


def test_check_finds_a_move_from_a_replaced_connection() -> None:
    replay, _ = make_race()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    position = moves_in(events)[10]
    taken = rewritten(replay, [*events[:position], Taken(seat=1), *events[position:]])
    histories = histories_of(taken)
    assert kinds(find_violations(taken, histories)) == {"from a replaced connection"}
    for attempt in histories[0].tries[5:]:
        attempt.joined = position + 1
    assert find_violations(taken, histories) == []
