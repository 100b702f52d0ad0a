"""``samedeal export``, ``replay`` and ``deal`` without a network."""

import json
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import structs

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed
from samedeal.race.race import OPEN_MS
from samedeal_cli.render import transcript
from support.finished_races import finished, opened
from support.offline_cli import run, written

pytestmark = pytest.mark.usefixtures("offline")


# export


@pytest.mark.parametrize("slug", GAMES)
def test_export_between_formats_is_lossless(slug: str, tmp_path: Path) -> None:
    first, packed, again = tmp_path / "a.json", tmp_path / "b.msgpack", tmp_path / "c.json"
    lines = tmp_path / "d.ndjson"
    written(first, finished(slug))
    assert run("export", first, "-o", packed).exit_code == 0
    assert run("export", packed, "-o", lines).exit_code == 0
    assert run("export", lines, "-o", again).exit_code == 0
    assert lines.read_bytes() == b"".join(finished(slug).lines())
    assert again.read_bytes() == first.read_bytes()
    assert run("export", again, "--format", "msgpack").stdout_bytes == packed.read_bytes()


def test_export_writes_a_score_sheet(file: Path) -> None:
    sheet = run("export", file, "--format", "txt").stdout
    assert sheet == "".join(f"{line}\n" for line in transcript.lines(finished("corners")))
    assert "Seat 2     bo (bot)" in sheet
    assert "Seat 3     cy, who left" in sheet
    assert re.search(r"^ +15 +0:03\.6  ada r2  3S r2 → f1; KH stock → r2  1/48$", sheet, re.MULTILINE)
    assert sheet.endswith(f"Digest     {finished('corners').digest}\n")


def test_export_chooses_the_format(file: Path, tmp_path: Path) -> None:
    result = run("export", file, "--format", "pdf")
    assert result.exit_code == 2
    assert "'json', 'msgpack', 'ndjson', 'txt', 'svg', 'cast'" in result.stderr
    result = run("export", file, "-o", tmp_path / "race.pdf")
    assert result.exit_code == 2
    assert "json, msgpack, ndjson, txt, svg, cast" in result.stderr
    result = run("export", file, "-o", tmp_path / "nowhere" / "race.json")
    assert result.exit_code == 2
    assert result.stderr == f"samedeal: {tmp_path}/nowhere/race.json: No such file or directory\n"


def test_invalid_log_has_no_score_sheet(file: Path) -> None:
    replay = finished("corners")
    written(file, structs.replace(replay, entries=replay.entries[:-1]))
    assert run("export", file, "--format", "txt").exit_code == 5
    assert run("replay", file).exit_code == 5


def test_replay_of_a_cancelled_race(file: Path) -> None:
    log = opened("gallery")
    log.say(Closed(secret=log.race.secret.hex()), OPEN_MS)
    written(file, log.replay())
    assert run("verify", file).exit_code == 0
    sheet = run("export", file, "--format", "txt")
    assert sheet.exit_code == 0
    assert "the race is called off" in sheet.stdout
    assert run("replay", file).exit_code == 2


# replay


@pytest.mark.parametrize("slug", GAMES)
def test_replay_prints_sentences(slug: str, file: Path) -> None:
    written(file, finished(slug))
    result = run("replay", file)
    assert result.exit_code == 0, result.output
    for sentence in ("ada takes seat 1", "the countdown begins", "the cards are dealt", "the race is over"):
        assert sentence in result.stdout
    assert "\n1 of 2: " in result.stdout


def test_racers_of_the_same_name_are_told_apart(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.finished_races.NAMES", ("ada", "ada", "cy"))
    written(file, finished("corners"))
    output = run("replay", file).stdout
    assert "ada (bot) takes seat 2" in output
    assert "ada #2 r2" in output
    assert re.search(r"^1 of 2: ada #[12],", output, re.MULTILINE)
    assert run("replay", file, "--seat", 2, "--at", 0).stdout.startswith("ada #2 · before the first move\n")
    assert re.search(r"ada #[12]", run("verify", file).stdout)


def test_replay_at_a_move_shows_the_table(file: Path) -> None:
    result = run("replay", file, "--seat", 1, "--at", 2)
    assert result.exit_code == 0
    assert result.stdout.startswith("ada · move 2, 0:03.6 · r2\n")
    assert "home 1" in result.stdout
    assert run("replay", file, "--at", 0).stdout.startswith("ada · before the first move\n")
    assert run("replay", file, "--at", 999).exit_code == 2
    at = run("replay", file, "--seat", 1, "--at", "0:03.6").stdout
    assert at == result.stdout == run("replay", file, "--seat", 1, "--at", "m2").stdout
    result = run("replay", file, "--at", "x")
    assert (result.exit_code, "'--at': 'x' is not a valid moment" in result.stderr) == (2, True)
    assert run("replay", file, "--seat", 3).exit_code == 2


def test_replay_of_one_seat_omits_other_moves(file: Path) -> None:
    output = run("replay", file, "--seat", 2).stdout
    assert "bo r2" in output
    assert "ada r2" not in output


def test_replay_speed_scales_the_clock(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    assert run("replay", file, "--speed", 10, "--idle-limit", "200ms").exit_code == 0
    replay = finished("corners")
    times = [replay.entries[0].at, *(entry.at for entry in replay.entries)]
    due = [min((later - at) / 10_000, 0.2) for at, later in pairwise(times)]
    assert waits == pytest.approx(due)


def test_replay_ascii_output_is_ascii(file: Path) -> None:
    assert run("replay", file, "--ascii").stdout.isascii()
    assert run("verify", file, "--ascii").stdout.isascii()


# deal


@pytest.mark.parametrize("slug", GAMES)
def test_deal_shows_the_opening_without_hidden_cards(slug: str) -> None:
    game = GAMES[slug].from_seed("42")
    document = json.loads(run("deal", f"{slug}:42", "--json").stdout)
    assert document["table"] == {place: list(pile) for place, pile in game.view().items()}
    assert document["moves"] == list(game.moves())
    for place, count in game.hidden.items():
        assert document["table"][place][:count] == ["??"] * count
    assert run("deal", f"{slug}:42").stdout.startswith(f"{game.title} · deal {slug}:42\n")


def test_color_always_works_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in run("deal", "corners:42", "--color", "always").stdout
    assert "\x1b[" not in run("deal", "corners:42").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("deal", "corners:42").stdout


@pytest.mark.parametrize("code", ["corners", "corners:", "poker:42", ":42", "corners:4|2", "corners:" + 129 * "a"])
def test_deal_needs_a_code(code: str) -> None:
    result = run("deal", code)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
