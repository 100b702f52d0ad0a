"""What a hostile server sends never reaches the terminal: no command prints its control characters."""

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import Context

from samedeal.replays.replay import read
from samedeal.wire import codec
from samedeal_cli.main import main
from samedeal_cli.net import connection
from samedeal_cli.net.receipts import files, in_file
from samedeal_cli.net.sanitise import json_escaped, safe, safe_text
from samedeal_cli.render.canvas import Canvas
from support.hostile_server import EVIL, GAME, RACE, Answers, Hostile, hostile, raw

COMMANDS: dict[str, list[list[str]]] = {
    "new": [["new", GAME]],
    "join": [["join", RACE, "--line", "--ready", "--board", board] for board in ("picture", "words")],
    "watch": [["watch", RACE, "--line"]],
    "solo": [["solo", GAME, "--line"]],
    "daily": [["daily"], ["daily", "--date", "2026-11-21"]],
    "games": [["games"]],
    "rules": [["rules", GAME]],
    "ls": [["ls", "races"], ["ls", "replays"]],
    "replay": [["replay", RACE, "--line", "--speed", "0"], ["replay", RACE, "--line", "--at", "m3"]],
    "verify": [["verify", RACE]],
    "export": [["export", RACE, "--format", form] for form in ("json", "ndjson", "txt", "svg", "cast")],
    "par": [["par", RACE], ["par", RACE, "--play", "0"], ["par", "corners:1", "--play", "0"]],
    "bot": [["bot", RACE, "--speed", "1000"]],
    "doctor": [["doctor"]],
}
"""How each command that asks a server is called."""
WITHOUT_A_SERVER = {"demo", "receipts", "deal", "serve", "whoami", "logout", "completion", "config"}
"""Those that ask none, or only one they started themselves."""
CALLS = [call for calls in COMMANDS.values() for call in calls]
STYLING = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.TextIOWrapper):
    """Output that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with hostile() as made:
        yield made


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SAMEDEAL_SERVER", "SAMEDEAL_TOKEN", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(connection, "PATIENCE_S", 0.0)


def run(monkeypatch: pytest.MonkeyPatch, url: str, args: list[str]) -> tuple[int, str, str]:
    """The exit code of a command on a terminal, and what it prints there."""
    out, err = (Terminal(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("?\nboard\nlegal\nstandings\ndraw\n"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main.exit_code([*args, "--server", url])
        return code, out.text(), err.text()


def unsafe(text: str) -> list[str]:
    """The characters that a terminal should not be sent, apart from the styling of this program."""
    plain = STYLING.sub("", text).replace("\n", "")
    return sorted({repr(character) for character in plain if not character.isprintable()})


def test_every_command_is_either_tried_here_or_asks_no_server() -> None:
    assert {*COMMANDS, *WITHOUT_A_SERVER} == {*main.list_commands(Context(main))}


@pytest.mark.parametrize("more", [[], ["--json"], ["--ascii"]], ids=" ".join)
@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_no_control_character_of_a_document_is_printed(
    server: Hostile, args: list[str], more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = "documents"
    code, out, err = run(monkeypatch, server.url, [*args, *more])
    assert (unsafe(out), unsafe(err)) == ([], [])
    assert "evil" in out + err or [*args, *more] == ["verify", RACE, "--json"], (code, out, err)
    assert "unexpected" not in err
    if "--json" in more and args[0] not in ("export", "replay"):
        for line in out.splitlines():
            json.loads(line)


@pytest.mark.parametrize("answers", ["problems", "redirects", "hangs up"])
@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_no_control_character_of_an_error_is_printed(
    server: Hostile, args: list[str], answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = answers
    code, out, err = run(monkeypatch, server.url, args)
    assert (unsafe(out), unsafe(err)) == ([], [])
    assert "unexpected" not in err
    assert answers == "hangs up" or args == ["games"] or code  # games lists those of this program instead


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 \x1b[2J\xc2\x9b evil\r\n\r\n",
        b"\x1b[2J evil\r\n\r\n",
        b'HTTP/1.1 200 \x1b[2J\r\nContent-Length: \x1b[2J\r\n\r\n{"evil": \xc2\x9b \x1b[2J',
        b'HTTP/1.1 409 \x1b[2J\r\nContent-Length: 22\r\n\r\n{"code": "\x1b[2J evil"}',
    ],
)
@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_no_control_character_of_a_broken_answer_is_printed(
    answer: bytes, args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw(answer) as url:
        _, out, err = run(monkeypatch, url, args)
    assert (unsafe(out), unsafe(err)) == ([], [])


def test_what_was_kept_of_a_hostile_server_is_safe_to_list(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    run(monkeypatch, server.url, ["join", RACE, "--line", "--as", "ada"])
    for args in (["whoami"], ["whoami", "--json"], ["receipts"], ["receipts", RACE]):
        code, out, err = run(monkeypatch, server.url, args)
        assert (code, unsafe(out), unsafe(err)) == (0, [], [])
        assert out


def test_a_receipt_keeps_the_header_as_it_was_sent(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    run(monkeypatch, server.url, ["join", RACE, "--line", "--as", "ada"])
    (receipts,) = in_file(files(RACE)[0])
    assert receipts.header.rules == EVIL


def test_an_exported_replay_keeps_its_bytes(server: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    for form in ("msgpack", "json", "ndjson"):
        code, *_ = run(monkeypatch, server.url, ["export", RACE, "-o", str(tmp_path / f"race.{form}")])
        assert code == 0
    assert (tmp_path / "race.msgpack").read_bytes() == server.replay
    assert read((tmp_path / "race.json").read_bytes()) == read(server.replay)
    code, out, _ = run(monkeypatch, server.url, ["verify", str(tmp_path / "race.ndjson")])
    assert (code, unsafe(out)) == (0, [])


def test_a_replay_on_a_terminal_means_the_same_as_the_file(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    _, out, _ = run(monkeypatch, server.url, ["export", RACE, "--format", "json"])
    assert read(out.encode()) == read(server.replay)


def test_only_unprintable_characters_are_replaced() -> None:
    assert safe_text("Ada & Zoë ♠ 日本 e\u0301") == "Ada & Zoë ♠ 日本 e\u0301"
    assert safe_text("a\x1b\x9b\u202e\ud800\u200b\nb") == "a������b"
    assert safe({"layout": "a\nb\x1b", "title": "a\nb"}) == {"layout": "a\nb�", "title": "a�b"}
    assert safe([1, 2.5, None, True, ("\x07",), {"\x07": b"\x07"}]) == [1, 2.5, None, True, ("�",), {"�": b"\x07"}]


def test_escaped_json_means_the_same() -> None:
    text = '{"a": "\x9b\u202e\U000e0001 é ♠"}\n'
    escaped = json_escaped(text.encode()).decode()
    assert unsafe(escaped) == []
    assert json.loads(escaped) == json.loads(text)


def test_the_full_screen_draws_no_control_character() -> None:
    canvas = Canvas(40, 1)
    canvas.write(0, 0, EVIL)
    assert unsafe("".join(canvas.text())) == []


def test_a_message_is_the_same_after_it_was_made_safe(server: Hostile) -> None:
    replay = read(server.replay)
    assert codec.encode(safe(replay.entries[0].event), "json") != codec.encode(replay.entries[0].event, "json")
    assert safe(replay.entries[-1]) == replay.entries[-1]
