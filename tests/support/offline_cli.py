"""Runs commands in this process, without a network."""

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from samedeal.replays.replay import Replay
from samedeal.wire import codec
from samedeal_cli.main import main
from support.finished_races import finished


def refuse_connections(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    """Let all connections fail, and use an empty state directory."""

    def refuse(*_: Any) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.delenv("SAMEDEAL_SERVER", raising=False)


def race_file(folder: Path) -> Path:
    """Write the replay of a finished race of Corners."""
    return written(folder / "race.json", finished("corners"))


@dataclass(frozen=True)
class Result:
    """The exit code and output of a command."""

    exit_code: int
    stdout_bytes: bytes
    stderr: str

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode()

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def run(*arguments: object, stdin: bytes = b"") -> Result:
    with CliRunner().isolation(stdin) as (stdout, stderr, _):
        code = main.exit_code([str(argument) for argument in arguments])
        return Result(code, stdout.getvalue(), stderr.getvalue().decode())


def written(path: Path, replay: Replay) -> Path:
    path.write_bytes(codec.encode(replay, "json"))
    return path
