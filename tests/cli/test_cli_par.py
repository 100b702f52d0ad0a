"""``samedeal par`` against a real live, in all output formats."""

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from samedeal.computer.bots import play
from samedeal.computer.par import compared, par
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Moved
from samedeal.replays.replay import read
from samedeal.share.par_chart import verdict
from samedeal_cli.main import main
from support import offline_cli
from support.offline_cli import Result
from support.program import SAMEDEAL
from support.servers import Server, begin_together, racers, resign_all

pytestmark = pytest.mark.tier(2)

STRIP = re.compile(r"[S+=-]{10,}")


@pytest.fixture(autouse=True)
def _narrow(on_live: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def race(live: Server) -> str:
    """A finished race of The Edge between two players of the same name."""

    async def raced() -> str:
        id_ = live.create("the-edge", seed="cli 1", start_delay_ms=0)
        async with racers(live, "ada", "ada") as both:
            await begin_together(id_, both)
            for _ in range(8):
                await both[0].move((both[0].board.moves or [""])[0])
            await resign_all(both)
        await live.replay(id_)
        return id_

    return asyncio.run(raced())


def run(*arguments: object) -> Result:
    return offline_cli.run("par", *arguments)


# Words and squares.


def test_par_compares_each_player_in_words_and_letters(race: str, live: Server) -> None:
    result = run(race)
    assert (result.exit_code, result.stderr) == (0, "")
    expected = par(GAMES["the-edge"], "cli 1")
    standings = json.loads(live.get(f"/api/v1/replays/{race}.json")[1])["standings"]
    lines = result.stdout.splitlines()
    assert lines[:2] == ["The Edge: the-edge-bot/1 played this deal 60 times", "the-edge:cli 1"]
    assert lines[2].startswith(f"cards of 52: minimum {expected.minimum}, median {expected.median:g}, mean ")
    assert lines[2].endswith(f"maximum {expected.maximum}; {expected.solved} solved")
    for standing in standings:
        held = compared(expected, standing["seat"], "ada", standing["home"], won=False)
        at = lines.index(f"ada #{held.seat}, {held.result} of 52: {verdict(held)} of its plays")
        letters = {"solved": "S", "better": "+", "equal": "=", "worse": "-"}
        assert lines[at + 1] + lines[at + 2] == "".join(letters[square] for square in held.squares)
    assert lines[-1] == "each mark is one play of the computer: S solved  + better  = equal  - worse"
    assert "worse than all of its plays" in result.stdout


def test_par_with_colours_shows_squares(race: str) -> None:
    plain, colored = run(race).stdout, run(race, "--color", "always").stdout
    codes = {"S": "32", "+": "91", "=": "39", "-": "94"}
    strips = [line for line in plain.splitlines() if STRIP.fullmatch(line)]
    assert len(strips) == 4
    for line in strips:
        assert "".join(f"\x1b[{codes[letter]}m■\x1b[39m" for letter in line) in colored
    assert not STRIP.search(colored)
    ascii_ = run(race, "--color", "always", "--ascii").stdout
    assert ascii_ == plain
    assert ascii_.isascii()


def test_par_for_screen_readers_shows_words_only(race: str) -> None:
    text = run(race, "--screen-reader").stdout
    assert not STRIP.search(text)
    assert "the computer:" not in text
    assert text.count("worse than all") == 2


def test_par_of_one_seat(race: str, live: Server) -> None:
    assert run(race, "--seat", 2).stdout.count("worse than all") == 1
    link = run(f"{live.url}/r/{race}", "--seat", 2, "--server", "http://127.0.0.1:9")
    assert "ada, " in link.stdout, "alone nobody has to be told apart, and the link names the server"
    missing = run(race, "--seat", 9)
    assert (missing.exit_code, missing.stdout) == (4, "")
    assert missing.stderr == "samedeal: Nobody played in seat 9 (not-found)\n"


def test_par_strip_fits_the_terminal(race: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "25")
    strips = [line for line in run(race, "--seat", 1).stdout.splitlines() if STRIP.fullmatch(line)]
    assert [len(line) for line in strips] == [20, 20, 20]


@pytest.mark.parametrize("seed", ["31", "a/b? #%41"])
def test_par_of_a_deal_shows_figures_only(seed: str) -> None:
    result = run(f"the-edge:{seed}")
    expected = par(GAMES["the-edge"], seed)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1] == f"the-edge:{seed}"
    assert f"median {expected.median:g}, mean {expected.mean:.1f}" in result.stdout
    assert len(result.stdout.splitlines()) == 3


# JSON, pictures and replays.


def test_par_json_is_the_server_response(race: str, live: Server) -> None:
    assert run(race).exit_code == 0
    result = run(race, "--json")
    assert result.stdout_bytes == live.get(f"/api/v1/races/{race}/par")[1] + b"\n"
    assert result.stderr == ""


def test_par_svg_is_written(race: str, tmp_path: Path) -> None:
    file = tmp_path / "strip.svg"
    result = run(race, "--svg", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{file}: {file.stat().st_size} bytes\n"
    assert ElementTree.fromstring(file.read_bytes()).tag.endswith("svg")
    squares = file.read_text().count("<use")
    assert run(race, "--svg", file, "--seat", 1, "--quiet").stderr == ""
    assert file.read_text().count("<use") == squares - 60


@pytest.mark.parametrize("ending", ["json", "msgpack"])
def test_par_play_is_written_as_a_replay(race: str, tmp_path: Path, ending: str) -> None:
    for target, slug, seed in ((race, "the-edge", "cli 1"), ("gallery:31", "gallery", "31")):
        file = tmp_path / f"play.{ending}"
        assert run(target, "--play", 7, "-o", file).exit_code == 0
        replay = read(file.read_bytes())
        assert all(fact.holds for fact in verify(replay))
        moves = tuple(entry.event.move for entry in replay.entries if isinstance(entry.event, Moved))
        assert moves == play(GAMES[slug], seed, 7).moves
        assert main.exit_code(["verify", str(file)]) == 0


def test_par_play_on_stdout_has_its_variant() -> None:
    result = run("corners:1.2", "--variant", "refill=waste", "--play", 0)
    assert read(result.stdout_bytes).header.variant == {"refill": "waste"}


# Errors.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["corners:1", "--seat", "1"], "--seat and --svg need a race"),
        (["corners:1", "--svg", "x.svg"], "--seat and --svg need a race"),
        (["a-race", "--variant", "cap=off"], "--variant is for a deal"),
        (["a-race", "-o", "x.json"], "-o needs --play"),
        (["a-race", "--play", "1", "--seat", "1"], "cannot be combined with --seat"),
        (["corners:1", "--play", "1", "-o", "x.gif"], "unknown file extension; use one of json"),
        (["corners:1", "--play", "x"], "'x' is not a valid integer"),
        (["corners:1", "--play", "-1"], "-1"),
        (["corners:1", "--play", "1", "-o", "/no/such/play.json"], "No such file or directory"),
    ],
)
def test_invalid_command_line_exits_with_2_and_one_line(arguments: list[str], says: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert says in result.stderr


def test_refusal_shows_its_code(live: Server) -> None:
    assert run("no-such-race").stderr.endswith("(not-found)\n")
    assert run("corners:1", "--play", 60).stderr.endswith("numbered from 0 to 59 (not-found)\n")
    open_race = live.create("corners", seed="live")
    for target in (open_race, "corners:live"):
        result = run(target)
        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr.endswith("(deal-sealed)\n")


# Progress.


def waiting(live: Server, *arguments: str) -> tuple[str, str]:
    """Run a command with a terminal as standard error. Returns standard output and the terminal's text."""
    ours, theirs = pty.openpty()
    command = [*SAMEDEAL, "--server", live.url, "par", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        terminal, end = b"", time.monotonic() + 50
        while True:
            assert select.select([ours], [], [], max(0.0, end - time.monotonic()))[0]
            try:
                terminal += os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
        assert process.stdout
        written = process.stdout.read()
    os.close(ours)
    return written, terminal.decode()


def test_par_shows_a_progress_bar_on_a_terminal(live: Server) -> None:
    written, terminal = waiting(live, "gallery:bar")
    assert written.startswith("Gallery: gallery-bot/2 played this deal 200 times\n")
    assert "computing par  [" in terminal
    assert "100%" in terminal
    assert terminal.endswith("\x1b[?25h\r\n"), "the cursor is back"
    assert waiting(live, "gallery:bar") == (written, ""), "now it is known"


@pytest.mark.parametrize("flag", ["--quiet", "--json"])
def test_par_without_a_terminal_shows_no_progress_bar(live: Server, flag: str) -> None:
    written, terminal = waiting(live, f"the-edge:no bar {flag}", flag)
    assert written
    assert terminal == ""
