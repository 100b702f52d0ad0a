"""Backups of real stores: what is saved, verified, refused and restored."""

import json
import os
import stat
import subprocess
import tarfile
import time
from collections.abc import AsyncIterator, Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from redis import Redis

from conftest import kept_store
from samedeal_server.operate.backups.backup_file import DATA, MANIFEST
from samedeal_server.store.checks import check_master_key, fingerprint
from samedeal_server.store.connection import Store, UnfitStoreError
from samedeal_server.store.embedded import EmbeddedStore
from samedeal_server.store.guest_tokens import Guests
from samedeal_server.store.schema import KEY as SCHEMA_KEY
from samedeal_server.store.schema import SCHEMA, UNFINISHED, check_schema
from support.archived_races import archive
from support.program import ran, without_settings
from support.rooms import opened
from support.stores import KEY, process, run, seat_for

pytestmark = pytest.mark.tier(3)

NOBODY = "redis://127.0.0.1:1"
Content = dict[bytes, Any]
MASTER_KEY, FINGERPRINT = KEY.hex(), fingerprint(KEY)


def samedeal(*words: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the master key of the store, and check its exit code."""
    own = {"SAMEDEAL_MASTER_KEY": MASTER_KEY, "XDG_DATA_HOME": os.devnull}
    return ran(*words, code=code, environment=without_settings() | own | environment)


def content(redis: Redis) -> Content:
    """Every key of a store with its value and the time when it expires."""
    store: Any = redis
    read: dict[bytes, Callable[[bytes], Any]] = {
        b"string": store.get,
        b"hash": store.hgetall,
        b"set": store.smembers,
        b"stream": store.xrange,
        b"zset": lambda key: store.zrange(key, 0, -1, withscores=True),
    }
    return {key: (read[store.type(key)](key), store.pexpiretime(key)) for key in store.scan_iter()}


class Used(NamedTuple):
    """A store that a server has used, and the ids of its live races."""

    redis: Redis
    waiting: str
    running: str


@pytest.fixture
async def used(redis_url: str) -> AsyncIterator[Used]:
    """A store with every kind of key: of finished races, a withdrawn, an open and a running one, and guests."""
    async with process(redis_url) as parts:
        await check_schema(parts.store)
        await check_master_key(parts.store, KEY)
        await parts.archive.signing_keys.publish(1)
        await archive(parts, "listed", 1, 2)
        await archive(parts, "unlisted", 1, 2, unlisted=True)
        await archive(parts, "daily", 1, 2, daily=True)
        await archive(parts, "withdrawn", 2, 3)
        await parts.archive.withdrawals.withdraw("withdrawn")
        await Guests(parts.store, days=1).create("ada")
        waiting, running = await opened(parts), await opened(parts)
        await parts.registry.live.bar(waiting.race.id, "player-3")
        await waiting.submit(seat_for(1))
        await run(running)
    with Redis.from_url(redis_url) as redis:
        yield Used(redis, waiting.race.id, running.race.id)


@pytest.fixture
def redis(used: Used) -> Redis:
    return used.redis


def replaced(file: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """Return a copy of a backup with a changed member."""
    changed = file.with_name(f"changed-{file.name}")
    with tarfile.open(file) as source, tarfile.open(changed, "w:gz") as target:
        for member in source:
            extracted = source.extractfile(member)
            assert extracted
            data = change(extracted.read()) if member.name == name else extracted.read()
            member.size = len(data)
            target.addfile(member, BytesIO(data))
    return changed


def test_a_backup_has_everything_and_is_restored_in_a_data_directory(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    redis.zadd("large", {f"member-{number}": number / 7 for number in range(1234)})
    redis.set("expires", "later", px=10**9)
    before, file = content(redis), tmp_path / "backup.tar.gz"
    done = samedeal("backup", file, "--redis", redis_url, "--json")
    report = json.loads(done.stdout)
    assert {redis.type(key) for key in before} == {b"string", b"hash", b"set", b"stream", b"zset"}
    assert (report["keys"], report["replays"], report["failures"]) == (len(before), 4, [])
    assert report["live_races"] == 2
    assert not report["without_rules"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        assert archive.getnames() == [MANIFEST, DATA]
    assert json.loads(samedeal("backup", "--verify", file, "--json").stdout) == report
    restored = json.loads(samedeal("restore", file, "--data-dir", tmp_path / "data", "--json").stdout)
    assert restored == {
        "target": f"{tmp_path / 'data'}",
        "keys": len(before),
        "expired": 0,
        "replaced": None,
        "missing_master_key": None,
    }
    for url in kept_store(tmp_path / "data"):
        with Redis.from_url(url) as other:
            assert content(other) == before


def test_a_backup_is_restored_in_an_empty_store_only(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    before, file = content(redis), tmp_path / "backup.tar.gz"
    samedeal("backup", file, REDIS_URL=redis_url)
    assert "not empty" in samedeal("restore", file, REDIS_URL=redis_url, code=1).stderr
    assert "FLUSHDB" in samedeal("restore", file, "--replace", REDIS_URL=redis_url, code=1).stderr
    assert content(redis) == before
    redis.flushall()
    samedeal("restore", file, REDIS_URL=redis_url)
    assert content(redis) == before


def test_keys_whose_time_has_passed_are_left_out(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    before, file, px, keys = content(redis), tmp_path / "backup.tar.gz", 500, 0
    while keys <= len(before):  # until the backup takes less time than the key has
        px *= 2
        file.unlink(missing_ok=True)
        redis.set("brief", "soon over", px=px)
        keys = json.loads(samedeal("backup", file, "--json", REDIS_URL=redis_url).stdout)["keys"]
    while redis.exists("brief"):
        time.sleep(0.1)
    redis.flushall()
    assert "The other keys (1) were left out" in samedeal("restore", file, REDIS_URL=redis_url).stdout
    assert content(redis) == before


def test_another_database_of_the_store_is_restored(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    before, file = content(redis), tmp_path / "backup.tar.gz"
    redis.swapdb(0, 3)
    samedeal("backup", file, "--redis", f"{redis_url}?db=3")
    redis.flushall()
    samedeal("restore", file, "--redis", redis_url)
    assert content(redis) == before


async def test_no_server_starts_on_half_of_a_backup(redis: Redis, redis_url: str) -> None:
    redis.set(SCHEMA_KEY, UNFINISHED)
    store = Store(redis_url)
    with pytest.raises(UnfitStoreError, match="restore into the store was interrupted"):
        await check_schema(store)
    await store.close()


@pytest.mark.parametrize("damage", [b"\x00", b"{}", b""])
def test_a_damaged_replay_is_named(damage: bytes, redis: Redis, redis_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "samedeal-20200101T000000Z.tar.gz").touch()
    key = "replay:{listed}"
    whole: Any = redis.get(key)
    redis.set(key, damage + whole[len(damage) :] if damage == b"\x00" else damage)
    done = samedeal("backup", folder, "--keep", 1, "--redis", redis_url, code=5)
    assert "samedeal: listed: " in done.stderr
    assert "1 race cannot be verified" in done.stderr
    assert len(list(folder.iterdir())) == 2, "an earlier backup was deleted"
    redis.set(key, whole)
    samedeal("backup", folder, "--keep", 1, "--redis", redis_url)
    assert len(list(folder.iterdir())) == 1


def test_a_replay_in_the_place_of_another_is_named(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    whole: Any = redis.get("replay:{listed}")
    redis.set("replay:{unlisted}", whole)
    done = samedeal("backup", tmp_path / "backup", "--redis", redis_url, code=5)
    assert "samedeal: unlisted: it is the replay of listed" in done.stderr


def test_a_log_that_disagrees_with_its_head_is_named(used: Used, redis_url: str, tmp_path: Path) -> None:
    used.redis.xadd(f"race:{{{used.running}}}:log", {"e": "[0,0,0]", "h": "0"}, id="999999-0")
    used.redis.hincrby(f"race:{{{used.waiting}}}:head", "n", 1)
    done = samedeal("backup", tmp_path / "backup", "--redis", redis_url, code=5)
    assert f"samedeal: {used.running}: " in done.stderr
    assert f"samedeal: {used.waiting}: " in done.stderr
    assert "2 races cannot be verified" in done.stderr


def test_logs_are_checked_against_the_rules_with_the_master_key(used: Used, redis_url: str, tmp_path: Path) -> None:
    key = f"race:{{{used.running}}}:log"
    lines: Any = used.redis.xrange(key)
    used.redis.delete(key)
    for id_, fields in lines:
        fields[b"e"] = fields[b"e"].replace(b"Name 1", b"Name 3")
        used.redis.xadd(key, fields, id=id_)
    for number, key in enumerate(("", "a5" * 32)):
        done = samedeal("backup", tmp_path / f"{number}", "--redis", redis_url, SAMEDEAL_MASTER_KEY=key)
        assert "not checked against the rules" in done.stderr
    assert used.running in samedeal("backup", tmp_path / "checked", "--redis", redis_url, code=5).stderr


def test_damaged_files_are_refused(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    samedeal("backup", file, "--redis", redis_url)
    whole = file.read_bytes()
    manifest_only = tmp_path / "manifest-only"
    with tarfile.open(file) as source, tarfile.open(manifest_only, "w:gz") as target:
        target.addfile(source.getmember(MANIFEST), source.extractfile(MANIFEST))
    (tmp_path / "text").write_text("a text")
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    middle = len(whole) // 2
    (tmp_path / "flipped").write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    files = [
        *(tmp_path / name for name in ("text", "cut", "flipped", "missing", "manifest-only")),
        replaced(file, DATA, lambda data: data[:-20] + bytes(20)),
    ]
    for damaged in files:
        for command in (("backup", "--verify"), ("restore", "--data-dir", tmp_path / "data")):
            assert samedeal(*command, damaged, code=1).stderr.startswith("samedeal: ")
    assert not (tmp_path / "data" / "appendonlydir").exists()


@pytest.mark.parametrize(
    ("schema", "advice"), [(SCHEMA - 1, "with the version that made it"), (SCHEMA + 1, "install that version")]
)
def test_a_backup_with_another_schema_is_refused(
    schema: int, advice: str, redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    samedeal("backup", file, "--redis", redis_url)
    stated = f'"schema": {SCHEMA}'.encode()
    other = replaced(file, MANIFEST, lambda data: data.replace(stated, f'"schema": {schema}'.encode()))
    redis.set(SCHEMA_KEY, schema)
    before = content(redis)
    assert f"schema '{schema}'" in samedeal("backup", tmp_path / "other", "--redis", redis_url, code=1).stderr
    assert content(redis) == before
    redis.flushall()
    for command in (
        ("backup", "--verify"),
        ("restore", "--data-dir", tmp_path / "data"),
        ("restore", "--redis", redis_url),
    ):
        done = samedeal(*command, other, code=1)
        assert f"schema {schema} of version" in done.stderr
        assert advice in done.stderr
    assert content(redis) == {}
    assert not (tmp_path / "data").exists()


def test_keys_are_included_only_on_request(tmp_path: Path) -> None:
    data, file, other = tmp_path / "data", tmp_path / "backup", tmp_path / "other"
    for url in kept_store(data):
        with Redis.from_url(url) as redis:
            redis.set(SCHEMA_KEY, SCHEMA)
            redis.set("samedeal:master-key", FINGERPRINT)
        assert (
            "keys" in samedeal("backup", file, "--with-keys", "--data-dir", data, SAMEDEAL_MASTER_KEY="", code=1).stderr
        )
        for name, key in (("master.key", MASTER_KEY), ("signing.key", "ab" * 32)):
            (data / name).write_text(key)
            (data / name).chmod(0o600)
        samedeal("backup", tmp_path / "without", "--data-dir", data, SAMEDEAL_MASTER_KEY="")
        samedeal("backup", file, "--with-keys", "--data-dir", data, SAMEDEAL_MASTER_KEY="")
        assert (
            "A server is using"
            in samedeal("restore", file, "--data-dir", data, "--replace", SAMEDEAL_MASTER_KEY="", code=1).stderr
        )
    done = samedeal("restore", tmp_path / "without", "--data-dir", other, SAMEDEAL_MASTER_KEY="")
    assert FINGERPRINT in done.stderr
    assert not (other / "master.key").exists()
    assert "--replace" in samedeal("restore", file, "--data-dir", other, SAMEDEAL_MASTER_KEY="", code=1).stderr
    (other / "restoring-before").mkdir()  # from a restore that was killed
    (other / "restoring-before" / "data").touch()
    done = samedeal("restore", file, "--data-dir", other, "--replace", SAMEDEAL_MASTER_KEY="")
    assert FINGERPRINT not in done.stderr
    assert (other / "master.key").read_text().strip() == MASTER_KEY
    assert stat.S_IMODE((other / "signing.key").stat().st_mode) == 0o600
    assert len(list(other.glob("replaced-*/appendonlydir"))) == 1
    assert not list(other.glob("restoring-*"))


def test_what_cannot_be_saved_is_refused(redis_url: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    cluster = samedeal("backup", file, "--redis", "redis+cluster://127.0.0.1:1", code=1)
    assert "cluster" in cluster.stderr
    missing = tmp_path / "missing"
    assert f"{missing} is not a writable" in samedeal("backup", missing / "file", "--redis", NOBODY, code=1).stderr
    assert "no store" in samedeal("backup", file, "--data-dir", tmp_path, code=1).stderr
    with Redis.from_url(redis_url) as redis:
        redis.set(SCHEMA_KEY, UNFINISHED)
        assert "restore into the store was interrupted" in samedeal("backup", file, "--redis", redis_url, code=1).stderr
        redis.set(SCHEMA_KEY, SCHEMA)
        redis.execute_command("ACL", "SETUSER", "default", "-sync")
        try:
            assert "sync" in samedeal("backup", file, "--redis", redis_url, code=1).stderr
        finally:
            redis.execute_command("ACL", "SETUSER", "default", "+@all")
    assert not list(tmp_path.iterdir())
    file.touch()
    assert "exists already" in samedeal("backup", file, "--redis", redis_url, code=1).stderr


async def test_a_backup_of_a_store_that_is_not_running_starts_it(tmp_path: Path) -> None:
    async with EmbeddedStore(tmp_path / "data") as store:
        with Redis.from_url(store.url) as redis:
            redis.set(SCHEMA_KEY, SCHEMA)
    report = json.loads(samedeal("backup", tmp_path / "backup", "--data-dir", tmp_path / "data", "--json").stdout)
    assert (report["keys"], report["schema"]) == (1, SCHEMA)
