"""The page's files without a browser: every module parses, and the rules match docs/play/rules.md.

``python tests/web/test_web_files.py`` writes them anew.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from samedeal.games.catalogue import GAMES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "web" / "rules"


def page(title: str) -> str:
    """The chapter on a game, and what holds for all, as a piece of a page."""
    chapters = re.split(
        r"^(?=## )", (ROOT / "docs" / "play" / "rules.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    own = next(chapter for chapter in chapters if chapter.startswith(f"## {title}\n"))
    common = next(chapter for chapter in chapters if chapter.startswith("## Rules for all games\n"))
    text = own.replace("## ", "# ", 1) + "\n" + common
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    # Links to other documents would lead nowhere from the page; their words stay.
    html = re.sub(r'<a href="[^"]*">(.*?)</a>', r"\1", html)
    # What may be wider than a telephone can be scrolled, by keyboard too.
    return re.sub(r"<(pre|table)>", r'<\1 tabindex="0">', html)


@pytest.mark.parametrize("slug", sorted(GAMES))
def test_the_page_tells_the_rules_of_the_document(slug: str) -> None:
    assert (FOLDER / f"{slug}.html").read_text(encoding="utf-8") == page(GAMES[slug].title)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.parametrize("module", sorted(FOLDER.parent.glob("*.js")), ids=lambda path: path.name)
def test_every_module_can_be_parsed(module: Path) -> None:
    command = ["node", "--input-type=module", "--check"]
    subprocess.run(command, input=module.read_text(encoding="utf-8"), text=True, check=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for slug, game in GAMES.items():
        (FOLDER / f"{slug}.html").write_text(page(game.title), encoding="utf-8")
        sys.stdout.write(f"{slug}\n")
