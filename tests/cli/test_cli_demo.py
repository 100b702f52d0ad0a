"""The demo and bots, with a real server and store. They leave nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from samedeal.proof.verification import verify
from samedeal.replays.replay import read
from support.node import needs_node
from support.program import SAMEDEAL, ended, ran, started
from support.servers import Server
from support.terminals import at_a_terminal, until
from support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.tier(2)

EXAMPLES = Path(__file__).parents[2] / "examples"
README = EXAMPLES.parent / "README.md"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Separate directories, so that leftovers are visible."""
    (tmp_path / "tmp").mkdir()
    return os.environ | {"SAMEDEAL_SEARCH_AHEAD": "off", "TMPDIR": str(tmp_path / "tmp"), "PYTHONWARNINGS": "error"}


def assert_nothing_left(environment: dict[str, str]) -> None:
    """Check that no directory and no process of a demo is left."""
    temporary = Path(environment["TMPDIR"])
    wait_until(lambda: not [*temporary.glob("samedeal-demo-*"), *_processes(temporary)])


def _processes(directory: Path) -> Iterator[str]:
    """Command lines of server processes whose command line or environment contains the directory."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            text = command + (process / "environ").read_bytes()
        except OSError:
            continue
        server = b"valkey" in command or b"samedeal_server" in command
        if server and os.fsencode(directory) in text:
            yield command.replace(b"\0", b" ").decode()


@contextmanager
def demo(environment: dict[str, str], *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    with started(*SAMEDEAL, "demo", *arguments, environment=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def first_screen(process: "subprocess.Popen[str]") -> dict[str, str]:
    """The labels and texts of the first screen."""
    texts = {}
    assert process.stdout
    for line in process.stdout:
        label, _, text = line.strip().partition("   ")
        texts[label] = text.strip()
        if label == "for a program":
            return texts
    raise AssertionError(process.stderr.read() if process.stderr else "")


def state(environment: dict[str, str]) -> Path:
    return Path(environment["XDG_STATE_HOME"]) / "samedeal" / "demo.json"


def test_killed_demo_leaves_no_process(environment: dict[str, str]) -> None:
    with demo(environment) as process:
        first_screen(process)
        process.kill()
        process.wait(50)
        wait_until(lambda: not list(_processes(Path(environment["TMPDIR"]))))


@pytest.mark.parametrize("stop", [signal.SIGINT])
def test_demo_without_a_terminal_serves_until_stopped(stop: int, environment: dict[str, str]) -> None:
    with demo(environment) as process:
        screen = first_screen(process)
        address = json.loads(state(environment).read_text())
        assert address["pid"] == process.pid
        assert screen["in a browser"] == address["url"]
        with urlopen(f"{address['url']}/healthz") as answer:
            assert answer.status == 200
        command, _, _ = screen["in a terminal"].rpartition(" play")
        assert shutil.which(command.split()[0], path=environment["PATH"])
        # Other commands find the demo by themselves.
        ran("ls", "races", environment=environment)
        process.send_signal(stop)
        assert process.wait(50) == 0
    assert not state(environment).exists()
    assert_nothing_left(environment)


def test_demo_on_a_terminal_is_the_home_screen_where_one_key_starts_a_race(environment: dict[str, str]) -> None:
    """Also for those who have configured another server."""
    command = [*SAMEDEAL, "--color", "never", "demo"]
    other = {"TERM": "xterm", "SAMEDEAL_SERVER": "http://127.0.0.1:1"}
    with at_a_terminal(environment | other, command) as (process, ours):
        until(ours, "Race a beginner bot at Golf")
        os.write(ours, b"p")
        until(ours, "Your name [")
        os.write(ours, b"zo\n")
        until(ours, "Deuce", "stock 1")
        os.write(ours, b"\x11")  # Ctrl-Q
        until(ours, "Back to your race")
        os.write(ours, b"q")
        assert process.wait(50) == 0
    assert_nothing_left(environment)


def test_second_demo_uses_the_next_port(environment: dict[str, str], tmp_path: Path) -> None:
    second = environment | {"XDG_STATE_HOME": str(tmp_path / "second")}
    with demo(environment, "--port", 18640) as one, demo(second, "--port", 18640) as other:
        first_screen(one)
        first_screen(other)
        addresses = [json.loads(state(each).read_text())["url"] for each in (environment, second)]
        assert addresses[0] != addresses[1]
        other.send_signal(signal.SIGTERM)
        assert other.wait(50) == 0
        assert state(environment).exists()
        one.send_signal(signal.SIGTERM)
        assert one.wait(50) == 0


# Bots.


def opened(address: str, game: str = "corners", **options: int) -> str:
    """Create a race without a deal filter, which would be slow. Return its id."""
    body = json.dumps({"game": game, "options": {"start_delay_ms": 200, "filter": "any"} | options}).encode()
    with urlopen(f"{address}/api/v1/races", body) as answer:
        race: str = json.load(answer)["race"]
    return race


def bot(environment: dict[str, str], race: str, *options: str) -> "subprocess.Popen[str]":
    """Start a bot that does not wait for a rematch."""
    return started(*SAMEDEAL, "bot", race, "--wait", "0s", *options, environment=environment)


@pytest.fixture
def address(live: Server, environment: dict[str, str]) -> str:
    """A server, which commands use by themselves."""
    environment["SAMEDEAL_SERVER"] = live.url
    return live.url


EXAMPLE_BOTS = [
    pytest.param(f"{sys.executable} {EXAMPLES / 'random_bot.py'}", id="python"),
    pytest.param(EXAMPLES / "random_bot.sh", id="shell"),
    pytest.param(
        f"node {EXAMPLES / 'random_bot.mjs'}",
        id="javascript",
        marks=needs_node,
    ),
]


@pytest.mark.parametrize("command", EXAMPLE_BOTS)
def test_every_example_bot_plays_a_race(command: str, address: str, environment: dict[str, str]) -> None:
    race = opened(address, "kings-in-the-corners")
    assert_raced(
        environment,
        race,
        bot(environment, race, "--as", "example", "--exec", command),
        bot(environment, race, "--speed", "100"),
    )


def test_thin_client_opens_a_race_and_prints_the_result(address: str, environment: dict[str, str]) -> None:
    thin_client = (sys.executable, EXAMPLES / "thin_client.py", address)
    opening = started(*thin_client, "new", "golf", environment=environment)
    assert opening.stdout
    race = opening.stdout.readline().strip()
    joining = started(*thin_client, race, environment=environment)
    ends = [process.communicate(timeout=LIMIT_S) for process in (opening, joining)]
    assert [process.returncode for process in (opening, joining)] == [0, 0], ends
    replay = read(ran("export", f"{address}/r/{race}", environment=environment).stdout.encode())
    assert all(fact.holds for fact in verify(replay))
    results = [f"{each.place} 'thin client' {each.outcome} {each.home}/{each.goal}" for each in replay.standings]
    assert [out.splitlines()[-2:] for out, _ in ends] == [results, results]


def assert_raced(environment: dict[str, str], race: str, *bots: "subprocess.Popen[str]") -> None:
    for process in bots:
        ended(process)
    replay = read(ran("export", race, environment=environment).stdout.encode())
    assert all(fact.holds for fact in verify(replay))
    assert all(standing.bot and standing.home for standing in replay.standings)


def test_readme_bot_plays_a_race(address: str, environment: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "bot.py"
    snippet = README.read_text().partition("```python\nimport json")[2].partition("```")[0]
    program.write_text(f"import json{snippet}")
    race = opened(address)
    command = f"{sys.executable} {program}"
    bots = [bot(environment, race, "--as", name, "--exec", command) for name in ("ann", "ben")]
    for process in bots:
        assert "Traceback" not in ended(process)


WRONG = "was refused 20 times in a row, the last time because: 'z9' is not a move in Corners"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import sys; sys.stderr.write('so long\\n')", "ended before the race did (exit status 0)"),
        ("import sys\nfor line in sys.stdin: print('z9', flush=True)", WRONG),
        ("while True: print('z9')", WRONG),
    ],
    ids=["exits", "wrong", "never reads"],
)
def test_program_that_fails_resigns_and_the_command_says_why(
    source: str, why: str, address: str, environment: dict[str, str], tmp_path: Path
) -> None:
    race = opened(address)
    program = tmp_path / "program.py"
    program.write_text(source)
    exec_ = ("--exec", f"{sys.executable} {program}")
    bots = [bot(environment, race, "--json", "--as", name, *exec_) for name in ("ann", "ben")]
    for out, err in [process.communicate(timeout=LIMIT_S) for process in bots]:
        assert f"It resigned: the program {why}" in err
        assert ("so long" in err) == ("so long" in source)
        standings = json.loads(out)["standings"]
        assert {(each["name"], each["outcome"], each["bot"]) for each in standings} == {
            ("ann", "resigned", True),
            ("ben", "resigned", True),
        }
    assert [process.returncode for process in bots] == [0, 0]


def test_program_that_cannot_be_started_exits_with_2(environment: dict[str, str]) -> None:
    result = ran("bot", "some-race", "--exec", "/no/such/program", code=2, environment=environment)
    assert result.stderr.count("\n") == 1
