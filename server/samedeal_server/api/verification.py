"""Verification of uploaded replays."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct, msgpack
from starlette.requests import Request

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import Fact, outcome_of
from samedeal.race.events import Hex32
from samedeal.replays.replay import MAX_BYTES, Replay
from samedeal_server.api.endpoint import STORE_REFUSALS, V1, BodySpec, route
from samedeal_server.api.replays import FORMS
from samedeal_server.net import metrics
from samedeal_server.net.limits import Place, too_many
from samedeal_server.net.requests import client_network, save_body, while_connected
from samedeal_server.store.archive import Archive
from samedeal_server.work.pool import Jobs, LimitExceeded

UPLOAD_S: Final = 20
LATE: Final = f"The replay did not arrive within {UPLOAD_S} s."
MAX_VERIFICATIONS, MAX_VERIFICATIONS_OF_ONE = 8, 8
"""How many replays may wait for verification, in total (see ``Turns``) and from one address."""
MAX_UPLOADED, MAX_UPLOADED_OF_ONE = 8 * MAX_BYTES, 2 * MAX_BYTES
"""The maximum bytes of all replays that are uploading or waiting for verification, and of those from one address."""
ALWAYS: Final = 2**20
"""The bytes that an address without uploads can always send, even if the limit is reached. Most replays take 100 KB."""
BUFFERED: Final = 2**14
"""The bytes of an upload that are collected in memory before they are written to its file."""
FULL: Final = "Too many replays are waiting for verification."


class VerifyQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Requirements beyond a valid replay."""

    key: tuple[Hex32, ...] = ()
    """Accepted public keys; the signature must use one of them."""


class Verification(Struct, frozen=True):
    """The result of verifying a replay."""

    ok: bool
    """Whether all facts are true."""
    outcome: Outcome
    key: str
    """The public key of the replay's signature."""
    known_key: bool
    """Whether the key belongs to this service."""
    facts: tuple[Fact, ...]


class Uploads:
    """The files of replays that are uploading or waiting. Only received bytes count towards their limits."""

    def __init__(self) -> None:
        self._bytes = Counter[str]()

    @contextmanager
    def file(self, client: str) -> Iterator[tuple[str, Callable[[bytes], None]]]:
        """Yield the path of a new file for a client, and a function that appends to it; b"" completes the file.

        The function raises Refused("too-many") if there is no room for the data. No file stays open between calls.
        """
        with TemporaryDirectory() as folder:
            path, size, buffer = Path(folder, "replay"), 0, bytearray()

            def append(data: bytes) -> None:
                nonlocal size
                of_one = self._bytes[client] + len(data)
                is_full = self._bytes.total() + len(data) > MAX_UPLOADED
                if of_one > MAX_UPLOADED_OF_ONE or (is_full and of_one > ALWAYS):
                    raise too_many("verify", FULL, client)
                size += len(data)
                self._bytes[client] += len(data)
                buffer.extend(data)
                if not data or len(buffer) >= BUFFERED:
                    with path.open("ab") as file:
                        file.write(buffer)
                    buffer.clear()

            try:
                yield f"{path}", append
            finally:
                self._bytes[client] -= size
                self._bytes += Counter()  # drops those without bytes


class Verifications:
    """The endpoint that verifies replays, one at a time."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._uploads = Uploads()
        self.jobs = Jobs(MAX_VERIFICATIONS, MAX_VERIFICATIONS_OF_ONE, FULL, queue="verify")
        """The queue of verifications. The longest races take half of the CPU time."""

    @route(
        "POST",
        f"{V1}/verify",
        body=BodySpec(Replay, FORMS),
        refuses=("bad-replay", "unsupported-version", *STORE_REFUSALS),
        cost=10,
    )
    async def verify(self, request: Request, query: VerifyQuery) -> Verification:
        """Verify a replay in any of its forms, which is detected from its content."""
        known_keys = {key.key for key in await self._archive.signing_keys.published()}
        client = client_network(request)
        try:
            self.jobs.turns.check(client)
            with self._uploads.file(client) as (path, append):
                await save_body(request, append, MAX_BYTES, UPLOAD_S, LATE)
                with self.jobs.turns.place(client) as place:
                    key, facts = await while_connected(request, verify_file(self.jobs, place, path, query.key))
        except Refused:
            metrics.VERIFICATIONS.labels("refused").inc()
            raise
        known = key in known_keys
        outcome = outcome_of(facts, key_known=known or key in query.key)
        ok = outcome != "refused"
        metrics.VERIFICATIONS.labels("holds" if ok else "fails").inc()
        return Verification(ok=ok, outcome=outcome, key=key, known_key=known, facts=facts)


async def verify_file(jobs: Jobs, place: Place, path: str, keys: Collection[str] = ()) -> tuple[str, tuple[Fact, ...]]:
    """Verify a replay in a file, in any form. If `keys` are given, one of them must have signed it.

    Return the key that the replay states for its signature, and the facts. Raises Refused("bad-replay") if the file is
    not a replay, Refused("too-large") if the limits are exceeded, and JobFailed.
    """
    try:
        answer = await jobs.run(place, "verify", msgpack.encode((path, tuple(keys))))
    except LimitExceeded as error:
        limits = f"{jobs.cpu_s} s or {jobs.memory} bytes"
        text = f"Verifying this replay takes more than {limits}. Run samedeal verify FILE instead."
        raise Refused("too-large", text) from error
    return decoder("msgpack", tuple[str, tuple[Fact, ...]]).decode(answer)
