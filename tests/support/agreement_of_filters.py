"""Compares the deal filters of the JavaScript verifier with the library's: the plays of the bots, and on random deals
which filters each of them passes.

    PYTHONPATH=tests python -m support.agreement_of_filters --deals 100 --seed 1
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from subprocess import PIPE, run
from typing import Any

import msgspec
from msgspec import Struct, field

from samedeal.computer.bot import Bot
from samedeal.computer.bots import GALLERY_BOT_2, plays
from samedeal.computer.deal_filters import FILTERS, passes
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.game import Move, Variant
from samedeal.games.catalogue import GAMES
from support.javascript_verifier import NODE

PROGRAM = Path(__file__).with_suffix(".mjs")
BATCH = 20
PLAYS = 3
"""The number of plays of each deal that are compared move by move."""
BOTS: Mapping[str, Bot] = {
    **{slug: FIRST_BOTS[slug] for slug in ("the-edge", "kings-in-the-corners", "corners")},
    "gallery": GALLERY_BOT_2,
}
"""The bots that filters run."""


class Question(Struct, frozen=True):
    """A deal to play and to test."""

    game: str
    seed: str
    variant: Variant
    played: Variant
    """The variant that the bot plays."""
    plays: int
    filters: tuple[str, ...] = FILTERS


class Answer(Struct, frozen=True):
    """The moves of the bot's plays, and the filters that the deal passes."""

    plays: tuple[tuple[Move, ...], ...]
    passed: tuple[str, ...]


class Report(Struct):
    """The deals that passed each filter, and the disagreements."""

    deals: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = []

    def compare(self, questions: list[Question]) -> None:
        theirs = msgspec.convert(of_javascript(questions), list[Answer])
        for question, their in zip(questions, theirs, strict=True):
            our = of_library(question)
            self.deals += 1
            self.passed.update(our.passed)
            if our != their:
                self.disagreements.append(f"{question}\n  library:    {our}\n  JavaScript: {their}")


def question(slug: str, seed: int, number: int) -> Question:
    """Return a random deal, the same one for the same arguments."""
    random = Random(f"{slug}|{seed}|{number}")
    variant = {name: random.choice(values) for name, values in GAMES[slug].options.items()}
    changed = {name: value for name, value in variant.items() if value != GAMES[slug].options[name][0]}
    bot = BOTS.get(slug)
    return Question(
        game=slug,
        seed=f"{random.randbytes(32).hex()}.{random.randrange(4096)}",
        variant=changed,
        played={**changed, **bot.variant} if bot else {},
        plays=PLAYS if bot else 0,
    )


def of_library(asked: Question) -> Answer:
    game, bot = GAMES[asked.game], BOTS.get(asked.game)
    runs = plays(game, asked.seed, range(asked.plays), asked.variant, bot) if bot else ()
    passed = tuple(name for name in asked.filters if passes(game, asked.seed, asked.variant, name))
    return Answer(tuple(each.moves for each in runs), passed)


def of_javascript(asked: Iterable[object]) -> list[Any]:
    lines = b"\n".join(map(msgspec.json.encode, asked))
    done = run([str(NODE), PROGRAM], input=lines, stdout=PIPE, check=True)
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def compared(slug: str, seed: int, deals: int) -> Report:
    """Compare so many random deals of a game."""
    report = Report()
    for start in range(0, deals, BATCH):
        report.compare([question(slug, seed, number) for number in range(start, min(start + BATCH, deals))])
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the deal filters of both verifiers.")
    parser.add_argument("--deals", type=int, default=100, help="the number of deals of each game")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other deals")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES), metavar="GAME", help="their slugs")
    args = parser.parse_args()
    if NODE is None:
        parser.error("Node.js is not installed")
    disagreements = 0
    for slug in args.games:
        report = compared(slug, args.seed, args.deals)
        print(*report.disagreements[:3], sep="\n", end="\n" if report.disagreements else "")
        passed = ", ".join(f"{report.passed[name]} {name}" for name in FILTERS)
        print(f"{slug}: {report.deals} deals, {len(report.disagreements)} disagreements. Passed: {passed}", flush=True)
        disagreements += len(report.disagreements)
    return int(disagreements > 0)


if __name__ == "__main__":
    sys.exit(main())
