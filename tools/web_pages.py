"""The generated files of the web page: the rules of each game and the fairness page, from the docs, and the icons."""

import json
import re
from html import escape
from pathlib import Path
from typing import Final

import resvg_py
from markdown_it import MarkdownIt

from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE

ROOT: Final = Path(__file__).parents[1]
PNG_ICONS: Final = {
    "icon-192.png": ("icon.svg", 192),
    "icon-512.png": ("icon.svg", 512),
    "icon-maskable.png": ("icon-maskable.svg", 512),
}
"""The source and the size of each icon."""


def rules_html(slug: str) -> str:
    """Return the rules of a game as HTML: five lines, pictures and strategy, and the rest folded up."""
    title = GAMES[slug].title
    brief, *sections = re.split(r"^### (.*)$", _chapter(title), flags=re.MULTILINE)
    html = f"<h1>{title}</h1>\n{_rendered(brief)}{_figures(slug)}"
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        name = heading.partition(f" in {title}")[0].partition(f" of {title}")[0]
        if name == "Strategy":
            html += f"<h2>{name}</h2>\n{_rendered(text)}"
        else:
            html += _folded(name, text)
    return html


def common_html() -> str:
    """Return the rules for all games as HTML, folded up."""
    title = "Rules for all games"
    return _folded(title, _chapter(title))


def fairness_html() -> str:
    """Return the summary of docs/play/fairness.md as HTML."""
    return _rendered(_document("fairness.md").partition("\n## Who could cheat")[0])


def icon(name: str) -> bytes:
    """Return an icon as PNG."""
    source, size = PNG_ICONS[name]
    return bytes(resvg_py.svg_to_bytes(svg_path=f"{ROOT / 'clients/web' / source}", width=size, height=size))


def _chapter(title: str) -> str:
    chapters = re.split(r"^(?=## )", _document("rules.md"), flags=re.MULTILINE)
    own = next((chapter for chapter in chapters if chapter.startswith(f"## {title}\n")), None)
    if own is None:
        raise LookupError(f"docs/play/rules.md needs a chapter {title}")
    return own.split("\n", 1)[1]


def _document(name: str) -> str:
    return (ROOT / "docs/play" / name).read_text(encoding="utf-8").partition("\nNext: ")[0]


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
