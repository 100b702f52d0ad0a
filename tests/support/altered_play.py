"""Alterations of the countdown, of moves, and of the end of a race."""

from random import Random

from support.alterations import NotPossible, any_move, any_seat, first, indices, insert, kind, one, untimed
from support.replay_writing import DAY_MS, Content

MAX_MOVES = 5000


def limit(content: Content) -> int:
    """Return when the time limit is over."""
    dealt: int = content["entries"][first(content, "dealt")][1]
    over: int = dealt + content["header"]["options"]["limit_ms"]
    return over


# The countdown.


@kind
def the_countdown_is_missing(content: Content, random: Random) -> None:
    del content["entries"][first(content, "counting")]


@kind
def the_countdown_starts_early(content: Content, random: Random) -> None:
    index = first(content, "counting")
    entry = content["entries"].pop(index)
    content["entries"].insert(random.randrange(index + 1), entry)


@kind
def the_countdown_starts_again(content: Content, random: Random) -> None:
    insert(content, random.randrange(first(content, "counting") + 1, len(content["entries"])), {"t": "counting"})


@kind
def somebody_is_not_ready(content: Content, random: Random) -> None:
    index = one(content, random, "readied")
    content["entries"][index][2]["t"] = "unreadied"


@kind
def readiness_changes(content: Content, random: Random) -> None:
    """Also to what it is."""
    for _ in range(random.randint(1, 3)):
        event = {"t": random.choice(("readied", "readied", "unreadied")), "seat": any_seat(random)}
        insert(content, random.randrange(first(content, "counting", "closed") + 1), event)


@untimed
def the_deal_is_early_or_late(content: Content, random: Random) -> None:
    index = first(content, "dealt")
    counting = content["entries"][first(content, "counting")][1]
    delay = content["header"]["options"].get("start_delay_ms", 5000)
    content["entries"][index][1] = counting + delay + random.choice((-1, 0, 1, DAY_MS))


@kind
def the_deal_is_missing(content: Content, random: Random) -> None:
    del content["entries"][first(content, "dealt")]


@kind
def the_cards_are_dealt_again(content: Content, random: Random) -> None:
    index = random.randrange(first(content, "dealt") + 1, len(content["entries"]))
    insert(content, index, {"t": "dealt"}, random.choice((0, 5000)))


@kind
def the_deal_comes_before_nonces(content: Content, random: Random) -> None:
    index = first(content, "dealt")
    entry = content["entries"].pop(index)
    content["entries"].insert(random.randrange(first(content, "counting") + 1, index + 1), entry)


# Moves.


@kind
def a_move_is_another(content: Content, random: Random) -> None:
    content["entries"][one(content, random, "moved")][2]["move"] = any_move(random)


@kind
def a_move_is_not_a_move(content: Content, random: Random) -> None:
    moves = ("DRAW", "a0", "z9z9", "u1u2", "a1+a1", "b1+a1", "", "a 1", "é", "x" * 64, "x" * 65, "draw\n", "__proto__")
    content["entries"][one(content, random, "moved")][2]["move"] = random.choice(moves)


@kind
def moves_are_swapped(content: Content, random: Random) -> None:
    moves = indices(content, "moved")
    if len(moves) < 2:
        raise NotPossible
    index, other = (content["entries"][i][2] for i in random.sample(moves, 2))
    index["move"], other["move"] = other["move"], index["move"]


@kind
def a_move_is_inserted(content: Content, random: Random) -> None:
    index = one(content, random, "dealt", "moved")
    insert(content, index + 1, {"t": "moved", "seat": any_seat(random), "move": any_move(random)})


@kind
def moves_are_missing(content: Content, random: Random) -> None:
    """From some move on; the end is the same."""
    index = one(content, random, "moved")
    later = [entry for entry in content["entries"][index:] if entry[2]["t"] != "moved"]
    content["entries"][index:] = later


@kind
def a_move_is_undone(content: Content, random: Random) -> None:
    """Undo may be off, and the move may have revealed a card."""
    index = one(content, random, "moved")
    seat = content["entries"][index][2]["seat"]
    for _ in range(random.choice((1, 1, 2, 5))):
        insert(content, index + 1, {"t": "moved", "seat": seat, "move": "undo"})


@kind
def a_reveal_is_undone(content: Content, random: Random) -> None:
    words = ("draw", "deal", "redeal")
    found = [i for i in indices(content, "moved") if content["entries"][i][2]["move"] in words]
    if not found:
        raise NotPossible
    index = random.choice(found)
    insert(content, index + 1, {"t": "moved", "seat": content["entries"][index][2]["seat"], "move": "undo"})


@kind
def a_move_is_undone_and_made_again(content: Content, random: Random) -> None:
    index = one(content, random, "moved")
    event = content["entries"][index][2]
    insert(content, index + 1, event | {"move": "undo"})
    insert(content, index + 2, dict(event), random.choice((0, 0, 1)))


@kind
def a_game_is_restarted(content: Content, random: Random) -> None:
    index = one(content, random, "moved", "dealt")
    for _ in range(random.choice((1, 1, 2))):
        insert(content, index + 1, {"t": "moved", "seat": any_seat(random), "move": "restart"})


@kind
def an_untouched_deal_is_restarted(content: Content, random: Random) -> None:
    """Or one where the first move was undone or, in Corner Stones, moved back."""
    index = one(content, random, "moved")
    event = content["entries"][index][2]
    move = event["move"]
    moves = random.choice((("restart", "restart"), ("undo", "restart"), (move[2:] + move[:2], "restart")))
    for offset, each in enumerate(moves, start=1):
        insert(content, index + offset, event | {"move": each})


@kind
def a_racer_makes_too_many_moves(content: Content, random: Random) -> None:
    """One is undone and made again so often that the last ones, or just none, are too many. In Corner Stones, no move
    reveals a card.
    """
    if content["header"]["game"] != "corner-stones" or "undo" in content["header"]["options"]:
        raise NotPossible
    index = one(content, random, "moved")
    number, at, event, digest = content["entries"][index]
    others = sum(content["entries"][i][2]["seat"] == event["seat"] for i in indices(content, "moved"))
    moves = ("undo", event["move"]) * ((MAX_MOVES - others) // 2 + random.randrange(2))
    added = [[number + i, at, event | {"move": move}, digest] for i, move in enumerate(moves, start=1)]
    content["entries"][index + 1 : index + 1] = added


@kind
def somebody_resigns(content: Content, random: Random) -> None:
    """At any time, also after winning or resigning."""
    index = random.randrange(first(content, "dealt"), len(content["entries"]))
    insert(content, index, {"t": "resigned", "seat": any_seat(random)})


@kind
def everybody_resigns_at_the_end(content: Content, random: Random) -> None:
    """Also winners, and those who have resigned."""
    for seat in random.sample((1, 2, 3), 2):
        insert(content, len(content["entries"]) - 1, {"t": "resigned", "seat": seat})


@kind
def nobody_resigns(content: Content, random: Random) -> None:
    """So the race has to wait for the limit."""
    if not indices(content, "resigned"):
        raise NotPossible
    content["entries"] = [entry for entry in content["entries"] if entry[2]["t"] != "resigned"]
    if random.randrange(2):
        content["entries"][-1][1] = limit(content) + random.choice((-1, 0, 1))


@untimed
def somebody_acts_at_the_limit(content: Content, random: Random) -> None:
    """Nobody has resigned before."""
    at = limit(content) + random.choice((-1, 0, 1))
    event = {"t": random.choice(("moved", "resigned", "resigned", "taken")), "seat": random.choice((1, 2))}
    if event["t"] == "moved":
        event["move"] = any_move(random)
    content["entries"] = [entry for entry in content["entries"] if entry[2]["t"] != "resigned"]
    insert(content, len(content["entries"]) - 1, event)
    content["entries"][-2][1], content["entries"][-1][1] = at, at + random.choice((0, 1))
    for number, entry in enumerate(content["entries"], start=1):
        entry[0] = number


# The end.


@kind
def the_closing_is_missing(content: Content, random: Random) -> None:
    del content["entries"][-1]


@kind
def the_closing_is_repeated(content: Content, random: Random) -> None:
    """Anywhere, with this secret or another."""
    event = dict(content["entries"][-1][2])
    if random.randrange(3) == 0:
        event["secret"] = random.randbytes(32).hex()
    insert(content, random.randrange(len(content["entries"]) + 1), event)


@kind
def the_closing_comes_early(content: Content, random: Random) -> None:
    """All after it is missing."""
    closing = content["entries"][-1]
    index = random.randrange(len(content["entries"]))
    content["entries"][index:] = [closing]
    if random.randrange(2):
        closing[1] = content["entries"][index - 1][1] if index else content["header"]["opened_at"]


@kind
def something_follows_the_closing(content: Content, random: Random) -> None:
    events = ({"t": "taken", "seat": 1}, {"t": "counting"}, {"t": "moved", "seat": 1, "move": "undo"})
    insert(content, len(content["entries"]), dict(random.choice(events)))


@untimed
def the_closing_is_at_the_limit(content: Content, random: Random) -> None:
    content["entries"][-1][1] = limit(content) + random.choice((-1, 0, 1))


@untimed
def the_race_is_cancelled(content: Content, random: Random) -> None:
    """Before or during the countdown, around the time when that is allowed."""
    opened_at = content["header"]["opened_at"]
    closing, until = content["entries"][-1], first(content, *random.choice((("counting",), ("dealt",), ("joined",))))
    ends = (opened_at + DAY_MS, opened_at // DAY_MS * DAY_MS + DAY_MS)
    closing[0], closing[1] = until + 1, random.choice(ends) + random.choice((-1, 0, 0, 1))
    content["entries"][until:] = [closing]
    content["standings"] = []
