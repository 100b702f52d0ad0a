"""Checks a replay against what its racers saw. It knows only the clients' histories, the replay and the rules."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from samedeal import commitments, digest_chain
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof import receipts
from samedeal.proof.verification import verify
from samedeal.race.events import (
    Closed,
    Counting,
    Dealt,
    Entry,
    Joined,
    Left,
    Moved,
    Nonce,
    Readied,
    Resigned,
    Taken,
    header_bytes,
)
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from support.campaign import History, MoveRequest


def find_violations(replay: Replay, histories: Iterable[History]) -> list[str]:
    """Return all violations: facts that do not hold, and differences from the racers' histories."""
    seen = list(histories)
    return [*find_differences(replay, seen), *_invented(replay, seen)]


def find_differences(replay: Replay, histories: Sequence[History]) -> list[str]:
    """Return all violations, except events that were not requested."""
    return [
        *_invalid_facts(replay, histories),
        *_wrong_receipts(replay, histories),
        *_wrong_moves(replay, histories),
    ]


def count_events(replay: Replay) -> Counter[type[object]]:
    """Count the entries by kind of event."""
    return Counter(type(entry.event) for entry in replay.entries)


def _invalid_facts(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """Find what the replay cannot contain, on its own or with the receipts of its racers."""
    stored = [each for history in histories for each in receipts.read(map(receipts.line, history.receipts))]
    if any(each.header != replay.header for each in stored):
        yield "a racer received another header than the replay's"
    facts = verify(replay, receipts=receipts.about(replay.header, stored) if stored else None)
    yield from (f"{fact.name} does not hold: {fact.note}" for fact in facts if not fact.holds)
    if [entry.n for entry in replay.entries] != list(range(1, len(replay.entries) + 1)):
        yield "the entries are not numbered from 1"
    for once in (Counting, Dealt, Closed):
        if count_events(replay)[once] != 1:
            yield f"{once.__name__} occurs {count_events(replay)[once]} times"
    table = {standing.seat: standing for standing in replay.standings}
    try:
        played = _played(replay)
    except Refused as refused:
        yield f"the rules do not allow this log: {refused.text}"
        return
    for seat, (home, attempts) in played.items():
        if seat not in table or (table[seat].home, table[seat].attempts) != (home, attempts):
            yield f"seat {seat} had {home} cards home in {attempts} attempts, the standings have {table.get(seat)}"


def _played(replay: Replay) -> dict[int, tuple[int, int]]:
    """Return the most cards home and the number of attempts by seat, computed with the rules of the game alone."""
    nonces = {entry.event.seat: bytes.fromhex(entry.event.nonce) for entry in of_kind(replay, Nonce)}
    (dealt,) = of_kind(replay, Dealt)
    root = commitments.root(replay.secret, (nonces[seat] for seat in sorted(nonces)))
    seed = replay.header.seed or f"{root}.{dealt.event.k}"
    deal = GAMES[replay.header.game].from_seed(seed, **replay.header.variant)
    racers = set(nonces) if replay.header.seed is None else _seated(replay)
    positions = {seat: [deal] for seat in racers}
    most, attempts = dict.fromkeys(racers, deal.home), dict.fromkeys(racers, 1)
    for entry in of_kind(replay, Moved):
        seat, move = entry.event.seat, entry.event.move
        if move == UNDO:
            positions[seat].pop()
        elif move == RESTART:
            positions[seat] = [deal]
            attempts[seat] += 1
        else:
            positions[seat].append(positions[seat][-1].after(move))
            most[seat] = max(most[seat], positions[seat][-1].home)
    return {seat: (most[seat], attempts[seat]) for seat in racers}


def _seated(replay: Replay) -> set[int]:
    """Return the seats that were taken at the end."""
    seats = set[int]()
    for entry in replay.entries:
        if isinstance(entry.event, Joined):
            seats.add(entry.event.seat)
        elif isinstance(entry.event, Left):
            seats.remove(entry.event.seat)
    return seats


def _wrong_receipts(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """Find views whose digests or final standings differ from the replay's, and refusals of legal moves."""
    digests = {entry.n: entry.h for entry in replay.entries}
    digests[0] = digest_chain.first_digest(replay.secret, header_bytes(replay.header))
    for history in histories:
        yield from (f"{history.name} was refused {refusal}" for refusal in history.refusals)
        for n, h in sorted(history.digests):
            if digests.get(n) != h:
                yield f"{history.name} saw entry {n} with another digest"
        if history.standings not in (None, replay.standings):
            yield f"{history.name} received other standings than the replay's"


def _invented(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """Find events that were not requested or that occur more than once."""
    players = {history.player for history in histories}
    for kind in (Joined, Readied, Nonce):
        seats = Counter(getattr(entry.event, "seat", 0) for entry in replay.entries if isinstance(entry.event, kind))
        if sorted(seats.elements()) != list(range(1, len(players) + 1)):
            yield f"{kind.__name__} does not occur once for each racer: {seats}"
    if {entry.event.player for entry in of_kind(replay, Joined)} != players:
        yield "unknown players joined"
    resigned = {_seats(replay).get(history.player) for history in histories if history.resigned}
    if {entry.event.seat for entry in of_kind(replay, Resigned)} - resigned:
        yield "a racer resigned without a request"


def _wrong_moves(replay: Replay, histories: Sequence[History]) -> Iterator[str]:
    """Find acknowledged moves that are missing or misplaced, and moves that were not requested."""
    tries: dict[str, list[MoveRequest]] = defaultdict(list)
    for history in histories:
        tries[history.player] += history.tries
    logs: dict[int, list[Entry]] = defaultdict(list)
    for entry in of_kind(replay, Moved):
        logs[entry.event.seat].append(entry)
    placed: list[tuple[MoveRequest, int]] = []
    for player, requests in tries.items():
        log = logs.pop(_seats(replay).get(player, 0), [])
        recorded = [entry.event.move for entry in log if isinstance(entry.event, Moved)]
        for attempt in requests:
            if attempt.answered_at is None or attempt.refused:
                continue
            if attempt.ply >= len(log) or recorded[attempt.ply] != attempt.move:
                yield f"acknowledged and lost: {player} ply {attempt.ply}, {attempt.move}"
                continue
            n = log[attempt.ply].n
            placed.append((attempt, n))
            if not attempt.seen < n <= attempt.n:
                yield f"out of place: {player} ply {attempt.ply} is entry {n}, not after {attempt.seen} by {attempt.n}"
        asked: dict[tuple[int, str], list[MoveRequest]] = defaultdict(list)
        for attempt in requests:
            if not attempt.refused:
                asked[attempt.ply, attempt.move].append(attempt)
        takings = [entry.n for entry in of_kind(replay, Taken) if entry.event.seat == _seats(replay).get(player)]
        for ply, move in enumerate(recorded):
            if not asked[ply, move]:
                yield f"in the log, but not requested: {player} ply {ply}, {move}"
            elif all(any(attempt.joined < n < log[ply].n for n in takings) for attempt in asked[ply, move]):
                yield f"from a replaced connection: {player} ply {ply}, {move}"
    if any(logs.values()):
        yield "an unknown seat moved"
    yield from _disordered(placed)


def _disordered(placed: list[tuple[MoveRequest, int]]) -> Iterator[str]:
    """Find moves that precede a move that was acknowledged before they were requested."""
    by_ack = sorted((attempt.answered_at or 0.0, n) for attempt, n in placed)
    floor = position = 0
    for attempt, n in sorted(placed, key=lambda pair: pair[0].asked_at):
        while position < len(by_ack) and by_ack[position][0] < attempt.asked_at:
            floor = max(floor, by_ack[position][1])
            position += 1
        if n <= floor:
            yield f"out of order: {attempt.move} is entry {n}, and {floor} was acknowledged before the request"


def _seats(replay: Replay) -> dict[str, int]:
    return {entry.event.player: entry.event.seat for entry in of_kind(replay, Joined)}


def of_kind(replay: Replay, kind: type[Any]) -> list[Any]:
    """Return the entries with a kind of event."""
    return [entry for entry in replay.entries if isinstance(entry.event, kind)]
