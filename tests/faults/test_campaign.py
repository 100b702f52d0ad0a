"""The check of what racers saw against the replay: every planted fault is found, by the check that is for it."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest
from msgspec.structs import replace

from samedeal.errors import Refused
from samedeal.proof import receipts
from samedeal.proof.commitments import nonce_commitment
from samedeal.race.events import AnyEvent, Closed, Counting, Dealt, Joined, Moved, Nonce, Readied, Resigned, Taken
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.campaign import History, Try
from support.finished_races import NAMES, SECRET, Logged, nonce, opened
from support.race_check import faults
from support.survivor import Survivor
from support.torture_run import violations


def raced() -> tuple[Replay, list[History]]:
    """A race of two, and what they would have seen had each answer come at once."""
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
    return log.replay(), told(log.replay())


def told(replay: Replay) -> list[History]:
    histories = {seat: History(NAMES[seat], f"player-{seat}", resigned=True) for seat in (1, 2)}
    for entry in replay.entries:
        for history in histories.values():
            history.receipts.add((entry.n, entry.h))
        if isinstance(entry.event, Moved):
            tries = histories[entry.event.seat].tries
            tries.append(Try(len(tries), entry.event.move, entry.n - 1, entry.n, entry.n + 0.5, entry.n))
    return list(histories.values())


def rewritten(replay: Replay, events: list[AnyEvent]) -> Replay:
    """A replay of other events as a lying server would write it: every digest is right."""
    log = Logged(Race.opened(replay.header, SECRET))
    times = iter([entry.at for entry in replay.entries])
    for event in events:
        log.say(event, max(0, next(times, 0) - log.race.at))
    return log.replay()


def folded(replay: Replay, count: int) -> Race:
    """The race after so many entries."""
    return Race.opened(replay.header, SECRET).after_all(replay.entries[:count])


def moves_in(events: list[AnyEvent]) -> list[int]:
    return [position for position, event in enumerate(events) if isinstance(event, Moved)]


def kinds(found: list[str]) -> set[str]:
    """The faults without what is particular to each."""
    return {fault.partition(":")[0].partition(" ply")[0] for fault in found if "another digest" not in fault}


def test_the_check_finds_nothing_where_nothing_is_wrong() -> None:
    replay, histories = raced()
    assert faults(replay, histories) == []
    assert faults(rewritten(replay, [entry.event for entry in replay.entries]), histories) == []


# Each takes a race in which all is well, and answers with what a server with that fault would have given out.

Story = tuple[Replay, list[History]]


def events_of(replay: Replay) -> list[AnyEvent]:
    return [entry.event for entry in replay.entries]


def a_loss(replay: Replay, histories: list[History]) -> Story:
    events = events_of(replay)
    del events[moves_in(events)[-1]]
    return rewritten(replay, events), histories


def a_lost_tail(replay: Replay, histories: list[History]) -> Story:
    events = events_of(replay)
    first, *_, last = moves_in(events)[-7:]
    del events[first : last + 1]
    return rewritten(replay, events), histories


def a_double(replay: Replay, _: list[History]) -> Story:
    events = events_of(replay)
    draw = max(position for position in moves_in(events) if events[position] == Moved(seat=1, move="draw"))
    del events[draw + 1 : moves_in(events)[-1] + 1]
    once = told(rewritten(replay, events))
    return rewritten(replay, [*events[: draw + 1], events[draw], *events[draw + 1 :]]), once


def a_swap_of_two_racers(replay: Replay, histories: list[History]) -> Story:
    events = events_of(replay)
    first, second, *_ = moves_in(events)
    events[first], events[second] = events[second], events[first]
    return rewritten(replay, events), histories


def a_swap_of_one_racer(replay: Replay, histories: list[History]) -> Story:
    """Of two moves that are legal in either order."""
    for first, second in pairwise(moves_in(events_of(replay))[::2]):
        events = events_of(replay)
        if events[first] != events[second]:
            events[first], events[second] = events[second], events[first]
            with suppress(Refused):
                return rewritten(replay, events), histories
    raise AssertionError("no two moves can be swapped")


def an_invention(replay: Replay, histories: list[History]) -> Story:
    run = folded(replay, moves_in(events_of(replay))[-1] + 1).seat(1).run
    assert run
    events = events_of(replay)
    events.insert(moves_in(events)[-1] + 1, Moved(seat=1, move=run.game.moves()[0]))
    return rewritten(replay, events), histories


def a_move_of_another(replay: Replay, histories: list[History]) -> Story:
    """One that both could make is written down for the wrong one."""
    for position in moves_in(events_of(replay)):
        events = events_of(replay)
        event = events[position]
        assert isinstance(event, Moved)
        events[position] = Moved(seat=3 - event.seat, move=event.move)
        with suppress(Refused):
            return rewritten(replay, events), histories
    raise AssertionError("no move could be another's")


def a_wrong_digest(replay: Replay, histories: list[History]) -> Story:
    """In the replay."""
    position = moves_in(events_of(replay))[3]
    entries = list(replay.entries)
    entries[position] = replace(entries[position], h="0" * 64)
    return replace(replay, entries=tuple(entries)), histories


def two_histories(replay: Replay, histories: list[History]) -> Story:
    """One of the racers is told another log than the replay's from some move on, and the other is not."""
    events = events_of(replay)
    del events[moves_in(events)[-1]]
    other = rewritten(replay, events)
    histories[1].receipts = {(entry.n, entry.h) for entry in other.entries}
    return replay, histories


def an_acknowledgement_before_the_entry(replay: Replay, histories: list[History]) -> Story:
    attempt = histories[0].tries[4]
    attempt.n -= 1
    return replay, histories


def an_entry_before_the_request(replay: Replay, histories: list[History]) -> Story:
    attempt = histories[0].tries[4]
    attempt.seen = attempt.n
    return replay, histories


def a_refused_move_that_is_made(replay: Replay, histories: list[History]) -> Story:
    histories[0].tries[4].refused = "illegal-move"
    return replay, histories


def a_wrong_number_of_cards(replay: Replay, histories: list[History]) -> Story:
    first, *others = replay.standings
    return replace(replay, standings=(replace(first, home=first.home + 1), *others)), histories


def a_wrong_order_of_racers(replay: Replay, histories: list[History]) -> Story:
    return replace(replay, standings=replay.standings[::-1]), histories


def a_missing_number(replay: Replay, histories: list[History]) -> Story:
    entries = [replace(entry, n=entry.n + (entry.n > 20)) for entry in replay.entries]
    return replace(replay, entries=tuple(entries)), histories


def a_time_that_runs_backwards(replay: Replay, histories: list[History]) -> Story:
    entries = list(replay.entries)
    entries[20] = replace(entries[20], at=entries[19].at - 1)
    return replace(replay, entries=tuple(entries)), histories


def a_deal_of_another_secret(replay: Replay, histories: list[History]) -> Story:
    assert isinstance(replay.entries[-1].event, Closed)
    closing = replace(replay.entries[-1], event=Closed(secret="7" * 64))
    return replace(replay, entries=(*replay.entries[:-1], closing)), histories


def a_foreign_signature(replay: Replay, histories: list[History]) -> Story:
    return replace(replay, signature=replace(replay.signature, value="0" * 128)), histories


FAULTS: dict[Callable[[Replay, list[History]], Story], str] = {
    a_loss: "acknowledged and lost",
    a_lost_tail: "acknowledged and lost",
    a_double: "in the log, and nobody asked for it",
    a_swap_of_two_racers: "out of order",
    a_swap_of_one_racer: "acknowledged and lost",
    an_invention: "in the log, and nobody asked for it",
    a_move_of_another: "in the log, and nobody asked for it",
    a_wrong_digest: "chain does not hold",
    two_histories: "cy saw entry",
    an_acknowledgement_before_the_entry: "out of place",
    an_entry_before_the_request: "out of place",
    a_refused_move_that_is_made: "in the log, and nobody asked for it",
    a_wrong_number_of_cards: "seat 1 had",
    a_wrong_order_of_racers: "standings does not hold",
    a_missing_number: "the entries are not numbered from 1 on",
    a_time_that_runs_backwards: "times does not hold",
    a_deal_of_another_secret: "commitment does not hold",
    a_foreign_signature: "signature does not hold",
}
"""What is planted, and how what the check says of it begins."""


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.__name__)
def test_every_planted_fault_is_found_by_the_check_that_is_for_it(
    planted: Callable[[Replay, list[History]], Story],
) -> None:
    replay, histories = planted(*raced())
    found = faults(replay, histories)
    assert any(fault.startswith(FAULTS[planted]) for fault in found), found


def test_a_log_without_a_move_is_well_if_nobody_was_told_of_it() -> None:
    replay, _ = a_loss(*raced())
    assert faults(replay, told(replay)) == []


def test_moves_of_two_racers_in_another_order_are_found_though_neither_knows_a_number() -> None:
    replay, histories = raced()
    for attempt in (attempt for history in histories for attempt in history.tries):
        attempt.seen, attempt.n = 0, len(replay.entries)
    assert faults(replay, histories) == []
    assert kinds(faults(*a_swap_of_two_racers(replay, histories))) == {"out of order"}


def test_only_who_was_told_another_history_is_named() -> None:
    found = faults(*two_histories(*raced()))
    assert found
    assert all(fault.startswith("cy saw entry") for fault in found)


# What a torture asks beyond that.


def survivors(replay: Replay, histories: list[History]) -> list[Survivor]:
    """The racers as they are after a race in which all is well."""
    players = []
    for seat, history in enumerate(histories, start=1):
        player = Survivor(history.name, replay.header.race, [], Random(1))
        player.history = history
        player.receipts = [receipts.HeaderKept(replay.header)]
        counting = next(entry.n for entry in replay.entries if isinstance(entry.event, Counting))
        told = [receipts.DigestKept(entry.n, entry.h) for entry in replay.entries]
        player.receipts += [*told[:counting], receipts.NonceKept(seat, nonce(seat).hex()), *told[counting:]]
        last = replay.entries[-1]
        player.view = m.View(race=player.race, n=last.n, h=last.h, stage="over", standings=replay.standings)
        players.append(player)
    return players


def test_a_torture_finds_what_else_its_racers_were_told_that_is_not_so() -> None:
    replay, histories = raced()
    assert violations(replay, survivors(replay, histories)) == []

    bo, cy = players = survivors(replay, histories)
    bo.refusals.append("draw: stale-move")
    assert violations(replay, players) == ["bo was refused draw: stale-move"]

    bo, cy = players = survivors(replay, histories)
    assert cy.view
    cy.view = replace(cy.view, standings=replay.standings[::-1])
    assert violations(replay, players) == ["cy was told other standings than the replay's"]

    bo, cy = players = survivors(replay, histories)
    bo.receipts[3] = receipts.DigestKept(3, "0" * 64)
    assert any(fault.startswith("receipts does not hold") for fault in violations(replay, players))

    bo, cy = players = survivors(replay, histories)
    bo.receipts[0] = receipts.HeaderKept(replace(replay.header, salt="11" * 16))
    assert "somebody was told another header than the replay's" in violations(replay, players)


# What it lets pass, and what else it finds.


def test_the_check_allows_what_was_not_answered_to_be_there_once_or_not_at_all() -> None:
    replay, histories = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    last = moves_in(events)[-1]
    histories[1].tries[-1].answered_at = None
    for history in histories:
        history.receipts = {(n, h) for n, h in history.receipts if n <= last}
    assert faults(replay, histories) == []
    assert faults(rewritten(replay, events[:last] + events[last + 1 :]), histories) == []
    histories[1].tries[-1].refused = "illegal-move"
    assert kinds(faults(replay, histories)) == {"in the log, and nobody asked for it"}


def test_the_check_finds_what_nobody_did() -> None:
    replay, histories = raced()
    histories[0].resigned = False
    assert faults(replay, histories) == ["somebody resigned who did not say so"]
    assert "others have joined than those who are known" in faults(replay, histories[1:])
    assert "somebody moved who is not known" in faults(replay, histories[1:])


def test_the_check_finds_a_move_from_a_connection_that_had_been_replaced() -> None:
    replay, _ = raced()
    events: list[AnyEvent] = [entry.event for entry in replay.entries]
    position = moves_in(events)[10]
    taken = rewritten(replay, [*events[:position], Taken(seat=1), *events[position:]])
    histories = told(taken)
    assert kinds(faults(taken, histories)) == {"from a connection that had been replaced"}
    for attempt in histories[0].tries[5:]:
        attempt.joined = position + 1
    assert faults(taken, histories) == []
