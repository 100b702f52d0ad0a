"""Verification over HTTP: a replay in, what holds of it out."""

import asyncio
from collections import Counter
from collections.abc import Collection
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from msgspec import Struct
from starlette.requests import Request

from samedeal.errors import Refused
from samedeal.proof.verification import Fact
from samedeal.race.events import Hex32
from samedeal.replays.replay import MAX_BYTES, Replay
from samedeal_server.http.disconnects import while_connected
from samedeal_server.http.endpoint import V1, Body, at
from samedeal_server.http.replays import FORMS
from samedeal_server.http.requests import address, upload
from samedeal_server.jobs.verifier import Verdict, verify_file
from samedeal_server.ops import metrics
from samedeal_server.store.archive import Archive

UPLOAD_S: Final = 20
MAX_VERIFICATIONS, MAX_VERIFICATIONS_OF_ONE = 16, 8
"""How many replays may be on their way or wait until they are verified, and how many of them from one address."""


class VerifyQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of a replay beyond being true."""

    key: tuple[Hex32, ...] = ()
    """The public keys one of which the signature has to be made with."""


class Verification(Struct, frozen=True):
    """What was found out about a replay."""

    ok: bool
    """Whether all facts hold."""
    key: str
    """The public key that the replay names as that of its signature."""
    known_key: bool
    """Whether it is one of this service's."""
    facts: tuple[Fact, ...]


class Verifications:
    """The endpoint that verifies, one replay after another."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._turn = asyncio.Lock()
        # By their addresses; those that wait too: at the end of a race all its racers want to know.
        self._under_way = Counter[str]()

    @at(
        "POST",
        f"{V1}/verify",
        body=Body(Replay, FORMS),
        refuses=("bad-replay", "foreign-page", "unsupported-version", "store-unavailable"),
        cost=10,
    )
    async def verify(self, request: Request, query: VerifyQuery) -> Verification:
        """Verifies a replay in any of its forms, told apart by what it holds and not by what it is called."""
        known = {key.key for key in await self._archive.signing_keys.published()}
        sender = address(request)
        if self._under_way.total() >= MAX_VERIFICATIONS or self._under_way[sender] >= MAX_VERIFICATIONS_OF_ONE:
            raise Refused("too-many", "Replays are verified one at a time, and too many wait already.")
        self._under_way[sender] += 1
        try:
            with TemporaryFile() as file:
                await upload(request, file, MAX_BYTES, UPLOAD_S)
                found = await while_connected(request, self._verdict(file, query.key))
        except Refused:
            metrics.VERIFICATIONS.labels("refused").inc()
            raise
        finally:
            self._under_way[sender] -= 1
            self._under_way += Counter()  # without addresses that have none
        ok = all(fact.holds for fact in found.facts)
        metrics.VERIFICATIONS.labels("holds" if ok else "fails").inc()
        return Verification(ok=ok, key=found.key, known_key=found.key in known, facts=found.facts)

    async def _verdict(self, file: BinaryIO, keys: Collection[str]) -> Verdict:
        async with self._turn:
            return await verify_file(file, keys)
