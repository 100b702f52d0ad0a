"""A store that may be mistreated: a real Valkey over a directory, with the options of the embedded one, and two knobs.

The knobs (knobs.c) are how slow its disk is and how wrong its clock; without a C compiler there are none.
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
    """The library with the knobs, or None where there is no C compiler."""
    compiler = shutil.which("cc")
    if not compiler:
        return None
    library = folder / "knobs.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return library


class Valkey:
    """One store process. It can be killed and started over the same directory."""

    def __init__(self, folder: Path, library: Path | None = None, options: Sequence[str] = ()) -> None:
        """`options` are Valkey's, beyond those of the embedded store; the last one of a name holds."""
        folder.mkdir()
        self._folder, self._library, self._options = folder, library, options
        self._knobs = folder / "knobs"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder / 'socket'}"
        self.redis: Any = Redis.from_url(self.url, socket_timeout=10)  # its types are wider than its answers
        self.turn()

    def turn(self, *, flush_ms: int = 0, ahead_ms: int = 0) -> None:
        """Sets the knobs, for this process and the next: what a flush takes, and how far the clock is ahead."""
        with self._knobs.open("r+b" if self._knobs.exists() else "wb") as file:
            file.write(struct.pack("=qq", 1000 * flush_ms, ahead_ms))

    async def start(self) -> None:
        """Returns when it answers."""
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
        """As hard as can be."""
        self.send(signal.SIGKILL)
        assert self._process
        await asyncio.to_thread(self._process.wait)

    async def hung(self) -> None:
        """Returns when it does not answer for a while."""
        while await asyncio.to_thread(self._answers, 0.1):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)

    def forget(self) -> None:
        """Takes away all that is on its disk."""
        shutil.rmtree(self._folder / "appendonlydir")

    async def ask(self, *command: str | int | float) -> Any:
        return await asyncio.to_thread(self.redis.execute_command, *command)

    def _answers(self, within_s: float = 10) -> bool:
        try:
            with Redis.from_url(self.url, socket_timeout=within_s) as redis:
                return bool(redis.ping())
        except (RedisError, OSError):
            return False
