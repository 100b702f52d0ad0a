"""Replays over HTTP: finding finished races, having one in the form one likes, and as tables."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Literal

from msgspec import Struct, msgpack
from starlette.requests import Request
from starlette.responses import Response

from samedeal.errors import Refused
from samedeal.replays.replay import Replay
from samedeal.replays.timeline import Steps
from samedeal_server.http.disconnects import while_connected
from samedeal_server.http.endpoint import V1, Answer, Link, at
from samedeal_server.http.links import race_links
from samedeal_server.http.requests import address
from samedeal_server.http.responses import MEDIA, has, liked
from samedeal_server.jobs.pool import Task
from samedeal_server.jobs.renderings import Renderings
from samedeal_server.races.registry import Registry
from samedeal_server.settings import Settings
from samedeal_server.store.archive import RaceSummary, Search

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

    replays: Sequence[RaceSummary]
    next: str | None
    """What to ask for as `before` to have the next page; null if there is none."""


class Replays:
    """The endpoints about races that are over."""

    def __init__(self, registry: Registry, renderings: Renderings, settings: Settings) -> None:
        self._registry, self._renderings, self._settings = registry, renderings, settings

    @at(
        "GET",
        f"{V1}/replays",
        Answer(
            kind=ReplayList,
            links=(
                *race_links("/replays/0/race"),
                Link(f"{V1}/replays", {"before": "$response.body#/next"}),
            ),
        ),
        refuses=("not-found", "store-unavailable"),
        cost=3,
    )
    async def all(self, request: Request, query: Search) -> ReplayList:
        """Finished races, the newest first, in pages; by game, by player or by deal."""
        found = await self._registry.archive.search(query, self._registry.clock.now())
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
            links=(Link(f"{V1}/verify", body="$response.body", method="POST"),),
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
        data = await self._made(request, "replay", msgpack.encode((kept, form)))
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
        data = await self._made(request, "steps", kept)
        return Response(data, media_type=MEDIA["json"], headers=FOREVER)

    async def _made(self, request: Request, task: Task, question: bytes) -> bytes:
        sender = address(request)
        return await while_connected(request, self._renderings.render(sender, task, question))

    async def _kept(self, race: str) -> bytes:
        """What is kept of a race; one that is being put away is waited for."""
        for _ in range(KEPT_WITHIN_S * 10):
            kept = await self._registry.archive.render_input(race, self._registry.clock.now())
            if kept is not None:
                return kept
            if not (await self._registry.room(race)).race.closed:
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
