"""Random clubs for tests: a log with the replays of its races, which can be forged."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec.structs import replace

from samedeal.commitments import commitment
from samedeal.games.catalogue import GAMES
from samedeal.race.club import (
    AnyClubEvent,
    Club,
    ClubCancelled,
    ClubEntry,
    ClubFinished,
    ClubHeader,
    ClubJoined,
    ClubLeft,
    ClubOpened,
    Dissolved,
    Erased,
    Invited,
    Places,
    Removed,
    Revoked,
)
from samedeal.race.events import ClubLink, Header, HeadStart, Options
from samedeal.race.race import Race
from samedeal.replays.log_files import ChallengeLog, ClubLog
from samedeal.replays.replay import Replay
from samedeal.scores.challenge_table import RaceReplay
from samedeal.scores.club_proof import Evidence
from support.challenges import raced, random_challenge
from support.finished_races import OPENED_AT, SECRET, SIGNING_KEY, Logged

ID = "merry-heron-77"
HOUR_MS = 3_600_000
DIGEST = "d1" * 32
"""The invitation."""
IDS = ("player-1", "player-2", "10", "9", "__proto__", "points", "~!")
"""The ids of players, which programs can confuse with other things."""
Change = Callable[[AnyClubEvent], AnyClubEvent | None]
"""Returns what is logged instead of an event, if anything."""
Forge = Callable[[Header], Header]
"""Returns another header for a race."""


def header(opened_at: int = OPENED_AT) -> ClubHeader:
    return ClubHeader(club=ID, founder=IDS[0], opened_at=opened_at)


@dataclass
class LoggedClub:
    """A club in progress with its log, and the replays and challenges in it."""

    club: Club = field(default_factory=lambda: Club.opened(header()))
    entries: list[ClubEntry] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)
    challenges: list[ChallengeLog] = field(default_factory=list)
    change: Change = lambda event: event
    forge: Forge = lambda made: made

    def say(self, event: AnyClubEvent, wait: int = 0) -> None:
        """Log an event some milliseconds after the previous one."""
        if changed := self.change(event):
            self.club, entry = self.club.extended(self.club.at + wait, changed)
            self.entries.append(entry)

    def at(self, time: int, event: AnyClubEvent) -> None:
        """Log an event at a time, or later."""
        self.say(event, max(0, time - self.club.at))

    def race(self, race: str, game: str = "corners", head_start: HeadStart | None = None, **options: Any) -> Logged:
        """Open a race, and return it without entries."""
        made = Header(
            race=race,
            game=game,
            rules=GAMES[game].rules,
            commitment=commitment(race, SECRET),
            salt="00" * 16,
            opened_at=self.club.at,
            options=Options(limit_ms=60_000, unlisted=True, **options),
            head_start=head_start,
            club=self.club.link,
        )
        self.say(ClubOpened(race=race, commitment=made.commitment, games=(game,)), 1)
        return Logged(Race.opened(self.forge(made), SECRET))

    def finish(self, log: Logged) -> None:
        """Log the end of a race."""
        replay, race = log.replay(), log.race
        self.replays.append(replay)
        places: Places = {
            race.seat(each.seat).player: each.place for each in race.standings() if race.seat(each.seat).run
        }
        finished = ClubFinished(race=race.id, digest=race.digest, places=() if race.header.head_start else (places,))
        self.at(race.at, ClubCancelled(race=race.id) if race.stage == "cancelled" else finished)

    def challenge(self, challenge: str, random: Random) -> Callable[[], None]:
        """Open a challenge, and return what logs its end."""
        made = random_challenge(random, challenge=challenge, opened_at=self.club.at, club=self.club.link)
        fixed = made.challenge.header
        games = tuple(deal.game for deal in fixed.deals)
        self.say(ClubOpened(race=challenge, commitment=fixed.commitment, games=games), 1)

        def finish() -> None:
            self.challenges.append(log := made.log())
            self.replays += made.replays
            found = Evidence.of_challenge(log, map(RaceReplay.of, made.replays))
            self.at(made.challenge.at, ClubFinished(race=challenge, digest=log.digest, places=found.places))

        return finish

    def log(self, signing_key: bytes = SIGNING_KEY) -> ClubLog:
        return ClubLog.of(self.club, tuple(self.entries), signing_key)


def random_club(random: Random, change: Change = lambda event: event, forge: Forge = lambda made: made) -> LoggedClub:
    """Return a club, the same for the same random numbers. Every step is as a server does it, but for the changes."""
    logged = LoggedClub(change=change, forge=forge)
    ends = list[tuple[int, Callable[[], None]]]()
    for number in range(random.randint(4, 14)):
        logged.at(logged.club.at + random.choice((0, 1, HOUR_MS, 30 * HOUR_MS, 500 * HOUR_MS)), Invited(digest=DIGEST))
        member = random.choice(IDS)
        if member not in logged.club.members:
            logged.say(ClubJoined(player=member, digest=DIGEST))
        elif random.random() < 0.2:
            logged.say(random.choice((ClubLeft, Removed))(player=member))
        if random.random() < 0.3:
            logged.say(Revoked())
        ends.append(_opened(logged, number, random))
        for end in sorted(ends, key=lambda end: end[0]):
            if random.random() < 0.6:
                ends.remove(end)
                end[1]()
    latest = max([logged.club.at, *(at for at, _ in ends)]) if random.randrange(2) else math.inf
    for at, finish in sorted(ends, key=lambda end: end[0]):
        if at < latest:  # the last one may still be running
            finish()
    if random.random() < 0.2:
        joined = [each.event.player for each in logged.entries if isinstance(each.event, ClubJoined)]
        _erase(logged, random.choice([IDS[0], *joined]), random)
    if random.random() < 0.2:
        logged.say(Dissolved())
    return logged


def _opened(logged: LoggedClub, number: int, random: Random) -> tuple[int, Callable[[], None]]:
    """Open a race or a challenge. Return when it ends, and what logs that."""
    if random.random() < 0.2:
        finish = logged.challenge(f"brave-otter-{number}", random)
        return logged.club.at + 50 * HOUR_MS, finish
    players = random.sample(range(len(IDS)), racers := random.choice((0, 1, 2, 2, 3, 3, 5)))
    ahead = HeadStart(player=IDS[players[0]], ms=1_000) if racers > 1 and random.random() < 0.2 else None
    log = logged.race(f"calm-otter-{number}", random.choice(list(GAMES)), ahead, max_racers=1 if racers == 1 else 8)
    raced(log, players, random, IDS.__getitem__)
    return log.race.at, lambda: logged.finish(log)


def _erase(logged: LoggedClub, player: str, random: Random) -> None:
    """Erase a player, and remove some of the replays that may be about them."""
    logged.say(Erased(player=player))
    about = [each for each in logged.replays if each.header.heat or player in dict(RaceReplay.of(each).race.racers)]
    gone = [each for each in about if random.random() < 0.7]
    logged.replays = [each for each in logged.replays if each not in gone]


def with_entries(logged: LoggedClub, entries: list[ClubEntry], *more: AnyClubEvent) -> LoggedClub:
    """Return another log of the same club with some entries and then more."""
    other = LoggedClub(Club.opened(logged.club.header), replays=logged.replays, challenges=logged.challenges)
    for entry in entries:
        other.at(entry.at, entry.event)
    for event in more:
        other.say(event)
    return other


def with_club(replay: Replay, link: ClubLink) -> Replay:
    """Return the same entries in a race of a club."""
    log = Logged(Race.opened(replace(replay.header, club=link), SECRET))
    for entry in replay.entries:
        log.say(entry.event, entry.at - log.race.at)
    return log.replay()
