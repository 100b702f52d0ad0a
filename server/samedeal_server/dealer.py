"""The dealer: finds which deal of a root is dealt, in a process of its own, so that nobody's play waits for it."""

import asyncio
import os
import sys

from msgspec import json

from samedeal.catalogue import GAMES
from samedeal.friendly import first
from samedeal.race import Race

NICENESS = 10
"""How far a search gives way to those who play."""


async def dealt(race: Race) -> int:
    """The number of the deal that the race's root and filter lead to. Raises RuntimeError if the search fails."""
    if race.root is None or race.options.filter == "any":
        return 0
    question = json.encode((race.header.game, race.root, race.header.variant, race.options.filter)).decode()
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    search = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, question, stdin=nothing, stdout=pipe)
    try:
        answer, _ = await search.communicate()
    finally:
        if search.returncode is None:
            search.kill()
    if search.returncode:
        raise RuntimeError(f"the search for a deal ended with status {search.returncode}")
    return int(answer)


def main() -> None:
    """Answers one question: a JSON array of game, root, variant and filter."""
    os.nice(NICENESS)
    game, root, variant, name = json.decode(sys.argv[1], type=tuple[str, str, dict[str, str | bool], str])
    sys.stdout.write(f"{first(GAMES[game], root, variant, name)}\n")


if __name__ == "__main__":
    main()
