"""Invalid challenges, by what is wrong with them."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from samedeal import codec
from samedeal.commitments import commitment
from samedeal.games.catalogue import GAMES
from samedeal.race.challenge import AnyChallengeEvent, Cancelled, Challenge, Finished, HeatOpened
from samedeal.race.events import Header
from samedeal.race.standings import Standing
from samedeal.replays.log_files import ChallengeLog
from samedeal.replays.replay import Replay
from samedeal.replays.signature import public_key, signed
from support.agreement_of_logs import Case
from support.altered_logs import KEY, OTHER_KEY, altered, in_json, known
from support.challenges import LoggedChallenge, random_challenge
from support.finished_races import SECRET


def case(logged: LoggedChallenge, *keys: str) -> Case:
    return Case([codec.encode(logged.log(), "json")], logged.replays, keys)


def relogged(logged: LoggedChallenge, change: Callable[[AnyChallengeEvent], AnyChallengeEvent | None]) -> ChallengeLog:
    """Return a log with changed events, without those that `change` drops."""
    other = LoggedChallenge(Challenge.opened(logged.challenge.header, SECRET))
    for entry in logged.entries:
        if event := change(entry.event):
            other.say(event, entry.at - other.challenge.at)
    return other.log()


def with_standings(random: Random, replay: Replay) -> Replay:
    """Return a replay with standings that do not follow from its log: solved deals and many ties."""

    def other(standing: Standing) -> Standing:
        outcome = random.choice(("won", "lost", "timeout", "scratched"))
        return replace(standing, outcome=outcome, home=random.randrange(3), ms=random.randrange(3))

    return replace(replay, standings=tuple(map(other, replay.standings)))


def header(random: Random, made: Header) -> Header:
    """Return a header of a heat that does not follow from the challenge."""
    heat = made.heat
    assert heat
    slug, options = random.choice(list(GAMES)), made.options
    return random.choice(
        (
            replace(made, heat=replace(heat, h=random.randbytes(32).hex())),
            replace(made, heat=replace(heat, nonce=random.randbytes(32).hex())),
            replace(made, heat=replace(heat, deal=heat.deal % 24 + 1)),
            replace(made, heat=replace(heat, until=heat.until - 1)),
            replace(made, heat=replace(heat, reveals_at=heat.reveals_at + 1)),
            replace(made, heat=None, seed="1", commitment=commitment(made.race, SECRET)),
            replace(made, salt="1" * 32),
            replace(made, opened_at=made.opened_at - 1),
            replace(made, game=slug, rules=GAMES[slug].rules, variant={}),
            replace(made, variant={"cap": False} if made.game == "gallery" and not made.variant else {}),
            replace(made, options=replace(options, attempts=3)),
            replace(made, options=replace(options, unlisted=not options.unlisted)),
        )
    )


def _valid(random: Random) -> Case:
    return case(random_challenge(random), *known(random))


def _forged(random: Random) -> Case:
    return case(random_challenge(random, lambda _, made: header(random, made) if random.random() < 0.5 else made))


def _hidden(random: Random) -> Case:
    return case(random_challenge(random, hide=random.randrange(2, 12)))


def _without_replays(random: Random) -> Case:
    made = case(random_challenge(random))
    return made._replace(replays=[replay for replay in made.replays if random.random() < 0.7])


def _without_the_last_heat(random: Random) -> Case:
    logged = random_challenge(random)
    last = max((entry.n for entry in logged.entries if isinstance(entry.event, HeatOpened)), default=0)
    opened = iter([entry.n for entry in logged.entries if isinstance(entry.event, HeatOpened)])

    def change(event: AnyChallengeEvent) -> AnyChallengeEvent | None:
        number = next(opened) if isinstance(event, HeatOpened) else getattr(event, "heat", 0)
        return None if number == last and number else event

    return Case([codec.encode(relogged(logged, change), "json")], logged.replays)


def _another_end(random: Random) -> Case:
    logged = random_challenge(random)

    def change(event: AnyChallengeEvent) -> AnyChallengeEvent:
        if random.random() < 0.8 or not isinstance(event, Finished | Cancelled):
            return event
        return Finished(heat=event.heat, digest=random.randbytes(32).hex())

    return Case([codec.encode(relogged(logged, change), "json")], logged.replays)


def _several_keys(random: Random) -> Case:
    made = case(random_challenge(random), *random.choice(((), (KEY,), (public_key(OTHER_KEY),))))

    def resigned(replay: Replay) -> Replay:
        return replace(replay, signature=signed(OTHER_KEY, replay.header.race, replay.digest))

    return made._replace(replays=[resigned(each) if random.random() < 0.3 else each for each in made.replays])


def _stated_standings(random: Random) -> Case:
    made = case(random_challenge(random))
    return made._replace(replays=[with_standings(random, replay) for replay in made.replays])


def _other_events(content: Any, random: Random) -> None:
    entries = content["entries"]
    entry, other = random.choice(entries), random.choice(entries)
    random.choice(
        (
            lambda: entries.remove(entry),
            lambda: entries.insert(random.randrange(len(entries)), [*entry]),
            lambda: entry.__setitem__(1, max(0, entry[1] + random.choice((-60_001, -1, 1, 3_600_000 * 48)))),
            lambda: entry.__setitem__(2, other[2]),
            lambda: entry[2].update({"heat": random.randrange(1, 9)} if "heat" in entry[2] else {}),
            lambda: entry[2].update({"deal": random.randrange(1, 25)} if "deal" in entry[2] else {}),
            lambda: entry[2].update({"secret": "0" * 64} if "secret" in entry[2] else {}),
            lambda: content["header"].update(until=content["header"]["until"] + random.choice((-3_600_000, 3 * 10**9))),
            lambda: content["header"].update(opened_at=content["header"]["opened_at"] - 60_000),
            lambda: content["header"]["deals"].append(_with_spectators(content["header"]["deals"][0])),
        )
    )()


def _with_spectators(deal: Any) -> Any:
    return {**deal, "options": {name: value for name, value in deal["options"].items() if name != "spectators"}}


def _unreadable(content: Any, random: Random) -> None:
    entry = random.choice(content["entries"])
    random.choice(
        (
            lambda: content.update(format="samedeal.challenge/2"),
            lambda: content.update(standings=[]),
            lambda: content["header"].update(salt=""),
            lambda: content["header"].update(deals=random.choice(([], 25 * content["header"]["deals"], {}))),
            lambda: content["header"].update(until="tomorrow"),
            lambda: content["header"]["deals"][0].update(seed="1"),
            lambda: content["header"]["deals"][0]["options"].update(max_racers=8),
            lambda: entry.append(0),
            lambda: entry[2].update(t=random.choice(("joined", "closed", 1))),
            lambda: entry[2].update(seat=1),
            lambda: entry.__setitem__(0, 0),
            lambda: content.pop("signature"),
        )
    )()


KINDS: Final[dict[str, Callable[[Random], Case]]] = {
    "valid": _valid,
    "standings that are not checked": _stated_standings,
    "a heat is left out of the files": _without_replays,
    "a heat is left out of the log": _without_the_last_heat,
    "the header of a heat": _forged,
    "a cancelled heat was dealt": _hidden,
    "another end": _another_end,
    "several keys": _several_keys,
    "other events": in_json(_valid, _other_events, SECRET.hex()),
    "altered": in_json(_valid, altered({"creator": "eve", "commitment": "0" * 64})),
    "unreadable": in_json(_valid, _unreadable),
}
