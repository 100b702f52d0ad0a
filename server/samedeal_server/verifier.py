"""The verifier: checks a replay that somebody has sent, in a process of its own, which gives way to those who play."""

import asyncio
import signal
import sys
from collections.abc import Collection
from typing import BinaryIO

from msgspec import Struct, json

from samedeal.errors import Refused
from samedeal.replay import MOST_LINE_BYTES, Log, ReplayLines, in_lines, read
from samedeal.verification import Fact, verify
from samedeal_server.limits import MAX_MEMORY, limit_cpu, limit_process, lower_priority

MOST_SECONDS = 60
"""How long it may compute. The longest races take half of that."""
MOST_MEMORY = MAX_MEMORY
"""How many bytes of memory it may take. The longest files that are read in one piece take half of that."""


class Verdict(Struct, frozen=True, tag=True):
    """What was found out."""

    key: str
    """The public key that the replay names as that of its signature."""
    facts: tuple[Fact, ...]


class Refusal(Struct, frozen=True, tag=True):
    """Why nothing was."""

    code: str
    text: str


async def verified(
    file: BinaryIO, keys: Collection[str] = (), *, seconds: int = MOST_SECONDS, memory: int = MOST_MEMORY
) -> Verdict:
    """The verdict on a replay in a real file, in any form; if there are `keys`, the signature has to be by one of them.

    Raises Refused("bad-replay") if it is none, Refused("too-large") if it takes too much, RuntimeError if the process
    fails otherwise.
    """
    command = (sys.executable, "-m", __name__, f"{seconds}", f"{memory}", *keys)
    check = await asyncio.create_subprocess_exec(*command, stdin=file, stdout=asyncio.subprocess.PIPE)
    lower_priority(check.pid)
    try:
        answer, _ = await check.communicate()
    finally:
        if check.returncode is None:
            check.kill()
            await check.communicate()  # until its pipe is closed
    if check.returncode:
        raise RuntimeError(f"the verification ended with status {check.returncode}")
    found = json.decode(answer, type=Verdict | Refusal)
    if isinstance(found, Refusal):
        raise Refused(found.code, found.text)
    return found


def main() -> None:
    """Answers for the file that is its input; its arguments are the seconds, the bytes of memory, and keys."""
    seconds, memory = map(int, sys.argv[1:3])
    signal.signal(signal.SIGXCPU, _too_long)
    limit_process(memory)
    limit_cpu(seconds, grace_s=5)
    try:
        found = _found(sys.stdin.buffer, sys.argv[3:])
    except (MemoryError, TimeoutError):
        found = None
    if found is None:  # only now is the memory free that the error has kept
        text = f"It takes more than {seconds} s or {memory} bytes to verify this here: try samedeal verify FILE."
        found = Refusal("too-large", text)
    sys.stdout.buffer.write(json.encode(found))


def _found(file: BinaryIO, keys: Collection[str]) -> Verdict | Refusal:
    try:
        log = _log(file)
        return Verdict(log.signature.key, verify(log, keys))
    except Refused as refused:
        return Refusal(refused.code, refused.text)


def _log(file: BinaryIO) -> Log:
    file.seek(0)
    lines = in_lines(file.readline(MOST_LINE_BYTES))
    file.seek(0)
    return ReplayLines(file) if lines else read(file.read())


def _too_long(*_: object) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)  # it comes every second from now on
    raise TimeoutError


if __name__ == "__main__":
    main()
