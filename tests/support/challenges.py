"""Random challenges for tests: a log with the replays of its heats, which can be forged."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from samedeal import codec
from samedeal.commitments import commitment, nonce_commitment
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.challenge import (
    AnyChallengeEvent,
    Cancelled,
    Challenge,
    ChallengeDeal,
    ChallengeEntry,
    ChallengeHeader,
    Finished,
    HeatOpened,
    Opened,
    Revealed,
)
from samedeal.race.events import (
    Closed,
    ClubLink,
    Counting,
    Dealt,
    Header,
    Joined,
    Moved,
    Nonce,
    Options,
    Readied,
    Resigned,
)
from samedeal.race.race import Race
from samedeal.replays.log_files import ChallengeLog, read_log_file
from samedeal.replays.replay import Replay
from support.finished_races import OPENED_AT, SECRET, SIGNING_KEY, Logged, nonce

ID = "brave-otter-4217"
NONCE = "a7" * 32
HOUR_MS = 3_600_000
VARIANTS: dict[str, dict[str, str | bool]] = {"corners": {"refill": "waste"}, "gallery": {"cap": False}}
Forge = Callable[[int, Header], Header]
"""Returns another header for the heat with a number, counted from 1."""


def deal(
    slug: str = "corners", limit_ms: int = 360_000, *, variant: bool = False, unlisted: bool = True
) -> ChallengeDeal:
    return ChallengeDeal(
        game=slug,
        rules=GAMES[slug].rules,
        variant=VARIANTS.get(slug, {}) if variant else {},
        options=Options(limit_ms=limit_ms, finishers="none", spectators="after", unlisted=unlisted),
    )


def header(
    *deals: ChallengeDeal,
    hours: float = 24,
    challenge: str = ID,
    opened_at: int = OPENED_AT,
    club: ClubLink | None = None,
) -> ChallengeHeader:
    return ChallengeHeader(
        challenge=challenge,
        creator="player-1",
        deals=deals or (deal(),),
        commitment=commitment(challenge, SECRET),
        salt="00" * 16,
        opened_at=opened_at,
        until=opened_at + round(hours * HOUR_MS),
        club=club,
    )


@dataclass
class LoggedChallenge:
    """A challenge in progress with its log and the replays of its heats."""

    challenge: Challenge
    entries: list[ChallengeEntry] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)

    @classmethod
    def opening(cls, *deals: ChallengeDeal, hours: float = 24, **fixed: Any) -> "LoggedChallenge":
        return cls(Challenge.opened(header(*deals, hours=hours, **fixed), SECRET))

    @classmethod
    def open(cls, *deals: ChallengeDeal, hours: float = 24, **fixed: Any) -> "LoggedChallenge":
        logged = cls.opening(*deals, hours=hours, **fixed)
        logged.say(Opened(nonce=NONCE), 1_000)
        return logged

    def say(self, event: AnyChallengeEvent, wait: int = 0) -> None:
        """Log an event some milliseconds after the previous one."""
        self.challenge, entry = self.challenge.extended(self.challenge.at + wait, event)
        self.entries.append(entry)

    def heat(self, number: int = 1, forge: Forge = lambda _, made: made, **options: int) -> Logged:
        """Open a heat on a deal, and return its race without entries."""
        options_of_deal = self.challenge.header.deals[number - 1].options
        made = self.challenge.heat_header(number, self.challenge.at, replace(options_of_deal, **options))
        self.say(HeatOpened(deal=number))
        return Logged(Race.opened(forge(self.challenge.n, made), SECRET))

    def finish(self, log: Logged, *, hidden: bool = False) -> None:
        """Log the end of a heat; with `hidden`, as if it had been cancelled."""
        race, number = log.race, int(log.race.id.rpartition("-")[2])
        is_cancelled = hidden or race.stage == "cancelled"
        event = Cancelled(heat=number) if is_cancelled else Finished(heat=number, digest=race.digest)
        self.say(event, max(0, race.at - self.challenge.at))
        self.replays.append(log.replay())

    def finish_unraced(self, number: int = 1) -> None:
        """Log a heat that is cancelled, without its replay."""
        self.say(HeatOpened(deal=number))
        self.say(Cancelled(heat=self.challenge.n))

    def reveal(self) -> None:
        self.say(Revealed(secret=SECRET.hex()), max(0, self.challenge.header.reveals_at - self.challenge.at))

    def log(self, signing_key: bytes = SIGNING_KEY) -> ChallengeLog:
        return ChallengeLog.of(self.challenge, tuple(self.entries), signing_key)


def raced(log: Logged, players: list[int], random: Random, id_of: Callable[[int], str] = "player-{}".format) -> Logged:
    """Return a heat or a sealed race after a few moves of each player, or cancelled if there are none."""
    for seat, player in enumerate(players, start=1):
        name = f"Name {player}{random.choice(('', ' the 2nd'))}"
        promise = nonce_commitment(log.race.id, nonce(seat)) if log.race.header.sealed else None
        joined = Joined(seat=seat, player=id_of(player), name=name, bot=player == 5, commitment=promise)
        log.say(joined, random.randrange(2_000))
        log.say(Readied(seat=seat))
    if players:
        log.say(Counting())
        for seat in range(1, len(players) + 1) if log.race.header.sealed else ():
            log.say(Nonce(seat=seat, nonce=nonce(seat).hex()))
        wait_ms = log.race.options.start_delay_ms
        if log.race.finished(log.race.at + wait_ms):  # the header is forged
            log.say(Closed(secret=SECRET.hex()), wait_ms)
            return log
        log.say(Dealt(), wait_ms)
        for _ in range(random.randrange(12)):
            run = log.race.seat(seat := random.randint(1, len(players))).run
            if run and not run.done and (moves := run.game.moves()):
                with suppress(Refused):  # before a head start is over
                    log.say(Moved(seat=seat, move=random.choice(moves)), random.choice((0, 900)))
        for racer in log.race.roster:
            if racer.run and not racer.run.done:
                log.say(Resigned(seat=racer.number))
    log.say(Closed(secret=SECRET.hex()), 0 if players else log.race.expires_at - log.race.at)
    return log


def random_challenge(
    random: Random, forge: Forge = lambda _, made: made, hide: int = 0, **fixed: Any
) -> LoggedChallenge:
    """Return a revealed challenge, the same for the same random numbers; the heat `hide` is logged as cancelled."""
    slugs, listed = random.choices(list(GAMES), k=random.randint(1, 4)), random.random() < 0.5
    deals = [
        deal(slug, random.choice((60_000, 360_000)), variant=random.random() < 0.5, unlisted=not listed)
        for slug in slugs
    ]
    logged = LoggedChallenge.open(*deals, hours=random.choice((1, 30)), **fixed)
    running = list[Logged]()
    for _ in range(random.randint(0, 8)):
        racers = random.choice((0, 1, 1, 2, 3, 4))
        chosen = {
            "max_racers": random.choice((1, 8)) if racers == 1 else 8,
            "start_delay_ms": random.randrange(6) * 1_000,
        }
        if racers == 1:
            chosen["max_racers"] = 1
        players = random.sample(range(1, 7), racers)
        running.append(raced(logged.heat(random.randint(1, len(deals)), forge, **chosen), players, random))
        for log in [log for log in running if log.race.at <= logged.challenge.at + 20_000 or random.random() < 0.1]:
            if log.race.at < logged.challenge.header.until:
                running.remove(log)
                logged.finish(log, hidden=log.race.id == f"{ID}-{hide}")
    for log in sorted(running, key=lambda log: log.race.at):
        logged.finish(log, hidden=log.race.id == f"{ID}-{hide}")
    logged.reveal()
    return logged


def read_challenge(data: bytes) -> ChallengeLog:
    """Return the log of a challenge in a file."""
    log = read_log_file(data)
    assert isinstance(log, ChallengeLog)
    return log


def written(folder: Path, log: ChallengeLog, replays: list[Replay]) -> list[Path]:
    """Write a log, and replays as JSON and NDJSON in turn."""
    paths = [folder / "log.json", *(folder / f"{replay.header.race}.replay" for replay in replays)]
    forms = [b"".join(replay.lines()) if at % 2 else codec.encode(replay, "json") for at, replay in enumerate(replays)]
    for path, data in zip(paths, (codec.encode(log, "json"), *forms), strict=True):
        path.write_bytes(data)
    return paths
