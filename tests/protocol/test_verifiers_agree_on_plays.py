"""The rules of the JavaScript verifier agree with the library's at every step of recorded and random plays.

In a play, a racer makes moves of the game's bot, random moves, undo and restart, and tries moves that are not allowed.
The options of the game and of the race vary. Both programs must agree on the cards, the legal moves and their order,
the view, the cards home, the outcome, whether the move revealed a card, whether undo and restart are possible, and the
best result so far. ``make agree`` compares 10,000 plays of each game.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec import Struct, field, structs

from samedeal.cards import Pile
from samedeal.computer.bot import Seen
from samedeal.computer.bots import BOTS
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.errors import IllegalMove, Refused
from samedeal.game import Move
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from samedeal.race.run import RESTART, UNDO, Run
from support.javascript_verifier import FOLDER
from support.node import NODE, needs_node
from support.vectors import WINS

pytestmark = [needs_node, pytest.mark.tier(2)]

PLAYS, SEED = int(os.environ.get("AGREE_PLAYS") or 40), os.environ.get("AGREE_SEED") or "1"
"""The number of plays of each game, of which the first is the recorded win, and what decides the others."""
BATCH = 250
"""The number of plays for which the verifier is started once."""
LENGTHS = (20, 300, 300)
"""The maximum numbers of steps of a play."""
FOLLOWED = 40
"""One play in this many starts with the moves of the recorded win, the first of them with all its moves."""
NEVER_MOVES = ("", "draw!", "w ", "L4U4", "a1+a1", "u1l1", "undefined", "constructor")
EVERYWHERE = {"undo", "restart", "refused", "undo=False", "attempts=1", "attempts=2"}
SITUATIONS = {
    "corner-stones": {"playing", "stuck", "won", "deal restored"},
    "the-edge": {"playing, phase match", "lost, phase place", "lost, phase match", "won, phase place"},
    "corners": {"playing, pass 2 of 3", "stuck, pass 3 of 3", "won, pass 3 of 3", "refill=waste"},
    "kings-in-the-corners": {"playing, phase match", "lost, phase place", "lost, phase match", "won, phase place"},
    "gallery": {"playing", "over", "won", "automatic plays", "cap=False"},
    "golf": {"playing", "over", "won", "wrap=True"},
    "freecell": {"playing", "stuck", "won"},
    "klondike": {"playing", "stuck", "won", "draw=1", "passes=3", "passes=1"},
}
"""What has to occur in the plays of each game."""


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
            return random.choice(
                FIRST_BOTS.get(game.slug, BOTS[game.slug]).strategy(Seen.of(game, {}), self.last, self.words)
            )
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


def random_play(slug: str, number: int) -> Play:
    """Return a play, the same one for the same arguments."""
    random = Random(f"{slug}|{SEED}|{number}")
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


def compare(slug: str, numbers: Iterable[int], folder: Path = FOLDER) -> tuple[set[str], list[str]]:
    """Compare the plays with these numbers. Return what occurred in them, and the disagreements."""
    plays = {number: random_play(slug, number) for number in numbers}
    lines = [msgspec.json.encode(command) for play in plays.values() for command in play.commands]
    command = [NODE, str(folder / "play.mjs")]
    done = subprocess.run(command, input=b"\n".join(lines), stdout=subprocess.PIPE, check=True)
    answers = map(_decode, done.stdout.splitlines())
    seen, disagreements = set[str](), list[str]()
    for number, play in plays.items():
        theirs = [next(answers) for _ in play.commands]
        seen |= play.seen
        if theirs != play.answers:
            disagreements.append(_described(slug, number, play, theirs))
    return seen, disagreements


_decode = msgspec.json.Decoder(Answer).decode


def _described(slug: str, number: int, play: Play, theirs: Sequence[Answer]) -> str:
    """Return the first difference of a play, with the commands that lead to it."""
    at = next(at for at, (our, their) in enumerate(zip(play.answers, theirs, strict=True)) if our != their)
    lines = [f"{slug}, play {number}, step {at}:"]
    lines += [f"    {msgspec.json.encode(command).decode()}" for command in play.commands[: at + 1]]
    ours = structs.asdict(play.answers[at])
    differing = [name for name, value in structs.asdict(theirs[at]).items() if value != ours[name]]
    for name in differing:
        lines += [f"  {name}", f"    library:    {ours[name]}", f"    JavaScript: {getattr(theirs[at], name)}"]
    return "\n".join(lines)


@pytest.mark.parametrize("slug", GAMES)
def test_the_verifiers_agree_on_every_step(slug: str) -> None:
    everything = set[str]()
    for start in range(0, PLAYS, BATCH):
        seen, disagreements = compare(slug, range(start, min(start + BATCH, PLAYS)))
        assert not disagreements, "\n".join(disagreements[:3])
        everything |= seen
    assert SITUATIONS[slug] | EVERYWHERE <= everything


def test_a_disagreement_is_shown_with_the_moves_that_lead_to_it(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "verify")
    rules = folder / "games" / "corners.mjs"
    text = rules.read_text(encoding="utf-8")
    assert text.count("const PASSES = 3;") == 1
    rules.write_text(text.replace("const PASSES = 3;", "const PASSES = 2;"), encoding="utf-8")
    assert compare("corners", [0])[1] == []
    (disagreement,) = compare("corners", [0], folder)[1]
    assert '{"game":"corners","seed":"225"' in disagreement
    assert "    library:    {'pass': '1 of 3'}\n    JavaScript: {'pass': '1 of 2'}" in disagreement
