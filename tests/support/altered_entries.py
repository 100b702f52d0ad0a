"""Alterations of entries of any kind, their numbers, times and digests."""

from random import Random
from typing import Any

from support.alterations import NotPossible, any_move, any_seat, insert, kind, one, untimed
from support.replay_writing import DAY_MS, Content


@kind
def an_entry_is_missing(content: Content, random: Random) -> None:
    del content["entries"][random.randrange(len(content["entries"]))]


@kind
def an_entry_is_repeated(content: Content, random: Random) -> None:
    index = random.randrange(len(content["entries"]))
    content["entries"].insert(index + 1, list(content["entries"][index]))


@kind
def an_entry_is_repeated_later(content: Content, random: Random) -> None:
    first, second = sorted(random.randrange(len(content["entries"])) for _ in range(2))
    content["entries"].insert(second, list(content["entries"][first]))


@kind
def neighbours_are_swapped(content: Content, random: Random) -> None:
    entries = content["entries"]
    if len(entries) < 2:
        raise NotPossible
    index = random.randrange(1, len(entries))
    entries[index - 1 : index + 1] = entries[index], entries[index - 1]


@kind
def an_entry_is_moved(content: Content, random: Random) -> None:
    entry = content["entries"].pop(random.randrange(len(content["entries"])))
    content["entries"].insert(random.randrange(len(content["entries"]) + 1), entry)


@kind
def an_event_is_another(content: Content, random: Random) -> None:
    entry = random.choice(content["entries"])
    types = ("left", "readied", "unreadied", "counting", "dealt", "taken", "resigned")
    entry[2] = {"t": random.choice(types)}
    if entry[2]["t"] not in ("counting", "dealt"):
        entry[2]["seat"] = any_seat(random)


@kind
def an_event_is_inserted(content: Content, random: Random) -> None:
    seat = any_seat(random)
    plain = ("left", "readied", "unreadied", "taken", "resigned")
    events: list[dict[str, Any]] = [{"t": each, "seat": seat} for each in plain]
    events += [{"t": "moved", "seat": seat, "move": any_move(random)} for _ in range(2)]
    events += [{"t": "nonce", "seat": seat, "nonce": random.randbytes(32).hex()}, {"t": "counting"}, {"t": "dealt"}]
    insert(content, random.randrange(len(content["entries"]) + 1), random.choice(events), random.choice((0, 1, 5000)))


@kind
def the_events_of_a_seat_are_missing(content: Content, random: Random) -> None:
    seat = any_seat(random)
    content["entries"] = [entry for entry in content["entries"] if entry[2].get("seat") != seat]


@kind
def the_seat_of_an_event_is_another(content: Content, random: Random) -> None:
    index = one(content, random, "left", "readied", "unreadied", "nonce", "moved", "taken", "resigned")
    content["entries"][index][2]["seat"] = random.choice((1, 2, 3, 9, 2**20))


@kind
def the_log_is_cut(content: Content, random: Random) -> None:
    del content["entries"][random.randrange(len(content["entries"])) :]


@kind
def the_log_is_empty(content: Content, random: Random) -> None:
    content["entries"] = []


@untimed
def a_number_is_another(content: Content, random: Random) -> None:
    entry = random.choice(content["entries"])
    entry[0] = random.choice((1, entry[0] + 1, max(1, entry[0] - 1), 2**53 - 1, 2**53, 0))


@untimed
def numbers_are_shifted(content: Content, random: Random) -> None:
    for entry in content["entries"][random.randrange(len(content["entries"])) :]:
        entry[0] += 1


@untimed
def a_time_is_another(content: Content, random: Random) -> None:
    entry = random.choice(content["entries"])
    entry[1] = max(0, entry[1] + random.choice((-(10**9), -1000, -1, 1, 1000, 10**9)))


@untimed
def all_is_later_from_an_entry_on(content: Content, random: Random) -> None:
    wait = random.choice((1, 999, 10_000, 10**6, DAY_MS))
    for entry in content["entries"][random.randrange(len(content["entries"])) :]:
        entry[1] += wait


@untimed
def a_time_is_beyond_the_year_9999(content: Content, random: Random) -> None:
    content["entries"][-1][1] = 253_402_300_799_999 + random.randrange(2)


@kind
def a_digest_is_another(content: Content, random: Random) -> None:
    random.choice(content["entries"])[3] = random.randbytes(32).hex()
