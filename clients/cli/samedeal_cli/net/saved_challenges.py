"""The challenges that this account has opened or played, for the home screen and for shells."""

import time
from contextlib import suppress
from typing import Final

import msgspec

from samedeal.codec import decoder
from samedeal.race.challenge import HOUR_MS
from samedeal.wire.documents import ChallengePage
from samedeal_cli.settings import replace_file, state_dir

FILE: Final = "challenges.json"
MOST: Final = 5
SAVED_MS: Final = 7 * 24 * HOUR_MS
"""How long after the reveal a challenge stays in the file."""


class SavedChallenge(msgspec.Struct, frozen=True):
    """A challenge, newest first in the file."""

    server: str
    challenge: str
    name: str | None
    """The name that was given with ``--as``, if any."""
    reveals_at: int
    place: int | None = None
    """The user's place at the last visit, if it was known."""


def saved_challenges() -> list[SavedChallenge]:
    """Return the saved challenges, newest first, without old ones."""
    with suppress(OSError, msgspec.DecodeError):
        found = decoder("json", list[SavedChallenge]).decode((state_dir() / FILE).read_bytes())
        return [each for each in found if time.time() * 1_000 < each.reveals_at + SAVED_MS]
    return []


def save_challenge(new: SavedChallenge) -> None:
    """Save a challenge as the newest one, with the last known place."""
    before = {(each.server, each.challenge): each for each in saved_challenges()}
    same = before.pop((new.server, new.challenge), new)
    new = msgspec.structs.replace(new, place=new.place or same.place)
    with suppress(OSError):  # then the home screen does not know it
        replace_file(state_dir() / FILE, msgspec.json.encode([new, *before.values()][:MOST]))


def place_in(page: ChallengePage) -> int | None:
    """Return the user's place in the visible part of a challenge's table, if it is there."""
    rows = page.results if any(page.yours) else ()
    return next((row.place for row in rows or () if [*row.deals] == [*page.yours]), None)
