"""``samedeal table``, and the same table by a program that shares no code with it."""

import json
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from samedeal.race.events import Counting, Dealt, Moved, Readied
from samedeal.replays.replay import Replay
from samedeal.scores.evening import evening
from samedeal.scores.results import RaceResult, in_order
from samedeal.wire import codec
from samedeal_cli.settings import state_dir
from support.bot_races import bot_races
from support.javascript_verifier import FOLDER, NODE, WITHOUT_SIGNATURES
from support.offline_cli import run, written
from support.races_by_hand import closed, joined, opened, run_of, running
from support.receipt_files import keep, told

pytestmark = pytest.mark.tier(2)

RACES = 240
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch, offline: None) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def files(folder: Path, replays: list[Replay]) -> list[Path]:
    """Write replays, every other one with an entry per line."""
    paths = [written(folder / f"{replay.header.race}.json", replay) for replay in replays]
    for path, replay in list(zip(paths, replays, strict=True))[::2]:
        path.write_bytes(b"".join(replay.lines()))
    return paths


def race(race_id: str, racers: int = 2) -> Replay:
    """A race in which the racers resign at once, so that all are tied."""
    return closed(running(racers, race_id=race_id, seed="1")).replay()


def ahead(race_id: str, racers: int = 2, winner: int = 1, follows: str | None = None) -> Replay:
    """A race that one racer wins; the others resign at once and are tied."""
    log = running(racers, race_id=race_id, seed="225", follows=follows)
    while not (run := run_of(log.race, winner)).peak:
        log.say(Moved(seat=winner, move=run.game.moves()[0]), 10)
    return closed(log).replay()


def javascript(*arguments: object) -> tuple[int, bytes, str]:
    """Run the table in JavaScript and return its exit code and output."""
    program = [str(NODE), str(FOLDER / "table.mjs"), *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, timeout=50, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


@needs_node
def test_both_programs_print_the_same_bytes(tmp_path: Path) -> None:
    replays = bot_races(RACES)
    paths = files(tmp_path, replays)
    result = run("table", "--json", *paths)
    assert result.exit_code == 0, result.output
    scores = evening(in_order(map(RaceResult.of_log, replays)))
    assert result.stdout_bytes == codec.encode(scores, "json")
    assert RACES / 2 < len(scores.races) < RACES
    assert javascript(*paths) == (0, result.stdout_bytes, "")
    assert javascript("--no-verify", *reversed(paths)) == (0, result.stdout_bytes, "")
    assert run("table", "--json", "--no-verify", *reversed(paths)).stdout_bytes == result.stdout_bytes


@needs_node
@pytest.mark.parametrize("count", range(1, 12))
def test_both_programs_agree_on_few_races(count: int, tmp_path: Path) -> None:
    paths = files(tmp_path, bot_races(count, seed=count))
    assert javascript("--no-verify", *paths) == (0, run("table", "--json", "--no-verify", *paths).stdout_bytes, "")


@needs_node
@pytest.mark.parametrize(
    ("follows", "order", "winner"),
    [
        ({"d": None, "c": "d", "b": "c", "a": "b"}, "dcba", "player-2"),
        ({"d": None, "b": "c", "a": "b"}, "bad", "player-1"),
        ({"c": "a", "b": "c", "a": "b", "d": "d"}, "cbad", "player-1"),
        ({"a": None, "d": "a", "c": None, "b": "c"}, "acbd", "player-1"),
    ],
    ids=["one chain", "without a race in the middle", "a forged circle", "two chains"],
)
def test_both_programs_order_races_alike_whatever_the_order_of_files(
    follows: dict[str, str | None], order: str, winner: str, tmp_path: Path
) -> None:
    """All races are opened at the same time. The winner of the match depends on their order."""
    replays = [ahead(race_id, winner=1 if race_id in "ab" else 2, follows=other) for race_id, other in follows.items()]
    paths = files(tmp_path, replays)
    result = run("table", "--json", *paths)
    assert json.loads(result.stdout)["races"] == list(order)
    assert json.loads(result.stdout)["best_of"]["3"] == winner
    assert javascript(*paths) == (0, result.stdout_bytes, "")
    for shuffled in (paths[::-1], *(paths[at:] + paths[:at] for at in range(1, len(paths)))):
        assert run("table", "--json", "--no-verify", *shuffled).stdout_bytes == result.stdout_bytes
        assert javascript("--no-verify", *shuffled) == (0, result.stdout_bytes, "")


@needs_node
def test_both_programs_refuse_replays_that_fail_or_are_given_twice(tmp_path: Path) -> None:
    good, text = race("calm-otter-42"), tmp_path / "text.txt"
    text.write_text("hello")
    (path, other) = files(tmp_path, [race("brisk-heron-7"), race("shy-lynx-3")])
    places = tuple(replace(standing, place=standing.seat) for standing in good.standings)
    (forged,) = files(tmp_path, [replace(good, standings=places)])
    for paths, code, why in (
        ([path, text], 5, "text.txt: "),
        ([path, forged], 5, "calm-otter-42.json: standings: "),
        ([path, other, path], 2, "brisk-heron-7.json: the race brisk-heron-7 is already in "),
        ([], 2, "FILE"),
    ):
        for found, out, error in (javascript(*paths), _python(*paths)):
            assert (found, out) == (code, b""), error
            assert why in error
    assert javascript("--no-verify", forged)[:2] == _python("--no-verify", forged)[:2]
    (unknown,) = files(tmp_path, [replace(good, standings=(replace(places[0], seat=3),))])
    for found, out, error in (javascript("--no-verify", unknown), _python("--no-verify", unknown)):
        assert (found, out) == (5, b"")
        assert "seat 3" in error


def _python(*paths: object) -> tuple[int, bytes, str]:
    result = run("table", "--json", *paths)
    return result.exit_code, result.stdout_bytes, result.stderr


@needs_node
def test_javascript_names_facts_that_it_cannot_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_OPTIONS", WITHOUT_SIGNATURES)
    (path,) = files(tmp_path, [race("a")])
    code, out, error = javascript(path)
    assert (code, out, error) == (0, run("table", "--json", path).stdout_bytes, f"{path}: not checked: signature\n")


def test_two_players_are_shown_as_a_score(tmp_path: Path) -> None:
    result = run("table", *files(tmp_path, [race("a"), race("b"), race("c")]), "--best-of", "3")
    assert result.stdout == "Name 1 1.5 : 1.5 Name 2\nNobody has won the best of 3 yet.\n"


def test_the_winner_of_a_match_is_named(tmp_path: Path) -> None:
    paths = files(tmp_path, [ahead("a"), ahead("b"), race("c")])
    result = run("table", *paths, "--best-of", "3", "--ascii")
    assert result.stdout == "Name 1 2.5 : 0.5 Name 2\nName 1 has won the best of 3.\n"


def test_more_players_are_shown_as_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(tmp_path, [ahead("a", 4), ahead("b", 3)])
    assert run("table", *paths).stdout.splitlines() == [
        " 1. Name 1     2 points  2 races  2 wins",
        " 2. Name 2  0.58 points  2 races  0 wins",
        " 2. Name 3  0.58 points  2 races  0 wins",
        " 4. Name 4  0.33 points   1 race  0 wins",
    ]
    monkeypatch.setenv("COLUMNS", "40")
    assert run("table", *paths).stdout.splitlines()[:4] == ["1. Name 1", "  2 points", "  2 races", "  2 wins"]


def test_players_with_the_same_name_are_numbered(tmp_path: Path) -> None:
    log = opened(seed="1")
    for seat in (1, 2):
        log.say(joined(log, seat, name="Ada"), 10)
        log.say(Readied(seat=seat))
    log.say(Counting())
    log.say(Dealt(), 5_000)
    (path,) = files(tmp_path, [closed(log).replay()])
    assert run("table", path).stdout == "Ada #1 0.5 : 0.5 Ada #2\n"


def test_a_solo_race_gives_no_table(tmp_path: Path) -> None:
    (path,) = files(tmp_path, [closed(running(1, race_id="a", seed="1", max_racers=1)).replay()])
    assert run("table", path).stdout == "no race with two or more racers\n"
    assert run("table", path, "--json").stdout == '{"best_of":{},"races":[],"table":[]}'


def test_stored_receipts_that_do_not_match_refuse_a_replay(tmp_path: Path) -> None:
    mine, theirs = race("calm-otter-42"), ahead("calm-otter-42")
    (path,) = files(tmp_path, [theirs])
    assert run("table", path).exit_code == 0
    keep(state_dir(), told(mine, 10))
    result = run("table", path)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "calm-otter-42.json: receipts: " in result.stderr
    assert run("table", "--no-verify", path).exit_code == 0
