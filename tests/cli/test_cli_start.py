"""``samedeal`` without a command and without a full screen: the help."""

import os

import pytest

from samedeal_cli.main import main
from support.program import SAMEDEAL
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"


def test_pipe_gets_the_help_even_with_flags(capsys: pytest.CaptureFixture[str]) -> None:
    for args in ([], ["--server", NOBODY], ["-q"]):
        assert main.exit_code(args) == 0
        out, err = capsys.readouterr()
        assert out.startswith("Usage: samedeal [OPTIONS] COMMAND")
        assert err == ""


@pytest.mark.parametrize("variable", ["TERM=dumb", "SAMEDEAL_SCREEN_READER=on"])
def test_terminal_without_a_full_screen_gets_the_help(variable: str) -> None:
    name, _, value = variable.partition("=")
    environment = os.environ | {"SAMEDEAL_SERVER": NOBODY, "TERM": "xterm"} | {name: value}
    with at_a_terminal(environment, SAMEDEAL) as (process, terminal):
        text = until(terminal, "terminated")
        assert process.wait(50) == 0
    assert "Usage: samedeal [OPTIONS] COMMAND" in text
