"""The commands ``backup`` and ``restore``. The server's package does the work."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click

from samedeal_cli.commands.parameters import Number
from samedeal_cli.commands.serve import check_installed, configured_store
from samedeal_cli.failure import Misused
from samedeal_cli.settings import Settings, command


def _store_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which store is meant, as for ``serve``."""
    redis = click.option("--redis", metavar="URL", help="The store.  [default: REDIS_URL, or the embedded one]")
    folder = click.option("--data-dir", type=click.Path(file_okay=False), help="Directory of the embedded store.")
    return redis(folder(function))


@command(
    "samedeal backup samedeal.tar.gz",
    "samedeal backup /var/backups/samedeal --keep 14",
    "samedeal backup --verify samedeal.tar.gz",
)
@click.argument("target", metavar="FILE|FOLDER", type=click.Path())
@click.option("--keep", type=Number(1), help="Keep this many of the newest backups in the folder.")
@click.option("--with-keys", is_flag=True, help="Include the master key and the signing key.")
@click.option("--verify", is_flag=True, help="Verify an existing backup instead of making one.")
@_store_options
def backup(
    settings: Settings,
    target: str,
    keep: int | None,
    with_keys: bool,
    verify: bool,
    redis: str | None,
    data_dir: str | None,
) -> int:
    """Back up a server's store to a file, or to a new file with a date in a folder.

    Servers can run meanwhile. Every replay and the log of every live race in the backup is verified. Exits with 5 if a
    race cannot be verified; the backup is still there, and --keep deletes nothing.
    """
    if verify and (keep or with_keys):
        raise Misused("--verify cannot be combined with --keep or --with-keys")
    options = [*([f"--keep={keep}"] if keep else []), *(["--with-keys"] if with_keys else [])]
    return _run(settings, redis, data_dir, "verify" if verify else "backup", *options, "--", target)


@command("samedeal restore samedeal.tar.gz", "samedeal restore samedeal.tar.gz --redis redis://127.0.0.1:6379")
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--replace", is_flag=True, help="Move existing data of the embedded store aside.")
@_store_options
def restore(settings: Settings, file: str, replace: bool, redis: str | None, data_dir: str | None) -> int:
    """Restore a backup into the data directory of a server that is stopped, or into an empty store.

    The backup can be from another version of the program with the same schema of the store.
    """
    return _run(settings, redis, data_dir, "restore", *(["--replace"] if replace else []), "--", file)


def _run(settings: Settings, redis: str | None, data_dir: str | None, *arguments: str) -> int:
    """Run the server's program and return its exit code. Where possible, it replaces this process."""
    check_installed(configured_store(redis))
    given = {"--redis": redis, "--data-dir": data_dir}
    words = [f"{option}={value}" for option, value in given.items() if value is not None]
    flags = [*(["--json"] if settings.json else []), *(["--quiet"] if settings.quiet else [])]
    program = [sys.executable, "-m", "samedeal_server.operate.backups", *words, *flags, *arguments]
    if os.name == "posix":
        os.execv(program[0], program)  # noqa: S606 (no shell)
    return subprocess.run(program, check=False).returncode  # noqa: S603 (our own program)
