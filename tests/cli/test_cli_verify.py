"""``samedeal verify``: what it prints, its exit codes, and the inputs it accepts, all without a network."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import FACTS
from samedeal.replays.replay import Replay, ReplayLines
from samedeal_cli.commands.replays import FORMATS
from samedeal_cli.commands.verify import _wrapped
from samedeal_cli.net import replay_loader
from samedeal_cli.settings import Settings
from support.altered_examples import EXAMPLES
from support.finished_races import finished
from support.offline_cli import outcome, run, written
from support.waiting import LIMIT_S

pytestmark = pytest.mark.usefixtures("offline")


@pytest.mark.parametrize("slug", GAMES)
@pytest.mark.parametrize("form", ["json", "msgpack", "ndjson"])
def test_verify_prints_every_fact_and_exits_with_0(slug: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "race"
    path.write_bytes(FORMATS[form](finished(slug)))
    result = run("verify", path)
    assert result.exit_code == 0, result.output
    *facts, conclusion = result.stdout.splitlines()
    assert [line.split()[:2] for line in facts] == [["✔", fact] for fact in FACTS]
    assert conclusion.startswith("verified, key unknown: calm-otter-42")


@pytest.mark.parametrize("form", ["json", "msgpack", "ndjson"])
def test_every_command_reads_every_format_from_stdin(form: str) -> None:
    data = FORMATS[form](finished("corners"))
    for command in (["verify"], ["replay"], ["export", "--format", "json"]):
        result = run(*command, "-", stdin=data)
        assert result.exit_code == 0, result.output
        assert result.stdout_bytes == run(*command, "-", stdin=FORMATS["json"](finished("corners"))).stdout_bytes


def test_verify_wraps_lines_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"✔ signature   the last digest is signed with {'a' * 64}"
    assert [*_wrapped([line], 14)] == [line]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    lines = ["✔ signature   the last digest is signed", "              with", f"{' ' * 14}{'a' * 64}"]
    assert [*_wrapped([line], 14)] == lines


def test_replay_in_lines_is_read_lazily(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long replay takes time, but no memory."""
    path, replay = tmp_path / "race.ndjson", finished("corners")
    path.write_bytes(FORMATS["ndjson"](replay))
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(path.read_bytes())))
    for source in (str(path), "-"):
        with replay_loader.open_replay(Settings(), source) as log:
            assert isinstance(log, ReplayLines)
            assert tuple(log.entries) == replay.entries


def test_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(FORMATS["ndjson"](finished("corners"))))
    writing.start()
    assert run("verify", pipe).exit_code == 0
    writing.join()


def test_verify_writes_json(file: Path) -> None:
    document = json.loads(run("verify", file, "--json").stdout)
    assert document["ok"] is True
    assert document["entries"] == 56
    assert [fact["name"] for fact in document["facts"]] == list(FACTS)


@pytest.mark.parametrize("fact", EXAMPLES)
def test_verify_names_the_fact_and_the_entry(fact: str, file: Path) -> None:
    change, expected = EXAMPLES[fact]
    content = json.loads(FORMATS["json"](finished("corners")))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")
    result = run("verify", file)
    assert result.exit_code == 5
    assert re.findall(r"^✘ (\w+)", result.stdout, re.MULTILINE) == [name for name in FACTS if name in expected]
    first = next(name for name in FACTS if name in expected)
    where = first if expected[first] is None else f"{first}, entry {expected[first]}"
    assert result.stdout.splitlines()[-1] == f"refused ({where})"


def test_verify_marks_unchecked_facts(file: Path) -> None:
    replay = finished("corners")
    result = run("verify", written(file, structs.replace(replay, entries=replay.entries[:-1])))
    assert result.exit_code == 5
    assert result.stdout.count("✘") == 1
    assert "✘ complete    entry 55: The log ends" in result.stdout
    assert "· chain" in result.stdout


def _lines(replay: Replay) -> list[bytes]:
    return list(replay.lines())


def _inserted(line: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:9], line, *lines[9:]]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda lines: lines[:1], "at least a first and a last line"),
        (lambda lines: lines[:-1], "Line 57 is not a valid line of a replay"),
        (lambda lines: [*lines[:-1], lines[-1].rstrip()], "Line 58 of the replay is not in canonical form"),
        (_inserted(b"[" * 60000 + b"\n"), "Line 10 is not a valid line of a replay"),
        (_inserted(b"\xff\x00\xfe\n"), "Line 10 is not a valid line of a replay"),
        (_inserted(b"\n"), "Line 10 is not a valid line of a replay"),
        (_inserted(b'["1",2,3,4]\n'), "Line 10 is not a valid line of a replay"),
        (
            lambda lines: [*lines[:9], lines[9].replace(b",", b", ", 1), *lines[10:]],
            "Line 10 of the replay is not in canonical form",
        ),
        (_inserted(b"1" * 70000), "Line 10 has more than 65536 bytes"),
        (_inserted(_lines(finished("corners"))[-1]), "Line 10 is not a valid line of a replay"),
        (lambda lines: [line.replace(b"\n", b"\r\n") for line in lines], "not in canonical form"),
        (lambda lines: [lines[0][:50], *lines[1:]], "This is not a replay"),
    ],
)
def test_invalid_lines_are_named(damage: Any, says: str, file: Path) -> None:
    data = b"".join(damage(_lines(finished("corners"))))
    file.write_bytes(data)
    for arguments, stdin in ((("verify", file), b""), (("verify", "-"), data), (("replay", file), b"")):
        result = run(*arguments, stdin=stdin)
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr.count("\n") == 1
        assert says in result.stderr


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (b"", "at most 67108864 bytes"),
        (b"{", "at most 67108864 bytes"),
        (_lines(finished("corners"))[0], "at most 536870912 bytes"),
    ],
)
def test_gigabyte_file_is_refused_without_reading_it(start: bytes, says: str, file: Path) -> None:
    file.write_bytes(start)
    os.truncate(file, 2**30)
    for command in ("verify", "replay", "export"):
        result = run(command, file, *(["--format", "txt"] if command == "export" else []))
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr.count("\n") == 1
        assert says in result.stderr


@pytest.mark.parametrize("start", [1, 0])
def test_endless_input_is_refused(start: int) -> None:
    """At most the size of the largest replay is read."""
    head, entry = _lines(finished("corners"))[:2]
    reading, writing = os.pipe()
    poured = 0

    def pour() -> None:
        nonlocal poured
        with suppress(BrokenPipeError), open(writing, "wb") as pipe:
            pipe.write(head * start)
            while True:
                poured += pipe.write(entry * 1000)

    pouring = threading.Thread(target=pour)
    pouring.start()
    limited = f"from samedeal_cli.net import replay_loader as loader; loader.MAX_BYTES_IN_LINES = {2**22}; "
    command = [sys.executable, "-c", limited + "from samedeal_cli.main import main; main()"]
    with open(reading, "rb") as endless:
        result = subprocess.run(
            [*command, "verify", "-"], stdin=endless, capture_output=True, text=True, timeout=LIMIT_S
        )
    pouring.join(60)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (5, "", 1)
    assert f"at most {2**22 if start else 2**26} bytes" in result.stderr
    assert poured < (2**23 if start else 2**27)


def test_race_id_is_fetched_from_the_server() -> None:
    assert run("verify", "calm-otter-42").exit_code == 3
    result = run("verify", "http://127.0.0.1:9/r/calm-otter-42")
    assert result.exit_code == 3
    assert "no server is running at http://127.0.0.1:9: start one with samedeal serve" in result.stderr


@pytest.mark.parametrize("command", [["verify"], ["replay"], ["export", "--format", "txt"]])
def test_names_in_files_cannot_control_the_terminal(command: list[str], file: Path) -> None:
    replay = finished("corners")
    standings = tuple(structs.replace(standing, name="\x1b[2J\u202eeve") for standing in replay.standings)
    event = structs.replace(replay.entries[0].event, name="\x1b]0;owned\x07")
    forged = (structs.replace(replay.entries[0], event=event), *replay.entries[1:])
    written(file, structs.replace(replay, standings=standings))
    first = run(*command[:1], file, *command[1:])
    written(file, structs.replace(replay, entries=forged))
    for result in (first, run(*command[:1], file, *command[1:])):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", result.output)


# Files that are not replays.

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01"
GIF = b"GIF89a\x01\0\x01\0\x80"
ELF = b"\x7fELF\x02\x01\x01" + bytes(64)
OTHER_FILES = {
    "passwd": b"root:x:0:0:root:/root:/bin/bash\n",
    "number": b"42\n",
    "list.json": b"[1, 2]\n",
    "image.png": PNG,
    "image.gif": GIF,
    "image.svg": b'<?xml version="1.0"?>\n<svg/>\n',
    "program": ELF,
    "archive.gz": b"\x1f\x8b\x08\0",
    "zeros": bytes(100_000),
    "other.msgpack": b"\x81\xa1a\x01",
}


@pytest.fixture(params=OTHER_FILES)
def other_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_bytes(OTHER_FILES[path.name])
    return path


def test_verify_reports_a_file_that_is_not_a_replay(other_file: Path) -> None:
    says = "This is not a replay: the file has another format"
    assert outcome("verify", str(other_file)) == (5, "", f"samedeal: {other_file}: {says}\n")
    assert outcome("verify", "-", stdin=other_file.read_bytes()) == (5, "", f"samedeal: -: {says}\n")
    code, out, err = outcome("verify", "--json", str(other_file))
    assert (code, err) == (5, "")
    assert json.loads(out) == {"ok": False, "code": "bad-replay", "detail": f"{says}."}


@pytest.mark.parametrize("command", ["replay", "export"])
def test_other_commands_report_a_file_that_is_not_a_replay(command: str, other_file: Path) -> None:
    code, out, err = outcome(command, str(other_file))
    assert (code, out) == (5, "")
    assert err.startswith("samedeal: This is not a replay: the file has another format")


@pytest.mark.parametrize("command", ["verify", "replay", "export"])
def test_missing_files_and_directories_exit_with_2(command: str, tmp_path: Path) -> None:
    assert outcome(command, str(tmp_path)) == (2, "", f"samedeal: {tmp_path} is a directory, not a replay\n")
    for missing in ("nowhere.json", "no/where"):
        assert run(command, missing).exit_code == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "the file is empty\n"), (b'\n {"name": "same-deal"}', "Object contains unknown field `name`")],
    ids=["empty", "object"],
)
def test_file_without_the_fields_of_a_replay_is_reported(content: bytes, says: str, file: Path) -> None:
    file.write_bytes(content)
    code, out, err = outcome("verify", file)
    assert (code, out) == (5, "")
    assert err.startswith(f"samedeal: {file}: This is not a replay: {says}")
