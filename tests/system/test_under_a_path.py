"""A public URL with a path, through real proxies: with the files in `deploy`."""

import asyncio
import re
from pathlib import Path
from random import Random
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from support.servers import Racer
from support.under_a_path import EXAMPLES, PATH, ServerUnderPath
from support.waiting import LIMIT_S
from system.test_proxies import check_two_servers

pytestmark = pytest.mark.tier(3)


@pytest.mark.parametrize("proxy", [None, *EXAMPLES])
async def test_race_under_a_path(proxy: str | None, tmp_path: Path) -> None:
    chance = Random(1)
    with ServerUnderPath(tmp_path, proxy, metrics="on", workers="2" if proxy is None else "1") as server:
        race_id = server.create("corners", start_delay_ms=50, max_racers=2)
        ada, cy = Racer("ada"), Racer("cy")
        for racer in (ada, cy):
            racer.path = f"/ws/{race_id}"
            await racer.connect(server, Origin=server.url.removesuffix(PATH))
        await asyncio.gather(ada.begin(race_id), cy.begin(race_id))
        for _ in range(10):
            for racer in (ada, cy):
                assert isinstance(await racer.move(chance.choice(racer.board.moves or [])), m.View)
        await asyncio.gather(ada.ask(m.Resign), cy.ask(m.Resign))
        await asyncio.gather(ada.close(), cy.close())
        replay = await server.replay(race_id)
        assert [fact for fact in verify(replay) if not fact.holds] == []
        with urlopen(server.url, timeout=LIMIT_S) as response:
            assert response.status == 200
        if proxy:
            for path in ("/metrics", f"{PATH}/metrics"):
                with pytest.raises(HTTPError, match="404"):
                    urlopen(f"{server.url}{path}", timeout=LIMIT_S)


@pytest.mark.parametrize("proxy", EXAMPLES)
async def test_configurations_for_two_servers_work_under_a_path(proxy: str, redis_url: str, tmp_path: Path) -> None:
    await check_two_servers(proxy, redis_url, tmp_path, PATH, _under_path[proxy])


def _caddy(text: str) -> str:
    before, site, inside = text.partition("\n:8640 {")
    return f"{before}{site}\nhandle_path {PATH}/* {{{inside}}}\n"


def _haproxy(text: str) -> str:
    rule = f"http-request replace-path ^{PATH}(/.*) \\1"
    return text.replace("\tbind :8640\n", f"\tbind :8640\n\t{rule}\n")


def _nginx(text: str) -> str:
    return re.sub(r"(location (?:= )?)/", rf"\1{PATH}/", text)


_under_path = {"caddy": _caddy, "haproxy": _haproxy, "nginx": _nginx}
"""Change the configurations in `deploy` as documented."""
