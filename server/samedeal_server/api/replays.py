"""Replays of finished races: search, download and step through."""

import asyncio
from hashlib import sha256
from typing import Final

from msgspec import msgpack
from starlette.requests import Request
from starlette.responses import Response

from samedeal.errors import Refused
from samedeal.replays.replay import Replay
from samedeal.replays.timeline import Steps
from samedeal.wire.documents import ReplayList
from samedeal_server.api.endpoint import RACE_REFUSALS, STORE_REFUSALS, V1, Render, ResponseSpec, route
from samedeal_server.live.registry import Registry
from samedeal_server.net.responses import MEDIA, gzip_response, if_none_match_matches, negotiate
from samedeal_server.store.archive import Search
from samedeal_server.store.stored_replays import Form

ACCEPTED: Final[dict[Form, tuple[str, ...]]] = {
    "json": ("application/json",),
    "msgpack": ("application/vnd.msgpack", "application/msgpack", "application/x-msgpack"),
    "ndjson": ("application/x-ndjson", "application/ndjson"),
}
"""The media types of each form in Accept headers; JSON is the default."""
FORMS: Final = tuple(MEDIA[form] for form in ACCEPTED)
"""The media types of replays."""
FOR_AN_HOUR: Final = {"Cache-Control": "public, max-age=3600"}
"""Replays never change, but they can be withdrawn. After an hour, caches ask whether their copy is current."""
ARCHIVE_TIMEOUT_S: Final = 2
"""How long to wait for the replay of a race that has just ended."""


class Replays:
    """The endpoints of finished races."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @route("GET", f"{V1}/replays", refuses=("not-found", *STORE_REFUSALS), cost=3)
    async def all(self, query: Search) -> ReplayList:
        """List finished races, newest first, optionally by game, player or deal."""
        summaries = await self._registry.archive.search(query, self._registry.clock.now())
        return ReplayList(summaries, summaries[-1].race if len(summaries) == query.limit else None)

    @route(
        "GET",
        f"{V1}/replays/{{replay}}",
        ResponseSpec(kind=Replay, media=FORMS, headers=("ETag", "Cache-Control", "Vary")),
        refuses=(*RACE_REFUSALS, "not-acceptable", "replay-sealed"),
        cost=5,
    )
    async def one(self, request: Request, client: str, render: Render) -> Response:
        """Return the replay of a race, in the form of the suffix `.json`, `.msgpack` or `.ndjson`, or by Accept."""
        race_id, form = parse_suffix(request, "replay")
        stored = await archived(self._registry, race_id, client)
        etag = _etag(stored, form)
        headers = {"ETag": etag, **FOR_AN_HOUR, "Vary": "Accept"}
        if if_none_match_matches(request, etag):
            return Response(status_code=304, headers=headers)
        data = await render("replay", msgpack.encode((stored, form)))
        return Response(data, media_type=MEDIA[form], headers=headers)

    @route(
        "GET",
        f"{V1}/replays/{{race}}/steps",
        ResponseSpec(kind=Steps, headers=("ETag", "Cache-Control", "Vary")),
        refuses=(*RACE_REFUSALS, "replay-sealed"),
        cost=10,
    )
    async def steps(self, request: Request, race: str, client: str, render: Render) -> Response:
        """Return the tables of a finished race, one after another, for clients that do not know the rules."""
        stored = await archived(self._registry, race, client)
        etag = _etag(stored, "steps")
        headers = {"ETag": f"W/{etag}", **FOR_AN_HOUR, "Vary": "Accept-Encoding"}
        if if_none_match_matches(request, etag):
            return Response(status_code=304, headers=headers)
        zipped = await render("steps", stored)
        return await gzip_response(request, zipped, MEDIA["json"], headers)


def _etag(stored: bytes, form: str) -> str:
    """Return the ETag of a form of a stored replay."""
    return f'"sha256-{sha256(stored).hexdigest()}-{form}"'


async def archived(registry: Registry, race_id: str, client: str) -> bytes:
    """Return the stored replay of a race that everyone may see. Waits while the race is being archived.

    Raises Refused("replay-sealed") before the race is over or its daily deal is public.
    """
    for _ in range(ARCHIVE_TIMEOUT_S * 10):
        data = await registry.archive.render_input(race_id, registry.clock.now())
        if data is not None:
            return data
        if not (await registry.room(race_id, client)).race.closed:
            raise Refused("replay-sealed", "The replay is available when the race is over.")
        await asyncio.sleep(0.1)
    raise Refused("not-found", "The replay is being archived; try again in a moment.")


def parse_suffix(request: Request, parameter: str) -> tuple[str, Form]:
    """Split a path parameter with an optional suffix into its stem and the form: by suffix, else by Accept."""
    name: str = request.path_params[parameter]
    stem, dot, suffix = name.partition(".")
    for form in ACCEPTED:
        if suffix == form:
            return stem, form
    if dot:
        raise Refused("not-found", "Replays are available as .json, .msgpack and .ndjson.")
    return stem, negotiate(request, ACCEPTED)
