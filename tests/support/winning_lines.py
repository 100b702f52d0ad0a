"""Winning lines of certified deals and of Corner Stones, each checked by the library and by the JavaScript verifier.

    PYTHONPATH=tests python -m support.winning_lines --deals 200 --stones 50

Prints a digest of all lines. It is the same in every version of Python.
"""

import argparse
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from samedeal.computer.bots import BOTS, plays
from samedeal.computer.deal_filters import first
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Closed, Counting, Dealt, Joined, Moved, Readied
from samedeal.replays.replay import Replay
from samedeal.solver.solve import BUDGETS, solve
from samedeal.wire import codec
from support import javascript_verifier
from support.finished_races import SECRET
from support.races_by_hand import opened

CERTIFIED = ("the-edge", "kings-in-the-corners", "corners")


def certified_seeds(game: type[Game], count: int) -> Iterator[str]:
    """Yield the seeds of the certified deals of as many roots."""
    for root in range(count):
        yield f"line-{root}.{first(game, f'line-{root}', {}, 'certified/1')}"


def solved_seeds(game: type[Game], count: int) -> Iterator[str]:
    """Yield the seeds of as many deals that the solver wins."""
    number = found = 0
    while found < count:
        if solve(game.from_seed(str(number)), BUDGETS[game.slug]).outcome == "won":
            found += 1
            yield str(number)
        number += 1


def line_of(game: type[Game], seed: str) -> tuple[Move, ...]:
    """Return the winning line that certifies a deal: the solver's, or else the first play of the bot that wins."""
    if line := solve(game.from_seed(seed), BUDGETS[game.slug]).line:
        return line
    return next(run.moves for run in plays(game, seed, range(20)) if run.won)


def replay_of(game: type[Game], seed: str, line: tuple[Move, ...]) -> Replay:
    """Return a race for one in which somebody plays a line."""
    log = opened(game.slug, seed=seed, max_racers=1)
    for event in (Joined(seat=1, player="player-1", name="solver"), Readied(seat=1), Counting()):
        log.say(event)
    log.say(Dealt(), log.race.options.start_delay_ms)
    for move in line:
        log.say(Moved(seat=1, move=move), 100)
    log.say(Closed(secret=SECRET.hex()))
    return log.replay()


def wins(replay: Replay, folder: Path) -> bool:
    """Return whether both verifiers accept a replay, and its racer wins."""
    code, output = javascript_verifier.run_on(codec.encode(replay, "json").decode(), folder)
    won = replay.standings[0].outcome == "won"
    return won and all(fact.holds for fact in verify(replay)) and (code, output.splitlines()[-1][:8]) == (0, "verified")


def main() -> int:
    """Check the lines, and print how many of each game win."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deals", type=int, default=200)
    parser.add_argument("--stones", type=int, default=50)
    arguments = parser.parse_args()
    digest, failed = sha256(), 0
    with TemporaryDirectory() as folder:
        for slug in (*CERTIFIED, "corner-stones"):
            game = GAMES[slug]
            certified = slug in CERTIFIED
            seeds = certified_seeds(game, arguments.deals) if certified else solved_seeds(game, arguments.stones)
            won = lost = 0
            for seed in seeds:
                line = line_of(game, seed)
                digest.update(f"{slug}:{seed} {' '.join(line)}\n".encode())
                if wins(replay_of(game, seed, line), Path(folder)):
                    won += 1
                else:
                    lost += 1
            print(f"{game.title}: winning lines {won}, others {lost}", flush=True)
            failed += lost
    print(f"digest {digest.hexdigest()}")
    return 1 if failed or BOTS.keys() != GAMES.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
