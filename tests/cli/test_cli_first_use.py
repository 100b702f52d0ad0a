"""What a new user is asked: a name."""

import os
import tomllib
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


def shown(environment: dict[str, str], *words: str, answers: dict[str, bytes] | None = None) -> str:
    """Run a command on a terminal, answer what it asks, and return what it shows until it finds no server."""
    with at_a_terminal(environment, [*SAMEDEAL, "--server", NOBODY, *words]) as (process, terminal):
        text = ""
        for question, answer in (answers or {}).items():
            text += until(terminal, question)
            os.write(terminal, answer)
        text += until(terminal, END)
        assert process.wait(50) == 3
    return text


@pytest.mark.parametrize(("typed", "name"), [(b"Zo\n", "Zo"), (b"\n", guests.account_name())])
def test_new_user_is_asked_for_a_name_once(
    typed: bytes, name: str, environment: dict[str, str], tmp_path: Path
) -> None:
    question = f"Your name [{guests.account_name()}]: "
    shown(environment, "join", "calm-otter-42", "--line", answers={question: typed})
    assert tomllib.loads((tmp_path / "config" / "samedeal" / "config.toml").read_text()) == {"name": name}
    assert "Your name" not in shown(environment, "join", "calm-otter-42", "--line")


@pytest.mark.parametrize("known", ["option", "environment", "token", "guest", "quiet", "json"])
def test_user_with_a_name_is_not_asked(known: str, environment: dict[str, str], tmp_path: Path) -> None:
    if known == "guest":
        guests.save(guests.Guest(NOBODY, "ada", "0" * 16, "sd_x"))
    variables = {"environment": {"SAMEDEAL_NAME": "ada"}, "token": {"SAMEDEAL_TOKEN": "sd_x"}}.get(known, {})
    options = {"option": ["--as", "ada"], "quiet": ["-q"], "json": ["--json"]}.get(known, [])
    assert "Your name" not in shown(environment | variables, "again", "calm-otter-42", *options)
    assert not (tmp_path / "config" / "samedeal" / "config.toml").exists()
