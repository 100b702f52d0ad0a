"""What ``samedeal doctor --server-side`` checks: the installation of a server."""

import asyncio
import logging
import os
from collections.abc import Collection
from pathlib import Path

from samedeal_cli.findings import Finding
from samedeal_server.operate.doctor import machine
from samedeal_server.operate.doctor.public_url import public_url
from samedeal_server.operate.doctor.store_findings import store
from samedeal_server.settings import Settings, SettingsError


def findings(backups: Path | None, ports: Collection[int]) -> list[Finding]:
    """Check the installation of a server with the settings in the environment, and its folder of backups, if any.

    Servers must be running on all `ports`. Without any, the configured port is checked, which may also be free.
    """
    logging.disable()  # the findings say the same
    try:
        settings = Settings.from_env(os.environ)
    except SettingsError as error:
        return [Finding("settings", "valid", False, f"{error}")]
    of_store, keys = asyncio.run(store(settings))
    return [
        *machine.settings_findings(settings),
        *machine.directory_findings(settings),
        machine.open_files(settings),
        *(machine.port(settings.host, number, expected=bool(ports)) for number in ports or [settings.port]),
        *of_store,
        *public_url(settings, keys),
        *(machine.backups(backups) if backups else ()),
    ]
