"""No command prints control characters that a hostile server sends."""

import io
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from click import Context

from samedeal import codec
from samedeal.replays.replay import read
from samedeal_cli.commands import solve
from samedeal_cli.commands.replays import show_replay
from samedeal_cli.main import main
from samedeal_cli.net import connection, guests
from samedeal_cli.net.connect import LAST_RACE, LastRace
from samedeal_cli.net.receipts import files, in_file
from samedeal_cli.render.canvas import Canvas
from samedeal_cli.sanitise import json_escaped, safe, safe_text
from samedeal_cli.settings import state_dir
from support.hostile_server import CHALLENGE, CLUB, EVIL, GAME, PLAYER, RACE, Answers, Hostile, hostile, raw

COMMANDS: dict[str, list[list[str]]] = {
    "new": [["new", GAME]],
    "play": [["play", GAME, "--line"], ["play", CHALLENGE, "--line"]],
    "challenge": [["challenge", GAME], ["challenge", CHALLENGE]],
    "club": [["club", *words, "--as", "mine"] for words in ([], [CLUB], ["new", "x"], ["invite", CLUB])]
    + [["club", *words, "--as", "mine"] for words in (["rename", CLUB, "x"], ["remove", CLUB, PLAYER])]
    + [["club", "dissolve", CLUB, "--as", "mine"], ["club", "leave", "evil", "--as", "mine"]],
    "resume": [["resume", "--line"]],
    "join": [["join", RACE, "--line", "--ready", "--board", board] for board in ("picture", "words")],
    "watch": [["watch", RACE, "--line"]],
    "again": [["again", RACE, "--line"]],
    "race": [["race", RACE, "--line"]],
    "solo": [["solo", GAME, "--line"]],
    "daily": [["daily"], ["daily", "--date", "2026-11-21"]],
    "games": [["games"]],
    "rules": [["rules", GAME]],
    "ls": [["ls", "races"], ["ls", "replays"]],
    "replay": [["replay", RACE, "--line", "--speed", "0"], ["replay", RACE, "--line", "--at", "m3"]],
    "verify": [["verify", RACE]],
    "solve": [["solve", RACE], ["solve", RACE, "--watch", "--line"]],
    "practice": [["practice", RACE, "--line"]],
    "table": [["table", RACE], ["table", RACE, "--no-verify"]],
    "export": [["export", RACE, "--format", form] for form in ("json", "ndjson", "txt", "svg", "cast")],
    "par": [["par", RACE], ["par", RACE, "--play", "0"], ["par", "corners:1", "--play", "0"]],
    "share": [["share", RACE], ["share", RACE, "--seat", "1"]],
    "report": [["report", RACE, "ada", "--as", "mine"]],
    "me": [["me", "--as", "mine"]],
    "versus": [["versus", PLAYER, "--as", "mine"]],
    "bot": [["bot", RACE, "--speed", "1000", "--wait", "0s"]],
    "pass": [["pass", "--as", "ada", "--qr"]],
    "login": [["login", "K7MP-X3QR-TW9D", "--force"]],
    "logout": [["logout", "ada"]],
    "doctor": [["doctor"]],
    "admin": [["admin", name] for name in ("races", "bans", "log", "reports", "erased")]
    + [["admin", name, PLAYER] for name in ("close", "hide", "unhide", "kick", "ban", "unban", "settle", "erase")],
}
"""Arguments for each command that uses a server."""
WITHOUT_A_SERVER = {"demo", "arena", "backup", "restore", "receipts", "deal", "serve", "whoami", "completion", "config"}
"""Commands that use no server, or only one that they have started."""
CALLS = [call for calls in COMMANDS.values() for call in calls]
STYLING = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.TextIOWrapper):
    """An output stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with hostile() as running:
        yield running


@pytest.fixture(autouse=True)
def _guest_in_a_hurry(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_ADMIN_KEY", "k" * 32)
    monkeypatch.setattr(connection, "MAX_RECONNECT_S", 0.0)
    monkeypatch.setattr(solve, "show_replay", partial(show_replay, speed=0))  # the line without its pauses
    guests.save(guests.Guest(server.url, "mine", PLAYER, "token"))


def run(monkeypatch: pytest.MonkeyPatch, url: str, args: list[str]) -> tuple[int, str, str]:
    """Run a command on a terminal and return its exit code and output."""
    out, err = (Terminal(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    if args[0] in ("pass", "logout"):
        guests.save(guests.Guest(url, "ada", "0" * 16, "sd_x"))
    (state_dir() / LAST_RACE).write_bytes(msgspec.json.encode(LastRace(url, RACE, None)))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("?\nboard\nlegal\nstandings\ndraw\n"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main.exit_code([*args, "--server", url])
        return code, out.text(), err.text()


def unsafe(text: str) -> list[str]:
    """The unsafe characters in a text, apart from this program's own styling."""
    plain = STYLING.sub("", text).replace("\n", "")
    return sorted({repr(character) for character in plain if not character.isprintable()})


def test_every_command_that_uses_a_server_is_tested() -> None:
    listed = {*COMMANDS, *WITHOUT_A_SERVER}
    assert listed == {*main.list_commands(Context(main))}, "list each command in COMMANDS or in WITHOUT_A_SERVER"


@pytest.mark.parametrize("more", [[], ["--json"], ["--ascii"]], ids=" ".join)
@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_control_characters_of_documents_are_not_printed(
    server: Hostile, args: list[str], more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = "documents"
    code, out, err = run(monkeypatch, server.url, [*args, *more])
    assert (unsafe(out), unsafe(err)) == ([], [])
    refused = "--json" in more and args[0] in ("export", "replay", "practice")
    without_names = args[0] == "practice" or "leave" in args or [*args, *more] == ["verify", RACE, "--json"]
    assert "evil" in out + err or without_names or (refused and code == 2), (out, err)
    assert "unexpected" not in err
    if "--json" in more and not refused:
        for line in out.splitlines():
            json.loads(line)


@pytest.mark.parametrize("answers", ["problems", "redirects", "hangs up"])
@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_control_characters_of_errors_are_not_printed(
    server: Hostile, args: list[str], answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = answers
    code, out, err = run(monkeypatch, server.url, args)
    assert (unsafe(out), unsafe(err)) == ([], [])
    assert "unexpected" not in err
    assert answers == "hangs up" or args == ["games"] or code  # games falls back to this program's own games


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
def test_control_characters_of_invalid_responses_are_not_printed(
    answer: bytes, args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw(answer) as url:
        _, out, err = run(monkeypatch, url, args)
    assert (unsafe(out), unsafe(err)) == ([], [])


def test_stored_receipts_of_a_hostile_server_are_safe_to_list(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    run(monkeypatch, server.url, ["join", RACE, "--line", "--as", "ada"])
    for args in (["whoami"], ["whoami", "--json"], ["receipts"], ["receipts", RACE]):
        code, out, err = run(monkeypatch, server.url, args)
        assert (code, unsafe(out), unsafe(err)) == (0, [], [])
        assert out


def test_receipt_contains_the_header_as_sent(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    run(monkeypatch, server.url, ["join", RACE, "--line", "--as", "ada"])
    (receipts,) = in_file(files(RACE)[0])
    assert receipts.header.rules == EVIL


def test_exported_replay_has_identical_bytes(server: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    for form in ("msgpack", "json", "ndjson"):
        code, *_ = run(monkeypatch, server.url, ["export", RACE, "-o", str(tmp_path / f"race.{form}")])
        assert code == 0
    assert (tmp_path / "race.msgpack").read_bytes() == server.replay
    assert read((tmp_path / "race.json").read_bytes()) == read(server.replay)
    code, out, _ = run(monkeypatch, server.url, ["verify", str(tmp_path / "race.ndjson")])
    assert (code, unsafe(out)) == (0, [])


def test_exported_replay_on_a_terminal_is_equivalent(server: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = "documents"
    _, out, _ = run(monkeypatch, server.url, ["export", RACE, "--format", "json"])
    assert read(out.encode()) == read(server.replay)


def test_only_unprintable_characters_are_replaced() -> None:
    assert safe_text("Ada & Zoë ♠ 日本 e\u0301") == "Ada & Zoë ♠ 日本 e\u0301"
    assert safe_text("a\x1b\x9b\u202e\ud800\u200b\nb") == "a������b"
    assert safe({"layout": "a\nb\x1b", "title": "a\nb"}) == {"layout": "a\nb�", "title": "a�b"}
    assert safe([1, 2.5, None, True, ("\x07",), {"\x07": b"\x07"}]) == [1, 2.5, None, True, ("�",), {"�": b"\x07"}]


def test_escaped_json_is_equivalent() -> None:
    text = '{"a": "\x9b\u202e\U000e0001 é ♠"}\n'
    escaped = json_escaped(text.encode()).decode()
    assert unsafe(escaped) == []
    assert json.loads(escaped) == json.loads(text)


def test_full_screen_draws_no_control_characters() -> None:
    canvas = Canvas(40, 1)
    canvas.write(0, 0, EVIL)
    assert unsafe("".join(canvas.text())) == []


def test_sanitised_message_encodes_identically(server: Hostile) -> None:
    replay = read(server.replay)
    assert codec.encode(safe(replay.entries[0].event), "json") != codec.encode(replay.entries[0].event, "json")
    assert safe(replay.entries[-1]) == replay.entries[-1]
