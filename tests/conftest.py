"""What tests share: a real store, one for each worker, emptied for each test that asks for it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis


@pytest.fixture(scope="session", autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and nothing that one starts, reads what the person who runs it has configured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running store; it ends with its input, so also when the tests are killed."""
    yield from kept_store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def redis_url(store_url: str) -> str:
    """The store, empty."""
    with Redis.from_url(store_url) as redis:
        redis.flushall()
        redis.function_flush()
        redis.script_flush()
    return store_url


def kept_store(data_dir: Path) -> Iterator[str]:
    """Run a store in a process of its own; answer with its address, once."""
    command = [sys.executable, "-m", "samedeal_server.embedded", str(data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        yield keeper.stdout.readline().strip()
        keeper.stdin.close()
        assert keeper.wait(10) == 0
