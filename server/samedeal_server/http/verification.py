"""Verification of uploaded replays."""

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
from samedeal_server.http.endpoint import V1, BodySpec, route
from samedeal_server.http.replays import FORMS
from samedeal_server.http.requests import client_network, save_body
from samedeal_server.jobs.verifier import Verdict, verify_file
from samedeal_server.ops import metrics
from samedeal_server.store.archive import Archive

UPLOAD_S: Final = 20
MAX_VERIFICATIONS, MAX_VERIFICATIONS_OF_ONE = 16, 8
"""How many replays may be uploading or waiting for verification, in total and from one address."""


class VerifyQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Requirements beyond a valid replay."""

    key: tuple[Hex32, ...] = ()
    """Accepted public keys; the signature must use one of them."""


class Verification(Struct, frozen=True):
    """The result of verifying a replay."""

    ok: bool
    """Whether all facts are true."""
    key: str
    """The public key of the replay's signature."""
    known_key: bool
    """Whether the key belongs to this service."""
    facts: tuple[Fact, ...]


class Verifications:
    """The endpoint that verifies replays, one at a time."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = asyncio.Lock()
        self._pending = Counter[str]()  # uploading or waiting, by the client's network

    @route(
        "POST",
        f"{V1}/verify",
        body=BodySpec(Replay, FORMS),
        refuses=("bad-replay", "foreign-page", "unsupported-version", "store-unavailable"),
        cost=10,
    )
    async def verify(self, request: Request, query: VerifyQuery) -> Verification:
        """Verify a replay in any of its forms, which is detected from its content."""
        known_keys = {key.key for key in await self._archive.signing_keys.published()}
        client = client_network(request)
        if self._pending.total() >= MAX_VERIFICATIONS or self._pending[client] >= MAX_VERIFICATIONS_OF_ONE:
            raise Refused("too-many", "Too many replays are waiting for verification.")
        self._pending[client] += 1
        try:
            with TemporaryFile() as file:
                await save_body(request, file, MAX_BYTES, UPLOAD_S)
                verdict = await while_connected(request, self._verdict(file, query.key))
        except Refused:
            metrics.VERIFICATIONS.labels("refused").inc()
            raise
        finally:
            self._pending[client] -= 1
            self._pending += Counter()  # removes zero counts
        ok = all(fact.holds for fact in verdict.facts)
        metrics.VERIFICATIONS.labels("holds" if ok else "fails").inc()
        return Verification(ok=ok, key=verdict.key, known_key=verdict.key in known_keys, facts=verdict.facts)

    async def _verdict(self, file: BinaryIO, keys: Collection[str]) -> Verdict:
        async with self._lock:
            return await verify_file(file, keys)
