"""The results of daily deals and challenges, updated with each finished race on them."""

import asyncio
from typing import Annotated, Final

from msgspec import Meta, Struct

from samedeal.scores.field import Field
from samedeal_server.store.field_results import FieldResults

FRESH_S = 1.0
"""How long results are cached (s)."""
MAX_FIELDS = 64
"""Maximum number of daily deals and challenges whose results are cached."""


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """A page of results."""

    skip: Annotated[int, Meta(ge=0, le=2**31)] = 0
    """How many results to skip."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 100


FIRST_PAGE: Final = Page()


class CachedField(Field):
    """A field with the ids of the races that were read for it."""

    def __init__(self, deals: int) -> None:
        super().__init__(deals)
        self.races = set[str]()
        self.hidden = set[str]()
        """Those that are left out."""
        self.checked_at_s = float("-inf")
        self.updating = asyncio.Lock()


class Fields:
    """The results of the most recently requested daily deals and challenges."""

    def __init__(self, stored: FieldResults) -> None:
        self._stored = stored
        self._fields = dict[str, CachedField]()  # by commitment, least recently used first

    def clear(self) -> None:
        """Read all results again, because some were removed."""
        self._fields.clear()

    async def results(self, commitment: str, deals: int = 1) -> CachedField:
        """Return the results of a daily deal or of the deals of a challenge, at most FRESH_S old.

        Reads only the races that ended since the last call. Raises Refused("store-unavailable").
        """
        field = self._fields.pop(commitment, None)
        if field is None or field.races & self._stored.hidden != field.hidden:
            field = CachedField(deals)
        self._fields[commitment] = field
        if len(self._fields) > MAX_FIELDS:
            del self._fields[next(iter(self._fields))]
        now_s = asyncio.get_running_loop().time
        async with field.updating:
            if now_s() >= field.checked_at_s + FRESH_S:
                if await self._stored.count(commitment) != len(field.races):
                    async for race_id, race in self._stored.races(commitment, field.races):
                        field.races.add(race_id)
                        if race_id in self._stored.hidden:
                            field.hidden.add(race_id)
                        elif race:
                            field.add(race)
                    await asyncio.to_thread(len, field)  # ranking thousands of players takes long
                field.checked_at_s = now_s()
        return field
