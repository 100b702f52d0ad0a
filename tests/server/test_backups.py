"""Backups of real stores: what is saved, verified, refused and restored."""

import json
import os
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from conftest import kept_store
from samedeal_server.backups.backup_file import DATA, MANIFEST
from samedeal_server.store.checks import fingerprint
from samedeal_server.store.connection import Store, UnfitStoreError
from samedeal_server.store.copying import UNFINISHED
from samedeal_server.store.embedded import EmbeddedStore
from samedeal_server.store.schema import KEY as SCHEMA_KEY
from samedeal_server.store.schema import SCHEMA, check_schema
from support.rooms import opened
from support.saved_store import NUMBERS, saved
from support.servers import FINGERPRINT, MASTER_KEY
from support.stores import KEY, process, run

pytestmark = pytest.mark.tier(2)

Content = dict[bytes, Any]


def samedeal(*words: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the keys of the saved stores, and check its exit code."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SAMEDEAL_", "REDIS_URL"))}
    done = subprocess.run(
        [sys.executable, "-m", "samedeal_cli.main", *map(str, words)],
        env=clean | {"SAMEDEAL_MASTER_KEY": MASTER_KEY, "XDG_DATA_HOME": os.devnull} | environment,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


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


@pytest.fixture(params=NUMBERS)
def redis(request: pytest.FixtureRequest, redis_url: str) -> Redis:
    """A store with finished races in every stored format, and open and running ones."""
    saved(request.param).load(redis_url)
    redis = Redis.from_url(redis_url)
    redis.set("samedeal:master-key", FINGERPRINT)
    return redis


@pytest.fixture
def newest(redis_url: str) -> Redis:
    """The newest of the saved stores."""
    saved(NUMBERS[-1]).load(redis_url)
    return Redis.from_url(redis_url)


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
    replays = sum(key.startswith(b"replay:") for key in before)
    logs = {key.split(b"}")[0] for key in before if key.startswith(b"race:{")}
    assert (report["keys"], report["replays"], report["failures"]) == (len(before), replays, [])
    assert report["live_races"] == len({race for race in logs if b"replay" + race[4:] + b"}" not in before}) > 0
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


def test_a_backup_is_restored_in_an_empty_store_only(newest: Redis, redis_url: str, tmp_path: Path) -> None:
    before, file = content(newest), tmp_path / "backup.tar.gz"
    samedeal("backup", file, REDIS_URL=redis_url)
    assert "not empty" in samedeal("restore", file, REDIS_URL=redis_url, code=1).stderr
    assert "FLUSHDB" in samedeal("restore", file, "--replace", REDIS_URL=redis_url, code=1).stderr
    assert content(newest) == before
    newest.flushall()
    samedeal("restore", file, REDIS_URL=redis_url)
    assert content(newest) == before


def test_keys_whose_time_has_passed_are_left_out(newest: Redis, redis_url: str, tmp_path: Path) -> None:
    before, file, px, keys = content(newest), tmp_path / "backup.tar.gz", 500, 0
    while keys <= len(before):  # until the backup takes less time than the key has
        px *= 2
        file.unlink(missing_ok=True)
        newest.set("brief", "soon over", px=px)
        keys = json.loads(samedeal("backup", file, "--json", REDIS_URL=redis_url).stdout)["keys"]
    while newest.exists("brief"):
        time.sleep(0.1)
    newest.flushall()
    assert "The other keys (1) were left out" in samedeal("restore", file, REDIS_URL=redis_url).stdout
    assert content(newest) == before


def test_another_database_of_the_store_is_restored(newest: Redis, redis_url: str, tmp_path: Path) -> None:
    before, file = content(newest), tmp_path / "backup.tar.gz"
    newest.swapdb(0, 3)
    samedeal("backup", file, "--redis", f"{redis_url}?db=3")
    newest.flushall()
    samedeal("restore", file, "--redis", redis_url)
    assert content(newest) == before


async def test_no_server_starts_on_half_of_a_backup(newest: Redis, redis_url: str) -> None:
    newest.set(SCHEMA_KEY, UNFINISHED)
    store = Store(redis_url)
    with pytest.raises(UnfitStoreError, match=UNFINISHED):
        await check_schema(store)
    await store.close()


@pytest.mark.parametrize("damage", [b"\x00", b"{}", b""])
def test_a_damaged_replay_is_named(damage: bytes, newest: Redis, redis_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "samedeal-20200101T000000Z.tar.gz").touch()
    race_id = saved(NUMBERS[-1]).races["match"]
    key = f"replay:{{{race_id}}}"
    whole: Any = newest.get(key)
    newest.set(key, damage + whole[len(damage) :] if damage == b"\x00" else damage)
    done = samedeal("backup", folder, "--keep", 1, "--redis", redis_url, code=5)
    assert f"samedeal: {race_id}: " in done.stderr
    assert "1 race cannot be verified" in done.stderr
    assert len(list(folder.iterdir())) == 2, "an earlier backup was deleted"
    newest.set(key, whole)
    samedeal("backup", folder, "--keep", 1, "--redis", redis_url)
    assert len(list(folder.iterdir())) == 1


def test_a_replay_in_the_place_of_another_is_named(newest: Redis, redis_url: str, tmp_path: Path) -> None:
    races = saved(NUMBERS[-1]).races
    whole: Any = newest.get(f"replay:{{{races['match']}}}")
    newest.set(f"replay:{{{races['unlisted']}}}", whole)
    done = samedeal("backup", tmp_path / "backup", "--redis", redis_url, code=5)
    assert f"samedeal: {races['unlisted']}: it is the replay of {races['match']}" in done.stderr


def test_a_log_that_disagrees_with_its_head_is_named(newest: Redis, redis_url: str, tmp_path: Path) -> None:
    races = saved(NUMBERS[-1]).races
    newest.xadd(f"race:{{{races['running']}}}:log", {"e": "[0,0,0]", "h": "0"}, id="999999-0")
    newest.hincrby(f"race:{{{races['open']}}}:head", "n", 1)
    done = samedeal("backup", tmp_path / "backup", "--redis", redis_url, code=5)
    assert f"samedeal: {races['running']}: " in done.stderr
    assert f"samedeal: {races['open']}: " in done.stderr
    assert "2 races cannot be verified" in done.stderr


async def test_logs_are_checked_against_the_rules_with_the_master_key(redis_url: str, tmp_path: Path) -> None:
    async with process(redis_url) as parts:
        room = await opened(parts)
        await run(room)
    with Redis.from_url(redis_url) as redis:
        key = f"race:{{{room.race.id}}}:log"
        lines: Any = redis.xrange(key)
        redis.delete(key)
        for id_, fields in lines:
            fields[b"e"] = fields[b"e"].replace(b"Name 1", b"Name 3")
            redis.xadd(key, fields, id=id_)
        # Stores of the first versions do not have the fingerprint.
        samedeal("backup", tmp_path / "first", "--redis", redis_url, SAMEDEAL_MASTER_KEY=KEY.hex(), code=5)
        redis.set("samedeal:master-key", fingerprint(KEY))
    for number, key in enumerate(("", MASTER_KEY)):
        done = samedeal("backup", tmp_path / f"{number}", "--redis", redis_url, SAMEDEAL_MASTER_KEY=key)
        assert "not checked against the rules" in done.stderr
    done = samedeal("backup", tmp_path / "checked", "--redis", redis_url, SAMEDEAL_MASTER_KEY=KEY.hex(), code=5)
    assert room.race.id in done.stderr


def test_damaged_files_are_refused(newest: Redis, redis_url: str, tmp_path: Path) -> None:
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
    wrong_count = replaced(file, MANIFEST, lambda data: data.replace(b'"replays": ', b'"replays": 9'))
    assert "replays instead of 9" in samedeal("backup", "--verify", wrong_count, code=1).stderr


def test_a_backup_with_a_newer_schema_names_the_version_to_install(
    newest: Redis, redis_url: str, tmp_path: Path
) -> None:
    newest.set(SCHEMA_KEY, SCHEMA + 1)
    file = tmp_path / "backup"
    samedeal("backup", file, "--redis", redis_url)
    newer = replaced(file, MANIFEST, lambda data: data.replace(b'"version": "', b'"version": "9'))
    for command in (("backup", "--verify"), ("restore", "--data-dir", tmp_path / "data")):
        done = samedeal(*command, newer, code=1)
        assert f"schema {SCHEMA + 1}" in done.stderr
        assert "install version 9" in done.stderr
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
    assert "no store" in samedeal("backup", file, "--data-dir", tmp_path, code=1).stderr
    with Redis.from_url(redis_url) as redis:
        redis.set(SCHEMA_KEY, UNFINISHED)
        assert UNFINISHED in samedeal("backup", file, "--redis", redis_url, code=1).stderr
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
