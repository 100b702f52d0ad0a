"""The worker process: runs jobs from standard input one at a time, within limits of CPU time and memory.

Its argument is the limit of memory, in bytes. Only this module calls slow functions: searches, bot plays,
conversions and verifications of replays, and QR codes.
"""

import gzip
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Final, get_args

from msgspec import json, msgpack

from samedeal import codec
from samedeal.analysis.advice import advise
from samedeal.analysis.analysis import Analysis, analysed
from samedeal.cards import Pile
from samedeal.codec import decoder
from samedeal.computer import par as par_of
from samedeal.computer.deal_filters import first
from samedeal.computer.par import Compared, Par
from samedeal.errors import MAX_TEXT, Refused
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.ghosts import tracks
from samedeal.race.race import Race
from samedeal.replays.bot_replay import replay_of, replay_of_line
from samedeal.replays.replay import MAX_LINE_BYTES, Replay, ReplayLines, in_lines, read
from samedeal.replays.timeline import steps
from samedeal.scores.club_scores import Comparisons, ratings
from samedeal.share import par_chart
from samedeal.share import preview_picture as card
from samedeal.share.shared_race import SharedRace
from samedeal.share.text import pace
from samedeal.solver.solution import Solution
from samedeal.solver.solve import SOLVERS, solve
from samedeal.wire import bot_player
from samedeal.wire.messages import View
from samedeal.wire.views import board_after
from samedeal_server.store import stored_replays
from samedeal_server.store.stored_replays import Form
from samedeal_server.work import finished_race
from samedeal_server.work.png import png
from samedeal_server.work.process import (
    ANSWER,
    FAILED,
    HEADER,
    OUT_OF_MEMORY,
    PROGRESS,
    REFUSED,
    Task,
    frame,
    limit_cpu,
    limit_process,
)

MAX_LINK_BYTES: Final = 300
Variant = dict[str, str | bool]


def _deal(question: bytes) -> bytes:
    """Return the number of the first deal of a root that passes a filter, in decimal digits."""
    game, root, variant, name = decoder("msgpack", tuple[str, str, Variant, str]).decode(question)
    return b"%d" % first(GAMES[game], root, variant, name)


def _par(question: bytes) -> bytes:
    """Return the par of a deal as JSON. Sends the number of finished plays after each play."""
    game, seed, variant = decoder("msgpack", tuple[str, str, Variant]).decode(question)
    result = par_of.par(GAMES[game], seed, variant, after_each=lambda run: _send(PROGRESS, b"%d" % (run.k + 1)))
    return codec.encode(result, "json")


def _play(question: bytes) -> bytes:
    """Return a play of the bot as a replay in the given form, signed with a private key."""
    game, seed, variant, k, key, form = decoder("msgpack", tuple[str, str, Variant, int, bytes, Form]).decode(question)
    return stored_replays.written(replay_of(GAMES[game], seed, k, key, variant), form)


def _solution(question: bytes) -> bytes:
    """Return the solution of a deal, in MessagePack."""
    slug, seed, variant = decoder("msgpack", tuple[str, str, Variant]).decode(question)
    return msgpack.encode(solve(GAMES[slug].from_seed(seed, **variant), SOLVERS[slug].budget))


def _analysis(question: bytes) -> bytes:
    """Return the analysis of a stored race as JSON, given the solution of its deal if it is known. Sends the number of
    racers whose turning points are known.
    """
    stored, solution = decoder("msgpack", tuple[bytes, Solution | None]).decode(question)
    return codec.encode(
        analysed(finished_race.folded(stored), solution, lambda done: _send(PROGRESS, b"%d" % done)), "json"
    )


def _advice(question: bytes) -> bytes:
    """Return advice on the position after moves from a deal, as JSON. Raises Refused for an illegal move."""
    deal, moves, variant = _moves(question)
    return codec.encode(advise(deal, moves, variant), "json")


def _board(question: bytes) -> bytes:
    """Return the board after moves from a deal, as JSON. Raises Refused for an illegal move."""
    deal, moves, _ = _moves(question)
    return codec.encode(board_after(deal, moves), "json")


def _moves(question: bytes) -> tuple[Game, tuple[Move, ...], Variant]:
    """Return a deal, the moves from it, and its variant."""
    slug, seed, variant, moves = decoder("msgpack", tuple[str, str, Variant, tuple[Move, ...]]).decode(question)
    return GAMES[slug].from_seed(seed, **variant), moves, variant


def _solution_replay(question: bytes) -> bytes:
    """Return a winning line as a replay in the given form, signed with a private key."""
    analysis, key, form = decoder("msgpack", tuple[Analysis, bytes, Form]).decode(question)
    return stored_replays.written(_replay_of(analysis, key), form)


def _solution_steps(question: bytes) -> bytes:
    """Return the tables of a winning line, one after another, in JSON, compressed with gzip."""
    analysis, key = decoder("msgpack", tuple[Analysis, bytes]).decode(question)
    return gzip.compress(codec.encode(steps(_replay_of(analysis, key)), "json"), mtime=0)


def _replay_of(analysis: Analysis, key: bytes) -> Replay:
    seed = analysis.deal.partition(":")[2]
    return replay_of_line(GAMES[analysis.game], seed, analysis.line, key, analysis.variant)


def _par_chart(question: bytes) -> bytes:
    """Return the par chart of racers, as SVG."""
    return par_chart.svg(*decoder("msgpack", tuple[Par, tuple[Compared, ...]]).decode(question)).encode()


def _replay(question: bytes) -> bytes:
    """Return a stored race as a replay in the given form."""
    return stored_replays.render(*decoder("msgpack", tuple[bytes, Form]).decode(question))


def _steps(question: bytes) -> bytes:
    """Return the tables of a stored race, one after another, in JSON, compressed with gzip."""
    return gzip.compress(codec.encode(steps(stored_replays.replay(question)), "json"), mtime=0)


def _ghosts(question: bytes) -> bytes:
    """Return the tracks of the racers of a stored race, in MessagePack."""
    replay = stored_replays.replay(question)
    return msgpack.encode(tracks(Race.opened(replay.header, replay.secret), replay.entries))


def _finished_race(question: bytes) -> bytes:
    """Return a stored race as it ended, for ``finished_race.decode``."""
    return finished_race.encode(finished_race.folded(question))


def _verify(question: bytes) -> bytes:
    """Verify a replay in a file, in any form. If keys are given, one of them must have signed it.

    Return the key that the replay states for its signature, and the facts, in MessagePack.
    """
    path, keys = decoder("msgpack", tuple[str, tuple[str, ...]]).decode(question)
    with Path(path).open("rb") as file:
        lines = in_lines(file.readline(MAX_LINE_BYTES))
        file.seek(0)
        log = ReplayLines(file) if lines else read(file.read())
        return msgpack.encode((log.signature.key, verify(log, keys)))


def _stored_replay(question: bytes) -> bytes:
    """Verify a stored replay by itself, but not the filter of its deal, which its signature covers.

    Return the id of the race and the notes of the facts that do not hold, in MessagePack.
    """
    replay = stored_replays.replay(question)
    facts = verify(replay, with_filter=False)
    return msgpack.encode((replay.header.race, [fact.note for fact in facts if not fact.holds]))


def _qr(link: bytes) -> bytes:
    """Return a link as a QR code: rows of modules, in JSON. Raises Refused if it is too long."""
    import segno  # slow to import, and rarely needed

    if len(link) > MAX_LINK_BYTES:
        raise Refused("bad-request", f"The server's URL is too long: a link may have {MAX_LINK_BYTES} bytes.")
    code = segno.make(link, error="l", micro=False)
    return json.encode(["".join(f"{module}" for module in row) for row in code.matrix_iter(border=0)])


def _card(question: bytes) -> bytes:
    """Return the card of a race as SVG."""
    return card.svg(decoder("msgpack", SharedRace).decode(question)).encode()


def _card_png(question: bytes) -> bytes:
    """Return the card of a race as PNG."""
    return png(card.svg(decoder("msgpack", SharedRace).decode(question)))


def _pace(question: bytes) -> bytes:
    """Return the pace of each racer of a stored race by seat, in MessagePack."""
    timeline = steps(stored_replays.replay(question))
    return msgpack.encode({racer.seat: pace(timeline, racer.seat) for racer in timeline.racers})


def _bot_move(question: bytes) -> bytes:
    """Return the next move of a bot, given its view as clients get it, its last move, the label of its random choices,
    and the piles that it recalls.
    """
    seen, last, label, recalled = decoder("msgpack", tuple[bytes, str, str, dict[str, Pile]]).decode(question)
    return bot_player.choose(codec.decode(seen, "msgpack", View), last, label, recalled).encode()


def _ratings(question: bytes) -> bytes:
    """Return the ratings for each of some comparisons by game, and how long computing them takes (s)."""
    games, began = decoder("msgpack", list[dict[str, Comparisons]]).decode(question), process_time()
    found = [ratings(each) for each in games]
    return msgpack.encode((found, process_time() - began))


TASKS: Final[dict[str, Callable[[bytes], bytes]]] = {
    task: globals()[f"_{task.replace('-', '_')}"] for task in get_args(Task)
}


def main() -> None:
    """Run jobs until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    limit_process(int(sys.argv[1]))
    while header := sys.stdin.buffer.read(HEADER.size):
        _, length = HEADER.unpack(header)
        task, cpu_s, question = decoder("msgpack", tuple[str, int, bytes]).decode(sys.stdin.buffer.read(length))
        limit_cpu(cpu_s)
        try:
            _send(ANSWER, TASKS[task](question))
        except Refused as refused:
            _send(REFUSED, msgpack.encode((refused.code, refused.text)))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except Exception as error:
            _send(FAILED, f"{type(error).__name__}: {error}"[:MAX_TEXT].encode())


def _send(kind: bytes, data: bytes) -> None:
    sys.stdout.buffer.write(frame(kind, data))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
