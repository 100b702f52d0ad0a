"""The deal filters of the JavaScript verifier agree with the library's, and with the check values."""

import json
from pathlib import Path

import pytest

from samedeal import codec
from samedeal.computer.deal_filters import FILTERS, check, first
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Dealt
from samedeal.replays.signature import public_key
from support.agreement_of_filters import compared, of_javascript
from support.finished_races import SIGNING_KEY, Logged
from support.javascript_verifier import NODE, refused, verified
from support.races_by_hand import closed, revealed

pytestmark = [pytest.mark.skipif(NODE is None, reason="Node.js is not installed"), pytest.mark.tier(3)]
FIRSTS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text(encoding="utf-8"))["filters"]
DEALS = {"corners": 4}
"""The number of deals to compare, if not 10. In Corners, the library's search takes long."""


@pytest.mark.parametrize("slug", GAMES)
def test_the_verifiers_agree_on_the_deals_that_pass(slug: str) -> None:
    report = compared(slug, 1, DEALS.get(slug, 10))
    assert report.disagreements == []
    assert report.passed["any"] == DEALS.get(slug, 10)


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
