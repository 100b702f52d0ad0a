"""Alterations of the log, of the standings as a whole, and of the signer."""

from random import Random
from typing import Any

from support.alterations import MOVES, NotPossible, any_seat, as_is, at_entry, kind, untimed
from support.replay_writing import DAY_MS, FILTERS_2, Content, sign

MAX_SEATS = 64
MAX_MOVES = 5000
EARLY_MS = 10_000
"""The time before an early end."""
LONGEST_HEAD_START_MS = 600_000
MAX_ENTRIES = 8000
"""The most entries of one seat."""
MAX_ENTRIES_TO_JOIN = 7899
"""The most entries of a released seat that a new player gets."""


def indices(content: Content, *types: str) -> list[int]:
    """Return the indices of the entries with these types of events. Raises NotPossible if there is none."""
    found = [index for index, entry in enumerate(content["entries"]) if entry[2]["t"] in types]
    if not found:
        raise NotPossible
    return found


def insert(content: Content, index: int, *events: dict[str, Any], wait: int = 0) -> None:
    """Insert entries with the numbers of their positions, some time after the one before."""
    at = content["entries"][index - 1][1] if index else content["header"]["opened_at"]
    added = [[index + i, at + wait, event, "0" * 64] for i, event in enumerate(events, start=1)]
    content["entries"][index:index] = added


def joining(seat: int, player: str, random: Random) -> dict[str, Any]:
    return {"t": "joined", "seat": seat, "player": player, "name": player, "commitment": random.randbytes(32).hex()}


def seats(content: Content) -> int:
    """Return the greatest number of a seat."""
    return max((entry[2]["seat"] for entry in content["entries"] if entry[2]["t"] == "joined"), default=0)


def any_event(content: Content, random: Random) -> dict[str, Any]:
    """Return an event that may or may not be possible: of any type, of any seat."""
    seat, closing = any_seat(random), content["entries"][-1][2]
    events: list[dict[str, Any]] = [
        *({"t": each, "seat": seat} for each in ("left", "readied", "unreadied", "taken", "resigned")),
        *({"t": "moved", "seat": seat, "move": random.choice(MOVES)} for _ in range(2)),
        {"t": "nonce", "seat": seat, "nonce": random.randbytes(32).hex()},
        *({"t": "counting"}, {"t": "dealt"}, dict(closing), {"t": "closed", "secret": random.randbytes(32).hex()}),
        joining(seats(content) + random.choice((1, 1, 1, 2)), "eve", random),
    ]
    return random.choice(events)


# At any entry.


@at_entry
def an_entry_is_missing(content: Content, index: int, random: Random) -> None:
    del content["entries"][index]


@at_entry
def an_entry_is_repeated(content: Content, index: int, random: Random) -> None:
    """At once, or anywhere later."""
    entries = content["entries"]
    later = random.choice((index + 1, random.randint(index + 1, len(entries))))
    entries.insert(later, list(entries[index]))


@at_entry
def neighbours_are_swapped(content: Content, index: int, random: Random) -> None:
    entries = content["entries"]
    if index == 0:
        raise NotPossible
    entries[index - 1 : index + 1] = entries[index], entries[index - 1]


@at_entry
def an_entry_is_moved(content: Content, index: int, random: Random) -> None:
    entry = content["entries"].pop(index)
    content["entries"].insert(random.randrange(len(content["entries"]) + 1), entry)


@at_entry
def an_event_is_another(content: Content, index: int, random: Random) -> None:
    content["entries"][index][2] = any_event(content, random)


@at_entry
def an_event_is_inserted(content: Content, index: int, random: Random) -> None:
    """Also after the closing."""
    index += random.randrange(2)
    insert(content, index, any_event(content, random), wait=random.choice((0, 0, 1, 5000)))


@at_entry
def the_log_is_cut(content: Content, index: int, random: Random) -> None:
    del content["entries"][index:]


@at_entry
def the_closing_comes_early(content: Content, index: int, random: Random) -> None:
    """All after it is missing."""
    closing = content["entries"][-1]
    content["entries"][index:] = [closing]
    if random.randrange(2):
        closing[1] = content["entries"][index - 1][1] if index else content["header"]["opened_at"]


@at_entry
def all_is_later_from_an_entry_on(content: Content, index: int, random: Random) -> None:
    wait = random.choice((1, 999, 10_000, 10**6, DAY_MS))
    for entry in content["entries"][index:]:
        entry[1] += wait


@at_entry
def numbers_are_shifted(content: Content, index: int, random: Random) -> None:
    """Repairing undoes it, except the signer."""
    for entry in content["entries"][index:]:
        entry[0] += 1


# Seats and nonces.


@kind
def some_events_are_missing(content: Content, random: Random) -> None:
    """Of one seat or of all, from the start or later. In a sealed race without nonces all seats are scratched, so it
    can close at once; in a race without resignations somebody can still play.
    """
    seat, entries = random.choice((None, any_seat(random))), content["entries"]
    start = random.choice((0, random.randrange(len(entries))))
    gone = random.choice(
        ({"nonce", "moved", "resigned"}, {"nonce"}, {"resigned"}, {"moved"}, {e[2]["t"] for e in entries[:-1]})
    )
    entries[start:] = [e for e in entries[start:] if e[2]["t"] not in gone or seat not in (None, e[2].get("seat"))]


@kind
def somebody_leaves_and_returns(content: Content, random: Random) -> None:
    """Or there is another name, player or commitment."""
    index = random.choice(indices(content, "joined"))
    event = content["entries"][index][2]
    changes: list[dict[str, Any]] = [{}, {"name": "new"}, {"player": "new"}, {"commitment": random.randbytes(32).hex()}]
    insert(content, index + 1, {"t": "left", "seat": event["seat"]}, event | random.choice(changes))


@kind
def more_than_64_players_come_and_go(content: Content, random: Random) -> None:
    """Afterwards somebody returns, whose number may now be somebody else's. Or it has too many entries for that, or
    just not.
    """
    content["header"]["options"]["max_racers"] = 32
    index, number = indices(content, "counting", "closed")[0], seats(content) + 1
    last = random.choice((1, number, number, number + 1, MAX_SEATS, MAX_SEATS + 1))
    joined = [(seat, f"x{seat}") for seat in range(number, MAX_SEATS + 1)]
    returning = random.choice((number, number + 1))
    joined += [(last, "y"), (random.choice((returning, number + 1)), f"x{returning}")]
    events = [[joining(seat, player, random), {"t": "left", "seat": seat}] for seat, player in joined]
    others = random.choice((0, MAX_ENTRIES_TO_JOIN - 2, MAX_ENTRIES_TO_JOIN - 1))
    events[0][1:1] = [{"t": "taken", "seat": number}] * others
    insert(content, index, *(event for pair in events for event in pair))


@kind
def a_seat_has_too_many_entries(content: Content, random: Random) -> None:
    """Just as many as allowed, or one more."""
    index = random.choice(indices(content, "joined"))
    seat = content["entries"][index][2]["seat"]
    others = sum(entry[2].get("seat") == seat for entry in content["entries"])
    taken = {"t": "taken", "seat": seat}
    insert(content, index + 1, *[taken] * (MAX_ENTRIES - others + random.randrange(2)))


@kind
def nonces_or_moves_are_swapped(content: Content, random: Random) -> None:
    field = random.choice(("nonce", "move"))
    events = [entry[2] for entry in content["entries"] if field in entry[2]]
    if len(events) < 2:
        raise NotPossible
    one, other = random.sample(events, 2)
    one[field], other[field] = other[field], one[field]


@kind
def the_deal_is_another_and_filtered(content: Content, random: Random) -> None:
    event = content["entries"][indices(content, "dealt")[0]][2]
    event["k"] = random.choice((1, 2, 7))
    content["header"]["options"]["filter"] = random.choice(("friendly/1", *FILTERS_2[:1]))


# Moves.


@kind
def a_move_is_another(content: Content, random: Random) -> str:
    content["entries"][random.choice(indices(content, "moved"))][2]["move"] = random.choice(MOVES)
    return "moves chain"


@kind
def moves_are_undone_or_games_restarted(content: Content, random: Random) -> None:
    """Also where undo is off, a card was revealed, or the deal is untouched: because the first move was undone or, in
    Corner Stones, moved back. And a move is made again.
    """
    moves = indices(content, "moved")
    revealing = [i for i in moves if content["entries"][i][2]["move"] in ("draw", "deal", "redeal")]
    index = random.choice(random.choice((moves, moves[:1], revealing or moves)))
    event = content["entries"][index][2]
    move, back = event["move"], event["move"][2:] + event["move"][:2]
    ways = (["undo"], ["undo"] * 5, ["undo", move], ["restart"], ["restart"] * 2, ["undo", "restart"])
    insert(content, index + 1, *(event | {"move": each} for each in random.choice((*ways, [back or "w", "restart"]))))


@kind
def a_racer_makes_too_many_moves(content: Content, random: Random) -> None:
    """One is undone and made again so often that the last ones, or just none, are too many. In Corner Stones, no move
    reveals a card.
    """
    if content["header"]["game"] != "corner-stones" or "undo" in content["header"]["options"]:
        raise NotPossible
    index = random.choice(indices(content, "moved"))
    event = content["entries"][index][2]
    others = sum(content["entries"][i][2]["seat"] == event["seat"] for i in indices(content, "moved"))
    moves = ("undo", event["move"]) * ((MAX_MOVES - others) // 2 + random.randrange(2))
    insert(content, index + 1, *(event | {"move": move} for move in moves))


# Times.


@untimed
def the_deal_is_early_or_late(content: Content, random: Random) -> None:
    counting, dealt = (content["entries"][indices(content, each)[0]] for each in ("counting", "dealt"))
    delay = content["header"]["options"].get("start_delay_ms", 5000)
    dealt[1] = max(0, counting[1] + delay + random.choice((-1, 0, 1, DAY_MS)))


@untimed
def something_happens_at_the_limit(content: Content, random: Random) -> None:
    """A move, or the closing. Nobody has resigned before."""
    dealt = content["entries"][indices(content, "dealt")[0]]
    at = dealt[1] + content["header"]["options"]["limit_ms"] + random.choice((-1, 0, 1))
    content["entries"] = [entry for entry in content["entries"] if entry[2]["t"] != "resigned"]
    if random.randrange(2):
        event = {"t": random.choice(("moved", "resigned", "resigned", "taken")), "seat": random.choice((1, 2))}
        if event["t"] == "moved":
            event["move"] = random.choice(MOVES)
        insert(content, len(content["entries"]) - 1, event)
        content["entries"][-2][1] = at
    content["entries"][-1][1] = at + random.choice((0, 0, 1))
    for number, entry in enumerate(content["entries"], start=1):
        entry[0] = number


@untimed
def the_closing_is_around_an_early_end(content: Content, random: Random) -> None:
    """Ten seconds after the last move or reconnection, or another event, in a race that can end early."""
    entries = content["entries"]
    content["header"]["options"]["end_when_stuck"] = True
    last = entries[random.choice(indices(content, "moved", "taken")[-2:])]
    del entries[last[0] : -1]
    entries[-1][:2] = [len(entries), last[1] + EARLY_MS + random.choice((-1, 0, 1))]


@kind
def somebody_objects_to_the_end(content: Content, random: Random) -> None:
    event = {"t": random.choice(("moved", "moved", "taken")), "seat": random.choice((1, 2))}
    if event["t"] == "moved":
        event["move"] = random.choice(("undo", "restart"))
    insert(content, len(content["entries"]) - 1, event, wait=random.choice((0, EARLY_MS - 1, EARLY_MS)))


@kind
def a_head_start_ends_around_a_move(content: Content, random: Random) -> None:
    entries = content["entries"]
    dealt_at, moved = entries[indices(content, "dealt")[0]][1], entries[random.choice(indices(content, "moved"))]
    players = [entry[2]["player"] for entry in entries if entry[2]["t"] == "joined"]
    head_start = {"player": random.choice(players), "ms": moved[1] - dealt_at + random.choice((-1, 0, 1))}
    if not 1 <= head_start["ms"] <= LONGEST_HEAD_START_MS:
        raise NotPossible
    content["header"]["head_start"] = head_start


@untimed
def the_race_is_cancelled(content: Content, random: Random) -> None:
    """Before or during the countdown, around the time when that is allowed."""
    opened_at, closing = content["header"]["opened_at"], content["entries"][-1]
    until = indices(content, random.choice(("counting", "dealt", "joined")))[0]
    ends = (opened_at + DAY_MS, opened_at // DAY_MS * DAY_MS + DAY_MS)
    closing[0], closing[1] = until + 1, random.choice(ends) + random.choice((-1, 0, 0, 1))
    content["entries"][until:] = [closing]
    content["standings"] = []


# The standings and the signature.


@kind
def standings_are_missing_repeated_or_swapped(content: Content, random: Random) -> str:
    table = content["standings"]
    if not table:
        raise NotPossible
    content["standings"] = random.choice((table[:-1], [*table, table[-1]], table[::-1]))
    if random.randrange(2):
        content["standings"] = [one | {"place": place} for place, one in enumerate(content["standings"], start=1)]
    return "standings"


@as_is
def the_signature_is_by_a_weak_key(content: Content, random: Random) -> str:
    """By the neutral point or one of order 2, with which anybody can sign, in canonical form or not."""
    neutral, prime = 1, 2**255 - 19
    key = random.choice((neutral, neutral + prime, neutral + 2**255, prime - 1))
    r = neutral if key != prime - 1 else random.choice((neutral, prime - 1))
    content["signature"] = {"key": key.to_bytes(32, "little").hex(), "value": r.to_bytes(32, "little").hex() + "0" * 64}
    return "signature"


@as_is
def the_signature_is_of_something_else(content: Content, random: Random) -> str:
    """Of another race, of another digest, or of one of the computer's plays."""
    other = {"header": {"race": "other"}, "digest": content["digest"]}
    tag = random.choice(("replay", "play"))
    if random.randrange(2):
        other = {"header": content["header"], "digest": "0" * 64 if tag == "replay" else content["digest"]}
        if content["header"]["race"].startswith("par-"):
            raise NotPossible
    sign(other, random.randbytes(32), tag)
    content["signature"] = other["signature"]
    return "signature"
