"""Replays over HTTP: finding finished races, having one in the form one likes, and as tables."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from samedeal import wire
from samedeal.errors import Refused
from samedeal.replay import Replay
from samedeal.steps import Steps, steps
from samedeal_server import packed
from samedeal_server.api.answers import MEDIA, has, json_response, liked
from samedeal_server.api.endpoint import V1, Answer, at
from samedeal_server.archive import Ended, Search
from samedeal_server.hall import Hall

Form = Literal["json", "msgpack", "ndjson"]
"""How a replay is written."""
ACCEPTED: Final[dict[Form, tuple[str, ...]]] = {
    "json": ("application/json",),
    "msgpack": ("application/vnd.msgpack", "application/msgpack", "application/x-msgpack"),
    "ndjson": ("application/x-ndjson", "application/ndjson"),
}
"""What the media types are called by those who ask for them; JSON comes first where any will do."""
FORMS: Final = tuple(MEDIA[form] for form in ACCEPTED)
"""The media types that replays come in."""
FOREVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
KEPT_WITHIN_S: Final = 2
"""How long the replay of a race that has just ended is waited for."""


class ReplayList(Struct, frozen=True):
    """Finished races, the newest first."""

    replays: Sequence[Ended]
    next: str | None
    """What to ask for as `before` to have the next page; null if there is none."""


class Replays:
    """The endpoints about races that are over."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._converting = asyncio.Lock()  # one at a time: a long one takes much memory

    @at("GET", f"{V1}/replays", refuses=("not-found", "store-unavailable"), cost=3)
    async def all(self, request: Request, query: Search) -> ReplayList:
        """Finished races, the newest first, in pages; by game, by player or by deal."""
        found = await self._hall.archive.search(query, self._hall.clock.now())
        return ReplayList(found, found[-1].race if len(found) == query.limit else None)

    @at(
        "GET",
        f"{V1}/replays/{{replay}}",
        Answer(
            kind=Replay,
            media=FORMS,
            headers={
                "ETag": "The name of this replay in this form.",
                "Cache-Control": "It never changes.",
                "Vary": "The form depends on Accept.",
            },
        ),
        Answer(304, media=(), told="The client has it already."),
        headers={"If-None-Match": "The ETags of what the client has."},
        refuses=("not-found", "not-acceptable", "replay-sealed", "unsupported-version", "store-unavailable"),
        cost=5,
    )
    async def one(self, request: Request) -> Response:
        """The replay of a race, in the form of its suffix `.json`, `.msgpack` or `.ndjson`, or by Accept."""
        race, form = named(request, "replay")
        kept = await self._kept(race)
        tag = f'"sha256-{sha256(kept).hexdigest()}-{form}"'
        headers = {"ETag": tag, **FOREVER, "Vary": "Accept"}
        if has(request, tag):
            return Response(status_code=304, headers=headers)
        async with self._converting:
            if form == "json":
                data = await asyncio.to_thread(packed.text, kept)
            else:
                data = await asyncio.to_thread(lambda: written(packed.replay(kept), form))
        return Response(data, media_type=MEDIA[form], headers=headers)

    @at(
        "GET",
        f"{V1}/replays/{{race}}/steps",
        Answer(kind=Steps, headers={"Cache-Control": "They never change."}),
        refuses=("not-found", "replay-sealed", "unsupported-version", "store-unavailable"),
        cost=10,
    )
    async def steps(self, request: Request) -> Response:
        """A finished race as its tables one after another, for clients that hold no rules."""
        kept = await self._kept(request.path_params["race"])
        async with self._converting:
            told = await asyncio.to_thread(lambda: steps(packed.replay(kept)))
        return json_response(told, headers=FOREVER)

    async def _kept(self, race: str) -> bytes:
        """What is kept of a race; one that is being put away is waited for."""
        for _ in range(KEPT_WITHIN_S * 10):
            kept = await self._hall.archive.told(race, self._hall.clock.now())
            if kept is not None:
                return kept
            if not (await self._hall.room(race)).race.closed:
                raise Refused("replay-sealed", f"The replay of {race} can be had when the race is over.")
            await asyncio.sleep(0.1)
        raise Refused("not-found", "The replay is being put away; it will be here in a moment.")


def named(request: Request, parameter: str) -> tuple[str, Form]:
    """What a replay's name in an address asks for, and in which form: by suffix, else by Accept."""
    name: str = request.path_params[parameter]
    stem, dot, suffix = name.partition(".")
    for form in ACCEPTED:
        if suffix == form:
            return stem, form
    if dot:
        raise Refused("not-found", "Replays are there as .json, .msgpack and .ndjson.")
    return stem, liked(request, ACCEPTED)


def written(replay: Replay, form: Form) -> bytes:
    """A replay in a form."""
    return b"".join(replay.lines()) if form == "ndjson" else wire.encode(replay, form)
