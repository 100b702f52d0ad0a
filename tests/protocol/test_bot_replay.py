"""Replays of bots: they verify, contain the bot's moves, and are reproducible."""

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from samedeal import codec
from samedeal.computer.bots import BOTS, play
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.game import Variant
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Moved, Resigned
from samedeal.race.synthetic_race import TICK_MS
from samedeal.replays.bot_replay import replay_of
from samedeal.replays.replay import Replay, read
from samedeal.replays.signature import Signature, holds, public_key
from support.finished_races import SIGNING_KEY

FORMS: tuple[codec.Form, ...] = ("json", "msgpack")
SAVED_PLAY = Path(__file__).parents[1] / "saved" / "plays-1" / "corners.json"
SEED = "béla 7 / ?#%"


def moves(replay: Replay) -> tuple[str, ...]:
    return tuple(entry.event.move for entry in replay.entries if isinstance(entry.event, Moved))


@pytest.mark.parametrize("slug", BOTS)
@pytest.mark.parametrize(("seed", "k"), [("1", 0), (SEED, 7), ("0f" * 32 + ".12", 59)])
def test_a_play_of_the_bot_is_a_race_that_verifies(slug: str, seed: str, k: int) -> None:
    replay, run = replay_of(GAMES[slug], seed, k, SIGNING_KEY), play(GAMES[slug], seed, k)
    assert all(fact.holds for fact in verify(replay, [public_key(SIGNING_KEY)]))
    assert moves(replay) == run.moves
    (standing,) = replay.standings
    assert (standing.name, standing.bot, standing.outcome == "won") == (BOTS[slug].name, True, run.won)
    assert standing.home >= run.home
    assert (replay.header.seed, replay.header.options.max_racers) == (seed, 1)
    assert re.fullmatch(r"par-[0-9a-f]{32}", replay.header.race)
    assert codec.encode(replay_of(GAMES[slug], seed, k, SIGNING_KEY), "json") == codec.encode(replay, "json")
    assert [read(codec.encode(replay, form)) for form in FORMS] == [replay, replay]


def test_every_play_of_every_deal_has_a_unique_id_and_secret() -> None:
    cases: list[tuple[str, str, int, Variant | None]] = [
        ("corners", "1", 0, None),
        ("corners", "1", 1, None),
        ("corners", "2", 0, None),
        ("corners", "1", 0, {"refill": "waste"}),
        ("the-edge", "1", 0, None),
        ("kings-in-the-corners", "1", 0, None),
    ]
    replays = [replay_of(GAMES[slug], seed, k, SIGNING_KEY, variant) for slug, seed, k, variant in cases]
    assert len({replay.header.race for replay in replays}) == len({replay.secret for replay in replays}) == len(cases)


def test_default_options_do_not_change_the_replay() -> None:
    usual = replay_of(GAMES["corners"], "1", 0, SIGNING_KEY)
    assert replay_of(GAMES["corners"], "1", 0, SIGNING_KEY, {"refill": "stock"}) == usual
    other = replay_of(GAMES["corners"], "1", 0, SIGNING_KEY, {"refill": "waste"})
    assert other.header.variant == {"refill": "waste"}
    assert all(fact.holds for fact in verify(other))
    assert moves(other) == play(GAMES["corners"], "1", 0, {"refill": "waste"}).moves
    capped = [replay_of(GAMES["gallery"], "1", 0, SIGNING_KEY, variant) for variant in ({"cap": True}, {"cap": False})]
    assert capped[0] == capped[1]
    assert capped[0].header.variant == {"cap": False}


def test_the_clock_starts_at_0_and_ticks_once_per_move() -> None:
    replay = replay_of(GAMES["corners"], "1", 0, SIGNING_KEY)
    played = [entry.at for entry in replay.entries if isinstance(entry.event, Moved)]
    assert replay.header.opened_at == replay.entries[0].at == 0
    assert played == [TICK_MS * number for number in range(1, len(played) + 1)]
    assert replay.entries[-1].at == played[-1]


def test_a_bot_that_reaches_the_move_limit_resigns() -> None:
    first = FIRST_BOTS["corner-stones"]
    replay = replay_of(GAMES["corner-stones"], "1", 0, SIGNING_KEY, bot=first)
    assert len(moves(replay)) == first.max_moves == 200
    assert isinstance(replay.entries[-2].event, Resigned)
    assert replay.standings[0].outcome == "resigned"
    assert all(fact.holds for fact in verify(replay))


def test_an_invalid_deal_is_refused() -> None:
    with pytest.raises(ValueError, match="without"):
        replay_of(GAMES["corners"], "1|2", 0, SIGNING_KEY)
    with pytest.raises(ValueError, match="no variant"):
        replay_of(GAMES["corners"], "1", 0, SIGNING_KEY, {"refill": "never"})


def test_signatures_of_plays_and_races_are_not_interchangeable() -> None:
    replay = replay_of(GAMES["corners"], "1", 0, SIGNING_KEY)
    key = Ed25519PrivateKey.from_private_bytes(SIGNING_KEY)
    text = f"samedeal/1/play|{replay.header.race}|{replay.digest}"
    assert bytes.fromhex(replay.signature.value) == key.sign(text.encode())
    as_play = Signature(
        key=replay.signature.key, value=key.sign(f"samedeal/1/play|calm-otter-42|{replay.digest}".encode()).hex()
    )
    assert not holds(as_play, "calm-otter-42", replay.digest)


def test_plays_that_were_signed_like_races_still_verify() -> None:
    replay = read(SAVED_PLAY.read_bytes())
    again = replay_of(GAMES["corners"], "42", 3, SIGNING_KEY, bot=FIRST_BOTS["corners"])
    assert (again.header, again.entries, again.digest) == (replay.header, replay.entries, replay.digest)
    text = f"samedeal/1/replay|{replay.header.race}|{replay.digest}"
    assert Ed25519PrivateKey.from_private_bytes(SIGNING_KEY).sign(text.encode()).hex() == replay.signature.value
    assert all(fact.holds for fact in verify(replay, [public_key(SIGNING_KEY)]))
