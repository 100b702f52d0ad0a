"""Runs commands in this process, without a network."""

from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from samedeal import codec
from samedeal.replays.replay import Replay
from samedeal_cli.main import main


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


def outcome(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command and return its exit code, standard output and standard error."""
    result = run(*arguments, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr


def printed(*arguments: object, code: int = 0) -> tuple[str, str]:
    """Run a command, check its exit code, and return its standard output and standard error."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def said(*arguments: object, code: int = 0) -> tuple[list[str], str]:
    """Run a command, check its exit code, and return its output lines and standard error."""
    out, err = printed(*arguments, code=code)
    return out.splitlines(), err
