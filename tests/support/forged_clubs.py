"""Invalid clubs, by what is wrong with them: each thing that a dishonest server could forge."""

import math
from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from samedeal import codec
from samedeal.race.club import KEY as CHAIN_KEY
from samedeal.race.club import (
    AnyClubEvent,
    Club,
    ClubCancelled,
    ClubFinished,
    ClubOpened,
    Erased,
    Revoked,
)
from samedeal.race.events import ClubLink, Header
from samedeal.replays.signature import signed
from samedeal.scores.club_scores import ClubScores, tally_of
from support.agreement_of_logs import Case
from support.altered_logs import OTHER_KEY, altered, in_json, known
from support.clubs import DIGEST, HOUR_MS, IDS, LoggedClub, random_club, with_entries


def stated(logged: LoggedClub, n: int | None = None) -> ClubScores:
    """Return the scores after an entry, by default the last one."""
    _, tally = tally_of(Club.opened(logged.club.header), logged.entries[:n])
    return tally.scores(logged.club.id)


def case(
    logged: LoggedClub, *keys: str, others: tuple[LoggedClub, ...] = (), scores: tuple[ClubScores, ...] = ()
) -> Case:
    logs = [each.log() for each in (logged, *others)]
    documents = [codec.encode(each, "json") for each in (*logs, *logged.challenges, *scores)]
    return Case(documents, logged.replays, keys)


def changed(random: Random, change: Callable[[Any], AnyClubEvent | None], kind: type[AnyClubEvent]) -> Case:
    """Return a club in which the server logged something else instead of an event of a kind, from the start."""
    count = random.randrange(1, 5)

    def once(event: AnyClubEvent) -> AnyClubEvent | None:
        nonlocal count
        count -= isinstance(event, kind)
        if isinstance(event, kind) and count == 0:
            return change(event)
        return event

    return case(random_club(random, once))


def _valid(random: Random) -> Case:
    logged = random_club(random)
    entries = logged.entries[: random.randrange(len(logged.entries) + 1)]
    before, n = with_entries(logged, entries), random.randrange(len(logged.entries) + 1)
    scores = replace(stated(logged), rated=n, ratings=stated(logged, n).ratings)
    return case(logged, *known(random), others=(before,), scores=(scores, stated(before)))


def _left_out(random: Random) -> Case:
    """A race is not in the log."""
    dropped, count = set[str](), random.randrange(1, 5)

    def change(event: AnyClubEvent) -> AnyClubEvent | None:
        nonlocal count
        if isinstance(event, ClubOpened):
            count -= 1
            dropped.update([event.race] if count == 0 else ())
        return None if getattr(event, "race", None) in dropped else event

    return case(random_club(random, change))


def _heads(random: Random) -> Case:
    """There are two logs."""
    logged = random_club(random)
    entries = logged.entries[: random.randrange(len(logged.entries))]
    other = with_entries(logged, entries, *[random.choice((Revoked(), Erased(player="eve")))] * random.randint(1, 40))
    cases = case(logged, others=(other,))
    return cases._replace(documents=random.sample(cases.documents, len(cases.documents)))


def _swapped(event: ClubFinished, random: Random) -> ClubFinished:
    """Two places of a race are swapped, or one is another."""

    def other(places: dict[str, int]) -> dict[str, int]:
        values = [*places.values()]
        moved = dict(zip(places, values[1:] + values[:1], strict=True))
        return moved if moved != places else {**places, "eve": random.randint(1, 9)}

    return replace(event, places=tuple(map(other, event.places)) or ({"player-1": 1, "player-2": 2},))


def _other_scores(random: Random) -> Case:
    """The server states scores that do not follow from the log."""
    logged = random_club(random)
    content: Any = codec.decode(codec.encode(stated(logged), "json"), "json", Any)
    rows = [row for rows in content["ratings"].values() for row in rows]
    table = random.choice(content["tables"])
    row: Any = random.choice(rows) if rows else {}
    random.choice(
        (
            lambda: row.update(strength=math.nextafter(row["strength"], random.choice((0, 9)))) if rows else None,
            lambda: row.update(strength=math.nextafter(row["strength"], 9)) if rows else None,
            lambda: row.update(races=row["races"] + 1) if rows else None,
            lambda: [rows.reverse() for rows in content["ratings"].values()],
            lambda: content["ratings"].update(zebra=[]),
            lambda: content["ratings"].popitem() if rows else None,
            lambda: [each.update(points=math.nextafter(each["points"], 99)) for each in table["rows"][:1]],
            lambda: [each.update(player="eve") for each in table["rows"][-1:]],
            lambda: table.update(since=table["since"] + 1),
            lambda: content["tables"].reverse(),
            lambda: content["tables"].pop(),
            lambda: content["tables"].append(table),
            lambda: content.update(n=content["n"] + 1),
            lambda: content.update(n=0),
            lambda: content.update(club="another-club"),
        )
    )()
    return case(logged, scores=(codec.decode(codec.encode(content, "json"), "json", ClubScores),))


def _without_replays(random: Random) -> Case:
    made = case(random_club(random))
    return made._replace(
        replays=[replay for replay in made.replays if random.random() < 0.7],
        documents=[made.documents[0], *[each for each in made.documents[1:] if random.random() < 0.7]],
    )


def _headers(random: Random) -> Case:
    """Races name another head of the log, another club or none."""

    def forge(made: Header) -> Header:
        link = ClubLink(
            club=random.choice(("eve-club", made.club.club if made.club else "")), h=random.randbytes(32).hex()
        )
        return replace(made, club=random.choice((made.club, link, link, None)))

    return case(random_club(random, forge=forge))


def _several_keys(random: Random) -> Case:
    logged = random_club(random)
    logged.replays = [
        replace(each, signature=signed(OTHER_KEY, each.header.race, each.digest)) if random.random() < 0.4 else each
        for each in logged.replays
    ]
    return case(logged, *known(random))


def _announced(event: ClubOpened, random: Random) -> ClubOpened:
    """The cards of a race or a challenge were chosen after its opening."""
    return random.choice(
        (replace(event, commitment=random.randbytes(32).hex()), replace(event, games=("gallery", *event.games[1:])))
    )


def _other_events(content: Any, random: Random) -> None:
    entries = content["entries"]
    entry, other = random.choice(entries), random.choice(entries)
    random.choice(
        (
            lambda: entries.remove(entry),
            lambda: entries.insert(random.randrange(len(entries)), [*entry]),
            lambda: entry.__setitem__(1, max(0, entry[1] + random.choice((-60_001, -1, 1)))),
            lambda: entry.__setitem__(2, other[2]),
            lambda: entry[2].update({"player": random.choice(("eve", "player-1"))} if "player" in entry[2] else {}),
            lambda: entry[2].update({"digest": "0" * 64} if entry[2]["t"] in ("joined", "invited") else {}),
            lambda: entry[2].update({"places": [{"a": 1}] * 2} if entry[2]["t"] == "finished" else {}),
            lambda: entries.insert(random.randrange(len(entries)), [1, entry[1], {"t": "dissolved"}, "0" * 64]),
            lambda: content["header"].update(founder="eve"),
        )
    )()


def _rejoined(content: Any, random: Random) -> None:
    """Somebody joins with an invitation that ended when a member was removed, or the last one left."""
    ways = (("joined", "eve"), ("removed", "eve"), ("joined", "eve")), (("left", "player-1"), ("joined", "eve"))
    _, at, _, _ = content["entries"][0]
    content["entries"][1:1] = [
        [0, at, {"t": t, "player": player} | ({"digest": DIGEST} if t == "joined" else {}), ""]
        for t, player in random.choice(ways)
    ]


def _early(content: Any, random: Random) -> None:
    """The end of a race or a challenge is entered before it."""
    entries = content["entries"]
    at = random.choice([i for i, entry in enumerate(entries) if entry[2]["t"] == "finished"] or [1])
    entries[at][1] = entries[at - 1][1]


def _erasures(random: Random) -> Case:
    """Players are erased, also before the opening of races and without having been members, and replays are missing
    that they may have taken part in.
    """

    def change(event: AnyClubEvent) -> AnyClubEvent:
        return Erased(player=random.choice((*IDS, "eve"))) if isinstance(event, Revoked) else event

    made = case(random_club(random, change))
    return made._replace(replays=[each for each in made.replays if not (each.header.heat or each.header.head_start)])


def _unreadable(content: Any, random: Random) -> None:
    entry, event = random.choice(content["entries"]), {"t": "finished", "race": "a", "digest": "0" * 64}
    random.choice(
        (
            lambda: content.update(format="samedeal.club/2"),
            lambda: content.update(standings=[]),
            lambda: content["header"].update(founder=random.choice(("é", "", "a b", "x" * 65, 1))),
            lambda: content["header"].update(club="A"),
            lambda: content["header"].update(name="ours"),
            lambda: entry.append(0),
            lambda: entry[2].update(t=random.choice(("heat", "closed", 1))),
            lambda: entry[2].update(seat=1),
            lambda: entry.__setitem__(0, 0),
            lambda: entry.__setitem__(
                2, {**event, "places": random.choice(([], [{}] * 25, [{"é": 1}], [{"a": 0}], {}))}
            ),
            lambda: entry.__setitem__(2, {**event, "t": "opened", "commitment": "0" * 64, "games": ["corners"]}),
            lambda: entry.__setitem__(
                2,
                {
                    "t": "opened",
                    "race": "a",
                    "commitment": "0" * 64,
                    "games": random.choice(([], ["corners"] * 25, ["7"], ["é"], "corners")),
                },
            ),
            lambda: content.pop("signature"),
        )
    )()


KINDS: Final[dict[str, Callable[[Random], Case]]] = {
    "valid club": _valid,
    "a race is left out of the club": _left_out,
    "two heads": _heads,
    "a result is swapped": lambda random: changed(random, lambda event: _swapped(event, random), ClubFinished),
    "other scores": _other_scores,
    "cards chosen later": lambda random: changed(random, lambda event: _announced(event, random), ClubOpened),
    "replays are missing": _without_replays,
    "the header of a race": _headers,
    "a cancelled race was dealt": lambda random: changed(
        random, lambda event: ClubCancelled(race=event.race), ClubFinished
    ),
    "another end of a race": lambda random: changed(
        random, lambda event: replace(event, digest="0" * 64), ClubFinished
    ),
    "the end of a race is left out": lambda random: changed(random, lambda event: None, ClubFinished),
    "the end of a race is too early": in_json(lambda random: case(random_club(random)), _early, CHAIN_KEY.hex()),
    "a race is opened after its deal": lambda random: case(
        random_club(random, forge=lambda made: replace(made, opened_at=made.opened_at - random.choice((0, HOUR_MS))))
    ),
    "an invitation that has ended": in_json(lambda random: case(random_club(random)), _rejoined, CHAIN_KEY.hex()),
    "erasures that excuse little": _erasures,
    "several keys in a club": _several_keys,
    "other events in a club": in_json(lambda random: case(random_club(random)), _other_events, CHAIN_KEY.hex()),
    "altered club": in_json(
        lambda random: case(random_club(random), *known(random)), altered({"founder": "eve", "club": "eve-club"})
    ),
    "unreadable club": in_json(lambda random: case(random_club(random)), _unreadable),
}
