"""The deal filters of the JavaScript verifier agree with the library's, and with the check values: the plays of the
bots, and on random deals which filters each of them passes. ``make agree`` compares 100 deals of each game.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from subprocess import PIPE, run
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from samedeal import codec
from samedeal.computer.bot import Bot
from samedeal.computer.bots import GALLERY_BOT_2, plays
from samedeal.computer.deal_filters import FILTERS, check, first, passes
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.game import Move, Variant
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Dealt
from samedeal.replays.signature import public_key
from support.finished_races import SIGNING_KEY, Logged
from support.javascript_verifier import refused, verified
from support.node import NODE, needs_node
from support.races_by_hand import closed, revealed
from support.vectors import VECTORS

pytestmark = [needs_node, pytest.mark.tier(3)]

TESTS = Path(__file__).parents[1]
FIRSTS = VECTORS["filters"]
PROGRAM = TESTS / "support" / "agreement_of_filters.mjs"
DEALS, SEED = int(os.environ.get("AGREE_DEALS") or 10), os.environ.get("AGREE_SEED") or "1"
"""The number of deals of each game, and what decides them."""
PLAYS = 3
"""The number of plays of each deal that are compared move by move."""
BOTS: Mapping[str, Bot] = {
    **{slug: FIRST_BOTS[slug] for slug in ("the-edge", "kings-in-the-corners", "corners")},
    "gallery": GALLERY_BOT_2,
}
"""The bots that filters run."""


class Question(Struct, frozen=True):
    """A deal to play and to test."""

    game: str
    seed: str
    variant: Variant
    played: Variant
    """The variant that the bot plays."""
    plays: int
    filters: tuple[str, ...] = FILTERS


class Answer(Struct, frozen=True):
    """The moves of the bot's plays, and the filters that the deal passes."""

    plays: tuple[tuple[Move, ...], ...]
    passed: tuple[str, ...]


def question(slug: str, number: int) -> Question:
    """Return a random deal, the same one for the same arguments."""
    random = Random(f"{slug}|{SEED}|{number}")
    variant = {name: random.choice(values) for name, values in GAMES[slug].options.items()}
    changed = {name: value for name, value in variant.items() if value != GAMES[slug].options[name][0]}
    bot = BOTS.get(slug)
    return Question(
        game=slug,
        seed=f"{random.randbytes(32).hex()}.{random.randrange(4096)}",
        variant=changed,
        played={**changed, **bot.variant} if bot else {},
        plays=PLAYS if bot else 0,
    )


def of_library(asked: Question) -> Answer:
    game, bot = GAMES[asked.game], BOTS.get(asked.game)
    runs = plays(game, asked.seed, range(asked.plays), asked.variant, bot) if bot else ()
    passed = tuple(name for name in asked.filters if passes(game, asked.seed, asked.variant, name))
    return Answer(tuple(each.moves for each in runs), passed)


def of_javascript(asked: Iterable[object]) -> list[Any]:
    lines = b"\n".join(map(msgspec.json.encode, asked))
    done = run([NODE, PROGRAM], input=lines, stdout=PIPE, check=True)
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("slug", GAMES)
def test_the_verifiers_agree_on_the_deals_that_pass(slug: str) -> None:
    asked = [question(slug, number) for number in range(DEALS if slug != "corners" else 2 * DEALS // 5)]
    theirs, ours = msgspec.convert(of_javascript(asked), list[Answer]), list(map(of_library, asked))
    different = [three for three in zip(asked, ours, theirs, strict=True) if three[1] != three[2]]
    assert not different, f"the library, then JavaScript: {different[:3]}"
    assert Counter(name for our in ours for name in our.passed)["any"] == len(asked)


def test_the_first_deals_that_pass_match_the_check_values() -> None:
    claims = {(each["game"], each["root"], each["k"], each["filter"]): True for each in FIRSTS}
    asked = [{"game": game, "root": root, "k": k, "filters": [name]} for game, root, k, name in claims]
    assert dict(zip(claims, of_javascript(asked), strict=True)) == claims
    assert {name for *_, name in claims} == {*FILTERS} - {"any"}


def test_a_deal_beyond_the_last_number_is_not_tested() -> None:
    asked = [{"game": "gallery", "root": "a", "k": 4096, "filters": ["any"]}]
    assert of_javascript(asked) == [check(GAMES["gallery"], "a", {}, "any", 4096)] == [False]


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("the-edge", "certified/1"),
        ("kings-in-the-corners", "medium/1"),
        ("corners", "friendly/1"),
        ("gallery", "easy/1"),
    ],
)
def test_a_race_with_a_filter_holds_with_its_first_deal_only(slug: str, name: str, tmp_path: Path) -> None:
    log = revealed(slug=slug, filter=name)
    k = first(GAMES[slug], log.race.root or "", {}, name)
    assert k > 0
    for number in (k - 1, k, k + 1):
        dealt = Logged(log.race, list(log.entries))
        dealt.say(Dealt(k=number), 5_000)
        at = len(dealt.entries)
        replay = json.loads(codec.encode(closed(dealt).replay(), "json"))
        if number == k:
            assert verified(replay, tmp_path, public_key(SIGNING_KEY)) == (0, {})
        else:
            assert refused(replay, tmp_path) == {"filter": at}
