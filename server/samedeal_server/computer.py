"""The computer: plays a deal for par in a process of its own, so that nobody's play waits for it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import cast

from msgspec import json

from samedeal import par as library
from samedeal.catalogue import GAMES
from samedeal.game import Game, Variant
from samedeal.par import Par
from samedeal_server.dealer import NICENESS


async def par(game: type[Game], seed: str, variant: Variant, told: Callable[[int], object]) -> Par:
    """The par of a deal; `told` is told how many plays are over, each time that one is.

    Raises RuntimeError if the process does not come to its end. If nobody waits any more, the process ends too.
    """
    question = json.encode((game.slug, seed, variant)).decode()
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    computer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, question, stdin=nothing, stdout=pipe
    )
    found: Par | None = None
    try:
        async for line in cast("asyncio.StreamReader", computer.stdout):
            if line.startswith(b"{"):
                found = json.decode(line, type=Par)
            else:
                told(int(line))
        status = await computer.wait()
    finally:
        if computer.returncode is None:
            computer.kill()
    if status or found is None:
        raise RuntimeError(f"the computer ended with status {status}")
    return found


def main() -> None:
    """Answers one question, a JSON array of game, seed and variant: a number after each play, and then the par."""
    os.nice(NICENESS)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends with the server, however that ends
    game, seed, variant = json.decode(sys.argv[1], type=tuple[str, str, dict[str, str | bool]])
    found = library.par(GAMES[game], seed, variant, after_each=lambda run: _write(f"{run.k + 1}"))
    _write(json.encode(found).decode())


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
