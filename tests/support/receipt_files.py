"""Receipt files, replays and rewritten logs for the tests of receipts."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import structs

from samedeal.proof.receipts import DigestReceipt, HeaderReceipt, NonceReceipt
from samedeal.race.events import Header, Moved
from samedeal.race.events import Nonce as NonceEvent
from samedeal.race.race import Race
from samedeal.race.run import RESTART
from samedeal.replays.replay import Replay
from samedeal_cli.net.receipts import ReceiptBook
from support.finished_races import Logged

Change = Callable[[Race, Moved], Moved]
"""Returns the move that replaces a move in a race."""


def fact(out: str, name: str = "receipts") -> str:
    """The line of a fact in the output of a verification."""
    return next(line for line in out.splitlines() if line.split()[1] == name)


def told(replay: Replay, *numbers: int, seat: int | None = 1) -> list[HeaderReceipt | NonceReceipt | DigestReceipt]:
    """The receipts of a client that saw these entries, starting with the countdown."""
    nonce = [
        NonceReceipt(entry.event.seat, entry.event.nonce)
        for entry in replay.entries
        if isinstance(entry.event, NonceEvent) and entry.event.seat == seat
    ]
    digests = [DigestReceipt(n, replay.entries[n - 1].h) for n in numbers]
    return [HeaderReceipt(replay.header), *digests[:1], *nonce, *digests[1:]]


def keep(folder: Path, kept: list[HeaderReceipt | NonceReceipt | DigestReceipt]) -> Path:
    """Store receipts as a client does, and return the file."""
    (header, *rest) = kept
    assert isinstance(header, HeaderReceipt)
    before = set(folder.glob("receipts/*"))
    book = ReceiptBook(header.header, folder)
    for receipt in rest:
        book.note(receipt)
    (created,) = set(folder.glob("receipts/*")) - before
    return created


def rewritten(replay: Replay, header: Header, change: Change, secret: bytes) -> Replay:
    """Rewrite a log as the owner of the server's keys could: with other moves, correct digests and a signature."""
    log = Logged(Race.opened(header, secret))
    for entry in replay.entries:
        event = entry.event
        if isinstance(event, Moved):
            event = change(log.race, event)
        log.say(event, entry.at - log.race.at)
    return log.replay()


def other_last_move(replay: Replay) -> tuple[int, Change]:
    """Return the number of the last entry whose move could have been another one, and the change."""
    *_, (n, other) = (
        (entry.n, other)
        for entry, race in zip(replay.entries, replay.races(), strict=False)
        if isinstance(entry.event, Moved) and (run := race.seats[entry.event.seat - 1].run)
        for other in (*run.game.moves(), *([RESTART] if run.may(RESTART) else []))
        if other != entry.event.move
    )
    return n, partial(_instead, n, other)


def _instead(n: int, other: str, race: Race, event: Moved) -> Moved:
    return structs.replace(event, move=other) if race.n + 1 == n else event
