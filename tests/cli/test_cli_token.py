"""SAMEDEAL_TOKEN is sent only to the server that it is meant for."""

import asyncio
import os
from pathlib import Path

import pytest

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_cli.addresses import same_server
from support.program import SAMEDEAL
from support.scripted_server import RACE, Peer, server

pytestmark = pytest.mark.tier(2)

JOIN, *OTHERS = [["join", "--line"], ["watch", "--line"], ["bot"]]
ELSEWHERE = "http://127.0.0.1:1"
LINK = f"URL/r/{RACE}"


async def refuse(peer: Peer) -> None:
    hello = await peer.hear()
    await peer.say(m.Problem.of(Refused("not-found", "Nothing is here."), hello.id))


async def greeting(tmp_path: Path, args: list[str], url: str, **environment: str) -> tuple[m.Hello, str]:
    """Return the Hello that a command sends to the server at `url`, and its standard error."""
    async with server(refuse) as (address, received):
        filled = {name: value.replace(url, address) for name, value in environment.items()}
        if file := filled.pop("config", ""):
            (tmp_path / "config/samedeal").mkdir(parents=True)
            (tmp_path / "config/samedeal/config.toml").write_text(f'server = "{file}"\n')
        process = await asyncio.create_subprocess_exec(
            *SAMEDEAL,
            *(argument.replace(url, address) for argument in args),
            env=os.environ | {"SAMEDEAL_TOKEN": "sd_x"} | filled,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await process.communicate()
        assert process.returncode == 4, err
        (hello,) = (message for message in received if isinstance(message, m.Hello))
        return hello, err.decode().replace(address, url)


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        (JOIN, {}),
        (JOIN, {"SAMEDEAL_SERVER": ELSEWHERE}),
        *((command, {}) for command in OTHERS),
    ],
    ids=str,
)
async def test_link_to_another_server_does_not_get_the_token(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    hello, err = await greeting(tmp_path, [*command, LINK], "URL", **environment)
    assert hello.token is None
    assert hello.name
    home = ELSEWHERE if environment else "http://127.0.0.1:8640"
    note = f"SAMEDEAL_TOKEN is for {home} and is not sent to URL; to send it there, add --server URL"
    assert note in err


NAMED: list[tuple[list[str], dict[str, str]]] = [
    (["--server", "URL"], {"SAMEDEAL_SERVER": ELSEWHERE}),
    ([], {"SAMEDEAL_SERVER": "URL"}),
    ([], {"config": "URL"}),
]


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        *(([*JOIN, LINK, *args], environment) for args, environment in NAMED),
        ([*JOIN, RACE], {"SAMEDEAL_SERVER": "URL"}),
        *(([*command, LINK, *NAMED[0][0]], NAMED[0][1]) for command in OTHERS),
    ],
    ids=str,
)
async def test_named_server_gets_the_token(command: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    hello, err = await greeting(tmp_path, command, "URL", **environment)
    assert (hello.token, hello.name) == ("sd_x", None)
    assert "SAMEDEAL_TOKEN" not in err


async def test_name_replaces_the_token_silently(tmp_path: Path) -> None:
    hello, err = await greeting(tmp_path, [*JOIN, LINK, "--as", "bo"], "URL")
    assert (hello.token, hello.name) == (None, "bo")
    assert "SAMEDEAL_TOKEN" not in err


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://cards.example", "https://Cards.Example:443", True),
        ("https://cards.example", "http://cards.example", False),
        ("https://cards.example", "https://cards.example:8443", False),
        ("https://cards.example", "https://cards.example@evil.example", False),
        ("https://cards.example/a", "https://cards.example/b", False),
        ("http://127.0.0.1:8640", "http://localhost:8640", True),
        ("http://127.0.0.1:8640", "http://127.0.0.1:8641", False),
    ],
)
def test_same_server_compares_scheme_host_port_and_path(one: str, other: str, same: bool) -> None:
    assert same_server(one, other) is same
