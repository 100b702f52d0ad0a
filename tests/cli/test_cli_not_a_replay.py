"""Files that are not replays are reported in plain words."""

import json
from pathlib import Path

import pytest

from support.offline_cli import outcome

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
def test_directory_exits_with_2(command: str, tmp_path: Path) -> None:
    assert outcome(command, str(tmp_path)) == (2, "", f"samedeal: {tmp_path} is a directory, not a replay\n")


def test_empty_file_is_reported(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.touch()
    says = "This is not a replay: the file is empty"
    assert outcome("verify", str(empty)) == (5, "", f"samedeal: {empty}: {says}\n")


def test_object_without_replay_fields_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    file.write_bytes(b'\n {"name": "same-deal"}')
    code, _, err = outcome("verify", str(file))
    assert code == 5
    assert "This is not a replay: Object contains unknown field `name`" in err
