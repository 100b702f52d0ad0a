"""Moves of server bots: chosen in a bounded process that gets what the bot's seat has seen and nothing else."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from msgspec import msgpack

from samedeal import codec
from samedeal.commitments import server_bot_words
from samedeal.deck import Words
from samedeal.errors import Refused
from samedeal.race.events import Moved, Resigned
from samedeal.race.race import Race
from samedeal.race.server_bots import bots_playing, people_playing
from samedeal.race.standings import Seat
from samedeal.wire.bot_player import RESIGN
from samedeal.wire.views import view
from samedeal_server.net.logs import about
from samedeal_server.work.pool import Jobs

logger = logging.getLogger(__name__)

MAX_MOVES: Final = 1_024
"""Maximum number of moves in the queue of this process. A move takes about a millisecond, and an expert's up to 50."""
PAUSE_MS: Final = 2_000
"""The mean time between two moves of a bot (ms). Once all people have finished, bots do not pause."""
RETRY_S: Final = 5.0
"""Delay before a bot that could not choose tries again (s)."""


class BotMoves:
    """The next moves of the bots in one race."""

    def __init__(self, jobs: Jobs, on_done: Callable[[], object]) -> None:
        """`on_done` is called when a move is chosen."""
        self._jobs, self._on_done = jobs, on_done
        self._choosing = dict[int, tuple[int, asyncio.Task[str]]]()  # by seat, with the number of moves before

    def next(self, race: Race, now: int) -> Moved | Resigned | None:
        """Return the next move of a bot, or None until one is chosen. Starts to choose where a bot is playing.

        Every process that has the race open chooses the same move for the same time. The log accepts one of them.
        Bots that wait for the end of a head start do not choose yet.
        """
        playing = {seat.number: seat for seat in bots_playing(race) if now >= race.plays_from(seat)}
        for number in self._choosing.keys() - playing.keys():
            self._cancel(number)
        for number, seat in playing.items():
            ply = len(seat.run.moves) if seat.run else 0
            chosen_at, choosing = self._choosing.get(number, (-1, None))
            if choosing and chosen_at == ply:
                if choosing.done():
                    del self._choosing[number]
                    move = choosing.result()
                    return Resigned(seat=number) if move == RESIGN else Moved(seat=number, move=move)
                continue
            self._cancel(number)
            task = asyncio.get_running_loop().create_task(self._choose(race, seat, ply))
            task.add_done_callback(lambda _: self._on_done())
            self._choosing[number] = ply, task
        return None

    async def close(self) -> None:
        """Stop choosing."""
        tasks = [task for _, task in self._choosing.values()]
        for number in tuple(self._choosing):
            self._cancel(number)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _cancel(self, number: int) -> None:
        if number in self._choosing:
            self._choosing.pop(number)[1].cancel()

    async def _choose(self, race: Race, seat: Seat, ply: int) -> str:
        label = server_bot_words(race.secret, race.id, seat.number)
        if people_playing(race):
            words = Words(f"{label}|pause|{ply}")
            await asyncio.sleep((PAUSE_MS / 2 + words.below(PAUSE_MS + 1)) / 1000)
        seen = codec.encode(
            view(race, seat.number, max(race.at, race.plays_from(seat)), legal=True, header=True), "msgpack"
        )
        last = seat.run.moves[-1] if seat.run and seat.run.moves else ""
        recalled = seat.run.game.recalled() if seat.run else {}
        question = msgpack.encode((seen, last, label, recalled))
        while True:
            try:
                with self._jobs.turns.place("", always=True) as place:
                    return (await self._jobs.run(place, "bot-move", question)).decode()
            except Exception as error:
                if not isinstance(error, Refused):
                    logger.error("a bot could not move: %s", error, extra=about(race=race.id, seat=seat.number))
                await asyncio.sleep(RETRY_S)
