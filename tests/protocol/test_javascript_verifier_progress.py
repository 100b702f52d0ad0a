"""The JavaScript verifier shows its progress on a terminal."""

import os
from pathlib import Path

import pytest

from samedeal.wire import codec
from support.finished_races import finished
from support.forged_replays import prolonged
from support.javascript_verifier import FOLDER, NODE, run
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "long.json"
    file.write_bytes(codec.encode(prolonged(finished("corners"), 2_000), "json"))
    return file


def test_progress_is_shown_on_a_terminal(file: Path) -> None:
    with at_a_terminal(os.environ, [str(NODE), str(FOLDER / "verify.mjs"), str(file)]) as (_, terminal):
        text = until(terminal, "key unknown")
    percent = [int(part[:-2]) for part in text.partition("holds")[0].split("\r") if part.endswith(" %")]
    assert percent == sorted(percent)
    assert len(percent) > 3
    assert percent[-1] <= 100
    assert "holds  signature" in text


def test_progress_is_not_written_to_files(file: Path) -> None:
    code, output = run(file)
    assert code == 0
    assert "%" not in output
