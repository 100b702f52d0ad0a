"""The page's files without a browser: the modules parse, and the texts match the documents.

``make generate`` rewrites the texts.
"""

import gzip
import json
import re
import shutil
import struct
import sys
import tomllib
from html import escape
from pathlib import Path
from posixpath import dirname, normpath

import pytest
import resvg_py
from markdown_it import MarkdownIt

from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE
from samedeal_server.api import page_files

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "web" / "rules"


def rules_html(slug: str) -> str:
    """Return the rules of a game as HTML: five lines, pictures and strategy, and the rest folded up."""
    title = GAMES[slug].title
    chapters = re.split(
        r"^(?=## )", (ROOT / "docs" / "play" / "rules.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    own = next((chapter for chapter in chapters if chapter.startswith(f"## {title}\n")), None)
    assert own, f"docs/play/rules.md needs a chapter {title}"
    common = next(chapter for chapter in chapters if chapter.startswith("## Rules for all games\n"))
    brief, *sections = re.split(r"^### (.*)$", own.split("\n", 1)[1], flags=re.MULTILINE)
    html = f"<h1>{title}</h1>\n{_rendered(brief)}{_figures(slug)}"
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        name = heading.partition(f" in {title}")[0].partition(f" of {title}")[0]
        if name == "Strategy":
            html += f"<h2>{name}</h2>\n{_rendered(text)}"
        else:
            html += _folded(name, text)
    return html + _folded("Rules for all games", common.split("\n", 1)[1])


def _folded(summary: str, text: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n{_rendered(text)}</details>\n"


def _rendered(text: str) -> str:
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    # Links to other games lead to their pages. Those to other documents do not work here: keep only their text.
    html = re.sub(r'<a href="#([^"]*)">', lambda link: f'<a data-game href="/rules/{link[1]}">', html)
    html = re.sub(r'<a href="[^"]*">(.*?)</a>', r"\1", html).replace("<a data-game ", "<a ")
    # Wide elements scroll on small screens; a tab index makes them reachable by keyboard.
    return re.sub(r"<(pre|table)>", r'<\1 tabindex="0">', html)


def _figures(slug: str) -> str:
    """Return the practice deal and the table after its steps, which the page draws."""
    if slug not in PRACTICE:
        return ""
    position = GAMES[slug].from_seed(PRACTICE[slug].seed)
    steps = PRACTICE[slug].steps
    pictures = [("A deal.", position)]
    for step in steps:
        position = position.after(step.move)
    pictures.append((f"The same deal after {len(steps)} moves.", position))
    figures = [
        f'<figure data-table="{escape(json.dumps(at.view(), separators=(",", ":")))}">'
        f"<figcaption>{caption}</figcaption></figure>\n"
        for caption, at in pictures
    ]
    return f'<div class="examples">\n{"".join(figures)}</div>\n'


def fairness_html() -> str:
    """Return the summary of docs/play/fairness.md as HTML."""
    text = (ROOT / "docs" / "play" / "fairness.md").read_text(encoding="utf-8")
    return _rendered(text.partition("\n## Who could cheat")[0])


def test_fairness_matches_the_document() -> None:
    assert (FOLDER.parent / "fairness.html").read_text(encoding="utf-8") == fairness_html(), (
        "`make generate` rewrites it"
    )


@pytest.mark.parametrize("slug", sorted(GAMES))
def test_rules_match_the_document(slug: str) -> None:
    file = FOLDER / f"{slug}.html"
    assert file.exists(), "`make generate` writes it"
    assert file.read_text(encoding="utf-8") == rules_html(slug), "`make generate` rewrites it"


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


def test_page_weighs_at_most_200_kb() -> None:
    """With all games, icons and the verifier, compressed as the server sends them."""
    sizes = {name: len(gzip.compress(path.read_bytes())) for name, path in page_files.page_paths()}
    assert sum(sizes.values()) <= 200_000, sorted(sizes.items(), key=lambda item: -item[1])[:10]


def test_installed_page_has_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in included.items():
        shutil.copytree(ROOT / source, tmp_path / target, dirs_exist_ok=True)
    checkout = {name: path.read_bytes() for name, path in page_files.page_paths()}
    monkeypatch.setattr(page_files, "files", lambda package: tmp_path / package)
    assert page_files.page_dir() == tmp_path / "samedeal_server" / "page"
    assert {name: path.read_bytes() for name, path in page_files.page_paths()} == checkout


PNG_ICONS = {"icon-192.png": ("icon.svg", 192), "icon-512.png": ("icon.svg", 512)}
PNG_ICONS["icon-maskable.png"] = ("icon-maskable.svg", 512)


def test_manifest_names_icons_of_their_sizes() -> None:
    manifest = json.loads((FOLDER.parent / "app.webmanifest").read_text(encoding="utf-8"))
    sizes = {icon["src"]: icon["sizes"] for icon in manifest["icons"]}
    assert set(sizes) == {"icon.svg", *PNG_ICONS}
    for name, (_, size) in PNG_ICONS.items():
        png = (FOLDER.parent / name).read_bytes()
        assert png.startswith(b"\x89PNG\r\n")
        assert struct.unpack(">II", png[16:24]) == (size, size)
        assert sizes[name] == f"{size}x{size}"


if __name__ == "__main__":
    for icon, (source, size) in PNG_ICONS.items():
        drawn = resvg_py.svg_to_bytes(svg_path=f"{FOLDER.parent / source}", width=size, height=size)
        (FOLDER.parent / icon).write_bytes(bytes(drawn))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER.parent / "fairness.html").write_text(fairness_html(), encoding="utf-8")
    for slug in GAMES:
        (FOLDER / f"{slug}.html").write_text(rules_html(slug), encoding="utf-8")
        sys.stdout.write(f"{slug}\n")
