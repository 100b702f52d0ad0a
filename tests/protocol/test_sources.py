"""SAMEDEAL_PURE: the library is imported from its sources, even where compiled modules are next to them."""

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from pathlib import Path

import pytest

import samedeal
from samedeal.sources import SourceFinder, prefer_sources

IMPORT_CARDS = "import samedeal.cards; print(samedeal.cards.__file__)"


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder with the library and a compiled module that cannot be loaded, so that any use of it fails."""
    package = shutil.copytree(
        Path(samedeal.__file__).parent, tmp_path / "samedeal", ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / f"cards{EXTENSION_SUFFIXES[0]}").touch()
    return tmp_path


def run(code: str, pure: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*([str(folder)] if folder else []), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"SAMEDEAL_PURE": pure, "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def test_compiled_modules_are_preferred(compiled: Path) -> None:
    error = run(IMPORT_CARDS, "", compiled).stderr.splitlines()[-1]
    assert error.startswith("ImportError: ")
    assert f"cards{EXTENSION_SUFFIXES[0]}" in error


def test_pure_ignores_compiled_modules(compiled: Path) -> None:
    assert run(IMPORT_CARDS, "1", compiled).stdout == f"{compiled / 'samedeal' / 'cards.py'}\n"


def test_pure_works_for_every_module() -> None:
    loaders = "{type(m.__loader__).__name__ for name, m in sys.modules.items() if name.startswith('samedeal.')}"
    assert run(f"import sys, samedeal.api; print({loaders})", "1").stdout == "{'SourceFileLoader'}\n"


@pytest.mark.parametrize("pure", ["0", "yes", " "])
def test_other_values_are_refused(pure: str) -> None:
    error = run("import samedeal", pure).stderr.splitlines()[-1]
    assert error == f"ImportError: SAMEDEAL_PURE is {pure!r}; expected 1 to ignore compiled modules."


def test_the_command_reports_other_values_without_a_traceback() -> None:
    command = [sys.executable, "-m", "samedeal_cli.main", "games"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"SAMEDEAL_PURE": "yes"})
    assert done.returncode == 2
    assert done.stderr == "samedeal: SAMEDEAL_PURE is 'yes'; expected 1 to ignore compiled modules\n"


def test_finder_finds_only_sources_of_the_library() -> None:
    spec = SourceFinder.find_spec("samedeal.cards", samedeal.__path__)
    assert spec
    assert isinstance(spec.loader, SourceFileLoader)
    assert SourceFinder.find_spec("samedeal.unknown", samedeal.__path__) is None
    assert SourceFinder.find_spec("samedeal") is None
    assert SourceFinder.find_spec("json.decoder", ["/usr"]) is None


def test_sources_are_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    prefer_sources("1")
    assert sys.meta_path[0] is SourceFinder
