"""The library and the JavaScript verifier agree on challenges and clubs: on their tables to the byte, and on what is
wrong.

``make agree`` compares 1,000 of each kind.
"""

import json
import os
import re
from collections import Counter
from random import Random

import pytest

from support import forged_challenges, forged_clubs
from support.agreement_of_logs import of_javascript, of_library
from support.node import needs_node

pytestmark = pytest.mark.tier(2)

CHALLENGES, SEED = int(os.environ.get("AGREE_CHALLENGES") or 12), os.environ.get("AGREE_SEED") or "1"
"""The number of challenges or clubs of each kind, and what decides them."""
BATCH = 100
KINDS = forged_challenges.KINDS | forged_clubs.KINDS
FOUND = {
    "valid": "",
    "standings that are not checked": "",
    "a heat is left out of the files": "is missing",
    "a heat is left out of the log": "is not in the log of the challenge",
    "the header of a heat": "names a different head of the log|does not match the challenge",
    "a cancelled heat was dealt": "was dealt, although the log says that it was cancelled",
    "another end": "does not end as the log says",
    "several keys": r"signed by 2 different keys|The challenge is signed by \w+, which is not one of the expected keys",
    "other events": r"Entry \d+ does not match the log of the challenge|A challenge lasts|does not end with the secret",
    "altered": r"Entry \d+ does not match the log of the challenge\.|last digest|The signature of the challenge is not",
    "unreadable": "unreadable",
    "valid club": "",
    "a race is left out of the club": "is not in the log of the club",
    "two heads": r"two logs of the club differ from entry \d+ on",
    "a result is swapped": "does not have the places that the log says",
    "other scores": r"does not follow from the log|do not follow from the log|are not those of this log",
    "cards chosen later": "does not have the commitment and the games that the log announced",
    "replays are missing": "is missing",
    "the header of a race": "names a different head of the log",
    "a cancelled race was dealt": "was dealt, although the log says that it was cancelled",
    "another end of a race": "does not end as the log says",
    "the end of a race is left out": "has no end in the log",
    "the end of a race is too early": "does not end as the log says",
    "a race is opened after its deal": "was dealt before the log says that it was opened",
    "an invitation that has ended": r"Entry \d+ does not match the log of the club",
    "erasures that excuse little": "is missing",
    "several keys in a club": r"signed by 2 different keys|is not one of the expected keys",
    "other events in a club": r"Entry \d+ does not match the log of the club",
    "altered club": r"Entry \d+ does not match the log of the club|last digest|The signature of the club is not",
    "unreadable club": "unreadable",
}
"""What is found in challenges and clubs of each kind, as a pattern."""


@needs_node
@pytest.mark.parametrize("kind", forged_challenges.KINDS)
def test_both_verifiers_agree_on_challenges(kind: str) -> None:
    """And what is wrong with them is named."""
    compare(kind)


@needs_node
@pytest.mark.parametrize("kind", forged_clubs.KINDS)
def test_every_forgery_of_a_club_is_named(kind: str) -> None:
    """By both verifiers in the same words."""
    compare(kind)


def compare(kind: str) -> None:
    """Compare what both verifiers say about challenges or clubs of a kind, which they refuse with the text in FOUND."""
    seen = Counter[str]()
    for start in range(0, CHALLENGES, BATCH):
        numbers = range(start, min(start + BATCH, CHALLENGES))
        cases = [KINDS[kind](Random(f"{SEED} {kind} {number}")) for number in numbers]
        for number, case, theirs in zip(numbers, cases, of_javascript(cases), strict=True):
            ours = of_library(case)
            assert theirs == ours, (kind, number, SEED)
            is_table = ours.said.startswith("{")
            faults = "\n".join(json.loads(ours.said)["faults"]) if is_table else ours.said
            seen["found"] += bool(FOUND[kind] and re.search(FOUND[kind], faults))
            seen["sound"] += not faults
    if FOUND[kind]:
        assert seen["found"] >= CHALLENGES / 4, seen
    else:
        assert seen["sound"] == CHALLENGES
