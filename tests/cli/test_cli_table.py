"""``samedeal table``, and the same table by a program that shares no code with it."""

import json
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from samedeal import codec
from samedeal.race.events import Counting, Dealt, Moved, Readied
from samedeal.replays.replay import Replay
from samedeal.replays.signature import public_key, signed
from samedeal.scores.evening import SignedEvening
from samedeal.scores.results import RaceResult
from samedeal_cli.settings import state_dir
from support.bot_races import bot_races
from support.finished_races import SIGNING_KEY
from support.javascript_verifier import FOLDER, WITHOUT_SIGNATURES
from support.node import NODE, needs_node
from support.offline_cli import run, written
from support.races_by_hand import closed, joined, opened, run_of, running
from support.receipt_files import keep, told
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

RACES = 240
KEY = public_key(SIGNING_KEY)
SIGNED = f"signed by {KEY}\nverified, key unknown: check the signer with --key\n"


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
    program = [NODE, str(FOLDER / "table.mjs"), *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def python(*arguments: object) -> tuple[int, bytes, str]:
    """Run the table of the terminal and return its exit code and output."""
    result = run("table", "--json", *arguments)
    return result.exit_code, result.stdout_bytes, result.stderr


@needs_node
def test_both_programs_print_the_same_bytes(tmp_path: Path) -> None:
    replays = bot_races(RACES)
    paths = files(tmp_path, replays)
    result = run("table", "--json", *paths)
    assert result.exit_code == 5, result.output  # some races follow the same one
    scores = SignedEvening.of(((RaceResult.of_log(replay), KEY) for replay in replays), "key-unknown")
    assert result.stdout_bytes == codec.encode(scores, "json")
    assert RACES / 2 < len(scores.races) < RACES
    assert {fault.split()[-3] for fault in scores.faults} == {"both", "all"}
    for options in ([], ["--key", KEY], ["--no-verify"]):
        assert javascript(*options, *reversed(paths)) == (5, result.stdout_bytes, "")
    assert run("table", "--json", "--no-verify", *reversed(paths)).stdout_bytes == result.stdout_bytes


@needs_node
@pytest.mark.parametrize("count", [1, 2, 7])
def test_both_programs_agree_on_few_races(count: int, tmp_path: Path) -> None:
    paths = files(tmp_path, bot_races(count, seed=count))
    assert javascript("--no-verify", *paths) == python("--no-verify", *paths)


@needs_node
@pytest.mark.parametrize(
    ("follows", "order", "winner", "faults"),
    [
        ({"d": None, "c": "d", "b": "c", "a": "b"}, "dcba", "player-2", []),
        ({"d": None, "b": "c", "a": "b"}, "bad", "player-1", ["b follows c, which is missing"]),
        (
            {"c": "a", "b": "c", "a": "b", "d": "d"},
            "cbad",
            "player-1",
            ["c follows a, which comes later", "d follows d, which comes later"],
        ),
        ({"a": None, "d": "a", "c": None, "b": "c"}, "acbd", "player-1", []),
        ({"d": None, "c": "d", "b": "d", "a": "b"}, "dbac", "player-1", ["b and c both follow d"]),
        (
            {"a": "e", "b": "e", "d": "e"},
            "abd",
            "player-1",
            [*(f"{each} follows e, which is missing" for each in "abd"), "a, b and d all follow e"],
        ),
    ],
    ids=[
        "one chain",
        "without a race in the middle",
        "forged circles",
        "two chains",
        "a fork",
        "a fork without its race",
    ],
)
def test_both_programs_order_races_alike_and_name_gaps_and_forks(
    follows: dict[str, str | None], order: str, winner: str, faults: list[str], tmp_path: Path
) -> None:
    """All races are opened at the same time. The winner of the match depends on their order."""
    replays = [ahead(race_id, winner=1 if race_id in "ab" else 2, follows=other) for race_id, other in follows.items()]
    paths = files(tmp_path, replays)
    result = run("table", "--json", "--key", KEY, *paths)
    document, code = json.loads(result.stdout), 5 if faults else 0
    assert (result.exit_code, document["races"], document["faults"]) == (code, list(order), faults)
    assert document["best_of"] == ({} if faults else {"3": winner})
    assert document["outcome"] == ("refused" if faults else "verified")
    assert javascript("--key", KEY, *paths) == (code, result.stdout_bytes, "")
    shown = run("table", *paths, "--best-of", "3")
    undecided = "The best of 3 is undecided: see below." in shown.stdout
    assert (shown.exit_code, undecided) == (code, bool(faults))
    assert set(faults) <= set(shown.stdout.splitlines())
    unverified = python("--no-verify", *paths)
    for shuffled in (paths[::-1], paths[1:] + paths[:1]):
        assert python("--no-verify", *shuffled) == unverified
        assert javascript("--no-verify", *shuffled) == unverified


@needs_node
def test_both_programs_name_the_signers(tmp_path: Path) -> None:
    """A race of a match that another key has signed may have ended otherwise."""
    first, second, third = (ahead(race_id, follows=other) for race_id, other in (("a", None), ("b", "a"), ("c", "b")))
    other_key = bytes(32)
    second = replace(second, signature=signed(other_key, "b", second.digest))
    paths, others = files(tmp_path, [first, second, third]), public_key(other_key)
    for given, code, outcome in (
        ([], 5, "refused"),
        (["--key", KEY, "--key", others], 0, "verified"),
        (["--no-verify"], 0, "not-checked"),
    ):
        result = python(*given, *paths)
        assert javascript(*given, *paths) == result
        document = json.loads(result[1])
        assert (result[0], document["outcome"]) == (code, outcome)
        assert document["faults"] == (["signed by 2 different keys"] if code else [])
        assert document["best_of"] == ({} if code else {"3": "player-1", "5": "player-1"})
        assert document["keys"] == {KEY: ["a", "c"], others: ["b"]}
    for program in (javascript, python):
        assert program("--key", KEY, *paths)[:2] == (5, b"")
        assert json.loads(program(paths[0])[1])["outcome"] == "key-unknown"
        for usage in (["--key", "00"], ["--key", KEY, "--no-verify"]):
            assert program(*usage, *paths)[:2] == (2, b"")
    lines = run("table", *paths, "--best-of", "3").stdout.splitlines()
    assert lines[1:] == [
        "The best of 3 is undecided: see below.",
        "signed by 2 different keys",
        f"signed by {KEY}: a, c",
        f"signed by {others}: b",
        "refused",
    ]
    known = run("table", paths[0], "--key", KEY).stdout.splitlines()
    assert known[1:] == [f"signed by {KEY}", "verified (key known)"]
    assert run("table", *paths, "--no-verify").stdout.splitlines()[-1] == "not checked"


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
        for found, out, error in (javascript(*paths), python(*paths)):
            assert (found, out) == (code, b""), error
            assert why in error
    assert javascript("--no-verify", forged)[:2] == python("--no-verify", forged)[:2]
    (unknown,) = files(tmp_path, [replace(good, standings=(replace(places[0], seat=3),))])
    for found, out, error in (javascript("--no-verify", unknown), python("--no-verify", unknown)):
        assert (found, out) == (5, b"")
        assert "seat 3" in error


@needs_node
def test_javascript_names_facts_that_it_cannot_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_OPTIONS", WITHOUT_SIGNATURES)
    (path,) = files(tmp_path, [race("a")])
    code, out, error = javascript(path)
    unverified = run("table", "--json", "--no-verify", path).stdout_bytes
    assert (code, out, error) == (6, unverified, f"{path}: not checked: signature\n")


def test_two_players_are_shown_as_a_score(tmp_path: Path) -> None:
    result = run("table", *files(tmp_path, [race("a"), race("b"), race("c")]), "--best-of", "3")
    assert result.stdout == f"Name 1 1.5 : 1.5 Name 2\nNobody has won the best of 3 yet.\n{SIGNED}"


def test_the_winner_of_a_match_is_named(tmp_path: Path) -> None:
    paths = files(tmp_path, [ahead("a"), ahead("b"), race("c")])
    result = run("table", *paths, "--best-of", "3", "--ascii")
    assert result.stdout == f"Name 1 2.5 : 0.5 Name 2\nName 1 has won the best of 3.\n{SIGNED}"


def test_more_players_are_shown_as_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(tmp_path, [ahead("a", 4), ahead("b", 3)])
    assert run("table", *paths).stdout.splitlines() == [
        " 1. Name 1     2 points  2 races  2 wins",
        " 2. Name 2  0.58 points  2 races  0 wins",
        " 2. Name 3  0.58 points  2 races  0 wins",
        " 4. Name 4  0.33 points   1 race  0 wins",
        *SIGNED.splitlines(),
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
    assert run("table", path).stdout == f"Ada #1 0.5 : 0.5 Ada #2\n{SIGNED}"


def test_a_solo_race_gives_no_table(tmp_path: Path) -> None:
    (path,) = files(tmp_path, [closed(running(1, race_id="a", seed="1", max_racers=1)).replay()])
    assert run("table", path).stdout == f"no race with two or more racers\n{SIGNED}"
    document = json.loads(run("table", path, "--json").stdout)
    assert (document["best_of"], document["races"], document["table"]) == ({}, [], [])


def test_stored_receipts_that_do_not_match_refuse_a_replay(tmp_path: Path) -> None:
    mine, theirs = race("calm-otter-42"), ahead("calm-otter-42")
    (path,) = files(tmp_path, [theirs])
    assert run("table", path).exit_code == 0
    keep(state_dir(), told(mine, 10))
    result = run("table", path)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "calm-otter-42.json: receipts: " in result.stderr
    assert run("table", "--no-verify", path).exit_code == 0
