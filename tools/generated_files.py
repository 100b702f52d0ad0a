"""Writes the generated files of the repository, except the records of tests: ``python -m tools.generated_files``."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from samedeal.games.catalogue import GAMES
from tools import docs_page, race_animation, settings_lists, web_pages
from tools.asyncapi import asyncapi_json
from tools.openapi import openapi_json

ROOT: Final = Path(__file__).parents[1]
FILES: Final[Mapping[str, Callable[[], str | bytes]]] = {
    ".env.example": settings_lists.example_environment,
    "docs/operate/operations.md": settings_lists.operations_page,
    "docs/race-animated.svg": race_animation.animation,
    "server/samedeal_server/api/openapi.json": openapi_json,
    "server/samedeal_server/api/asyncapi.json": asyncapi_json,
    "server/samedeal_server/api/docs.html": docs_page.page,
    "clients/web/fairness.html": web_pages.fairness_html,
    "clients/web/rules/common.html": web_pages.common_html,
    **{f"clients/web/rules/{slug}.html": partial(web_pages.rules_html, slug) for slug in GAMES},
    **{f"clients/web/{name}": partial(web_pages.icon, name) for name in web_pages.PNG_ICONS},
}
"""The path of each file, and a function that returns its content."""


def content(name: str) -> bytes:
    """Return what a generated file should contain."""
    data = FILES[name]()
    return data.encode() if isinstance(data, str) else data


if __name__ == "__main__":
    for file in FILES:
        (ROOT / file).write_bytes(content(file))
        print(file)
