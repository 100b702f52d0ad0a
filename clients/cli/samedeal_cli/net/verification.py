"""Verifies the replay of a race that has just ended."""

import asyncio
from typing import NamedTuple

from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import Fact, outcome_of, verify
from samedeal.replays.replay import read
from samedeal_cli.failure import Declined, Failure
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.replay_loader import fetch_archived


class Verification(NamedTuple):
    """The result of a verification."""

    outcome: Outcome | None
    """None if the replay could not be verified."""
    detail: str = ""
    """Why it could not be verified, or why it cannot be read."""
    facts: tuple[Fact, ...] = ()


async def verify_race(api: Api, connection: Connection) -> Verification:
    """Verify a race with its server's keys and the receipts of a connection. A sealed replay cannot be verified."""
    try:
        if connection.header.daily and not connection.view.deal:
            raise Declined("replay-sealed", "the replay is sealed until the deal is revealed")
        data = await fetch_archived(api, connection.race_id)
        keys = await asyncio.to_thread(api.keys)
        facts = await asyncio.to_thread(lambda: verify(read(data), keys, connection.receipts))
    except Failure as failure:
        return Verification(None, failure.format_message())
    except Refused as refused:
        return Verification(None if refused.code == "unsupported-version" else "refused", refused.text)
    return Verification(outcome_of(facts, key_known=bool(keys)), facts=facts)
