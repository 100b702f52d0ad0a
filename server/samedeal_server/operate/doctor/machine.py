"""Checks of the machine: the data directory, keys, open files, the port, and the age of backups."""

import os
import resource
import shutil
import socket
import time
from collections.abc import Iterator
from errno import EADDRINUSE
from pathlib import Path
from typing import Final

from samedeal_cli.findings import Finding
from samedeal_server.net.connections import RESERVED_FILES
from samedeal_server.operate.doctor.public_url import ProblemError, fetch
from samedeal_server.settings import Settings, SettingsError, existing_keys
from samedeal_server.store.embedded import LEAST_FREE_MB

OLDEST_BACKUP_H: Final = 48


def settings_findings(settings: Settings) -> Iterator[Finding]:
    """Yield the settings that differ from the defaults, without secrets."""
    usual = Settings().redacted()
    for name, value in settings.redacted().items():
        if value != usual[name]:
            yield Finding("settings", name, value)


def directory_findings(settings: Settings) -> Iterator[Finding]:
    """Check the data directory and the keys."""
    part, folder = "data directory", settings.data_dir
    if not folder.exists():
        yield Finding(part, "path", f"{folder} (created at the first start)")
        return
    status = folder.stat()
    wrong = ""
    if status.st_uid not in (os.geteuid(), 0):
        wrong = f"{folder} belongs to another user: run this command as the server's user"
    elif status.st_mode & 0o077 and not settings.redis_url:
        wrong = f"{folder} is open to other users: run chmod 700 on it"
    yield Finding(part, "path", f"{folder}", wrong)
    free = shutil.disk_usage(folder).free // 10**6
    needed = 0 if settings.redis_url else LEAST_FREE_MB
    yield Finding(part, "free MB", free, f"{free} MB are free, {needed} MB are needed" if free < needed else "")
    try:
        keys = existing_keys(settings)
    except SettingsError as error:
        yield Finding(part, "keys", False, f"{error}")
        return
    for name in ("master.key", "signing.key"):
        yield Finding(part, name, "found" if name in keys else "created at the first start")


def open_files(settings: Settings) -> Finding:
    """Check that the server can open as many files as its connections need. It raises the soft limit itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.connections + RESERVED_FILES
    wrong = f"only {hard} files can be open, but {settings.connections} connections need {needed}: raise LimitNOFILE"
    unlimited = hard == resource.RLIM_INFINITY
    return Finding(
        "machine", "open files", "unlimited" if unlimited else hard, "" if unlimited or hard >= needed else wrong
    )


def port(host: str, number: int, *, expected: bool) -> Finding:
    """Check that a server of this program uses a port or, unless one is expected there, that the port is free."""
    name = f"port {number}" if expected else "port"
    shown = f"{f'[{host}]' if ':' in host else host}:{number}"
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, number))
        except OSError as error:
            near = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, shown.rpartition(":")[0])  # noqa: S104 (compared)
            try:
                return Finding("machine", name, f"{shown} is served by {fetch(f'http://{near}:{number}').server}")
            except ProblemError as problem:
                why = f"{error.strerror or error}"
                if error.errno == EADDRINUSE:
                    why += f"; {problem}"
                return Finding("machine", name, shown, f"{shown} cannot be used: {why}")
    wrong = f"no server is running on {shown}" if expected else ""
    return Finding("machine", name, f"{shown} is free: the server is not running", wrong)


def backups(folder: Path) -> Iterator[Finding]:
    """Check that the folder has a recent backup."""
    try:
        files = list(folder.glob("samedeal-*.tar.gz"))
        newest = max((file.stat().st_mtime for file in files), default=None)
    except OSError as error:
        yield Finding("backups", "folder", f"{folder}", f"{folder} cannot be read: {error.strerror}")
        return
    yield Finding("backups", "files", len(files), "" if files else f"there are no backups in {folder}")
    if newest is not None:
        age_h = round((time.time() - newest) / 3600, 1)
        wrong = f"the newest backup is {age_h:g} hours old: check the timer" if age_h > OLDEST_BACKUP_H else ""
        yield Finding("backups", "age in hours", age_h, wrong)
