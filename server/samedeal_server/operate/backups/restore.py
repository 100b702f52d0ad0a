"""Restores a backup into an embedded store's data directory or into an empty store at a URL."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from samedeal_server.operate.backups import backup_file
from samedeal_server.operate.backups.backup_file import BackupError, Extracted, progress
from samedeal_server.operate.backups.private_store import private_store
from samedeal_server.settings import Settings, existing_keys
from samedeal_server.store.checks import fingerprint
from samedeal_server.store.cluster import store_at
from samedeal_server.store.copying import NotEmptyError, copy
from samedeal_server.store.embedded import EmbeddedStore, reserved

_NEW = "restoring-"
_DATA, _LOGS = "appendonlydir", ("store.log", "store.log.1")
Say = Callable[[str], object]


class Restored(Struct, frozen=True):
    """What was restored."""

    target: str
    """The data directory, or the URL of the store without secrets."""
    keys: int
    """How many keys the store has now."""
    expired: int
    """How many keys of the backup were left out because their time has passed."""
    replaced: str | None
    """The folder with what was in the data directory before."""
    missing_master_key: str | None
    """The fingerprint of the master key that the server needs and does not have yet."""


async def restore(settings: Settings, file: Path, *, replace: bool, say: Say) -> Restored:
    """Restore a backup file into the store of the settings. With `replace`, existing data is moved aside.

    Raises BackupError, StoreError, SettingsError, Refused, OSError.
    """
    backup_file.check_schema(backup_file.read_manifest(file))
    with tempfile.TemporaryDirectory(prefix="samedeal-restore-") as name:
        extracted = backup_file.extract(file, Path(name))
        if settings.redis_url:
            if replace:
                raise BackupError("--replace is only for data directories: empty the store yourself, with FLUSHDB.")
            count = await _fill(extracted, Path(name), settings.redis_url, say)
            shown = settings.redacted()["SAMEDEAL_REDIS_URL"]
            return Restored(shown, count, extracted.manifest.keys - count, None, _missing_key(settings, extracted))
        return await _restore_embedded(settings, extracted, Path(name), replace=replace, say=say)


async def _restore_embedded(
    settings: Settings, extracted: Extracted, temporary: Path, *, replace: bool, say: Say
) -> Restored:
    """Build the new data in a folder inside the data directory, which alone may be writable, then exchange them."""
    folder = settings.data_dir
    with reserved(folder):
        if (folder / _DATA).exists() and not replace:
            raise BackupError(f"{folder} has a store already: use --replace to move it aside, or another --data-dir.")
        for interrupted in folder.glob(f"{_NEW}*"):
            shutil.rmtree(interrupted)
        with tempfile.TemporaryDirectory(prefix=_NEW, dir=folder) as name:
            async with EmbeddedStore(Path(name), say=lambda text: None) as store:
                count = await _fill(extracted, temporary, store.url, say)
            replaced = _move_aside(folder, (_DATA, *_LOGS, *extracted.keys))
            (Path(name) / _DATA).replace(folder / _DATA)
        for key, content in extracted.keys.items():
            with os.fdopen(os.open(folder / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:
                output.write(content)
    expired = extracted.manifest.keys - count
    return Restored(f"{folder}", count, expired, replaced, _missing_key(settings, extracted))


def _move_aside(folder: Path, names: Iterable[str]) -> str | None:
    """Move files of a data directory into a new folder in it, and return that folder; None if there are none."""
    if not (found := [path for name in names if (path := folder / name).exists()]):
        return None
    aside = folder / f"replaced-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    aside.mkdir(mode=0o700)
    for path in found:
        path.replace(aside / path.name)
    return f"{aside}"


async def _fill(extracted: Extracted, temporary: Path, url: str, say: Say) -> int:
    """Copy the data of a backup to an empty store and return the number of keys."""
    manifest = extracted.manifest
    target = store_at(url)
    try:
        await target.describe()
        async with private_store(extracted.data, temporary / "store", manifest.database, say) as source:
            report = progress(say, "Restored", "keys")
            return await copy(source, target, lambda done: report(done, manifest.keys))
    except NotEmptyError:
        raise BackupError("The store is not empty: restore into an empty one, or empty it with FLUSHDB.") from None
    finally:
        await target.close()


def _missing_key(settings: Settings, extracted: Extracted) -> str | None:
    """Return the fingerprint of the master key in the backup if the server does not have this key."""
    key, wanted = existing_keys(settings).get("master.key"), extracted.manifest.master_key
    return None if wanted is None or (key and fingerprint(key) == wanted) else wanted
