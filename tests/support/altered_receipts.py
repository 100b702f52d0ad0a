"""Receipts of a replay as a racer may have stored them, correct or altered. Like ``altered_replays``, it imports only
the alterations of texts and ``replay_writing``.
"""

from random import Random
from typing import Any

from support.alterations import TEXT_CHANGES
from support.replay_writing import Content, canonical

Receipt = list[Any]


def altered_receipts(content: Content, random: Random) -> bytes:
    """Return a file of receipts for a replay, in half of all cases with an alteration."""
    digests = [["digest", number, digest] for number, _, _, digest in content["entries"]]
    shown = sorted(random.sample(digests, random.randint(0, min(6, len(digests)))), key=lambda digest: int(digest[1]))
    lines: list[Receipt] = [["header", content["header"]], *shown]
    events = [entry[2] for entry in content["entries"]]
    for event in events:
        if event["t"] == "nonce" and random.randrange(2):
            lines.insert(random.randint(1, len(lines)), ["nonce", event["seat"], event["nonce"]])
    if random.randrange(2):
        random.choice(_CHANGES)(lines, random)
    data = "".join(f"{canonical(line)}\n" for line in lines).encode()
    if random.randrange(3) == 0:
        data = random.choice(list(TEXT_CHANGES.values()))(data, random, "lines")[0]
    return data if random.randrange(10) else data[: random.randrange(len(data) + 1)]


def _another_value(lines: list[Receipt], random: Random) -> None:
    line = random.choice(lines)
    line[-1] = random.choice((random.randbytes(32).hex(), "0" * 63, {"race": "x"}))


def _another_number(lines: list[Receipt], random: Random) -> None:
    line = random.choice(lines)
    if line[0] != "header":
        line[1] = random.choice((0, 1, line[1] + 1, 2**20, 2**20 + 1, 2**53 - 1, 2**53, -1))


def _another_order(lines: list[Receipt], random: Random) -> None:
    index = random.randrange(1, len(lines) + 1)
    lines[index:] = random.sample(lines[index:], len(lines[index:]))


def _again(lines: list[Receipt], random: Random) -> None:
    lines.insert(random.randint(1, len(lines)), list(random.choice(lines)))


def _another_race(lines: list[Receipt], random: Random) -> None:
    """Before, between or after these lines, with one of them."""
    header = lines[0][1] | {"race": random.choice(("another", lines[0][1]["race"])), "opened_at": 1}
    index = random.choice((0, len(lines), random.randint(1, len(lines))))
    lines[index:index] = [["header", header], list(random.choice(lines)), lines[0]][: random.choice((1, 2, 3))]


def _another_form(lines: list[Receipt], random: Random) -> None:
    index = random.randrange(len(lines))
    lines[index] = random.choice(([*lines[index], 0], lines[index][:-1], ["more", 1, "x"], [], lines[index][:1]))


_CHANGES = (_another_value, _another_number, _another_order, _again, _another_race, _another_form)
