"""What the log of a club proves, together with the replays of its races and what the server says about the scores."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, Literal, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from samedeal.proof.outcomes import Outcome
from samedeal.race.club import Club, ClubCancelled, ClubFinished, ClubJoined, ClubOpened, Erased, Places
from samedeal.race.events import ClubLink, Header
from samedeal.race.race import OPEN_MS
from samedeal.replays.log_files import ChallengeLog, ClubLog
from samedeal.scores.challenge_table import ChallengeTable, RaceReplay
from samedeal.scores.club_scores import ClubScores, ClubTally, ratings, tally_of

MISSING: Final = "is missing"
LONGEST_MS: Final = 31 * 86_400_000
"""How long a race or a challenge can be open."""
WAIT_MS: Final = 60_000
"""How long a server can need to enter the end of a race."""
WHICH: Final = {"day": "of the day", "week": "of the week", "season": "of the season", "all": "of all time"}


class Evidence(NamedTuple):
    """What the replay of a race, or the log of a challenge with the replays of its heats, says about the club."""

    club: ClubLink | None
    commitment: str
    games: tuple[str, ...]
    digest: str
    places: tuple[Places, ...]
    dealt_at: int
    """When the cards were dealt, or when a challenge came about; 0 if nobody was dealt any."""
    ended_at: int
    over_by: int
    """When it must have ended."""
    key: str
    faults: tuple[str, ...] = ()
    """What is wrong with a challenge."""

    @classmethod
    def of_race(cls, replay: RaceReplay) -> Self:
        header, race = replay.header, replay.race
        places = () if header.head_start else ({player: standing.place for player, standing in race.racers},)
        over_by = (race.started_at or header.opened_at + OPEN_MS) + header.options.limit_ms
        times = race.started_at, replay.ended_at, over_by
        return cls(header.club, header.commitment, (header.game,), replay.digest, places, *times, replay.key)

    @classmethod
    def of_challenge(cls, log: ChallengeLog, heats: Iterable[RaceReplay]) -> Self:
        scores, header = ChallengeTable.of(log, heats, "not-checked"), log.header
        places = tuple(
            {row.player: deal.place for row in scores.table if (deal := row.deals[number])}
            for number in range(len(header.deals))
        )
        games = tuple(deal.game for deal in header.deals)
        times = log.entries[0].at if any(places) else 0, log.entries[-1].at, header.reveals_at
        return cls(header.club, header.commitment, games, log.digest, places, *times, log.signature.key, scores.faults)


class _Opening(NamedTuple):
    """The entry of a race or a challenge that was opened."""

    n: int
    at: int
    """0 if it has the time of the entry before: then the clock may have been set back."""
    event: ClubOpened
    link: ClubLink
    """What the header has to state."""


class ClubProof(Struct, frozen=True, kw_only=True):
    """The scores of a club with what is proved about them."""

    scores: ClubScores
    """The tables and ratings that follow from the log, whatever the faults."""
    outcome: Outcome | Literal["not-checked"]
    """`refused` if there are faults, `not-checked` if the replays were not verified."""
    faults: tuple[str, ...]
    """Two logs that differ, races that are missing or contradict the log, scores that do not follow from it, and
    several signers if not all are known."""
    unproved: tuple[str, ...]
    """The races whose replays are missing because somebody was erased."""
    keys: Mapping[str, tuple[str, ...]]
    """The club and its races, in order, grouped by the key that signed their logs."""

    @classmethod
    def of(
        cls,
        logs: Sequence[ClubLog],
        challenges: Iterable[ChallengeLog],
        replays: Iterable[RaceReplay],
        stated: Iterable[ClubScores] = (),
        headers: Iterable[Header] = (),
        outcome: Outcome | Literal["not-checked"] = "not-checked",
    ) -> Self:
        """Return what follows from one or more logs of a club that hold, in any order.

        `challenges` and `replays` are those of its races; `stated` are scores as the server states them, and `headers`
        are those of races that are known to have been opened, of which only those before the log ends count. `outcome`
        is that of the verification; faults change it to `refused`.
        """
        log, *others = sorted(logs, key=lambda log: (-len(log.entries), log.digest))
        club, given = log.header.club, _evidence(challenges, replays)
        faults, unproved, keys = list[str](), list[str](), {log.signature.key: (club,)}
        for other in others:
            pairs = zip(log.entries, other.entries, strict=False)
            if fork := next((one.n for one, two in pairs if one != two), int(log.header != other.header)):
                faults.append(f"two logs of the club differ from entry {fork} on")
        heads = {race: {found.club} for race, found in given.items()}
        for header in headers:
            if header.club and header.club.club == club and log.entries and header.opened_at < log.entries[-1].at:
                heads.setdefault(header.race, set()).add(header.club)
        for race, what, found in _races(log, given, heads):
            if what is None:
                unproved.append(race)
            elif what:
                faults += [f"{race} {fault}" for fault in what]
            elif found:
                keys[found.key] = (*keys.get(found.key, ()), race)
        for said in stated:
            faults += _wrong(said, log)
        if outcome == "key-unknown" and len(keys) > 1:
            faults.insert(0, f"signed by {len(keys)} different keys")
        return cls(
            scores=_tally(log).scores(club),
            outcome="refused" if faults else outcome,
            faults=tuple(faults),
            unproved=tuple(unproved),
            keys=keys,
        )


def _evidence(challenges: Iterable[ChallengeLog], replays: Iterable[RaceReplay]) -> dict[str, Evidence]:
    """Return the evidence for each race and challenge."""
    heats, given = defaultdict[str, list[RaceReplay]](list), dict[str, Evidence]()
    for replay in replays:
        if heat := replay.header.heat:
            heats[heat.challenge].append(replay)
        else:
            given[replay.header.race] = Evidence.of_race(replay)
    for log in challenges:
        given[log.header.challenge] = Evidence.of_challenge(log, heats.pop(log.header.challenge, ()))
    return given


def _races(
    log: ClubLog, given: Mapping[str, Evidence], heads: Mapping[str, set[ClubLink | None]]
) -> Iterator[tuple[str, Sequence[str] | None, Evidence | None]]:
    """Yield the id of each race that has ended, what is wrong with it (None if it cannot be known, because somebody was
    erased), and the evidence; then the races without an end, and those whose headers, in the replays or known
    otherwise, do not fit into the log.
    """
    erased, opened, over_by = _erased(log), dict[str, _Opening](), dict[str, int]()
    head, at = Club.opened(log.header).link, log.header.opened_at
    for entry in log.entries:
        event, before, at = entry.event, at, entry.at
        if isinstance(event, ClubOpened):
            opened[event.race] = _Opening(entry.n, at if at > before else 0, event, head)
            over_by[event.race] = given[event.race].over_by if event.race in given else at + LONGEST_MS
        elif isinstance(event, ClubCancelled | ClubFinished):
            found, opening = given.get(event.race), opened[event.race]
            del over_by[event.race]
            if isinstance(event, ClubCancelled):
                text = "was dealt, although the log says that it was cancelled"
                yield event.race, [text] if found and found.dealt_at else [], None
            else:
                faults = [*_faults(at, event, opening, found)]
                later = {player for player, n in erased.items() if n > opening.n}
                yield event.race, None if _is_excused(faults, event, found, later) else faults, found
        head = replace(head, h=entry.h)
    yield from ((race, ["has no end in the log"], None) for race, by in over_by.items() if at > by + WAIT_MS)
    for race, stated in sorted(heads.items()):
        if race not in opened:
            yield race, ["is not in the log of the club"], None
        elif stated != {opened[race].link}:
            yield race, ["names a different head of the log"], None


def _erased(log: ClubLog) -> dict[str, int]:
    """Return the number of the last entry that erased each player who had been a member before."""
    members, erased = {log.header.founder}, dict[str, int]()
    for entry in log.entries:
        if isinstance(entry.event, ClubJoined):
            members.add(entry.event.player)
        elif isinstance(entry.event, Erased) and entry.event.player in members:
            erased[entry.event.player] = entry.n
    return erased


def _is_excused(faults: Sequence[str], event: ClubFinished, found: Evidence | None, erased: set[str]) -> bool:
    """Return whether nothing is wrong except that replays are missing, and players who were `erased` after the opening
    may have taken part. The places of a race name them, unless somebody had a head start; those of a challenge may not.
    """
    if not (faults and erased and all(fault.endswith(MISSING) for fault in faults)):
        return False
    return bool(found) or len(event.places) != 1 or not erased.isdisjoint(event.places[0])


def _faults(at: int, event: ClubFinished, opening: _Opening, found: Evidence | None) -> Iterator[str]:
    """Yield what contradicts the log in a race or a challenge that it says was over at a time."""
    if found is None:
        yield MISSING
        return
    yield from (f"is a challenge in which {fault}" for fault in found.faults)
    if (found.commitment, found.games) != (opening.event.commitment, opening.event.games):
        yield "does not have the commitment and the games that the log announced"
    elif 0 < found.dealt_at < opening.at:
        yield "was dealt before the log says that it was opened"
    elif found.digest != event.digest or at < found.ended_at:
        yield "does not end as the log says"
    elif found.places != event.places and not found.faults:
        yield "does not have the places that the log says"


def _wrong(said: ClubScores, log: ClubLog) -> Iterator[str]:
    """Yield what does not follow from the log in scores that the server states."""
    if said.club != log.header.club or max(said.n, said.rated) > len(log.entries):
        yield f"the scores after entry {max(said.n, said.rated)} of {said.club} are not those of this log"
        return
    for table, stated in zip_longest(_tally(log, said.n).tables(), said.tables):
        if table != stated:
            yield f"the table {WHICH[(table or stated).period]} does not follow from the log"
    rated = ratings(_tally(log, said.rated).games)
    for game in sorted(rated.keys() | said.ratings.keys()):
        if rated.get(game) != said.ratings.get(game):
            yield f"the ratings in {game} do not follow from the log"


def _tally(log: ClubLog, n: int | None = None) -> ClubTally:
    """Return the tally after entry `n`, by default the last one."""
    return tally_of(Club.opened(log.header), log.entries[:n])[1]
