"""What needs no words: ``samedeal`` without a command, where there is no full screen, and ``join`` without a race."""

import os
from pathlib import Path

import pytest

from samedeal_cli.main import COMMANDS, OFFLINE, main
from support.offline_cli import printed
from support.program import SAMEDEAL, ran
from support.servers import Server, racers
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"


def test_pipe_gets_the_help_even_with_flags() -> None:
    for args in ([], ["--server", NOBODY], ["-q"]):
        out, err = printed(*args)
        assert out.startswith("Usage: samedeal [OPTIONS] COMMAND")
        assert err == ""


@pytest.mark.parametrize(
    ("variable", "end"), [("TERM=dumb", "cannot move the cursor"), ("SAMEDEAL_SCREEN_READER=on", "terminated")]
)
def test_terminal_without_a_full_screen_gets_the_help(variable: str, end: str) -> None:
    name, _, value = variable.partition("=")
    environment = os.environ | {"SAMEDEAL_SERVER": NOBODY, "TERM": "xterm"} | {name: value}
    with at_a_terminal(environment, SAMEDEAL) as (process, terminal):
        text = until(terminal, end)
        assert process.wait(50) == 0
    assert "Usage: samedeal [OPTIONS] COMMAND" in text


async def test_join_without_a_race_joins_the_only_open_one(redis_url: str, tmp_path: Path) -> None:
    with Server(redis_url) as server:
        environment = os.environ | {"HOME": f"{tmp_path}", "SAMEDEAL_SERVER": server.url}
        assert "no races are open" in ran("join", "--as", "zo", code=2, environment=environment).stderr
        race = server.create("corners")
        joined = ran("join", "--as", "zo", typed="quit\n", environment=environment)
        assert "you are zo, seat 1" in joined.stdout
        other = server.create("corners")
        async with racers(server, "mia", "bo") as (mia, bo):
            await mia.join(other)
            await bo.join(race)
            done = ran("join", "--as", "cy", code=2, environment=environment)
            assert done.stderr.startswith(f"samedeal: 2 races are open at {server.url}; choose one: ")
            assert race in done.stderr
            assert other in done.stderr


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_only_commands_that_use_a_server_offer_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main.exit_code([name, "--help"])
    assert ("--server URL" in capsys.readouterr().out) is (name not in OFFLINE)
    assert main.exit_code([name, "--server", NOBODY, "--help"]) == 0
