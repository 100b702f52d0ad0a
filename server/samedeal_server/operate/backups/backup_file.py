"""Backup files: a snapshot of a store in a compressed tar archive, with a manifest and optionally the keys.

``manifest.json`` comes first, then ``data.rdb``, then ``master.key`` and ``signing.key`` if they are included.
"""

import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Final

from msgspec import DecodeError, Struct, json

from samedeal.codec import decoder
from samedeal_server.store.connection import Store
from samedeal_server.store.embedded import EmbeddedStore
from samedeal_server.store.schema import SCHEMA

MANIFEST, DATA = "manifest.json", "data.rdb"
KEYS: Final = ("master.key", "signing.key")
_FORMAT: Final = 2
_LARGEST_MANIFEST, _LARGEST_KEY = 2**16, 2**10  # bytes
_COMPRESSION: Final = 3  # stored replays are already compressed
_BASE: Final = "appendonly.aof.1.base.rdb"
Say = Callable[[str], object]


class BackupError(Exception):
    """A file cannot be used as a backup, or a backup cannot be made or restored; the text says why."""


class Manifest(Struct, frozen=True, kw_only=True):
    """What a backup contains."""

    format: int = _FORMAT
    version: str
    """The version of the program that made it."""
    schema: int
    """The schema version of the store."""
    time: str
    """When it was made, in ISO 8601."""
    store: str
    """The program of the store and its version."""
    database: int
    """The number of the database in the snapshot."""
    master_key: str | None
    """The fingerprint of the master key."""
    bytes: int
    sha256: str
    """The digest of the snapshot, in hexadecimal."""


def digest(file: Path) -> str:
    """Return the digest of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write(output: IO[bytes], manifest: Manifest, data: Path, keys: Mapping[str, bytes]) -> None:
    """Write a backup file to disk. Raises OSError."""
    contents = {MANIFEST: json.format(json.encode(manifest)) + b"\n", DATA: None, **keys}
    with tarfile.open(fileobj=output, mode="w:gz", compresslevel=_COMPRESSION) as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)  # says nothing about the account that makes the backup
            member.mode, member.size = 0o600, manifest.bytes if content is None else len(content)
            with data.open("rb") if content is None else BytesIO(content) as source:
                archive.addfile(member, source)
    output.flush()
    os.fsync(output.fileno())


def extract(file: Path, folder: Path) -> tuple[Manifest, Mapping[str, bytes]]:
    """Extract the data of a backup file into a folder. Return its manifest and the included keys by file name.

    Raises BackupError, also for a backup of another schema.
    """
    manifest: Manifest | None = None
    data, keys = folder / DATA, dict[str, bytes]()
    try:
        with tarfile.open(file, "r:gz") as archive:
            for member in archive:
                if (content := archive.extractfile(member)) is None:
                    continue
                if member.name == MANIFEST:
                    manifest = decoder("json", Manifest).decode(content.read(_LARGEST_MANIFEST))
                    _check_readable(manifest)
                elif member.name == DATA and manifest:
                    with data.open("xb") as output:
                        shutil.copyfileobj(content, output)
                elif member.name in KEYS:
                    keys[member.name] = content.read(_LARGEST_KEY)
    except (tarfile.TarError, EOFError, zlib.error, DecodeError, UnicodeError) as error:
        raise BackupError(f"{file} is damaged, or not a backup: {error}.") from error
    except OSError as error:
        raise BackupError(f"{file} cannot be read: {error.strerror or error}.") from error
    if manifest is None or not data.exists():
        raise BackupError(f"{file} is not a backup: it has no {DATA if manifest else MANIFEST}.")
    if digest(data) != manifest.sha256:
        raise BackupError(f"{file} is damaged: its data does not match the digest in its manifest.")
    return manifest, keys


def _check_readable(manifest: Manifest) -> None:
    """Raise BackupError if this version of the program cannot read a backup."""
    if manifest.format != _FORMAT or manifest.schema != SCHEMA:
        is_older = (manifest.format, manifest.schema) < (_FORMAT, SCHEMA)
        advice = "restore it with the version that made it" if is_older else "install that version or a newer one"
        raise BackupError(
            f"The backup has format {manifest.format} and schema {manifest.schema} of version {manifest.version}, and"
            f" this version of Same Deal reads only format {_FORMAT} and schema {SCHEMA}: {advice}."
        )


@asynccontextmanager
async def private_store(folder: Path, manifest: Manifest, say: Say) -> AsyncIterator[tuple[Store, int]]:
    """Run an embedded store of its own with the snapshot in a folder, which is moved.

    Yields the store and its number of keys, including those that have expired. Raises StoreError.
    """
    files = folder / "store" / "appendonlydir"
    files.parent.mkdir(mode=0o700)
    files.mkdir(mode=0o700)
    (folder / DATA).replace(files / _BASE)  # as the base of an append-only file
    (files / "appendonly.aof.manifest").write_text(f"file {_BASE} seq 1 type b\n")
    async with EmbeddedStore(files.parent, say=say) as embedded:
        store = Store(f"{embedded.url}?db={manifest.database}")
        try:
            (about,) = await store.information("persistence")
            yield store, about["rdb_last_load_keys_loaded"] + about["rdb_last_load_keys_expired"]
        finally:
            await store.close()


def progress(say: Say, done: str, what: str) -> Callable[[int, int], None]:
    """Return a function of the numbers that are done and of all, which reports each further tenth of the work.

    A report is like ``Verified 20 of 100 races.``, from `done` and `what`.
    """
    reported = 0

    def report(count: int, total: int) -> None:
        nonlocal reported
        if count * 10 // max(1, total) > reported:
            reported = count * 10 // max(1, total)
            say(f"{done} {count} of {total} {what}.")

    return report
