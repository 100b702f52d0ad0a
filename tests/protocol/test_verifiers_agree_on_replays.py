"""The library and the JavaScript verifier agree on altered replays, which a third program makes."""

import ast
from pathlib import Path

import pytest

from support import alterations, altered_replays, replay_writing
from support.agreement_of_replays import compared
from support.altered_replays import KINDS
from support.javascript_verifier import NODE

OF_EACH_KIND = 2  # as it is, and repaired
SUPPORT = Path(altered_replays.__file__).parent
INDEPENDENT = sorted({*SUPPORT.glob("altered_*.py"), Path(alterations.__file__), Path(replay_writing.__file__)})


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_both_verifiers_agree_on_altered_replays() -> None:
    report = compared(7, range(OF_EACH_KIND * len(KINDS)))
    assert not report.disagreements, report.described(7)
    assert report.replays == dict.fromkeys(KINDS, OF_EACH_KIND)
    assert report.restated > 0
    assert len(report.refused - report.unreadable) > len(KINDS) / 2
    assert len(+report.refused) > 0.9 * len(KINDS)


@pytest.mark.parametrize("file", INDEPENDENT, ids=lambda file: file.stem)
def test_the_program_that_alters_replays_shares_no_code_with_the_verifiers(file: Path) -> None:
    imported = set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"support.{alias.name}" for alias in node.names}
            imported |= names if node.module == "support" else {str(node.module)}
    ours = {f"support.{other.stem}" for other in INDEPENDENT}
    others = {name.partition(".")[0] for name in imported - ours}
    assert others <= {
        "collections",
        "copy",
        "cryptography",
        "datetime",
        "hashlib",
        "hmac",
        "json",
        "random",
        "re",
        "typing",
    }
