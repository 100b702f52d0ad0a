"""The systemd units are valid, hardened alike, and leave the server the time that it needs to stop."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from samedeal_server import __main__, workers
from samedeal_server.settings import described
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
SERVICES = ("samedeal@.service", "samedeal-backup.service", "samedeal-doctor.service")
SERVER, BACKUP, DOCTOR = ((FOLDER / name).read_text() for name in SERVICES)
OPERATIONS = FOLDER.parents[1] / "docs" / "operate" / "operations.md"
MAX_EXPOSURE = 1.5
"""From 0 to 10, as systemd-analyze computes it. The server needs the network and child processes."""


def option(unit: str, name: str) -> str:
    [value] = re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)
    return str(value)


def analyze(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run systemd-analyze on an instance of each unit, with a program that exists here."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for file in FOLDER.iterdir():
        text = file.read_text().replace("/usr/local/bin/samedeal", sys.executable)
        (folder / file.name.replace("@", "@8640")).write_text(text)
    return subprocess.run(["systemd-analyze", *arguments], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)


def test_units_are_valid(tmp_path: Path) -> None:
    names = [f"./{file.name.replace('@', '@8640')}" for file in FOLDER.iterdir()]
    done = analyze(tmp_path, "verify", *names)
    assert (len(names), done.returncode, done.stderr) == (5, 0, "")


@pytest.mark.parametrize("name", SERVICES)
def test_exposure_is_low(name: str, tmp_path: Path) -> None:
    name = name.replace("@", "@8640")
    threshold = f"--threshold={MAX_EXPOSURE * 10:.0f}"
    done = analyze(tmp_path, "security", "--offline=true", "--no-pager", threshold, f"./{name}")
    assert done.returncode == 0, done.stdout
    exposure = re.search(r"Overall exposure level.*: (\S+)", done.stdout)
    assert exposure
    assert 0 < float(exposure[1]) <= MAX_EXPOSURE


@pytest.mark.parametrize("unit", [BACKUP, DOCTOR])
def test_services_are_hardened_alike(unit: str) -> None:
    hardening = [each[each.index("CapabilityBoundingSet") :].partition("\n\n")[0].strip() for each in (SERVER, unit)]
    assert hardening[0] == hardening[1]
    for name in ("User", "EnvironmentFile", "Environment", "StateDirectory", "StateDirectoryMode"):
        assert option(SERVER, name) == option(unit, name)


def test_doctor_checks_the_files_and_the_servers_of_the_documentation() -> None:
    checked, limit = option(DOCTOR, "ExecStart"), "LimitNOFILE"
    assert checked.split("--backups ")[1] in option(BACKUP, "ExecStart")
    assert option(DOCTOR, limit) == option(SERVER, limit)
    started = re.search(r"enable --now samedeal@(\d+) samedeal@(\d+)", OPERATIONS.read_text())
    assert started
    assert re.findall(r"--port (\d+)", checked) == list(started.groups())


def test_server_has_time_to_drain_and_stop_its_store() -> None:
    drain_s, store_s = 10, 30
    assert int(option(SERVER, "TimeoutStopSec")) >= drain_s + max(__main__.STOP_S, workers.STOP_S) + store_s


def test_the_variables_of_the_units_are_settings() -> None:
    names = set(re.findall(r"SAMEDEAL_\w+", SERVER + BACKUP + DOCTOR))
    assert names
    assert names <= {name for name, *_ in described()}
