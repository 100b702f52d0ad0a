"""Restores a backup into an embedded store's data directory or into an empty store at a URL."""

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from samedeal_server.operate.backups import backup_file
from samedeal_server.operate.backups.backup_file import BackupError, Manifest, Say, private_store, progress
from samedeal_server.settings import Settings, existing_keys
from samedeal_server.store.checks import fingerprint
from samedeal_server.store.cluster import store_at
from samedeal_server.store.copying import copy
from samedeal_server.store.embedded import EmbeddedStore, reserved

_NEW: Final = "restoring-"
_DATA, _LOGS = "appendonlydir", ("store.log", "store.log.1")


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

    Raises BackupError, StoreError, SettingsError, UnfitStoreError, Refused, OSError.
    """
    with tempfile.TemporaryDirectory(prefix="samedeal-restore-") as name:
        (manifest, included), replaced = backup_file.extract(file, Path(name)), None
        if settings.redis_url:
            if replace:
                raise BackupError("--replace is only for data directories: empty the store yourself, with FLUSHDB.")
            target = settings.redacted()["SAMEDEAL_REDIS_URL"]
            keys, expired = await _fill(settings.redis_url, Path(name), manifest, say)
        else:
            target = f"{settings.data_dir}"
            fill = partial(_fill, extracted=Path(name), manifest=manifest, say=say)
            keys, expired, replaced = await _restore_embedded(settings.data_dir, fill, included, replace=replace)
    key, wanted = existing_keys(settings).get("master.key"), manifest.master_key
    missing = None if wanted is None or (key and fingerprint(key) == wanted) else wanted
    return Restored(target, keys, expired, replaced, missing)


async def _restore_embedded(
    folder: Path,
    fill: Callable[[str], Awaitable[tuple[int, int]]],
    included: Mapping[str, bytes],
    *,
    replace: bool,
) -> tuple[int, int, str | None]:
    """Build the new data in a folder inside the data directory, which alone may be writable, then exchange them.

    `fill` fills the empty store at a URL, and returns how many keys there are now, and how many have expired. Return
    these, and the folder with what was there before.
    """
    with reserved(folder):
        if (folder / _DATA).exists() and not replace:
            raise BackupError(f"{folder} has a store already: use --replace to move it aside, or another --data-dir.")
        _delete_unfinished(folder)
        with tempfile.TemporaryDirectory(prefix=_NEW, dir=folder) as name:
            async with EmbeddedStore(Path(name), say=lambda text: None) as store:
                keys, expired = await fill(store.url)
            old = [path for path in (folder / each for each in (_DATA, *_LOGS, *included)) if path.exists()]
            aside = folder / f"replaced-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
            if old:
                aside.mkdir(mode=0o700)
            for path in old:
                path.replace(aside / path.name)
            (Path(name) / _DATA).replace(folder / _DATA)
        for key, content in included.items():
            with os.fdopen(os.open(folder / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:
                output.write(content)
    return keys, expired, f"{aside}" if old else None


def _delete_unfinished(folder: Path) -> None:
    """Delete what interrupted restores have left in a data directory."""
    for interrupted in folder.glob(f"{_NEW}*"):
        shutil.rmtree(interrupted)


async def _fill(url: str, extracted: Path, manifest: Manifest, say: Say) -> tuple[int, int]:
    """Copy an extracted backup to an empty store, and return how many keys there are now, and how many have expired."""
    target = store_at(url)
    try:
        await target.describe()
        async with private_store(extracted, manifest, say) as (source, keys):
            report = progress(say, "Restored", "keys")
            copied = await copy(source, target, lambda done: report(done, keys))
        return copied, keys - copied
    finally:
        await target.close()
