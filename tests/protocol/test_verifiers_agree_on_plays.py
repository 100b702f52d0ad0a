"""The rules of the JavaScript verifier agree with the library's at every step of recorded and random plays."""

import shutil
from pathlib import Path

import pytest

from samedeal.games.catalogue import GAMES
from support.agreement_of_plays import compare, main
from support.javascript_verifier import FOLDER, NODE

pytestmark = [pytest.mark.skipif(NODE is None, reason="Node.js is not installed"), pytest.mark.tier(2)]
PLAYS = range(80)
"""The first of them is the recorded win."""
EVERYWHERE = {"undo", "restart", "refused", "undo=False", "attempts=1", "attempts=2"}
SITUATIONS = {
    "corner-stones": {"playing", "stuck", "won", "deal restored"},
    "the-edge": {"playing, phase match", "lost, phase place", "lost, phase match", "won, phase place"},
    "corners": {"playing, pass 2 of 3", "stuck, pass 3 of 3", "won, pass 3 of 3", "refill=waste"},
    "kings-in-the-corners": {"playing, phase match", "lost, phase place", "lost, phase match", "won, phase place"},
    "gallery": {"playing", "over", "won", "automatic plays", "cap=False"},
}
"""What has to occur in the plays of each game."""


@pytest.mark.parametrize("slug", GAMES)
def test_the_verifiers_agree_on_every_step(slug: str) -> None:
    report = compare(slug, 1, PLAYS)
    assert report.disagreements == []
    assert report.plays == len(PLAYS)
    assert SITUATIONS[slug] | EVERYWHERE <= report.seen.keys()


def test_a_disagreement_is_shown_with_the_moves_that_lead_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "verify")
    rules = folder / "games" / "corners.mjs"
    text = rules.read_text(encoding="utf-8")
    assert text.count("const PASSES = 3;") == 1
    rules.write_text(text.replace("const PASSES = 3;", "const PASSES = 2;"), encoding="utf-8")
    arguments = ["--games", "corners", "--plays", "1"]
    assert main(arguments) == 0
    assert "corners: 1 plays, 121 steps, 0 disagreements" in capsys.readouterr().out
    assert main([*arguments, "--folder", str(folder)]) == 1
    output = capsys.readouterr().out
    assert '{"game":"corners","seed":"225"' in output
    assert "    library:    {'pass': '1 of 3'}\n    JavaScript: {'pass': '1 of 2'}\n" in output
    assert "corners: 1 plays, 121 steps, 1 disagreements" in output
