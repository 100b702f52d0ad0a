"""The dealer: finds which deal of a root is dealt, in a process of its own, so that nobody's play waits for it."""

import asyncio
import os
import sys

from msgspec import json

from samedeal.catalogue import GAMES
from samedeal.friendly import first
from samedeal.game import Game
from samedeal.race import Race

NICENESS = 10
"""How far a search gives way to those who play."""
MOST_KNOWN = 1_000
"""How many daily deals are remembered."""


class Dealer:
    """Looks for numbers of deals, and for that of a daily deal once, however many races have it."""

    def __init__(self) -> None:
        self._daily: dict[tuple[str, str], asyncio.Task[int]] = {}  # by root and filter

    async def stop(self) -> None:
        """Ends the searches for daily deals."""
        for search in self._daily.values():
            search.cancel()
        await asyncio.gather(*self._daily.values(), return_exceptions=True)

    async def dealt(self, race: Race) -> int:
        """The number of the deal that the race's root and filter lead to. Raises RuntimeError if the search fails."""
        if race.root is None:
            return 0
        if race.header.daily:
            return await asyncio.shield(self.daily(race.game, race.root, race.options.filter))
        return await _sought(race.header.game, race.root, race.header.variant, race.options.filter)

    def daily(self, game: type[Game], root: str, name: str) -> asyncio.Task[int]:
        """The search for the number of a daily deal by a filter; one that failed is begun again."""
        search = self._daily.get((root, name))
        if search is None or (search.done() and (search.cancelled() or search.exception())):
            search = asyncio.get_running_loop().create_task(_sought(game.slug, root, {}, name))
            self._daily[root, name] = search
            for known in [known for known, search in self._daily.items() if search.done()][:-MOST_KNOWN]:
                del self._daily[known]
        return search

    def leisure(self, root: str, name: str) -> bool:
        """Whether a search for a daily deal would be the only one, or is none because its number is known."""
        return (root, name) in self._daily or all(search.done() for search in self._daily.values())


async def _sought(game: str, root: str, variant: dict[str, str | bool], name: str) -> int:
    if name == "any":
        return 0
    question = json.encode((game, root, variant, name)).decode()
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
