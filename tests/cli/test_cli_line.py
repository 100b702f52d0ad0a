"""Line mode: what is said and when, what may be typed, and whole races through pipes and at a terminal."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from samedeal.errors import IllegalMove
from samedeal.games.catalogue import GAMES
from samedeal.race.race import Stage, Standing
from samedeal.wire import messages as m
from samedeal_cli.commands.mode import Boards
from samedeal_cli.line.line_mode import LineMode
from samedeal_cli.main import main
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import GameInfo
from samedeal_cli.render.phrases import card_name
from support.scripted_server import HEADER, RACE, Peer, server, view
from support.servers import Server
from support.terminals import at_a_terminal, until

CORNERS = GAMES["corners"]
GAME = GameInfo(
    slug="corners",
    title="Corners",
    rules="corners/1",
    layout=CORNERS.layout,
    goal=48,
    limit_ms=360_000,
)


def standing(seat: int, name: str, outcome: str, home: int = 0, place: int = 1) -> Standing:
    done = outcome in ("won", "resigned")
    return Standing(
        place=place,
        seat=seat,
        name=name,
        bot=False,
        outcome=outcome,
        done=done,
        home=home,
        goal=48,
        progress=home / 48,
        attempts=1,
        ms=home * 1000,
    )


async def session(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    *said: m.FromServer,
    answers: tuple[m.FromServer, ...] = (),
    boards: Boards = "words",
    interactive: bool = False,
    width: int = 80,
    stage: Stage = "open",
    screen_reader: bool = False,
) -> list[str]:
    """What line mode prints when the server says so much and a script so much; the script ends it."""
    begun, told = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.seat(stage=stage)
        await begun.wait()
        for message in said:
            await peer.say(message)
            await (await peer.socket.ping())  # once it is answered, the client has the message
            for _ in range(20):  # turns of the loop, in which it prints the message
                await asyncio.sleep(0)
        told.set()
        for answer in answers:
            request = await peer.hear()
            await peer.say(structs.replace(answer, re=request.id))
        await peer.socket.wait_closed()

    reading, writing = os.pipe()
    ended = threading.Event()

    def read() -> bytes:
        data = os.read(reading, 65_536)
        if not data:
            ended.set()
        return data

    monkeypatch.setattr("samedeal_cli.line.line_input._read", read)
    async with server(script) as (url, _), Connection(url, RACE, name="ada") as connection:
        running = asyncio.create_task(
            LineMode(
                connection, GAME, boards=boards, interactive=interactive, width=width, screen_reader=screen_reader
            ).run(ready=False)
        )
        begun.set()
        await told.wait()
        os.write(writing, typed.encode())
        os.close(writing)
        await asyncio.wait_for(running, 10)
        await asyncio.to_thread(ended.wait, 10)
    os.close(reading)
    return capsys.readouterr().out.splitlines()


def dealt(moves: tuple[str, ...] = ()) -> m.Board:
    game = CORNERS.from_seed("42")
    for move in moves:
        game = game.after(move)
    return m.Board(
        table=game.view(),
        notes=game.notes,
        outcome=game.outcome,
        home=game.home,
        attempt=1,
        ply=len(moves),
        moves=game.moves(),
    )


async def test_rivals_are_heard_of_at_quarters_overtakes_and_ends_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def racing(mine: int, theirs: int, outcome: str = "playing") -> m.View:
        ahead = mine >= theirs
        own = standing(1, "ada", "playing", mine, 1 if ahead else 2)
        rival = standing(2, "bo", outcome, theirs, 2 if ahead else 1)
        return structs.replace(view("running"), standings=(own, rival), board=dealt())

    def waiting(outcome: str) -> m.View:
        rivals = (standing(1, "ada", "ready"), standing(2, "bo", outcome))
        return structs.replace(view("open"), standings=rivals)

    news = [waiting("waiting"), waiting("ready"), racing(1, 0), racing(1, 11), racing(1, 13), racing(14, 13)]
    lines = await session(
        monkeypatch, capsys, "last\nquit\n", *news, racing(14, 25), racing(14, 48, "won"), boards="none"
    )
    events = [line for line in lines if line.startswith(": ")]
    assert events == [
        ": bo joined",
        ": bo is ready",
        ": you are 2 of 2: bo passed you",
        ": bo is past a quarter, 13 of 48 home",
        ": you are 1 of 2: you passed bo",
        ": bo is past halfway, 25 of 48 home",
        ": you are 2 of 2: bo passed you",
        ": bo won in 0:48.0",
    ]
    assert lines[-1] == "your seat is reserved. To rejoin: join again"


async def test_who_listens_hears_nothing_but_whole_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = structs.replace(view("running"), board=dealt(), standings=(standing(1, "ada", "playing"),))
    after = structs.replace(start, n=2, board=dealt(("draw",)))
    lines = await session(
        monkeypatch, capsys, "draw\nquit\n", start, answers=(after,), interactive=True, screen_reader=True
    )
    assert "f1: 7 of spades" in lines
    assert any(line.startswith("ok 1: draw: ") for line in lines)
    assert not any(line.startswith(">") or "\x1b" in line for line in lines)


async def test_rivals_of_the_same_name_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def racing(theirs: int) -> m.View:
        racers = (standing(1, "ada", "playing"), standing(2, "bo", "playing", theirs), standing(3, "bo", "playing"))
        return structs.replace(view("running"), standings=racers, board=dealt())

    lines = await session(monkeypatch, capsys, "standings\nquit\n", racing(0), racing(13), boards="none")
    assert ": bo #2 is past a quarter, 13 of 48 home" in lines
    assert [line.partition(": ")[2].split(",")[0] for line in lines if " of 3: " in line] == ["ada", "bo #2", "bo #3"]


async def test_who_looks_on_sees_the_newest_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tables(moves: tuple[str, ...]) -> m.View:
        racers = (standing(2, "bo", "playing"), standing(3, "cy", "playing"))
        boards = {2: dealt(), 3: dealt(moves)}
        return structs.replace(view("running"), seat=None, board=None, boards=boards, standings=racers)

    moves = ("draw", "draw")
    progress = m.Progress(race=RACE, n=9, standings=tables(()).standings)
    lines = await session(
        monkeypatch, capsys, "last\nboard\nquit\n", tables(()), tables(moves[:1]), tables(moves), progress
    )
    stocks = [line for line in lines if line.startswith("stock: ")]
    assert stocks[-2:] == [f"stock: {len(board.table['stock'])} face down" for board in (dealt(), dealt(moves))]
    assert [line for line in lines if line in ("bo:", "cy:")][-2:] == ["bo:", "cy:"]


async def test_what_may_be_typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    start = structs.replace(
        view("running"), board=dealt(), standings=(standing(1, "ada", "playing"),), clock_ms=300_000
    )
    after = structs.replace(start, n=2, board=dealt(("draw",)))
    card = dealt(("draw",)).table["waste"][-1]
    problem = m.Problem.of(IllegalMove("3D does not follow AC: foundations go up in suit."))
    typed = f"board\nlegal\ndraw\nlast\nR5\np {card.lower()}\np 10\np\nscan r\nscan\nscan l\nrules\n"
    typed += "standings\nclock\n?\nquit\n"
    lines = await session(monkeypatch, capsys, typed, start, answers=(after, problem))
    text = "\n".join(lines)
    assert "f1: 7 of spades" in lines
    assert "stock: 43 face down" in lines
    assert "pass 1 of 3" in lines
    assert " ".join(CORNERS.from_seed("42").moves()) in lines
    assert any(re.fullmatch(r"ok 1: draw: .* to waste, stock 42", line) for line in lines)
    assert any(re.fullmatch(r"draw: .* to waste, stock 42", line) for line in lines)
    assert "no: 3 of diamonds does not follow ace of clubs: foundations go up in suit" in text
    assert any(line.endswith(": waste, on top") for line in lines)
    assert [line for line in lines if re.match(r"r\d: ", line)][-5:] == [
        f"r{n}: {card_name(dealt().table[f'r{n}'][0])}" for n in range(1, 6)
    ]
    assert lines.count("which piles? scan and how their places begin: f, r, stock, waste") == 2
    assert "10 is no card; one is written 6h, 10s or qd" in lines
    assert "which card? p 6h tells where the six of hearts is" in lines
    assert "Moves: r1 to r5 or w plays a card home, draw and redeal work the stock." in lines
    assert "1 of 1: ada, 0 of 48 home, playing" in lines
    assert any(re.fullmatch(r"4:59\.\d left|5:00\.0 left", line) for line in lines)
    assert "quit       go; you can rejoin       last       what happened last" in lines
    assert max(map(len, lines[-9:])) <= 80


async def test_help_on_a_narrow_terminal_has_one_item_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = await session(monkeypatch, capsys, "?\nquit\n", width=60)
    assert "quit       go; you can rejoin" in lines
    assert "last       what happened last" in lines


async def test_before_the_deal_everything_says_that_it_comes_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rivals = (standing(1, "ada", "waiting"), standing(2, "bo", "waiting"), standing(3, "cy", "ready"))
    start = structs.replace(view("open"), board=None, standings=rivals)
    typed = "board\nlegal\np 6h\nscan f\nfoo\nl4c4\nready\nquit\n"
    lines = await session(monkeypatch, capsys, typed, start, answers=(start,), interactive=True)
    answers = [line.removeprefix("> ").strip() for line in lines if not line.startswith(": ")]
    told = ["no table yet: the cards are not dealt"] * 4
    told += ["unknown: foo; type ? for help", "no: moves come after the deal; type ? for help"]
    told += ["you are ready; waiting for bo", "your seat is held for a short time. To rejoin: join again"]
    assert answers[-len(told) :] == told


async def test_who_comes_back_hears_that_the_race_is_running(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = await session(monkeypatch, capsys, "quit\n", stage="running", boards="none")
    assert any(re.fullmatch(r"the race is running: 0:0\d\.\d left", line) for line in lines)
    assert not any(line.startswith("go: ") for line in lines)


async def test_who_looks_on_late_sees_the_standings_and_has_no_seat_to_keep(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = structs.replace(view("running"), seat=None, board=None, standings=(standing(1, "bo", "playing", 13),))

    async def script(peer: Peer) -> None:
        hello = await peer.hear()
        await peer.say(m.Welcome(re=hello.id, player="p1", name="ada", token="t1", server="test"))
        watch = await peer.hear()
        if peer.number == 0:
            await peer.say(structs.replace(seen, re=watch.id, header=HEADER))
            await peer.socket.close(1012)
        else:
            await peer.say(structs.replace(seen, re=watch.id, stage="over", deal="corners:1.0"))

    monkeypatch.setattr("samedeal_cli.line.line_input._read", lambda: b"")
    async with server(script) as (url, _), Connection(url, RACE, name="ada", watch=True) as connection:
        mode = LineMode(connection, GAME, boards="words", interactive=False, width=80)
        await asyncio.wait_for(mode.run(ready=None), 10)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == ["you look on", "1 of 1: bo, 13 of 48 home, playing, at 0:13.0"]
    assert "the server restarts; trying again" in lines
    assert lines[lines.index("the race is over; the deal was") + 1] == "corners:1.0"
    assert not any("your seat" in line for line in lines)


@pytest.fixture(scope="module")
def live(store_url: str) -> Iterator[Server]:
    with Server(store_url) as running:
        yield running


@pytest.fixture
def environment(tmp_path: Path, live: Server) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SAMEDEAL_", "XDG_"))}
    return kept | {"XDG_STATE_HOME": str(tmp_path / "state"), "SAMEDEAL_SERVER": live.url, "TERM": "xterm"}


def samedeal(environment: dict[str, str], *args: str, typed: str = "") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "samedeal_cli.main", *args],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    process.stdin.write(typed)
    process.stdin.close()
    process.stdin = None
    return process


def test_two_scripts_race_from_the_link_to_the_end(environment: dict[str, str], live: Server) -> None:
    opening = samedeal(environment, "new", "corners", "--start-delay", "300ms", "--max", "2", "--unlisted")
    link, said = opening.communicate(timeout=20)
    assert opening.returncode == 0
    assert link.startswith(f"{live.url}/r/")
    assert "samedeal join http" in said
    race = link.strip()
    ada = samedeal(environment, "join", race, "--as", "ada", "--ready", typed="draw\nw9\ndraw\nundo\nresign\n")
    bo = samedeal(environment, "join", race, "--as", "bo", "--ready", typed="draw\nresign\n")
    lines = {}
    for name, process in (("ada", ada), ("bo", bo)):
        out, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, "")
        lines[name] = out.splitlines()
    assert any(line.startswith("ok 1: draw: ") for line in lines["ada"])
    assert any(line.startswith("no: 'w9' is no move of Corners") for line in lines["ada"])
    assert "no: There is nothing to undo: a card that has been turned up stays seen." in lines["ada"]
    for said_to in lines.values():
        assert re.fullmatch(r"corners:[0-9a-f]{64}\.\d+", said_to[said_to.index("the race is over; the deal was") + 1])
        assert any(re.fullmatch(rf"to check it: .* verify {race}", line) for line in said_to)
        assert re.fullmatch(rf"to see how good it was: .* par {race}", said_to[-1])
    known = samedeal(environment, "whoami", "--json")
    guests = json.loads(known.communicate(timeout=20)[0])["guests"]
    assert sorted(guest["name"] for guest in guests) == ["ada", "bo"]


def test_a_link_that_nobody_else_can_open_is_told_as_such(
    environment: dict[str, str], store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", environment["SAMEDEAL_SERVER"])
    assert main.exit_code(["new", "corners", "--json"]) == 0
    assert capsys.readouterr().err.startswith("only this machine can open that link")
    with Server(store_url, public_url="http://192.168.1.20:8640") as public:
        assert main.exit_code(["new", "corners", "--server", public.url]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("http://192.168.1.20:8640/r/")
    assert "only this machine" not in err


def test_a_program_gets_every_message_as_json_but_no_token(environment: dict[str, str]) -> None:
    process = samedeal(environment, "solo", "gallery:7", "--json", "--as", "robo", typed="deal\nresign\n")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    messages = [json.loads(line) for line in out.splitlines()]
    assert messages[0]["t"] == "welcome"
    assert "token" not in messages[0]
    assert messages[-1]["stage"] == "over"
    assert any(message.get("board", {}).get("ply") == 1 for message in messages)


def test_a_reader_that_goes_during_a_race_ends_the_program_without_a_word(
    environment: dict[str, str], live: Server
) -> None:
    race = live.create("corners", seed="42")
    command = [sys.executable, "-m", "samedeal_cli.main", "watch", race, "--json"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout
        assert watching.stderr
        assert [json.loads(watching.stdout.readline())["t"] for _ in range(2)] == ["welcome", "view"]
        watching.stdout.close()
        joining = samedeal(environment, "join", race, "--as", "bo", "--no-ready", typed="quit\n")
        joining.communicate(timeout=30)
        assert watching.wait(20) == 141
        assert watching.stderr.read() == ""


def test_who_looks_on_when_it_is_over_is_told_how_it_ended_and_need_not_wait(
    environment: dict[str, str], live: Server
) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    samedeal(environment, "join", race, "--as", "ada", "--ready", typed="resign\n").communicate(timeout=30)
    command = [sys.executable, "-m", "samedeal_cli.main", "watch", race, "--as", "bo"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.wait(20) == 0
        assert watching.stdout
        lines = watching.stdout.read().splitlines()
    assert lines[1].startswith("open deal corners:42, ")
    assert lines[2:5] == ["you look on", "the race is over; the deal was", "corners:42"]


def test_a_name_that_cannot_be_written_here_stops_nothing(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42")
    here = environment | {"PYTHONIOENCODING": "ascii"}
    out, err = samedeal(here, "join", race, "--as", "Zoë", "--no-ready", typed="quit\n").communicate(timeout=30)
    assert "you are Zo?, seat 1" in out
    assert err == ""


def test_a_bot_that_was_killed_comes_back_to_its_seat(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42")
    for _ in range(2):
        bot = samedeal(environment, "bot", race, "--as", "robbie", "--speed", "100")
        assert bot.stderr
        assert bot.stderr.readline() == f"robbie has seat 1 in {race}\n"
        bot.kill()
        bot.communicate()
    another = samedeal(environment, "bot", race)
    assert another.stderr
    assert another.stderr.readline() == f"bot has seat 2 in {race}\n"
    another.kill()
    another.communicate()


def test_refusals_have_their_code_and_exit_with_4(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_STATE_HOME", "SAMEDEAL_SERVER"):
        monkeypatch.setenv(name, environment[name])
    for args, code in (
        (["join", "no-such-race"], "not-found"),
        (["new", "corners", "--variant", "cap=off"], "bad-request"),
    ):
        assert main.exit_code(args) == 4
        out, err = capsys.readouterr()
        assert out == ""
        assert err.endswith(f"({code})\n")
        assert err.count("\n") == 1


def test_lists_show_what_is_on(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], live: Server
) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", environment["SAMEDEAL_SERVER"])
    race = live.create("the-edge")
    assert main.exit_code(["ls", "races", "--game", "the-edge"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [race, "the-edge", "open", "0/8", "sealed"] in rows
    assert {row[1] for row in rows} == {"the-edge"}
    assert main.exit_code(["ls", "replays"]) == 0
    assert main.exit_code(["games"]) == 0
    assert "kings-in-the-corners" in capsys.readouterr().out


def line_by_line(*args: str) -> list[str]:
    return [sys.executable, "-m", "samedeal_cli.main", "--color", "never", *args, "--line"]


def test_at_a_terminal_there_is_a_prompt_a_picture_and_a_way_out(environment: dict[str, str]) -> None:
    with at_a_terminal(environment, line_by_line("solo", "corners:42")) as (process, ours):
        text = until(ours, "home 0  pass 1 of 3\r\n")
        assert "f1 7♠" in text
        os.write(ours, b"draw\n")
        assert "ok 1: draw: " in until(ours, "stock 42  waste")
        os.write(ours, b"resign\n")
        until(ours, "resign for good? (y)")
        os.write(ours, b"n\n")
        until(ours, "not resigned")
        os.write(ours, b"\x03")
        until(ours, "your seat is reserved. To rejoin: ")
        assert process.wait(10) == 130


def test_news_is_written_above_what_somebody_is_typing(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42", start_delay_ms=60_000)
    with at_a_terminal(environment, line_by_line("join", race, "--as", "ada")) as (_, ours):
        until(ours, "ready? (y)\r\n> ")
        os.write(ours, b"stan")
        until(ours, "stan")
        bo = samedeal(environment, "join", race, "--as", "bo", "--no-ready", typed="quit\n")
        bo.communicate(timeout=30)
        assert until(ours, ": bo joined\r\n> stan").endswith("\r\x1b[K: bo joined\r\n> stan")
        os.write(ours, b"dings\n")
        until(ours, "0/48  waiting")
        os.write(ours, b"\x1b[A\n")  # the line before once more
        until(ours, "0/48  waiting")
        os.write(ours, b"unre\t\n")
        until(ours, "you are not ready")
        os.write(ours, b"clo\x15quit\n")
        until(ours, "your seat is held for 30 s. To rejoin: ")


@pytest.mark.parametrize(("end", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (b"\x04", 0)])
def test_a_terminal_is_left_as_it_was(
    end: signal.Signals | bytes, code: int, environment: dict[str, str], live: Server
) -> None:
    race = live.create("corners", seed="42")
    with at_a_terminal(environment, line_by_line("join", race)) as (process, ours):
        before = termios.tcgetattr(ours)
        until(ours, "ready? (y)\r\n> ")
        assert termios.tcgetattr(ours) != before
        if isinstance(end, bytes):
            os.write(ours, end)
        else:
            process.send_signal(end)
        assert process.wait(20) == code
        assert termios.tcgetattr(ours) == before
        until(ours, "your seat is held for 30 s. To rejoin: ")


def test_a_dumb_terminal_gets_no_control_characters(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42")
    with at_a_terminal(environment | {"TERM": "dumb"}, line_by_line("join", race)) as (process, ours):
        text = until(ours, "ready? (y)\r\n> ")
        os.write(ours, b"quit\n")
        text += until(ours, "your seat is held for 30 s. To rejoin: ")
        assert process.wait(20) == 0
    assert "\x1b" not in text
