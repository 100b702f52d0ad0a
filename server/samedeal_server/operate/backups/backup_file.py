"""Backup files: a snapshot of a store in a compressed tar archive, with a manifest and optionally the keys.

``manifest.json`` comes first, then ``data.rdb``, then ``master.key`` and ``signing.key`` if they are included.
"""

import os
import tarfile
import zlib
from collections.abc import Callable, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO, Final, NamedTuple

from msgspec import DecodeError, Struct, json

from samedeal_server.store.schema import SCHEMA

FORMAT: Final = 1
MANIFEST, DATA = "manifest.json", "data.rdb"
KEYS: Final = ("master.key", "signing.key")
_LARGEST_MANIFEST, _LARGEST_KEY = 2**16, 2**10  # bytes
_CHUNK: Final = 2**20
_COMPRESSION: Final = 3  # stored replays are already compressed


class BackupError(Exception):
    """A file cannot be used as a backup, or a backup cannot be made or restored; the text says why."""


class Manifest(Struct, frozen=True, kw_only=True):
    """What a backup contains."""

    format: int = FORMAT
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
    keys: int
    replays: int
    live_races: int


class Extracted(NamedTuple):
    """The content of a backup file."""

    manifest: Manifest
    data: Path
    keys: Mapping[str, bytes]
    """The content of the key files, by name."""


def write(output: BinaryIO, manifest: Manifest, data: Path, keys: Mapping[str, bytes]) -> None:
    """Write a backup file to disk. Raises OSError."""
    with tarfile.open(fileobj=output, mode="w:gz", compresslevel=_COMPRESSION) as archive:
        _add(archive, MANIFEST, json.format(json.encode(manifest)) + b"\n")
        archive.add(data, DATA, filter=_private)
        for name, content in keys.items():
            _add(archive, name, content)
    output.flush()
    os.fsync(output.fileno())


def read_manifest(file: Path) -> Manifest:
    """Return the manifest of a backup file. Raises BackupError."""
    return _read(file, None).manifest


def extract(file: Path, folder: Path) -> Extracted:
    """Extract a backup file into a folder, and check its digest. Raises BackupError."""
    return _read(file, folder)


def check_schema(manifest: Manifest) -> None:
    """Raise BackupError if this version of the program cannot read the data of a backup."""
    if manifest.schema != SCHEMA:
        older = "restore it with the version that made it"
        advice = older if manifest.schema < SCHEMA else "install that version or a newer one"
        raise BackupError(
            f"The backup has schema {manifest.schema} of version {manifest.version}, and this version of Same Deal"
            f" reads only schema {SCHEMA}: {advice}."
        )


def _read(file: Path, folder: Path | None) -> Extracted:
    """Read a backup file: only its manifest, or all of it, with the data in a folder."""
    manifest: Manifest | None = None
    keys = dict[str, bytes]()
    data: Path | None = None
    try:
        with tarfile.open(file, "r:gz") as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is None:
                    continue
                if member.name == MANIFEST:
                    manifest = json.decode(content.read(_LARGEST_MANIFEST), type=Manifest)
                    if manifest.format > FORMAT:
                        raise BackupError(
                            f"{file} has format {manifest.format}, which this version of Same Deal does not read:"
                            f" install version {manifest.version} or newer."
                        )
                if manifest is None:
                    break
                if folder is None:
                    return Extracted(manifest, file, {})
                if member.name == DATA:
                    data = folder / DATA
                    if _copy(content, data) != manifest.sha256:
                        raise BackupError(f"{file} is damaged: its data does not match the digest in its manifest.")
                elif member.name in KEYS:
                    keys[member.name] = content.read(_LARGEST_KEY)
    except (tarfile.TarError, EOFError, zlib.error, DecodeError, UnicodeError) as error:
        raise BackupError(f"{file} is damaged, or not a backup: {error}.") from error
    except OSError as error:
        raise BackupError(f"{file} cannot be read: {error.strerror or error}.") from error
    if manifest is None or data is None:
        raise BackupError(f"{file} is not a backup: it has no {DATA if manifest else MANIFEST}.")
    return Extracted(manifest, data, keys)


def _copy(content: IO[bytes], path: Path) -> str:
    """Write a content to a new file and return its digest."""
    digest = sha256()
    with path.open("xb") as output:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            output.write(chunk)
    return digest.hexdigest()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(_private(member), BytesIO(content))


def _private(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Say nothing about the account that made the backup."""
    member.mode, member.uid, member.gid, member.uname, member.gname = 0o600, 0, 0, "", ""
    return member


def progress(say: Callable[[str], object], done: str, what: str) -> Callable[[int, int], None]:
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
