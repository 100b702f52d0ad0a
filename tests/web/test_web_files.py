"""The page's files without a browser: what its modules import, their size, how they are installed, and the icons."""

import gzip
import json
import re
import shutil
import struct
import tomllib
from pathlib import Path
from posixpath import dirname, normpath

import pytest

from samedeal_server.api import page_files
from tools.web_pages import PNG_ICONS

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "web"


def test_modules_import_only_files_of_the_page() -> None:
    paths = dict(page_files.page_paths())
    imports = {
        normpath(f"{dirname(name)}/{imported}".removeprefix("/"))
        for name, path in paths.items()
        if name.endswith(("js", "mjs"))
        for imported in re.findall(r'(?:from |load\w+\()"(.*?)"', path.read_text(encoding="utf-8"))
    }
    assert imports >= {"dom.js", "verify.js", "verify/proof.mjs", "verify/games/cards.mjs"}
    assert imports <= set(paths)


def test_page_weighs_at_most_230_kb() -> None:
    """With all games, icons and the verifier, compressed as the server sends them."""
    sizes = {name: len(gzip.compress(path.read_bytes())) for name, path in page_files.page_paths()}
    assert sum(sizes.values()) <= 230_000, sorted(sizes.items(), key=lambda item: -item[1])[:10]


def test_installed_page_has_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in included.items():
        shutil.copytree(ROOT / source, tmp_path / target, dirs_exist_ok=True)
    checkout = {name: path.read_bytes() for name, path in page_files.page_paths()}
    monkeypatch.setattr(page_files, "files", lambda package: tmp_path / package)
    assert page_files.page_dir() == tmp_path / "samedeal_server" / "page"
    assert {name: path.read_bytes() for name, path in page_files.page_paths()} == checkout


def test_manifest_names_icons_of_their_sizes() -> None:
    manifest = json.loads((FOLDER / "app.webmanifest").read_text(encoding="utf-8"))
    sizes = {icon["src"]: icon["sizes"] for icon in manifest["icons"]}
    assert set(sizes) == {"icon.svg", *PNG_ICONS}
    for name, (_, size) in PNG_ICONS.items():
        png = (FOLDER / name).read_bytes()
        assert png.startswith(b"\x89PNG\r\n")
        assert struct.unpack(">II", png[16:24]) == (size, size)
        assert sizes[name] == f"{size}x{size}"
