"""The library and the JavaScript verifier agree on altered replays, which a third program makes.

``make agree`` compares 5,000 of them.
"""

import os
import subprocess
import sys

import pytest

from support.agreement_of_replays import compared
from support.alterations import EACH_VALUE
from support.altered_replays import KINDS
from support.node import needs_node

pytestmark = pytest.mark.tier(2)

REPLAYS, SEED = int(os.environ.get("AGREE_REPLAYS") or 2 * len(KINDS)), int(os.environ.get("AGREE_SEED") or 7)
"""The number of replays, by default two of each kind: as it is, and repaired; and what decides them."""


@needs_node
@pytest.mark.tier(3)
def test_both_verifiers_agree_on_altered_replays() -> None:
    report = compared(SEED, range(-len(EACH_VALUE), REPLAYS))
    assert not report.disagreements, report.described(SEED)
    assert report.replays.keys() == set(KINDS)
    assert report.restated > 0
    assert len(report.refused - report.unreadable) > len(KINDS) / 2
    assert len(+report.refused) > 0.9 * len(KINDS)


def test_the_program_that_alters_replays_shares_no_code_with_the_verifiers() -> None:
    code = "import sys, support.altered_replays; print([name for name in sys.modules if name.startswith('samedeal')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
