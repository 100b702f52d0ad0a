"""The verifier: uploads are verified in a separate process within its limits."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

import pytest

from samedeal.errors import Refused
from samedeal.proof.signature import public_key
from samedeal.proof.verification import verify
from samedeal.replays.replay import MAX_BYTES
from samedeal.wire import codec
from samedeal_server.jobs.verifier import verify_file
from support.finished_races import SECRET, finished
from support.stores import until

HEAD, ENTRY, *_, FOOT = finished("corners").lines()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[BinaryIO]:
    with (tmp_path / "replay").open("w+b") as opened:
        yield opened


def put(file: BinaryIO, content: bytes) -> BinaryIO:
    file.write(content)
    file.flush()
    return file


@cache
def long_json() -> bytes:
    """A replay with as many entries as fit into 64 MiB, in JSON that is not canonical."""
    data, entry = codec.encode(finished("corners"), "json"), ENTRY.strip() + b", "
    at = data.index(ENTRY.strip())
    return data[:at] + entry * ((MAX_BYTES - len(data)) // len(entry)) + data[at:]


@pytest.mark.parametrize("form", ["json", "msgpack", "ndjson"])
async def test_a_file_is_verified_in_any_form_and_from_any_position(file: BinaryIO, form: str) -> None:
    replay = finished("corners")
    lines = b"".join(replay.lines())
    put(file, lines if form == "ndjson" else codec.encode(replay, "json" if form == "json" else "msgpack"))
    for place in (0, 7):
        file.seek(place)
        result = await verify_file(file)
        assert (result.key, result.facts) == (replay.signature.key, verify(replay))
    other = public_key(SECRET)
    assert (await verify_file(file, [other])).facts == verify(replay, keys=[other]) != result.facts


@pytest.mark.parametrize("content", [b"", b"{}", HEAD, HEAD + FOOT[:-1], HEAD + b"[" * 10_000 + b"\n" + FOOT])
async def test_a_file_that_is_not_a_replay_is_refused(file: BinaryIO, content: bytes) -> None:
    with pytest.raises(Refused) as refused:
        await verify_file(put(file, content))
    assert refused.value.code == "bad-replay"
    assert "replay" in refused.value.text


async def test_a_verification_that_takes_too_long_is_refused(file: BinaryIO) -> None:
    put(file, HEAD + ENTRY * 400_000 + FOOT)
    with pytest.raises(Refused, match="more than 1 s") as refused:
        await verify_file(file, seconds=1)
    assert refused.value.code == "too-large"


async def test_a_verification_that_needs_too_much_memory_is_refused(file: BinaryIO) -> None:
    most = 200 * 2**20
    with pytest.raises(Refused, match=f"{most} bytes") as refused:
        await verify_file(put(file, long_json()), memory=most)
    assert refused.value.code == "too-large"


async def test_the_longest_file_takes_at_most_half_of_the_limits(file: BinaryIO) -> None:
    result = await verify_file(put(file, long_json()), memory=2**29)
    assert {fact.name for fact in result.facts if not fact.holds} >= {"numbers", "order"}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces the verification with a shell script."""

    def put_in_place(script: str) -> None:
        file = tmp_path / "program"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(file))

    return put_in_place


async def test_a_failing_process_gives_no_verdict(file: BinaryIO, program: Callable[[str], None]) -> None:
    program("exit 3")
    with pytest.raises(RuntimeError, match="status 3"):
        await verify_file(file)


async def test_cancelling_a_verification_ends_its_process(
    file: BinaryIO, program: Callable[[str], None], tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    program(f"echo $$ > {pid_file}.draft; mv {pid_file}.draft {pid_file}; exec sleep 600")
    waiting = asyncio.create_task(verify_file(file))
    await until(pid_file.exists)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: not runs(int(pid_file.read_text())))


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
