"""Fetches the scores that the results of a race show: your own, your records, and the results of the day."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

from samedeal.scores.tallies import Versus
from samedeal.wire.documents import Daily, PlayerPage
from samedeal_cli.failure import Failure
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Api

ARCHIVE_TIMEOUT_S: Final = 10.0
"""How long to wait until a race counts."""
MAX_RIVALS: Final = 3
"""Against how many racers the records are shown."""


async def fetch_scores(api: Api, connection: Connection) -> AsyncIterator[dict[str, Any]]:
    """Yield fields of the race state, as they arrive; errors leave fields out."""
    header, welcome, token = connection.header, connection.welcome, connection.token
    with suppress(Failure):
        if header.daily:
            data = await asyncio.to_thread(api.fetch, f"/daily/{header.date}/{header.game}", token=token)
            yield {"daily": api.read(data, Daily)}
    if welcome is None or connection.view.seat is None:
        return
    deadline, own, rivals = time.monotonic() + ARCHIVE_TIMEOUT_S, f"/players/{welcome.player}", list[str]()
    with suppress(Failure):
        while not rivals and time.monotonic() < deadline:
            page = api.read(await asyncio.to_thread(api.fetch, own, query={"limit": 5}, token=token), PlayerPage)
            rivals = [racer.player for race in page.races if race.race == header.race for racer in race.racers]
            if rivals:
                yield {"scores": page.scores}
            else:
                await asyncio.sleep(0.5)
        records = []
        for rival in [rival for rival in rivals if rival != welcome.player][:MAX_RIVALS]:
            records.append(api.read(await asyncio.to_thread(api.fetch, f"{own}/versus/{rival}", token=token), Versus))
            yield {"records": tuple(records)}
