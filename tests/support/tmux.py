"""Terminals in tmux, with the program in them."""

import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self
from uuid import uuid4

import pytest

from support import program
from support.servers import Reachable
from support.waiting import LIMIT_S

tmux_only = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: there is no terminal")
SAMEDEAL = shlex.join(program.SAMEDEAL)
"""The program, as it is typed."""


class Terminal:
    """A terminal in tmux."""

    def __init__(self, environment: dict[str, str], width: int = 80, height: int = 24) -> None:
        self._tmux = ["tmux", "-L", f"samedeal-test-{uuid4()}", "-f", "/dev/null"]
        self._run("new-session", "-d", "-x", str(width), "-y", str(height), "-s", "it", "sh", environment=environment)
        self.type("PS1='$ '; clear")

    def _run(self, *words: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run([*self._tmux, *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    def keys(self, *keys: str) -> None:
        for key in keys:
            self._run("send-keys", "-t", "it", "--", key)

    def type(self, text: str) -> None:
        self._run("send-keys", "-t", "it", "-l", text)
        self.keys("Enter")

    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-t", "it")

    def colors(self) -> str:
        return self._run("capture-pane", "-p", "-e", "-t", "it")

    def has_cursor(self) -> bool:
        return self._run("display-message", "-p", "-t", "it", "#{cursor_flag}") == "1\n"

    def resize(self, width: int, height: int) -> None:
        self._run("resize-window", "-t", "it", "-x", str(width), "-y", str(height))

    def until(self, wanted: str) -> str:
        end = time.monotonic() + LIMIT_S
        while not re.search(wanted, screen := self.screen()):
            assert time.monotonic() < end, f"no {wanted!r} on\n{screen}"
            time.sleep(0.1)
        return screen

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


def environment_at(server: Reachable, folder: Path) -> dict[str, str]:
    """Return the environment of the program at a terminal: its own home, the user's name, and the server."""
    kept = ("PATH", "PYTHONPATH")
    inherited = {name: value for name, value in os.environ.items() if name in kept or name.startswith("COVERAGE_")}
    folders = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("STATE", "CONFIG", "DATA", "CACHE")}
    home = {"HOME": str(folder), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"}
    return {**inherited, **home, **folders, "SAMEDEAL_SERVER": server.url, "SAMEDEAL_NAME": "zo"}
