"""The wheels: a pure one for every platform, and with HATCH_BUILD_HOOKS_ENABLE a compiled one for this platform."""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[2]
SOURCES = {path.relative_to(ROOT / "protocol").as_posix() for path in (ROOT / "protocol").rglob("*.py")}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def hook(project: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    return options


def built(folder: Path, version: str = "standard") -> Path:
    """Build a wheel, with one compiled module if the hook is enabled."""
    config = project()
    hook(config)["modules"] = {"protocol": ["samedeal.table"], "server": ["samedeal_server.waiting"]}
    (path,) = WheelBuilder(str(ROOT), config=config).build(directory=str(folder), versions=[version])
    return Path(path)


def library(wheel: Path) -> set[str]:
    return {name for name in ZipFile(wheel).namelist() if name.startswith("samedeal/")}


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_the_wheel_is_pure_by_default(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATCH_BUILD_HOOKS_ENABLE", raising=False)
    wheel = built(tmp_path, version)
    assert wheel.name.endswith("-py3-none-any.whl")
    if version == "standard":
        assert library(wheel) == SOURCES | {"samedeal/py.typed"}


def test_an_editable_install_is_never_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCH_BUILD_HOOKS_ENABLE", "1")
    assert built(tmp_path, "editable").name.endswith("-py3-none-any.whl")


@pytest.mark.skipif(not shutil.which("cc"), reason="a C compiler is not installed")
def test_the_compiled_wheel_has_sources_and_compiled_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCH_BUILD_HOOKS_ENABLE", "1")
    wheel = built(tmp_path)
    _, _, _, tags = parse_wheel_filename(wheel.name)
    assert tags <= {*sys_tags()}
    assert {(tag.interpreter, tag.platform == "any") for tag in tags} == {
        (f"cp{sys.version_info.major}{sys.version_info.minor}", False)
    }
    module = f"samedeal/table{EXTENSION_SUFFIXES[0]}"
    assert library(wheel) == SOURCES | {"samedeal/py.typed", module}
    ZipFile(wheel).extractall(tmp_path / "wheel")
    code = "import samedeal.table as t; print(t.__file__); t.Table({})['a1']"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "wheel", capture_output=True, text=True)
    assert done.stdout == f"{tmp_path / 'wheel' / module}\n"
    assert "samedeal/table.py" in done.stderr
    assert "return self.piles[place]" in done.stderr, "tracebacks show the source"
    code = "import samedeal, samedeal_server.waiting as w; print(w.__file__)"
    for pure, file in (("", f"waiting{EXTENSION_SUFFIXES[0]}"), ("1", "waiting.py")):
        env = os.environ | {"SAMEDEAL_PURE": pure}
        printed = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path / "wheel", env=env, text=True)
        assert printed == f"{tmp_path / 'wheel' / 'samedeal_server' / file}\n"


def test_the_listed_modules_exist() -> None:
    for folder, modules in hook(project())["modules"].items():
        assert all((ROOT / folder / f"{module.replace('.', '/')}.py").exists() for module in modules)
