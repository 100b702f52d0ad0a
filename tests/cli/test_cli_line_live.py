"""Line mode against a real server: whole races through pipes and at a terminal."""

import json
import os
import re
import signal
import subprocess
import termios

import msgspec
import pytest

from samedeal_cli.commands import races as races_command
from samedeal_cli.main import main
from support.offline_cli import printed, said
from support.program import SAMEDEAL, ran, started
from support.servers import Server
from support.terminals import at_a_terminal, until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


@pytest.fixture
def environment(live: Server) -> dict[str, str]:
    return os.environ | {"SAMEDEAL_SERVER": live.url, "TERM": "xterm"}


def samedeal(environment: dict[str, str], *args: str, typed: str = "") -> subprocess.Popen[str]:
    process = started(*SAMEDEAL, *args, environment=environment)
    assert process.stdin
    process.stdin.write(typed)
    process.stdin.close()
    process.stdin = None
    return process


@pytest.mark.tier(1)
def test_two_scripts_race_from_link_to_end(environment: dict[str, str], live: Server) -> None:
    words = ("new", "corners", "--start-delay", "300ms", "--max", "2", "--unlisted")
    opening = ran(*words, environment=environment)
    assert opening.stdout.startswith(f"{live.url}/r/")
    assert "samedeal join http" in opening.stderr
    race = opening.stdout.strip()
    ada = samedeal(environment, "join", race, "--as", "ada", "--ready", typed="draw\nw9\ndraw\nundo\nresign\n")
    bo = samedeal(environment, "join", race, "--as", "bo", "--ready", typed="draw\nresign\n")
    lines = {}
    for name, process in (("ada", ada), ("bo", bo)):
        out, err = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, err) == (0, "")
        lines[name] = out.splitlines()
    assert any(line.startswith("ok 1: draw: ") for line in lines["ada"])
    assert any(line.startswith("no: 'w9' is not a move in Corners") for line in lines["ada"])
    assert "no: There is nothing to undo. Turning up a card cannot be undone." in lines["ada"]
    for said_to in lines.values():
        assert re.fullmatch(r"corners:[0-9a-f]{64}\.\d+", said_to[said_to.index("the race is over; the deal was") + 1])
        assert any(re.fullmatch(rf"To verify it: .* verify {race}", line) for line in said_to)
        assert re.fullmatch(rf"To compare with the computer: .* par {race}", said_to[-2])
        assert re.fullmatch(rf"For a rematch: .* again {race}", said_to[-1])
    ada = samedeal(environment, "again", race, "--as", "ada", "--game", "the-edge", "--ready", typed="resign\n")
    bo = samedeal(environment, "again", race, "--as", "bo", "--ready", typed="resign\n")
    races = set[str]()
    for process in (ada, bo):
        out, err = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, err) == (0, "")
        races |= {out.splitlines()[0]}
    assert len(races) == 1, races
    assert re.fullmatch(r"(The Edge|Corners), race [a-z0-9-]+, open; type \? for help", races.pop())
    guests = json.loads(ran("whoami", "--json", environment=environment).stdout)["guests"]
    assert sorted(guest["name"] for guest in guests) == ["ada", "bo"]


def test_new_warns_that_a_local_link_works_on_this_machine_only(
    environment: dict[str, str], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", environment["SAMEDEAL_SERVER"])
    assert printed("new", "corners", "--json")[1].startswith("Only this machine can open that link")
    with Server(store_url, public_url="http://192.168.1.20:8640") as public:
        out, err = printed("new", "corners", "--server", public.url)
    assert out.startswith("http://192.168.1.20:8640/r/")
    assert "Only this machine" not in err


def test_json_mode_prints_all_messages_without_the_token(environment: dict[str, str]) -> None:
    typed = "deal\nbot huge\nreact ugh\nresign\n"
    done = ran("solo", "gallery:7", "--json", "--as", "robo", typed=typed, environment=environment)
    assert done.stderr == ""
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert messages[0]["t"] == "welcome"
    assert "token" not in messages[0]
    assert messages[-2]["stage"] == "over"
    assert any(message.get("board", {}).get("ply") == 1 for message in messages)
    assert [message["detail"].split(".")[0] for message in messages if message["t"] == "refused"] == [
        "The reactions are wave, good luck, well played, wow, laugh, oops"
    ]
    checked = messages[-1]
    assert (checked["t"], checked["outcome"], checked["detail"]) == ("verification", "verified", "")
    assert all(fact["holds"] for fact in checked["facts"])


def test_json_mode_ends_with_an_error(environment: dict[str, str]) -> None:
    done = ran("join", "calm-otter-1", "--json", "--as", "robo", code=4, environment=environment)
    error = json.loads(done.stdout.splitlines()[-1])
    assert (error["t"], error["code"], error["exit_code"]) == ("error", "not-found", 4)
    assert done.stderr == f"samedeal: {error['detail']} (not-found)\n"
    assert f"was not found on {environment['SAMEDEAL_SERVER']}" in done.stderr


def test_closed_output_during_a_race_exits_silently_with_141(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42")
    with started(*SAMEDEAL, "watch", race, "--json", environment=environment) as watching:
        assert watching.stdout
        assert watching.stderr
        assert [json.loads(watching.stdout.readline())["t"] for _ in range(2)] == ["welcome", "view"]
        watching.stdout.close()
        ran("join", race, "--as", "bo", "--no-ready", typed="quit\n", environment=environment)
        assert watching.wait(50) == 141
        assert watching.stderr.read() == ""


def test_killed_bot_returns_to_its_seat(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42")
    for _ in range(2):
        bot = samedeal(environment, "bot", race, "--as", "robbie", "--speed", "100", "--wait", "0s")
        assert bot.stderr
        assert bot.stderr.readline() == f"robbie took seat 1 in {race}\n"
        bot.kill()
        bot.communicate()
    another = samedeal(environment, "bot", race, "--wait", "0s")
    assert another.stderr
    assert another.stderr.readline() == f"bot took seat 2 in {race}\n"
    another.kill()
    another.communicate()


def test_ls_lists_open_races(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], live: Server
) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", environment["SAMEDEAL_SERVER"])
    assert main.exit_code(["new", "the-edge", "--as", "hana", "--json"]) == 0
    race = msgspec.json.decode(capsys.readouterr().out)["race"]
    assert main.exit_code(["ls", "races", "--game", "the-edge"]) == 0
    headings, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert headings == ["race", "game", "stage", "seats", "host", "deal", "opened"]
    (row,) = (row for row in rows if row[0] == race)
    assert row[1:6] == ["the-edge", "open", "0/8", "hana", "secret"]
    assert row[-2:] in (["s", "ago"], ["min", "ago"])
    assert {row[1] for row in rows} == {"the-edge"}
    monkeypatch.setattr(races_command, "EMPTY_S", 0)
    assert race not in printed("ls", "races")[0]
    assert main.exit_code(["ls", "replays"]) == 0
    capsys.readouterr()
    lines, _ = said("ls", "--limit", "1")
    assert lines[0] == "open and running:"
    assert "finished:" in lines
    assert set(msgspec.json.decode(printed("ls", "--json")[0])) == {"races", "challenges", "replays"}
    assert "kings-in-the-corners" in printed("games")[0]


NAMED = {"SAMEDEAL_NAME": "ada"}


def line_by_line(*args: str) -> list[str]:
    return [*SAMEDEAL, "--color", "never", *args, "--line"]


def test_terminal_shows_prompt_and_picture_and_ctrl_c_quits(environment: dict[str, str]) -> None:
    with at_a_terminal(environment | NAMED, line_by_line("solo", "corners:42")) as (process, ours):
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
        assert process.wait(50) == 130


def test_news_is_written_above_unfinished_input(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42", start_delay_ms=60_000)
    with at_a_terminal(environment, line_by_line("join", race, "--as", "ada")) as (_, ours):
        until(ours, "ready? (y)\r\n> ")
        os.write(ours, b"stan")
        until(ours, "stan")
        ran("join", race, "--as", "bo", "--no-ready", typed="quit\n", environment=environment)
        assert until(ours, ": bo joined\r\n> stan").endswith("\r\x1b[K: bo joined\r\n> stan")
        os.write(ours, b"dings\n")
        until(ours, "░  not ready")
        os.write(ours, b"\x1b[A\n")  # repeat the previous line
        until(ours, "░  not ready")
        os.write(ours, b"unre\t\n")
        until(ours, "you are not ready")
        os.write(ours, b"clo\x15quit\n")
        until(ours, "your seat is held for 30 s. To rejoin: ")


@pytest.mark.parametrize(("end", "code"), [(signal.SIGTERM, 143), (b"\x04", 0)])
def test_terminal_state_is_restored(
    end: signal.Signals | bytes, code: int, environment: dict[str, str], live: Server
) -> None:
    race = live.create("corners", seed="42")
    with at_a_terminal(environment | NAMED, line_by_line("join", race)) as (process, ours):
        before = termios.tcgetattr(ours)
        until(ours, "ready? (y)\r\n> ")
        assert termios.tcgetattr(ours) != before
        if isinstance(end, bytes):
            os.write(ours, end)
        else:
            process.send_signal(end)
        assert process.wait(50) == code
        assert termios.tcgetattr(ours) == before
        until(ours, "your seat is held for 30 s. To rejoin: ")


def test_dumb_terminal_gets_no_control_characters(environment: dict[str, str], live: Server) -> None:
    race = live.create("corners", seed="42")
    with at_a_terminal(environment | NAMED | {"TERM": "dumb"}, line_by_line("join", race)) as (process, ours):
        text = until(ours, "ready? (y)\r\n> ")
        os.write(ours, b"quit\n")
        text += until(ours, "your seat is held for 30 s. To rejoin: ")
        assert process.wait(50) == 0
    assert "\x1b" not in text
