"""The commands ``backup`` and ``restore``."""

import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import structs

from samedeal.errors import Refused
from samedeal_cli.commands.output import show
from samedeal_cli.commands.parameters import Number
from samedeal_cli.failure import Failure, Misused, Unverified
from samedeal_cli.local_server import check_installed, configured_store
from samedeal_cli.render.phrases import counted
from samedeal_cli.running import WayOut, run
from samedeal_cli.settings import Settings, command

# Imported later, because a client can be installed without what the server needs.
if TYPE_CHECKING:
    from samedeal_server.operate.backups.backup import Report
    from samedeal_server.settings import Settings as ServerSettings

T = TypeVar("T")


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
@click.argument("target", metavar="FILE|FOLDER", type=click.Path(path_type=Path))
@click.option("--keep", type=Number(1), help="Keep this many of the newest backups in the folder.")
@click.option("--with-keys", is_flag=True, help="Include the master key and the signing key.")
@click.option("--verify", is_flag=True, help="Verify an existing backup instead of making one.")
@_store_options
def backup(
    settings: Settings,
    target: Path,
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
    check_installed(configured_store(redis))
    from samedeal_server.operate.backups.backup import back_up, verify_file

    with _errors():
        store, say = _server_settings(redis, data_dir), _progress(settings)
        if verify:
            return _show(settings, _run(verify_file(store, target, say)))
        report = _run(back_up(store, target, with_keys=with_keys, say=say, keep=keep))
    if with_keys:
        say(f"{report.file} contains the keys: who can read it can compute the deals of running races.")
    return _show(settings, report)


@command("samedeal restore samedeal.tar.gz", "samedeal restore samedeal.tar.gz --redis redis://127.0.0.1:6379")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Move existing data of the embedded store aside.")
@_store_options
def restore(settings: Settings, file: Path, replace: bool, redis: str | None, data_dir: str | None) -> None:
    """Restore a backup into the data directory of a server that is stopped, or into an empty store.

    The backup can be from another version of the program with the same schema of the store.
    """
    check_installed(configured_store(redis))
    from samedeal_server.operate.backups import restore as restoring

    with _errors():
        store, say = _server_settings(redis, data_dir), _progress(settings)
        restored = _run(restoring.restore(store, file, replace=replace, say=say))
    lines = [f"{restored.target} has {restored.keys} keys from {file}."]
    if restored.expired:
        lines.append(f"The other keys ({restored.expired}) were left out: their time has passed since the backup.")
    if restored.replaced:
        lines.append(f"What was there before is in {restored.replaced}.")
    show(settings, restored, lines)
    if restored.missing_master_key and not settings.json:
        say(
            f"the master key with the fingerprint {restored.missing_master_key} is not here: put it into master.key in"
            " the data directory, or into SAMEDEAL_MASTER_KEY, before you start the server."
        )


def _progress(settings: Settings) -> Callable[[str], None]:
    """Return a function that reports progress on standard error."""
    return lambda text: settings.say(f"samedeal: {text}")


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. SIGTERM and SIGHUP end it once its temporary files are deleted, however long that takes."""
    return run(work, WayOut(patient=True))


def _server_settings(redis: str | None, data_dir: str | None) -> "ServerSettings":
    """Return the settings in the environment, with another store if the options name one."""
    from samedeal_server.settings import Settings as ServerSettings

    environment = dict(os.environ)
    if data_dir is not None:
        environment |= {"SAMEDEAL_DATA_DIR": data_dir, "SAMEDEAL_REDIS_URL": "", "REDIS_URL": ""}
    if redis is not None:
        environment["SAMEDEAL_REDIS_URL"] = redis
    return ServerSettings.from_env(environment)


def _show(settings: Settings, report: "Report") -> int:
    """Print the result of a verification and return the exit code."""
    manifest, verified = report.manifest, report.verified
    document = {"file": report.file, "keys": report.keys} | structs.asdict(manifest) | structs.asdict(verified)
    summary = (
        f"{report.file}: {counted(verified.replays, 'replay')} and {counted(verified.live_races, 'live race')} verified"
        f" (schema {manifest.schema}, {manifest.time}, Same Deal {manifest.version}, {manifest.store})"
    )
    show(settings, document, [summary])
    if verified.without_rules:
        settings.say("samedeal: without the master key, the logs of live races were not checked against the rules.")
    for failure in verified.failures:
        Failure(failure).show()
    if verified.failures:
        raise Unverified(f"{counted(len(verified.failures), 'race')} cannot be verified")
    return 0


@contextmanager
def _errors() -> Iterator[None]:
    """Raise Failure for what can be wrong with a backup, a store or the settings."""
    from samedeal_server.operate.backups.backup_file import BackupError
    from samedeal_server.settings import SettingsError
    from samedeal_server.store.connection import UnfitStoreError
    from samedeal_server.store.embedded import StoreError

    try:
        yield
    except (BackupError, StoreError, SettingsError, UnfitStoreError, Refused) as error:
        raise Failure(f"{error}") from error
