"""Uploads are verified in a separate process within its limits."""

from functools import cache
from pathlib import Path

import pytest

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.verification import Fact
from samedeal.replays.replay import MAX_BYTES
from samedeal_server.api.verification import verify_file
from samedeal_server.work.pool import Jobs
from support.finished_races import finished
from support.gated_worker import Gate
from support.gates import gate

pytestmark = pytest.mark.tier(3)

__all__ = ["gate"]
HEAD, ENTRY, *_, FOOT = finished("corners").lines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "replay"


def put(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


async def verdict(file: Path, *keys: str, **limits: int) -> tuple[str, tuple[Fact, ...]]:
    """Verify a file in a process of its own."""
    jobs = Jobs(1, 1, "", **limits)  # type: ignore[arg-type]
    try:
        with jobs.turns.place("a") as place:
            return await verify_file(jobs, place, f"{file}", keys)
    finally:
        await jobs.stop()


@cache
def long_json() -> bytes:
    """A replay with as many entries as fit into 64 MiB, in JSON that is not canonical."""
    data, entry = codec.encode(finished("corners"), "json"), ENTRY.strip() + b", "
    at = data.index(ENTRY.strip())
    return data[:at] + entry * ((MAX_BYTES - len(data)) // len(entry)) + data[at:]


async def test_a_verification_that_takes_too_long_is_refused(file: Path, gate: Gate) -> None:
    gate.misbehave("spinning", "verify")
    gate.allow(1)
    with pytest.raises(Refused, match="more than 1 s") as refused:
        await verdict(file, cpu_s=1)
    assert refused.value.code == "too-large"


async def test_a_verification_that_needs_too_much_memory_is_refused(file: Path) -> None:
    most = 200 * 2**20
    with pytest.raises(Refused, match=f"{most} bytes") as refused:
        await verdict(put(file, long_json()), memory=most)
    assert refused.value.code == "too-large"


async def test_the_longest_file_takes_at_most_half_of_the_limits(file: Path) -> None:
    _, facts = await verdict(put(file, long_json()), memory=2**29)
    assert {fact.name for fact in facts if not fact.holds} >= {"numbers", "order"}
