"""The table of a challenge, computed from its log and the replays of its heats, with what they prove together."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Self

from msgspec import Struct

from samedeal.proof.outcomes import Outcome
from samedeal.race.challenge import Cancelled, Finished, HeatOpened, Opened, heat_fault
from samedeal.race.events import Header
from samedeal.replays.log_files import ChallengeLog
from samedeal.replays.replay import Log
from samedeal.scores.field import Field, FieldRace, FieldRow
from samedeal.scores.results import read_standings


class RaceReplay(NamedTuple):
    """The parts of a race's replay that the tables of challenges and clubs depend on. They are verified elsewhere."""

    header: Header
    digest: str
    key: str
    """The public key that signed it."""
    race: FieldRace
    ended_at: int

    @classmethod
    def of(cls, log: Log) -> Self:
        """Raises Refused("bad-replay")."""
        _, _, ended_at = read_standings(log)
        return cls(log.header, log.digest, log.signature.key, FieldRace.of_log(log), ended_at)


class ChallengeTable(Struct, frozen=True, kw_only=True):
    """The table of a challenge."""

    challenge: str
    table: tuple[FieldRow, ...]
    """Best first, without the heats that faults name."""
    outcome: Outcome | Literal["not-checked"]
    """`refused` if there are faults, `not-checked` if the replays were not verified."""
    faults: tuple[str, ...]
    """Heats that are missing or contradict the log, and several signers if not all are known."""
    keys: Mapping[str, tuple[str, ...]]
    """The challenge and the heats that count, in order, grouped by the key that signed their logs."""

    @classmethod
    def of(cls, log: ChallengeLog, replays: Iterable[RaceReplay], outcome: Outcome | Literal["not-checked"]) -> Self:
        """Return the table from a log that holds and the replays of different races, in any order.

        `outcome` is that of their verification; faults change it to `refused`.
        """
        given = {replay.header.race: replay for replay in replays}
        field, faults = Field(len(log.header.deals)), list[str]()
        keys = {log.signature.key: (log.header.challenge,)}
        for race, why, replay in _heats(log, given):
            if why:
                faults.append(f"{race} {why}")
            elif replay:
                field.add(replay.race)
                keys[replay.key] = (*keys.get(replay.key, ()), race)
        if outcome == "key-unknown" and len(keys) > 1:
            faults.insert(0, f"signed by {len(keys)} different keys")
        return cls(
            challenge=log.header.challenge,
            table=field.table(),
            outcome="refused" if faults else outcome,
            faults=tuple(faults),
            keys=keys,
        )


def _heats(log: ChallengeLog, given: dict[str, RaceReplay]) -> Iterator[tuple[str, str, RaceReplay | None]]:
    """Yield the id of each heat in the log, what is wrong with it, and its replay if it was dealt; then what else is
    given.
    """
    ends = {end.heat: (end, entry.at) for entry in log.entries if isinstance(end := entry.event, Finished | Cancelled)}
    nonce, digest = "", ""
    for entry in log.entries:
        if isinstance(entry.event, Opened):
            nonce = entry.event.nonce
        elif isinstance(heat := entry.event, HeatOpened):
            race = f"{log.header.challenge}-{entry.n}"
            replay, (end, ended_at) = given.pop(race, None), ends[entry.n]
            if isinstance(end, Cancelled):
                was_dealt = replay and replay.race.started_at
                yield race, "was dealt, although the log says that it was cancelled" if was_dealt else "", None
            elif replay is None:
                yield race, "is missing", None
            elif replay.digest != end.digest or replay.race.started_at > ended_at:
                yield race, "does not end as the log says", None
            else:
                yield race, heat_fault(replay.header, log.header, nonce, heat.deal, digest, entry.at), replay
        digest = entry.h
    for race in sorted(given):
        yield race, "is not in the log of the challenge", None
