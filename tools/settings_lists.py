"""The lists of all settings: the table in the documentation and `.env.example`."""

from pathlib import Path
from typing import Final

from samedeal_server.settings import described

OPERATIONS: Final = Path(__file__).parents[1] / "docs" / "operate" / "operations.md"
HEAD: Final = "| Variable | Default | Meaning | Expected |\n|---|---|---|---|\n"
COMMENT: Final = """\
# All settings of the server with their defaults. Copy this file to .env for `docker compose`, and uncomment the
# settings that you change. With `docker compose`, PORT is the published port, and SAMEDEAL_HOST and SAMEDEAL_DATA_DIR
# have no effect.
"""


def operations_page() -> str:
    """Return the page about operations with the current table of settings."""
    before, _, after = OPERATIONS.read_text(encoding="utf-8").partition(HEAD)
    rows = "".join(
        f"| `{name}` |{_cell(default)} | {description} | {expected} |\n"
        for name, default, description, expected in described()
    )
    return before + HEAD + rows + after[after.index("\n\n") + 1 :]


def _cell(default: str) -> str:
    if not default or " " in default:
        return default and f" {default}"
    return f" `{default}`"


def example_environment() -> str:
    """Return `.env.example`."""
    return COMMENT + "".join(
        f"\n# {description}: {expected}.\n# {name}={'' if ' ' in default else default}\n"
        for name, default, description, expected in described()
    )
