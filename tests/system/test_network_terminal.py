"""The terminal client and bots race through a network with latency, jitter, low bandwidth and lost connections."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from cli.test_cli_race_app import application
from samedeal_cli.net import transport
from support import program, waiting
from support.faulty_proxy import Proxy
from support.full_screen import RaceApp, shown
from support.network_races import WIN, Result, Rival, check_replay, open_race, results
from support.servers import Server
from support.terminals import at_a_terminal, new_terminal
from support.terminals import until as until_shown
from support.tmux import SAMEDEAL, Terminal, environment_at, tmux_only
from support.waiting import LIMIT_S

MOVES = WIN["moves"][:40]
"""What is played while the network is cut once."""
BURST = 6
"""How many keys are pressed without waiting for an answer."""
PROGRAM = """
import json, sys
for line in sys.stdin:
    state = json.loads(line)
    if state["t"] == "state":
        print(*{moves}[state["ply"]:][:1] or ["resign"], flush=True)
"""
"""A program for `samedeal bot`, which plays moves and then resigns."""
BLOCKED = """
import os, sys, threading, time
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.main import main

def block(screen, key):
    os.write(1, b"blocked")
    end = time.monotonic() + 50
    while time.monotonic() < end:
        {step}
    os._exit(1)

RaceScreen.press = block
sys.exit(main.exit_code(sys.argv[1:]))
"""
"""The program, whose event loop is blocked by the first key. After 50 s it ends itself."""
SLOW = """
import os, sys, time
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.main import main

def wait(screen, key, press=RaceScreen.press):
    os.write(1, b"blocked")
    while not os.path.exists({go!r}):
        time.sleep(0.01)
    press(screen, key)

if {blocks}:
    RaceScreen.press = wait
sys.exit(main.exit_code(sys.argv[1:]))
"""
"""The program, whose event loop is blocked by every key until a file exists."""
NOTHING_QUEUED = r"\A(?=[^>]*stock \d)[^>]*\Z"
"""The table, without a move that is pending."""
MODES = ("?1049", "?1000", "?1003", "?1004", "?2004")
"""The modes of a terminal that must be off when the program has ended: other screen, mouse, focus, pasted texts."""

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def live(store_url: str) -> Iterator[Server]:
    with Server(store_url) as server:
        yield server


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds. Fails soon after an event loop that was blocked is interrupted."""
    async with asyncio.timeout(LIMIT_S):
        await waiting.until(condition)


@asynccontextmanager
async def rival_of(live: Server) -> AsyncIterator[Rival]:
    bo = Rival("bo")
    await bo.connect(live)
    try:
        yield bo
    finally:
        await bo.close()


async def press_moves(app: RaceApp, pilot: Pilot[None], moves: list[str]) -> None:
    """Press the keys of moves, several before the first answer. Each is played, or the screen says why not."""
    keys = {"draw": "space", "redeal": "space", "w": app.state.selection.keys["waste"]}
    while (first := app.state.board.ply if app.state.board else 0) < len(moves):
        burst = moves[first : first + BURST]
        draws = next((at for at, move in enumerate(burst) if move != "draw"), len(burst))
        burst = burst[: draws + 1]  # the key of a pile does nothing if its card was not on the screen
        await pilot.press(*(keys.get(move) or app.state.selection.keys[move] for move in burst))
        await until(lambda: app.state.pending is None and not app.state.queued_keys)
        assert app.state.board
        if app.state.board.ply != first + len(burst):
            assert app.state.board.ply == first + len(burst) - 1
            assert re.search("was just played|1 queued key was dropped", shown(app))


async def race_in_the_full_screen(live: Server, proxy: Proxy, moves: list[str]) -> None:
    """Play moves and resign, against a rival, through a proxy."""
    race = open_race(live)
    app = application(proxy, race, ready=True)
    async with rival_of(live) as bo, app.run_test(size=(80, 24)) as pilot:
        beginning = asyncio.create_task(bo.begin(race))
        await until(lambda: app.state.board)
        await beginning
        proxy.stall(answers=False)  # the rival's move is shown while one key is unanswered, and one is queued
        await pilot.press("space", "space")
        assert (app.state.pending, [queued.key for queued in app.state.queued_keys]) == ("draw", ["space"])
        assert "> draw ⋯1" in shown(app)
        await bo.move(WIN["moves"][0])
        await until(lambda: any(each.name == "bo" and each.home for each in app.state.standings))
        proxy.resume()
        await until(lambda: app.state.board and app.state.board.ply == 2)
        racing = asyncio.create_task(bo.outlast())
        await press_moves(app, pilot, ["draw", "draw", *moves])
        await pilot.press("exclamation_mark", "y")
        await racing
        await until(lambda: app.state.checks)
        assert "checks passed" in shown(app)
        replay = await check_replay(live, race, "ada", ["draw", "draw", *moves])
        assert results(app.state.standings) == results(replay.standings)
        await pilot.press("q")
    assert app.failure is None


@pytest.mark.tier(1)
async def test_full_screen_plays_keys_pressed_before_the_answers(live: Server) -> None:
    async with Proxy(live.url, round_trip_ms=100, jitter_ms=20) as proxy:
        await race_in_the_full_screen(live, proxy, ["draw"] * 12)


@pytest.mark.tier(3)
@pytest.mark.parametrize("round_trip_ms", [20, 400])
async def test_full_screen_plays_keys_pressed_before_the_answers_on_other_networks(
    live: Server, round_trip_ms: int
) -> None:
    async with Proxy(live.url, round_trip_ms=round_trip_ms, jitter_ms=round_trip_ms / 2) as proxy:
        await race_in_the_full_screen(live, proxy, ["draw"] * 12)


async def test_full_screen_plays_on_through_a_slow_network_that_is_cut(live: Server) -> None:
    """Keys pressed while the connection is lost are played when the server accepts connections again."""
    race = open_race(live)
    async with Proxy(live.url, round_trip_ms=20, jitter_ms=5) as proxy:
        proxy.bytes_per_s = 20_000
        app = application(proxy, race, ready=True)
        async with rival_of(live) as bo, app.run_test(size=(80, 24)) as pilot:
            racing = asyncio.create_task(bo.compete(race))
            await until(lambda: app.state.board)
            await press_moves(app, pilot, MOVES[:2])
            proxy.cut()
            await until(lambda: app.state.connection_error)
            assert MOVES[2:4] == ["draw", "draw"]
            await pilot.press("space", "space")
            await until(lambda: proxy.refused >= 2)
            proxy.resume()
            await until(lambda: app.state.board and app.state.board.ply == 4)
            assert not app.state.connection_error
            await press_moves(app, pilot, MOVES)
            await pilot.press("exclamation_mark", "y")
            await racing
            await until(lambda: app.state.checks)
            replay = await check_replay(live, race, "ada", MOVES)
            assert results(app.state.standings) == results(replay.standings)
            await pilot.press("q")
        assert app.failure is None


async def test_full_screen_notices_a_connection_that_died_silently(
    live: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_Connect", partial(transport._Connect, ping_interval=0.5, ping_timeout=1))
    race = open_race(live)
    async with Proxy(live.url, round_trip_ms=20) as proxy:
        app = application(proxy, race, ready=True)
        async with rival_of(live) as bo, app.run_test(size=(80, 24)) as pilot:
            racing = asyncio.create_task(bo.compete(race))
            await until(lambda: app.state.board)
            proxy.abandon()
            await pilot.press("space")
            await until(lambda: app.state.board and app.state.board.ply == 1)
            await pilot.press("exclamation_mark", "y")
            await racing
            await until(lambda: app.state.checks)
            replay = await check_replay(live, race, "ada", ["draw"])
            assert results(app.state.standings) == results(replay.standings)
            await pilot.press("q")


@pytest.mark.tier(1)
@tmux_only
async def test_holding_a_key_in_a_terminal_never_blocks_the_program(live: Server, tmp_path: Path) -> None:
    race = open_race(live)
    async with Proxy(live.url, round_trip_ms=100, jitter_ms=20) as proxy, rival_of(live) as bo:
        terminal = Terminal(environment_at(proxy, tmp_path))
        try:
            racing = asyncio.create_task(bo.compete(race))
            terminal.type(f"{SAMEDEAL} join {race} --as ada --ready")
            await asyncio.to_thread(terminal.until, r"stock 4\d")
            for _ in range(30):
                terminal.keys("Space")
                await asyncio.sleep(1 / 30)
            await asyncio.to_thread(terminal.until, r"stock [123]\d")
            terminal.keys("?")  # works at once; when the help is shown, no more keys can come before the next one
            await asyncio.to_thread(terminal.until, "double click")
            terminal.keys("q")
            await asyncio.to_thread(terminal.until, NOTHING_QUEUED)  # keys are dropped while too many are queued
            terminal.keys("!")
            await asyncio.to_thread(terminal.until, "Resign")
            terminal.keys("y")
            await asyncio.to_thread(terminal.until, "checks passed")
            await racing
            terminal.keys("q")
            await asyncio.to_thread(terminal.until, "To watch the replay: ")
        finally:
            terminal.close()


async def start(how: str, proxy: Proxy, race: str, moves: list[str], folder: Path) -> Process:
    """Start line mode or a bot, which plays moves and resigns."""
    join = ["join", race, "--as", "ada", "--ready", "--json"]
    if how == "bot":
        (folder / "program.py").write_text(PROGRAM.format(moves=moves))
        command = f"{sys.executable} {folder / 'program.py'}"
        join = ["bot", race, "--as", "ada", "--wait", "0s", "--json", "--exec", command]
    environment = os.environ | environment_at(proxy, folder)
    process = await asyncio.create_subprocess_exec(
        *program.SAMEDEAL, *join, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    assert process.stdin
    process.stdin.write("".join(f"{move}\n" for move in [*moves, "resign"]).encode())
    return process


def shown_results(how: str, output: bytes) -> list[Result]:
    """Return the result that line mode or a bot has printed as JSON."""
    messages = [json.loads(line) for line in output.splitlines()]
    if how == "line mode":
        assert (messages[-1]["t"], messages[-1]["outcome"]) == ("verification", "verified")
    standings = next(message["standings"] for message in reversed(messages) if "standings" in message)
    return [(each["place"], each["name"], each["home"], each["outcome"]) for each in standings]


async def race_by_lines(
    how: str, live: Server, proxy: Proxy, moves: list[str], folder: Path, cut: bool = False
) -> None:
    """Play moves and resign, against a rival, through a proxy, which is cut in between if so desired."""
    race = open_race(live)
    async with rival_of(live) as bo:
        racing = asyncio.create_task(bo.compete(race))
        process = await start(how, proxy, race, moves, folder)
        if cut:
            await bo.until_home("ada", 4)
            proxy.cut()
            await until(lambda: proxy.refused >= 2)
            proxy.resume()
        assert process.stdout
        output = await process.stdout.read()
        assert await process.wait() == 0
        await racing
    replay = await check_replay(live, race, "ada", moves)
    assert shown_results(how, output) == results(replay.standings)


@pytest.mark.tier(1)
@pytest.mark.parametrize("how", ["line mode", "bot"])
async def test_lines_are_played_through_a_slow_network(how: str, live: Server, tmp_path: Path) -> None:
    async with Proxy(live.url, round_trip_ms=100, jitter_ms=20) as proxy:
        await race_by_lines(how, live, proxy, WIN["moves"][:12], tmp_path)


@pytest.mark.tier(3)
@pytest.mark.parametrize("how", ["line mode", "bot"])
async def test_lines_are_played_through_a_very_slow_network(how: str, live: Server, tmp_path: Path) -> None:
    async with Proxy(live.url, round_trip_ms=400, jitter_ms=200) as proxy:
        await race_by_lines(how, live, proxy, WIN["moves"][:12], tmp_path)


@pytest.mark.parametrize("how", ["line mode", "bot"])
async def test_lines_are_played_through_a_slow_network_that_is_cut(how: str, live: Server, tmp_path: Path) -> None:
    async with Proxy(live.url, round_trip_ms=20, jitter_ms=5) as proxy:
        proxy.bytes_per_s = 20_000
        await race_by_lines(how, live, proxy, MOVES, tmp_path, cut=True)


async def test_sigterm_ends_a_client_that_reconnects(live: Server, tmp_path: Path) -> None:
    race = open_race(live)
    async with Proxy(live.url) as proxy:
        process = await start("bot", proxy, race, [], tmp_path)
        assert process.stderr
        await process.stderr.readline()  # it has a seat
        proxy.cut()
        await until(lambda: proxy.refused >= 1)
        process.terminate()
        assert await process.wait() == 128 + signal.SIGTERM


STEPS = ("pass", "time.sleep(60)", "threading.Lock().acquire() and threading.Event().wait()")


@pytest.mark.parametrize(
    ("how", "step"),
    [
        (signal.SIGTERM, STEPS[2]),
        (signal.SIGINT, STEPS[0]),
        *(pytest.param(signal.SIGTERM, step, marks=pytest.mark.tier(3)) for step in STEPS[:2]),
        *(pytest.param(signal.SIGINT, step, marks=pytest.mark.tier(3)) for step in STEPS[1:]),
    ],
)
def test_full_screen_ends_while_its_event_loop_is_blocked(
    how: signal.Signals, step: str, live: Server, tmp_path: Path
) -> None:
    """By a signal, or by Ctrl-C twice, which is a key for it; the terminal is as before."""
    environment = os.environ | environment_at(live, tmp_path) | {"TERM": "xterm-256color"}
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0)
    command = [sys.executable, "-c", BLOCKED.format(step=step), "join", race, "--as", "ada", "--ready", "--tui"]
    with at_a_terminal(environment, command) as (process, terminal), new_terminal() as (unused, _):
        termios.tcsetwinsize(terminal, (32, 100))
        shown = until_shown(terminal, "stock")
        os.write(terminal, b" ")
        shown += until_shown(terminal, "blocked")
        if how == signal.SIGINT:
            os.write(terminal, b"\x03\x03")
        else:
            process.send_signal(how)
        assert process.wait(60) == (130 if how == signal.SIGINT else 143)
        shown += until_shown(terminal, "\x1b[?25h")
        assert termios.tcgetattr(terminal) == termios.tcgetattr(unused)
    for mode in MODES:
        assert shown.rfind(f"\x1b[{mode}l") > shown.rfind(f"\x1b[{mode}h") > 0, mode


@contextmanager
def ending(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Kill a process at the end."""
    try:
        yield
    finally:
        process.kill()


@pytest.mark.parametrize(
    "how", ["stopped", *(pytest.param(how, marks=pytest.mark.tier(3)) for how in ("blocked", "busy core"))]
)
async def test_full_screen_that_was_slow_plays_on(how: str, live: Server, tmp_path: Path) -> None:
    """Nothing ends the program while it cannot run; afterwards it shows the race as it is, and plays the key."""
    environment = os.environ | environment_at(live, tmp_path) | {"TERM": "xterm-256color"}
    race, go = open_race(live), tmp_path / "go"
    program = SLOW.format(go=str(go), blocks=how == "blocked")
    command = [sys.executable, "-c", program, "join", race, "--as", "ada", "--ready", "--tui"]
    async with rival_of(live) as bo:
        with at_a_terminal(environment, command) as (process, terminal):
            termios.tcsetwinsize(terminal, (32, 100))
            await bo.begin(race)
            await asyncio.to_thread(until_shown, terminal, "stock")
            core = {min(os.sched_getaffinity(0))}
            spinning = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {core})\nwhile True: pass"]
            with subprocess.Popen(spinning if how == "busy core" else ["true"]) as other, ending(other):
                if how == "busy core":
                    os.sched_setaffinity(process.pid, core)
                elif how == "stopped":
                    process.send_signal(signal.SIGSTOP)
                os.write(terminal, b" ")
                if how == "blocked":
                    await asyncio.to_thread(until_shown, terminal, "blocked")
                for move in WIN["moves"][:4]:
                    await bo.move(move)
                process.send_signal(signal.SIGCONT)
                go.touch()
                os.write(terminal, b"!")
                await asyncio.to_thread(until_shown, terminal, "Resign?")
                os.write(terminal, b"y")
                await bo.outlast()
            await check_replay(live, race, "ada", ["draw"])
