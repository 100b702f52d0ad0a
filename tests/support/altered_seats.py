"""Alterations of seats, commitments, nonces, the secret and the deal."""

from random import Random
from typing import Any

from support.alterations import NotPossible, first, indices, insert, kind, one
from support.replay_writing import Content, commitment, tagged_hash

MAX_SEATS = 64
MAX_ENTRIES = 8000
"""The most entries of one seat."""
NAMES = ("eve", "", "x" * 49, "🂡" * 48, 'a"\\/\n\x00\x7f\u2028', "é" * 48)


def one_event(content: Content, random: Random, *types: str) -> dict[str, Any]:
    """Return one of the events with these types. Raises NotPossible if there is none."""
    event: dict[str, Any] = content["entries"][one(content, random, *types)][2]
    return event


def joining(seat: int, player: str, random: Random) -> dict[str, Any]:
    return {"t": "joined", "seat": seat, "player": player, "name": player, "commitment": random.randbytes(32).hex()}


def seats(content: Content) -> int:
    """Return the greatest number of a seat."""
    numbers: list[int] = [content["entries"][index][2]["seat"] for index in indices(content, "joined")]
    return max(numbers, default=0)


# Seats.


@kind
def the_player_of_a_seat_is_another(content: Content, random: Random) -> None:
    players = ["", "x" * 64, "x" * 65, "🂡" * 64, "somebody"]
    players += [content["entries"][index][2]["player"] for index in indices(content, "joined")]
    one_event(content, random, "joined")["player"] = random.choice(players)


@kind
def the_name_of_a_seat_is_another(content: Content, random: Random) -> None:
    one_event(content, random, "joined")["name"] = random.choice(NAMES)


@kind
def a_racer_becomes_a_bot_or_a_person(content: Content, random: Random) -> None:
    event = one_event(content, random, "joined")
    if event.pop("bot", None) is None:
        event["bot"] = random.choice((True, True, False))


@kind
def the_connection_of_a_seat_is_another(content: Content, random: Random) -> None:
    event = one_event(content, random, "joined", "taken")
    event["by"] = random.choice((random.randbytes(8).hex(), "0" * 16, "0" * 15, "G" * 16, ""))


@kind
def a_seat_has_another_number(content: Content, random: Random) -> None:
    event = one_event(content, random, "joined")
    event["seat"] = random.choice((0, 1, 2, 3, 4, 64, 65, 2**20, 2**20 + 1))


@kind
def somebody_joins(content: Content, random: Random) -> None:
    """At any time, with a number that may be wrong."""
    event = joining(seats(content) + random.choice((1, 1, 1, 0, 2)), "eve", random)
    if random.randrange(4) == 0:
        del event["commitment"]
    insert(content, random.randrange(len(content["entries"])), event)


@kind
def somebody_leaves_and_returns(content: Content, random: Random) -> None:
    """Or another player takes the seat, or there is another name or commitment."""
    index = one(content, random, "joined")
    event = dict(content["entries"][index][2])
    changes: list[dict[str, Any]] = [{}, {"name": "new"}, {"player": "new"}, {"commitment": random.randbytes(32).hex()}]
    insert(content, index + 1, {"t": "left", "seat": event["seat"]})
    insert(content, index + 2, event | random.choice(changes))


@kind
def some_leave_before_the_countdown(content: Content, random: Random) -> None:
    for seat in range(1, random.randint(2, 4)):
        insert(content, first(content, "counting"), {"t": "left", "seat": seat})


@kind
def more_than_64_players_come_and_go(content: Content, random: Random) -> None:
    """Afterwards somebody returns, whose number may now be somebody else's."""
    content["header"]["options"]["max_racers"] = 32
    index, number = first(content, "counting", "closed"), seats(content) + 1
    last = random.choice((1, number, number, number, MAX_SEATS, MAX_SEATS + 1))
    joined = [(seat, f"x{seat}") for seat in range(number, MAX_SEATS + 1)]
    returning = random.choice((number, number + 1))
    joined += [(last, "y"), (random.choice((returning, number + 1)), f"x{returning}")]
    for seat, player in joined:
        insert(content, index, joining(seat, player, random))
        insert(content, index + 1, {"t": "left", "seat": seat})
        index += 2


@kind
def a_seat_has_too_many_entries(content: Content, random: Random) -> None:
    """Just as many as allowed, or one more."""
    index = one(content, random, "joined")
    number, at, event, digest = content["entries"][index]
    others = sum(entry[2].get("seat") == event["seat"] for entry in content["entries"])
    taken = {"t": "taken", "seat": event["seat"]}
    more = range(number + 1, number + 1 + MAX_ENTRIES - others + random.randrange(2))
    content["entries"][index + 1 : index + 1] = [[n, at, taken, digest] for n in more]


# Commitments, nonces, the secret and the deal.


@kind
def the_commitment_of_a_seat_is_another(content: Content, random: Random) -> None:
    event = one_event(content, random, "joined")
    if event.pop("commitment", None) is None or random.randrange(2):
        event["commitment"] = random.choice((random.randbytes(32).hex(), "0" * 63, "A" * 64))


@kind
def a_nonce_is_another(content: Content, random: Random) -> None:
    event = one_event(content, random, "nonce")
    event["nonce"] = random.choice((random.randbytes(32).hex(), "0" * 64, "0" * 62))


@kind
def a_nonce_and_its_commitment_are_others(content: Content, random: Random) -> None:
    event = one_event(content, random, "nonce")
    event["nonce"] = random.randbytes(32).hex()
    for index in indices(content, "joined"):
        if content["entries"][index][2]["seat"] == event["seat"]:
            promise = tagged_hash("nonce", content["header"]["race"], event["nonce"])
            content["entries"][index][2]["commitment"] = promise


@kind
def nonces_are_missing(content: Content, random: Random) -> None:
    nonces = indices(content, "nonce")
    if not nonces:
        raise NotPossible
    for index in random.sample(nonces, random.randint(1, len(nonces))):
        content["entries"][index][2] = {"t": "taken", "seat": content["entries"][index][2]["seat"]}


@kind
def all_seats_are_scratched(content: Content, random: Random) -> None:
    """Nobody has cards, so the race can close at once."""
    first(content, "nonce")
    gone = {"nonce", "moved", "resigned"}
    content["entries"] = [entry for entry in content["entries"] if entry[2]["t"] not in gone]


@kind
def nonces_are_swapped(content: Content, random: Random) -> None:
    event, other = one_event(content, random, "nonce"), one_event(content, random, "nonce")
    event["nonce"], other["nonce"] = other["nonce"], event["nonce"]


@kind
def a_nonce_comes_late(content: Content, random: Random) -> None:
    index = one(content, random, "nonce")
    entry = content["entries"].pop(index)
    content["entries"].insert(random.randrange(index, len(content["entries"])), entry)


@kind
def the_secret_is_another(content: Content, random: Random) -> None:
    content["entries"][-1][2]["secret"] = random.choice((random.randbytes(32).hex(), "0" * 64, "F" * 64))


@kind
def the_secret_and_its_commitment_are_others(content: Content, random: Random) -> None:
    secret = content["entries"][-1][2]["secret"] = random.randbytes(32).hex()
    content["header"]["commitment"] = commitment(content["header"], secret)


@kind
def the_number_of_the_deal_is_another(content: Content, random: Random) -> None:
    number = random.choice((0, 1, 2, 300, 4095, 4096, 2**20, 2**20 + 1))
    one_event(content, random, "dealt")["k"] = number
    if random.randrange(2):
        content["header"]["options"]["filter"] = "friendly/1"
