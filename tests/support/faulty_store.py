"""A real Valkey with the options of the embedded store, an adjustable disk speed and an adjustable clock.

A library (knobs.c) adjusts them. It requires a C compiler.
"""

import asyncio
import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from samedeal_server.store import embedded

SOURCE = Path(__file__).with_name("knobs.c")


def compiled(folder: Path) -> Path | None:
    """Compile the library with the knobs. Return None without a C compiler."""
    compiler = shutil.which("cc")
    if not compiler:
        return None
    library = folder / "knobs.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return library


class Valkey:
    """A store process that can be killed and restarted on the same directory."""

    def __init__(self, folder: Path, library: Path | None = None, options: Sequence[str] = ()) -> None:
        """`options` are additional Valkey options, which override those of the embedded store."""
        folder.mkdir()
        self._folder, self._library, self._options = folder, library, options
        self._knobs = folder / "knobs"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder / 'socket'}"
        self.redis: Any = Redis.from_url(self.url, socket_timeout=10)  # its type hints are too wide
        self.turn()

    def turn(self, *, flush_ms: int = 0, ahead_ms: int = 0) -> None:
        """Set the duration of a flush and the clock offset, for this process and later ones."""
        with self._knobs.open("r+b" if self._knobs.exists() else "wb") as file:
            file.write(struct.pack("=qq", 1000 * flush_ms, ahead_ms))

    async def start(self) -> None:
        """Start the store and wait until it responds."""
        env = {**os.environ, "KNOBS": str(self._knobs)} | ({"LD_PRELOAD": str(self._library)} if self._library else {})
        place = ("--dir", str(self._folder), "--unixsocket", str(self._folder / "socket"))
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [embedded._binary(), *embedded._OPTIONS, *place, "--enable-debug-command", "local", *self._options],
                env=env,
                stdout=log,
                stderr=log,
            )
        while not await asyncio.to_thread(self._answers):
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
            await asyncio.sleep(0.01)

    def send(self, how: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(how)

    async def kill(self) -> None:
        """Kill the store."""
        self.send(signal.SIGKILL)
        assert self._process
        await asyncio.to_thread(self._process.wait)

    async def hung(self) -> None:
        """Wait until the store stops responding."""
        while await asyncio.to_thread(self._answers, 0.1):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)

    def forget(self) -> None:
        """Delete all stored data."""
        shutil.rmtree(self._folder / "appendonlydir")

    async def ask(self, *command: str | int | float) -> Any:
        return await asyncio.to_thread(self.redis.execute_command, *command)

    def _answers(self, within_s: float = 10) -> bool:
        try:
            with Redis.from_url(self.url, socket_timeout=within_s) as redis:
                return bool(redis.ping())
        except (RedisError, OSError):
            return False
