"""What a new user is asked: a name."""

import os
from pathlib import Path

import pytest

from samedeal_cli.net import guests
from support.program import SAMEDEAL
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"
END = "no server is running"


@pytest.fixture
def environment() -> dict[str, str]:
    return os.environ | {"TERM": "xterm", "PAGER": "cat"}


def shown(environment: dict[str, str], *words: str) -> str:
    """Run a command on a terminal, and return what it shows until it finds no server."""
    with at_a_terminal(environment, [*SAMEDEAL, "--server", NOBODY, *words]) as (process, terminal):
        text = until(terminal, END)
        assert process.wait(50) == 3
    return text


@pytest.mark.parametrize("known", ["option", "environment", "token", "guest", "quiet", "json"])
def test_user_with_a_name_is_not_asked(known: str, environment: dict[str, str], tmp_path: Path) -> None:
    if known == "guest":
        guests.save(guests.Guest(NOBODY, "ada", "0" * 16, "sd_x"))
    variables = {"environment": {"SAMEDEAL_NAME": "ada"}, "token": {"SAMEDEAL_TOKEN": "sd_x"}}.get(known, {})
    options = {"option": ["--as", "ada"], "quiet": ["-q"], "json": ["--json"]}.get(known, [])
    assert "Your name" not in shown(environment | variables, "again", "calm-otter-42", *options)
    assert not (tmp_path / "config" / "samedeal" / "config.toml").exists()
