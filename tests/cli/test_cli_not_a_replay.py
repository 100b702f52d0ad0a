"""Files that are not replays: the commands that read a replay say so in plain words."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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


def said(*args: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """What a command ends with and prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "samedeal_cli.main", *args], input=stdin, capture_output=True, check=False
    )
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def test_verify_says_that_another_file_is_not_a_replay(other_file: Path) -> None:
    says = "This is not a replay, but a file of another kind"
    assert said("verify", str(other_file)) == (5, "", f"samedeal: {other_file}: {says}\n")
    assert said("verify", "-", stdin=other_file.read_bytes()) == (5, "", f"samedeal: -: {says}\n")
    code, out, err = said("verify", "--json", str(other_file))
    assert (code, err) == (5, "")
    assert json.loads(out) == {"ok": False, "code": "bad-replay", "detail": f"{says}."}


@pytest.mark.parametrize("command", ["replay", "export"])
def test_commands_that_show_a_replay_say_so_too(command: str, other_file: Path) -> None:
    code, out, err = said(command, str(other_file))
    assert (code, out) == (5, "")
    assert err.startswith("samedeal: This is not a replay, but a file of another kind")


@pytest.mark.parametrize("command", ["verify", "replay", "export"])
def test_a_directory_is_a_wrong_command_line(command: str, tmp_path: Path) -> None:
    assert said(command, str(tmp_path)) == (2, "", f"samedeal: {tmp_path} is a directory, not a replay\n")


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.touch()
    says = "This is not a replay: the file is empty"
    assert said("verify", str(empty)) == (5, "", f"samedeal: {empty}: {says}\n")


def test_an_object_without_the_fields_of_a_replay_is_said_to_be_none(tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    file.write_bytes(b'\n {"name": "same-deal"}')
    code, _, err = said("verify", str(file))
    assert code == 5
    assert "This is not a replay: Object contains unknown field `name`" in err
