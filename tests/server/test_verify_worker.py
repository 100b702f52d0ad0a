"""Uploads are verified in a separate process within its limits."""

import asyncio
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from samedeal.errors import Refused
from samedeal.proof.signature import public_key
from samedeal.proof.verification import Fact, verify
from samedeal.replays.replay import MAX_BYTES
from samedeal.wire import codec
from samedeal_server.http.verification import verify_file
from samedeal_server.jobs.pool import JobFailed, Jobs
from support.child_processes import runs
from support.finished_races import SECRET, finished
from support.gated_worker import Gate
from support.gates import gate
from support.stores import until

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


@pytest.mark.parametrize("form", ["json", "msgpack", "ndjson"])
async def test_a_file_is_verified_in_any_form(file: Path, form: str) -> None:
    replay = finished("corners")
    lines = b"".join(replay.lines())
    put(file, lines if form == "ndjson" else codec.encode(replay, "json" if form == "json" else "msgpack"))
    assert await verdict(file) == (replay.signature.key, verify(replay))
    other = public_key(SECRET)
    assert await verdict(file, other) == (replay.signature.key, verify(replay, keys=[other]))
    assert verify(replay, keys=[other]) != verify(replay)


@pytest.mark.parametrize("content", [b"", b"{}", HEAD, HEAD + FOOT[:-1], HEAD + b"[" * 10_000 + b"\n" + FOOT])
async def test_a_file_that_is_not_a_replay_is_refused(file: Path, content: bytes) -> None:
    with pytest.raises(Refused) as refused:
        await verdict(put(file, content))
    assert refused.value.code == "bad-replay"
    assert "replay" in refused.value.text


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


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces the verification with a shell script."""

    def put_in_place(script: str) -> None:
        file = tmp_path / "program"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(file))

    return put_in_place


async def test_a_failing_process_gives_no_verdict(file: Path, program: Callable[[str], None]) -> None:
    program("exit 3")
    with pytest.raises(JobFailed, match="status 3"):
        await verdict(file)


async def test_cancelling_a_verification_ends_its_process(
    file: Path, program: Callable[[str], None], tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    program(f"echo $$ > {pid_file}.draft; mv {pid_file}.draft {pid_file}; exec sleep 600")
    waiting = asyncio.create_task(verdict(file))
    await until(pid_file.exists)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: not runs(int(pid_file.read_text())))
