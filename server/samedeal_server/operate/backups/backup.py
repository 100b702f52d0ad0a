"""Makes backups of a store that is in use, and verifies backup files."""

import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from samedeal.version import VERSION
from samedeal_server.operate.backups import backup_file
from samedeal_server.operate.backups.backup_file import BackupError, Manifest, progress
from samedeal_server.operate.backups.private_store import private_store
from samedeal_server.operate.backups.store_verification import Verified, verify_store
from samedeal_server.settings import Settings, existing_keys
from samedeal_server.store import inventory
from samedeal_server.store.connection import Store
from samedeal_server.store.embedded import EmbeddedStore
from samedeal_server.store.schema import SCHEMA, mismatch
from samedeal_server.store.snapshot import snapshot

Say = Callable[[str], object]
_DATED: Final = re.compile(r"samedeal-\d{8}T\d{6}Z\.tar\.gz")


class Report(Struct, frozen=True):
    """A verified backup."""

    file: str
    manifest: Manifest
    verified: Verified


async def back_up(settings: Settings, target: Path, *, with_keys: bool, say: Say, keep: int | None = None) -> Report:
    """Save a snapshot of the store to a new file, or a new file with a date in an existing folder, and verify it.

    With `keep`, only the newest files with a date stay in the folder, unless the verification fails. Raises
    BackupError, SnapshotError, StoreError, SettingsError, Refused, OSError.
    """
    now = datetime.now(UTC)
    file = _file(target, now, is_folder=keep is not None)
    keys = existing_keys(settings)
    if with_keys and keys.keys() != set(backup_file.KEYS):
        raise BackupError("The keys cannot be included: some are neither in the settings nor in the data directory.")
    with tempfile.TemporaryDirectory(prefix="samedeal-backup-") as name:
        data = Path(name) / backup_file.DATA
        async with source(settings, say) as url:
            product = (await _summary(url)).product
            digest = await _save(url, data)
        size, database = data.stat().st_size, _database(url)
        # A hard link, because the store moves its file.
        loaded = data.with_suffix(".loaded")
        loaded.hardlink_to(data)
        async with private_store(loaded, Path(name) / "store", database, say) as store:
            about = await inventory.summary(store)
            if about.schema != f"{SCHEMA}":
                raise BackupError(mismatch(about.schema))
            verified = await verify_store(store, keys.get("master.key"), progress(say, "Verified", "races"))
        manifest = Manifest(
            version=VERSION,
            schema=SCHEMA,
            time=now.isoformat(timespec="seconds"),
            store=product,
            database=database,
            master_key=about.master_key,
            bytes=size,
            sha256=digest,
            keys=about.loaded + about.expired,
            replays=verified.replays,
            live_races=verified.live_races,
        )
        included = {key: f"{value.hex()}\n".encode() for key, value in keys.items()} if with_keys else {}
        _write(file, manifest, data, included)
        _read_back(file)
    if keep is not None and not verified.failures:
        _delete_all_but(keep, target)
    return Report(f"{file}", manifest, verified)


async def verify_file(settings: Settings, file: Path, say: Say) -> Report:
    """Verify a backup file as after writing it. Errors as in ``back_up``."""
    with tempfile.TemporaryDirectory(prefix="samedeal-verify-") as name:
        folder = Path(name)
        backup_file.check_schema(backup_file.read_manifest(file))
        manifest, data, keys = backup_file.extract(file, folder)
        async with private_store(data, folder / "store", manifest.database, say) as store:
            about = await inventory.summary(store)
            master_key = keys["master.key"].decode() if "master.key" in keys else None
            own = bytes.fromhex(master_key) if master_key else existing_keys(settings).get("master.key")
            verified = await verify_store(store, own, progress(say, "Verified", "races"))
        found = about.loaded + about.expired
        if found != manifest.keys:
            raise BackupError(f"{file} is damaged: it has {found} keys instead of {manifest.keys}.")
        if not about.expired and verified.replays != manifest.replays:
            raise BackupError(f"{file} is damaged: it has {verified.replays} replays instead of {manifest.replays}.")
        return Report(f"{file}", manifest, verified)


@asynccontextmanager
async def source(settings: Settings, say: Say) -> AsyncIterator[str]:
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


def _delete_all_but(newest: int, folder: Path) -> None:
    """Delete backups with a date in their names, except for the newest ones."""
    for old in sorted(path for path in folder.iterdir() if _DATED.fullmatch(path.name))[:-newest]:
        old.unlink()


async def _summary(url: str) -> inventory.Summary:
    if "+cluster://" in url:
        raise BackupError("A cluster cannot be saved at one moment: save each of its nodes with its own tools.")
    store = Store(url)
    try:
        await store.describe()
        return await inventory.summary(store)
    finally:
        await store.close()


def _database(url: str) -> int:
    """Return the number of the database that a URL names."""
    parts = urlsplit(url)
    text = parse_qs(parts.query).get("db", ["" if parts.scheme == "unix" else parts.path.strip("/")])[0]
    return int(text) if text.isdigit() else 0


async def _save(url: str, path: Path) -> str:
    """Save a snapshot of a store and return its digest."""
    digest = sha256()
    with path.open("xb") as output:
        async for chunk in snapshot(url):
            digest.update(chunk)
            output.write(chunk)
    return digest.hexdigest()


def _write(file: Path, manifest: Manifest, data: Path, keys: dict[str, bytes]) -> None:
    """Write a backup file completely or not at all."""
    number, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # mode 0600
    try:
        with os.fdopen(number, "wb") as output:
            backup_file.write(output, manifest, data, keys)
        Path(name).replace(file)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _read_back(file: Path) -> None:
    """Check that the file has the data that was verified."""
    with tempfile.TemporaryDirectory(prefix="samedeal-read-") as name:
        backup_file.extract(file, Path(name))
