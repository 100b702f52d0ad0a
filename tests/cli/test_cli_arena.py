"""``samedeal arena``: programs and built-in players race without a server, in processes of their own."""

import json
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from samedeal.computer.deal_filters import passes
from samedeal.games.catalogue import GAMES
from samedeal_cli.bots.bot import MAX_REFUSALS
from support.child_processes import runs
from support.program import SAMEDEAL, ended, ran, started
from support.waiting import wait_until

pytestmark = pytest.mark.tier(2)

LOOP = """
import json, sys
for line in sys.stdin:
    state = json.loads(line)
"""
FIRST = f"""{LOOP}
    if state["t"] == "state":
        print((state["moves"] or ["resign"])[0], flush=True)
"""
CRASHES = f"""{LOOP}
    if state["ply"] == 2:
        sys.exit(3)
    print(state["moves"][0], flush=True)
"""
HANGS = f"""{LOOP}
    if state["ply"] < 2:
        print(state["moves"][0], flush=True)
"""
CHEATS = f"""{LOOP}
    if state["t"] == "state":
        print("win", flush=True)
"""
FLOODS = """
while True:
    print("win")
"""
LEARNS = f"""{LOOP}
    if state["t"] == "problem":
        assert (state["code"], bool(state["detail"])) == ("illegal-move", True)
        refused = True
    elif state["t"] == "state":
        print("resign" if state["ply"] else "draw" if "refused" in globals() else "win", flush=True)
    else:
        assert len(state["standings"]) == 2
        open(sys.argv[1], "a").write("over ")
"""


def arena(*arguments: str, returns: int = 0) -> tuple[str, str]:
    """Run the command and return its output."""
    done = ran("arena", "--timeout", "4m", *arguments, code=returns)
    return done.stdout, done.stderr


def raced(*arguments: str) -> Any:
    """Run the command and return its document."""
    out, err = arena(*arguments, "--json")
    assert err == ""
    return json.loads(out)


def program(folder: Path, source: str, *arguments: str) -> str:
    """Write a program and return the command that runs it."""
    file = folder / f"bot{len(list(folder.iterdir()))}.py"
    file.write_text(source)
    return shlex.join([sys.executable, str(file), *arguments])


def test_program_makes_the_moves_of_the_built_in_player(tmp_path: Path) -> None:
    document = raced(program(tmp_path, FIRST), "first", "--games", "corners,the-edge", "--deals", "3")
    for game in document["games"]:
        assert len(game["races"]) == 3
        for race in game["races"]:
            one, other = race["racers"]
            assert one == other
            assert one["place"] == 1
    assert document["table"]["pairs"][0]["tied"] == 6


@pytest.mark.tier(3)
def test_results_do_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    bots = (program(tmp_path, FIRST), "random", "random", "--games", "corners,gallery", "--deals", "4")
    one, many, other = raced(*bots, "--jobs", "1"), raced(*bots, "--jobs", "3"), raced(*bots, "--seed", "2")
    assert one == many
    assert one["games"] != other["games"]


def test_deals_pass_the_filter() -> None:
    document = raced("first", "--games", "the-edge", "--deals", "2", "--seed", "a", "--moves", "1")
    assert document["games"][0]["filter"] == "certified/1"
    for race in document["games"][0]["races"]:
        game, _, seed = race["deal"].partition(":")
        assert passes(GAMES[game], seed, {}, "certified/1")
    document = raced("first", "--games", "the-edge", "--deals", "2", "--seed", "a", "--moves", "1", "--filter", "any")
    assert [race["deal"] for race in document["games"][0]["races"]] == ["the-edge:a.0.0", "the-edge:a.1.0"]


@pytest.mark.parametrize(
    ("source", "timeout", "failure"),
    [
        (CRASHES, "4m", "ended before the race did (exit status 3)"),
        (HANGS, "500ms", "made no move within 0.5 s"),
        (CHEATS, "4m", f"was refused {MAX_REFUSALS} times in a row, the last time because: 'win' is not a move"),
        (FLOODS, "4m", f"was refused {MAX_REFUSALS} times in a row, the last time because: 'win' is not a move"),
    ],
    ids=["crashes", "hangs", "cheats", "floods"],
)
def test_program_that_fails_loses_and_the_others_continue(
    tmp_path: Path, source: str, timeout: str, failure: str
) -> None:
    command = program(tmp_path, source)
    deals = ("--games", "corners", "--deals", "2", "--filter", "friendly/1")
    arguments = (command, "random", "first", *deals, "--timeout", timeout)
    document = raced(*arguments)
    for race in document["games"][0]["races"]:
        failed, *others = race["racers"]
        assert failed["failure"].startswith(failure)
        assert failed["place"] == 3
        assert [other["failure"] for other in others] == [None, None]
        assert others[1]["won"]
    if source != CRASHES:
        return
    _, err = arena(*arguments)
    assert err.startswith("samedeal: ")
    assert f"lost 2 races, first {document['games'][0]['races'][0]['deal']}: it {failure}" in err
    assert len(err.splitlines()) == 1


def test_program_that_fails_in_every_race_is_last_even_with_more_cards_home(tmp_path: Path) -> None:
    document = raced(
        program(tmp_path, CRASHES),
        program(tmp_path, LEARNS, str(tmp_path / "over")),
        "--games",
        "corners",
        "--deals",
        "4",
    )
    assert [race["racers"][0]["place"] for race in document["games"][0]["races"]] == [2] * 4
    assert sum(race["racers"][0]["home"] for race in document["games"][0]["races"]) > 0
    assert (tmp_path / "over").read_text() == "over " * 4


def test_program_that_cannot_be_started_loses(tmp_path: Path) -> None:
    file = tmp_path / "bot"
    file.write_text("not a program")
    file.chmod(0o755)
    document = raced(str(file), "first", "--games", "corners", "--deals", "1")
    assert document["games"][0]["races"][0]["racers"][0]["failure"] == "cannot be started"


def test_ending_the_command_ends_the_programs(tmp_path: Path) -> None:
    hanging = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}}\\n')\n{HANGS}"
    words = ("first", "--games", "corners", "--timeout", "1h")
    running = started(*SAMEDEAL, "arena", program(tmp_path, hanging), *words)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
    pid = int((tmp_path / "pid").read_text())
    running.send_signal(signal.SIGTERM)
    ended(running, 143)
    wait_until(lambda: not runs(pid))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["./no-such-bot"], "cannot run './no-such-bot': this is neither a program nor one of random, first, greedy"),
        (["first"] * 33, "at most 32 bots can race"),
        (["corners-bot/1", "gallery-bot/1"], "no game is played by all these bots"),
        (["corners-bot/1", "--games", "gallery"], "corners-bot/1 does not play gallery"),
        (["first", "--seed", "x" * 125], "the seed is too long"),
        (["first", "--timeout", "0s"], "--timeout must not be zero"),
    ],
)
def test_invalid_arguments(arguments: list[str], message: str) -> None:
    _, err = arena(*arguments, returns=2)
    assert message in err
