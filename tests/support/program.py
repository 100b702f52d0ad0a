"""The client's program in processes of its own, with pipes."""

import os
import subprocess
import sys
from collections.abc import Mapping

from support.waiting import LIMIT_S

SAMEDEAL = (sys.executable, "-m", "samedeal_cli.main")


def without_settings() -> dict[str, str]:
    """Return the environment without settings of clients and servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SAMEDEAL_", "REDIS_URL"))}


def ran(
    *words: object, typed: str = "", code: int = 0, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end with this input, and check its exit code."""
    command = [*SAMEDEAL, *map(str, words)]
    done = subprocess.run(command, input=typed, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def started(*command: object, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start a program that can be typed in."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*map(str, command)], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ended(process: "subprocess.Popen[str]", code: int = 0) -> str:
    """Wait for the end of a program, check its exit code, and return all its output."""
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == code, out + err
    return out + err
