"""The program behind ``samedeal backup`` and ``samedeal restore``."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click
from msgspec import Struct, json, structs

from samedeal.errors import Refused
from samedeal_server.operate.backups.backup import Report, back_up, verify_file
from samedeal_server.operate.backups.backup_file import BackupError
from samedeal_server.operate.backups.restore import restore
from samedeal_server.settings import Settings, SettingsError
from samedeal_server.store.connection import UnfitStoreError
from samedeal_server.store.embedded import StoreError

UNVERIFIED, INTERRUPTED, TERMINATED = 5, 130, 143
"""Exit codes, as those of the client."""
T = TypeVar("T")
ERRORS: Final = (BackupError, StoreError, SettingsError, UnfitStoreError, Refused, OSError)


class Output(Struct, frozen=True):
    """How to report."""

    as_json: bool
    quiet: bool

    def say(self, text: str) -> None:
        """Report progress."""
        if not self.quiet:
            click.echo(f"samedeal: {text}", err=True)


@click.group()
@click.option("--redis", metavar="URL")
@click.option("--data-dir")
@click.option("--json", "as_json", is_flag=True)
@click.option("--quiet", is_flag=True)
@click.pass_context
def main(context: click.Context, redis: str | None, data_dir: str | None, as_json: bool, quiet: bool) -> None:
    """Back up and restore the store."""
    environment = dict(os.environ)
    if data_dir is not None:
        environment |= {"SAMEDEAL_DATA_DIR": data_dir, "SAMEDEAL_REDIS_URL": "", "REDIS_URL": ""}
    if redis is not None:
        environment["SAMEDEAL_REDIS_URL"] = redis
    try:
        context.obj = Settings.from_env(environment), Output(as_json, quiet)
    except SettingsError as error:
        _fail(error)


@main.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--keep", type=click.IntRange(1))
@click.option("--with-keys", is_flag=True)
@click.pass_obj
def backup(obj: tuple[Settings, Output], target: Path, keep: int | None, with_keys: bool) -> None:
    """Save a backup."""
    settings, output = obj
    report = _run(back_up(settings, target, with_keys=with_keys, say=output.say, keep=keep))
    if with_keys:
        output.say(f"{report.file} contains the keys: who can read it can compute the deals of running races.")
    _show(report, output)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def verify(obj: tuple[Settings, Output], file: Path) -> None:
    """Verify a backup."""
    settings, output = obj
    _show(_run(verify_file(settings, file, output.say)), output)


@main.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True)
@click.pass_obj
def restore_command(obj: tuple[Settings, Output], file: Path, replace: bool) -> None:
    """Restore a backup."""
    settings, output = obj
    restored = _run(restore(settings, file, replace=replace, say=output.say))
    if output.as_json:
        click.echo(json.encode(restored))
        return
    click.echo(f"{restored.target} has {restored.keys} keys from {file}.")
    if restored.expired:
        click.echo(f"The other keys ({restored.expired}) were left out: their time has passed since the backup.")
    if restored.replaced:
        click.echo(f"What was there before is in {restored.replaced}.")
    if restored.missing_master_key:
        output.say(
            f"the master key with the fingerprint {restored.missing_master_key} is not here: put it into master.key in"
            " the data directory, or into SAMEDEAL_MASTER_KEY, before you start the server."
        )


def _show(report: Report, output: Output) -> None:
    """Print the result of a verification, and exit with UNVERIFIED if it failed."""
    manifest, verified = report.manifest, report.verified
    if output.as_json:
        shown = {"file": report.file, "keys": report.keys} | structs.asdict(manifest) | structs.asdict(verified)
        click.echo(json.encode(shown))
    else:
        click.echo(
            f"{report.file}: {verified.replays} replays and {verified.live_races} live races verified"
            f" (schema {manifest.schema}, {manifest.time}, Same Deal {manifest.version}, {manifest.store})"
        )
    if verified.without_rules:
        output.say("without the master key, the logs of live races were not checked against the rules.")
    for failure in verified.failures:
        click.echo(f"samedeal: {failure}", err=True)
    if verified.failures:
        count = len(verified.failures)
        click.echo(f"samedeal: {count} {'race' if count == 1 else 'races'} cannot be verified", err=True)
        sys.exit(UNVERIFIED)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. Errors end the process with a line on stderr and status 1."""

    async def stoppable() -> T:
        task = asyncio.ensure_future(work)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    try:
        return asyncio.run(stoppable())
    except asyncio.CancelledError:
        sys.exit(TERMINATED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except ERRORS as error:
        _fail(error)


def _fail(error: BaseException) -> NoReturn:
    """End the process with a line on stderr and status 1."""
    text = f"{error}" if not isinstance(error, OSError) else f"{error.strerror or error}: {error.filename}"
    click.echo(f"samedeal: {text}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
