"""The verifier: verifies an uploaded replay in a separate process with low priority and limits."""

import asyncio
import signal
import sys
from collections.abc import Collection
from typing import BinaryIO

from msgspec import Struct, json

from samedeal.errors import Refused
from samedeal.proof.verification import Fact, verify
from samedeal.replays.replay import MAX_LINE_BYTES, Log, ReplayLines, in_lines, read
from samedeal_server.jobs.limits import MAX_MEMORY, limit_cpu, limit_process, lower_priority

MAX_SECONDS = 60
"""The CPU limit. The longest races take half of it."""


class Verdict(Struct, frozen=True, tag=True):
    """The result of a verification."""

    key: str
    """The public key that the replay states for its signature."""
    facts: tuple[Fact, ...]


class Refusal(Struct, frozen=True, tag=True):
    """Why a file was not verified."""

    code: str
    text: str


async def verify_file(
    file: BinaryIO, keys: Collection[str] = (), *, seconds: int = MAX_SECONDS, memory: int = MAX_MEMORY
) -> Verdict:
    """Verify a replay in a file on disk, in any form. If `keys` are given, one of them must have signed it.

    Raises Refused("bad-replay") if the file is not a replay, Refused("too-large") if the limits are exceeded,
    RuntimeError if the process fails otherwise.
    """
    command = (sys.executable, "-m", __name__, f"{seconds}", f"{memory}", *keys)
    process = await asyncio.create_subprocess_exec(*command, stdin=file, stdout=asyncio.subprocess.PIPE)
    lower_priority(process.pid)
    try:
        answer, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # until its pipe is closed
    if process.returncode:
        raise RuntimeError(f"the verification exited with status {process.returncode}")
    result = json.decode(answer, type=Verdict | Refusal)
    if isinstance(result, Refusal):
        raise Refused(result.code, result.text)
    return result


def main() -> None:
    """Verify the file on standard input. Arguments: the CPU seconds, the bytes of memory, and any number of keys."""
    seconds, memory = map(int, sys.argv[1:3])
    signal.signal(signal.SIGXCPU, _too_long)
    limit_process(memory)
    limit_cpu(seconds, grace_s=5)
    try:
        result = _verify(sys.stdin.buffer, sys.argv[3:])
    except (MemoryError, TimeoutError):
        result = None
    if result is None:  # not in the except block, where the error still holds the memory
        text = f"Verifying this replay takes more than {seconds} s or {memory} bytes. Run samedeal verify FILE instead."
        result = Refusal("too-large", text)
    sys.stdout.buffer.write(json.encode(result))


def _verify(file: BinaryIO, keys: Collection[str]) -> Verdict | Refusal:
    try:
        log = _log(file)
        return Verdict(log.signature.key, verify(log, keys))
    except Refused as refused:
        return Refusal(refused.code, refused.text)


def _log(file: BinaryIO) -> Log:
    file.seek(0)
    lines = in_lines(file.readline(MAX_LINE_BYTES))
    file.seek(0)
    return ReplayLines(file) if lines else read(file.read())


def _too_long(*_: object) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)  # the kernel repeats it every second
    raise TimeoutError


if __name__ == "__main__":
    main()
