"""Makes backups of a store that is in use, and verifies backup files."""

import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final

from msgspec import Struct
from redis.asyncio.connection import parse_url

from samedeal.version import VERSION
from samedeal_server.operate.backups import backup_file
from samedeal_server.operate.backups.backup_file import DATA, KEYS, BackupError, Manifest, Say, private_store, progress
from samedeal_server.operate.backups.snapshot import snapshot
from samedeal_server.operate.backups.verification import Verified, verify_store
from samedeal_server.settings import Settings, existing_keys
from samedeal_server.store import schema
from samedeal_server.store.checks import used_master_key
from samedeal_server.store.connection import Store
from samedeal_server.store.embedded import EmbeddedStore

_DATED: Final = re.compile(r"samedeal-\d{8}T\d{6}Z\.tar\.gz")


class Report(Struct, frozen=True):
    """A verified backup."""

    file: str
    manifest: Manifest
    keys: int
    """How many keys the store had, including those that have expired."""
    verified: Verified


async def back_up(settings: Settings, target: Path, *, with_keys: bool, say: Say, keep: int | None = None) -> Report:
    """Save a snapshot of the store to a new file, or a new file with a date in an existing folder, and verify it.

    With `keep`, only the newest files with a date stay in the folder, unless the verification fails. Raises
    BackupError, StoreError, SettingsError, UnfitStoreError, Refused, OSError.
    """
    now = datetime.now(UTC)
    file = _file(target, now, is_folder=keep is not None)
    keys = {name: f"{key.hex()}\n".encode() for name, key in existing_keys(settings).items()} if with_keys else {}
    if with_keys and keys.keys() != set(KEYS):
        raise BackupError("The keys cannot be included: some are neither in the settings nor in the data directory.")
    with _unfinished(file) as output:
        with tempfile.TemporaryDirectory(prefix="samedeal-backup-") as name:
            async with _source(settings) as url:
                manifest = await _saved(url, Path(name) / DATA, now)
            backup_file.write(output, manifest, Path(name) / DATA, keys)
        report = await verify_file(settings, Path(output.name), say)
    if keep is not None and not report.verified.failures:
        _delete_all_but(keep, target)
    return Report(f"{file}", manifest, report.keys, report.verified)


async def verify_file(settings: Settings, file: Path, say: Say) -> Report:
    """Verify a backup file. Errors as in ``back_up``."""
    with tempfile.TemporaryDirectory(prefix="samedeal-verify-") as name:
        manifest, included = backup_file.extract(file, Path(name))
        master_key = included.get("master.key")
        key = bytes.fromhex(master_key.decode()) if master_key else existing_keys(settings).get("master.key")
        async with private_store(Path(name), manifest, say) as (store, keys):
            verified = await verify_store(store, key, progress(say, "Verified", "races"))
        return Report(f"{file}", manifest, keys, verified)


@asynccontextmanager
async def _source(settings: Settings) -> AsyncIterator[str]:
    """Yield the URL of the store in the settings. Runs an embedded store unless a server runs it already.

    Raises BackupError if the data directory has no store, StoreError.
    """
    if settings.redis_url:
        yield settings.redis_url
        return
    if not (settings.data_dir / "appendonlydir").exists():
        raise BackupError(f"There is no store in {settings.data_dir}; choose another with --data-dir or --redis.")
    async with EmbeddedStore(settings.data_dir, say=lambda text: None) as store:
        yield store.url


def _file(target: Path, now: datetime, *, is_folder: bool) -> Path:
    """Return the path of a new backup. Raises BackupError if it exists already or its folder is not writable."""
    if is_folder:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = target
    if target.is_dir():
        while (file := target / f"samedeal-{now:%Y%m%dT%H%M%SZ}.tar.gz").exists():
            now += timedelta(seconds=1)
    if file.exists():
        raise BackupError(f"{file} exists already.")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise BackupError(f"{file.parent} is not a writable folder.")
    return file


@contextmanager
def _unfinished(file: Path) -> Iterator[IO[bytes]]:
    """Yield a private file that gets its name at the end, or is deleted if that is not reached."""
    with tempfile.NamedTemporaryFile(prefix=f".{file.name}.", dir=file.parent, delete=False) as output:
        try:
            yield output
            Path(output.name).replace(file)
        finally:
            Path(output.name).unlink(missing_ok=True)


def _delete_all_but(newest: int, folder: Path) -> None:
    """Delete backups with a date in their names, except for the newest ones."""
    for old in sorted(path for path in folder.iterdir() if _DATED.fullmatch(path.name))[:-newest]:
        old.unlink()


async def _saved(url: str, data: Path, now: datetime) -> Manifest:
    """Save a snapshot of the store at a URL to a new file, and return the manifest of its backup."""
    if "+cluster://" in url:
        raise BackupError("A cluster cannot be saved at one moment: save each of its nodes with its own tools.")
    store = Store(url)
    try:
        product = (await store.describe()).partition(",")[0]
        found, master_key = await schema.found(store), await used_master_key(store)
    finally:
        await store.close()
    if found != f"{schema.SCHEMA}":
        raise BackupError(schema.mismatch(found))
    with data.open("xb") as output:
        async for chunk in snapshot(url):
            output.write(chunk)
        size = output.tell()
    return Manifest(
        version=VERSION,
        schema=schema.SCHEMA,
        time=now.isoformat(timespec="seconds"),
        store=product,
        database=int(parse_url(url).get("db", 0)),
        master_key=master_key,
        bytes=size,
        sha256=backup_file.digest(data),
    )
