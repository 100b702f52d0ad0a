"""Compares the rules of the JavaScript verifier with the library's at every step of random plays.

In a play, a racer makes moves of the game's bot, random moves, undo and restart, and tries moves that are not allowed.
The options of the game and of the race vary. Both programs must agree on the cards, the legal moves and their order,
the view, the cards home, the outcome, whether the move revealed a card, whether undo and restart are possible, and the
best result so far.

``make agree`` compares 10,000 plays of each game. Exits with 1 at a disagreement.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from samedeal.cards import Pile
from samedeal.computer.bot import Seen
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.errors import IllegalMove, Refused
from samedeal.game import Move
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from samedeal.race.run import RESTART, UNDO, Run
from support.javascript_verifier import FOLDER, NODE
from support.random_games import WINS

BATCH = 250
"""The number of plays for which the verifier is started once."""
LENGTHS = (20, 300, 300)
"""The maximum numbers of steps of a play."""
FOLLOWED = 40
"""One play in this many starts with the moves of the recorded win, the first of them with all its moves."""
NEVER_MOVES = ("", "draw!", "w ", "L4U4", "a1+a1", "u1l1", "undefined", "constructor")
SHOWN = 3
"""The number of disagreements to print for each game."""


class Best(Struct):
    """The most cards home in any attempt, and the time when that number was first reached."""

    home: int = 0
    ms: int = 0


class Answer(Struct, kw_only=True, forbid_unknown_fields=True):
    """What is known after a step, or an error if the move was refused."""

    error: str = ""
    cards: Pile = ()
    """All cards in the order in which they are dealt, only after the deal."""
    moves: tuple[Move, ...] = ()
    view: dict[str, Pile] = {}
    notes: dict[str, str] = {}
    home: int = 0
    outcome: str = ""
    reveals: bool = False
    undo: bool = False
    restart: bool = False
    attempt: int = 0
    best: Best = field(default_factory=Best)
    stopped: bool = False


class Play(Struct):
    """The commands for ``play.mjs`` and the library's answers."""

    commands: list[dict[str, Any]] = []
    answers: list[Answer] = []
    seen: set[str] = set()
    """What occurred in the play."""


class Report(Struct):
    """The result of comparing plays of a game."""

    plays: int = 0
    steps: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    """The number of plays by their last outcome."""
    seen: Counter[str] = field(default_factory=Counter)
    """The number of plays in which something occurred."""
    disagreements: list[str] = []

    def add(self, other: "Report") -> None:
        """Add the result of other plays."""
        self.plays += other.plays
        self.steps += other.steps
        self.ended += other.ended
        self.seen += other.seen
        self.disagreements += other.disagreements

    def described(self, slug: str) -> str:
        """Return the first disagreements and the counts as text."""
        lines = self.disagreements[:SHOWN]
        lines.append(f"{slug}: {self.plays} plays, {self.steps} steps, {len(self.disagreements)} disagreements")
        for name, counter in (("ended", self.ended), ("plays with", self.seen)):
            lines.append(f"    {name}: {' · '.join(f'{what} {number}' for what, number in sorted(counter.items()))}")
        return "\n".join(lines)


# Plays by the library.


class Racer:
    """A racer of the library who chooses moves at random."""

    def __init__(self, slug: str, random: Random, recorded: bool) -> None:
        self.random = random
        self.words = Words(f"{slug}-bot")
        self.bot_rate = random.choice((0, 0.5, 0.9, 1))
        self.last_rate = random.choice((0, 0, 0.25))
        """How often to make the last legal move, so that the stock runs out before the moves do."""
        self.back_rate = random.choice((0, 0, 0.5))
        """How often to move a card of Corner Stones back, which can restore the deal."""
        self.undo_rate = random.choice((0, 0, 0.05, 0.3))
        self.restart_rate = random.choice((0, 0.003))
        self.refused_rate = random.choice((0, 0.03))
        self.last = ""

        game = GAMES[slug]
        seed, options = WINS[slug]["seed"], Options(limit_ms=60_000)
        variant = {name: values[0] for name, values in game.options.items()}
        if not recorded:
            root = random.randbytes(32).hex()
            seed = random.choice((str(random.randrange(10**6)), f"{root}.{random.randrange(4096)}", f"béla {root} 🂡"))
            variant = {name: random.choice((values[0], *values)) for name, values in game.options.items()}
            options = Options(limit_ms=60_000, undo=random.random() < 0.8, attempts=random.choice((0, 0, 0, 1, 2)))
        words = Words(f"{slug}|{seed}")
        while not game.playable(cards := words.shuffled(game.pack()), **variant):
            pass
        deal = game.from_seed(seed, **variant)
        self.run = Run(options, deal, deal, peak=deal.home)
        raced = {"undo": options.undo, "attempts": options.attempts}
        self.play = Play([{"game": slug, "seed": seed, "variant": variant, "options": raced}])
        self.play.seen |= {f"{name}={value}" for name, value in (variant | raced).items()}
        self.know(cards=cards)

    def choose(self) -> Move:
        """Return the next move to try."""
        random, game = self.random, self.run.game
        if random.random() < self.refused_rate:
            return random.choice((*NEVER_MOVES, *GAMES[game.slug].layout.split(), UNDO, RESTART, self.last))
        if random.random() < self.restart_rate:
            return RESTART
        if not game.moves():
            return UNDO if self.run.may(UNDO) and random.random() < 0.8 else RESTART
        if self.run.may(UNDO) and random.random() < self.undo_rate:
            return UNDO
        if (back := self.last[2:] + self.last[:2]) in game.moves() and random.random() < self.back_rate:
            return back
        if random.random() < self.bot_rate:
            return random.choice(FIRST_BOTS[game.slug].strategy(Seen.of(game, {}), self.last, self.words))
        return game.moves()[-1] if random.random() < self.last_rate else random.choice(game.moves())

    def step(self, move: Move) -> None:
        """Try a move and record the answer."""
        before, ms = self.run, 10 * len(self.play.commands)
        self.play.commands.append({"move": move, "ms": ms})
        try:
            self.run = before.after(move, ms)
        except (IllegalMove, Refused):
            self.play.answers.append(Answer(error="illegal move"))
            self.play.seen.add("refused")
            return
        self.last = move
        if move in (UNDO, RESTART):
            self.play.seen.add(move)
        elif self.run.game == self.run.deal:
            self.play.seen.add("deal restored")
        elif self.run.game.home - before.game.home > (move != "deal"):
            self.play.seen.add("automatic plays")
        self.know(reveals=move not in (UNDO, RESTART) and before.game.reveals(self.run.game))

    def know(self, cards: Pile = (), reveals: bool = False) -> None:
        """Record the answer to a step that was allowed."""
        run, game = self.run, self.run.game
        self.play.answers.append(
            Answer(
                cards=cards,
                moves=game.moves(),
                view=game.view(),
                notes=game.notes,
                home=game.home,
                outcome=game.outcome,
                reveals=reveals,
                undo=run.may(UNDO),
                restart=run.may(RESTART),
                attempt=run.attempts,
                best=Best(run.peak, run.peak_ms),
                stopped=run.done,
            )
        )
        stage = [f"{name} {game.notes[name]}" for name in ("phase", "pass") if name in game.notes]
        self.play.seen.add(", ".join([game.outcome, *stage]))


def random_play(slug: str, seed: int, number: int) -> Play:
    """Return a play, the same one for the same arguments."""
    random = Random(f"{slug}|{seed}|{number}")
    racer = Racer(slug, random, recorded=number % FOLLOWED == 0)
    if number % FOLLOWED == 0:
        win = WINS[slug]["moves"]
        for move in win[: random.randrange(len(win)) if number else None]:
            racer.step(move)
    for _ in range(random.choice(LENGTHS)):
        if racer.run.done or (racer.run.game.over and random.random() < 0.5):
            break
        racer.step(racer.choose())
    racer.step(random.choice((UNDO, RESTART, racer.last)))
    return racer.play


# The comparison.


def compare(slug: str, seed: int, numbers: Iterable[int], folder: Path = FOLDER) -> Report:
    """Compare the plays with these numbers."""
    plays = {number: random_play(slug, seed, number) for number in numbers}
    lines = [msgspec.json.encode(command) for play in plays.values() for command in play.commands]
    command = [str(NODE), str(folder / "play.mjs")]
    done = subprocess.run(command, input=b"\n".join(lines), stdout=subprocess.PIPE, check=True)
    answers = map(_decode, done.stdout.splitlines())
    report = Report()
    for number, play in plays.items():
        theirs = [next(answers) for _ in play.commands]
        report.plays += 1
        report.steps += len(theirs)
        report.ended[next(answer.outcome for answer in reversed(play.answers) if not answer.error)] += 1
        report.seen.update(play.seen)
        if theirs != play.answers:
            report.disagreements.append(_described(slug, seed, number, play, theirs))
    return report


_decode = msgspec.json.Decoder(Answer).decode


def _described(slug: str, seed: int, number: int, play: Play, theirs: Sequence[Answer]) -> str:
    """Return the first difference of a play, with the commands that lead to it."""
    at = next(at for at, (our, their) in enumerate(zip(play.answers, theirs, strict=True)) if our != their)
    lines = [f"{slug}, play {number}, step {at}:"]
    lines += [f"    {msgspec.json.encode(command).decode()}" for command in play.commands[: at + 1]]
    ours = structs.asdict(play.answers[at])
    differing = [name for name, value in structs.asdict(theirs[at]).items() if value != ours[name]]
    for name in differing:
        lines += [f"  {name}", f"    library:    {ours[name]}", f"    JavaScript: {getattr(theirs[at], name)}"]
    return "\n".join([*lines, f"  repeat: --games {slug} --seed {seed} --first {number} --plays 1"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the JavaScript rules with the library's on random plays.")
    parser.add_argument("--plays", type=int, default=10_000, help="the number of plays of each game")
    parser.add_argument("--first", type=int, default=0, help="the number of the first play")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other plays")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES), metavar="GAME", help="their slugs")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder with play.mjs")
    args = parser.parse_args(arguments)
    if NODE is None:
        parser.error("Node.js is not installed")
    numbers = range(args.first, args.first + args.plays)
    batches = [numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH)]
    disagreements = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for slug in args.games:
            report = Report()
            for part in pool.map(partial(compare, slug, args.seed, folder=args.folder), batches):
                report.add(part)
            print(report.described(slug), flush=True)
            disagreements += len(report.disagreements)
    print(f"seed {args.seed}: {disagreements} plays with a disagreement")
    return int(disagreements > 0)


if __name__ == "__main__":
    sys.exit(main())
