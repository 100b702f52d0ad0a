"""Sharing: a race as a picture for link previews, and as a line of text."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from msgspec import msgpack
from starlette.requests import Request
from starlette.responses import Response

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.race.race import Race
from samedeal.share import text as share_text
from samedeal.share.shared_race import SharedRace
from samedeal_server.api.endpoint import RACE_REFUSALS, STORE_REFUSALS, V1, Render, ResponseSpec, route
from samedeal_server.api.par import SeatQuery
from samedeal_server.api.replays import FOR_AN_HOUR
from samedeal_server.live.analyses import AnalysisService
from samedeal_server.live.pars import ParService
from samedeal_server.live.registry import Registry
from samedeal_server.net.responses import MEDIA, TEXT, if_none_match_matches
from samedeal_server.work.stored_results import InProgress

LIVE: Final = {"Cache-Control": "public, max-age=30"}
"""A card is soon out of date, unless it shows the turning points of a finished race."""
INERT: Final = {"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff"}
"""A card contains names, and nothing in it may run or load."""
LINK: Final = {"Cache-Control": "public, max-age=86400"}
QUIET_ZONE: Final = 4
"""The empty modules around a QR code."""


CARD_SVG: Final = ResponseSpec(media=(MEDIA["svg"],), headers=("Cache-Control", "ETag"))
CARD_PNG: Final = ResponseSpec(media=(MEDIA["png"],), headers=("Cache-Control", "ETag"))


class Sharing:
    """The endpoints with which a race is shared."""

    def __init__(self, registry: Registry, pars: ParService, analyses: AnalysisService) -> None:
        self._registry, self._pars, self._analyses = registry, pars, analyses

    @route("GET", f"{V1}/races/{{race}}/card.svg", CARD_SVG, refuses=RACE_REFUSALS, cost=5)
    @route("GET", f"{V1}/races/{{race}}/card.png", CARD_PNG, refuses=RACE_REFUSALS, cost=40)
    async def card(self, request: Request, race: str, client: str, render: Render) -> Response:
        """Return a race as a picture: an invitation, who is racing, or the podium. It shows no cards.

        As PNG, it has 1200 by 630 pixels, which previews of links show.
        """
        room, is_png = await self._registry.room(race, client), request.url.path.endswith(".png")
        analysis = await self._analyses.known(room.race) if room.race.closed else None
        shared = SharedRace.of(room.race, self._registry.clock.now(), room.host.name if room.host else None, analysis)
        data = await render("card-png" if is_png else "card", msgpack.encode(shared))
        caching = FOR_AN_HOUR if analysis or room.race.stage == "cancelled" else LIVE
        headers = INERT | caching | {"ETag": f'"{sha256(data).hexdigest()[:32]}"'}
        if if_none_match_matches(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=MEDIA["png" if is_png else "svg"], headers=headers)

    @route(
        "GET",
        f"{V1}/races/{{race}}/qr.svg",
        ResponseSpec(media=(MEDIA["svg"],), headers=("Cache-Control",)),
        refuses=RACE_REFUSALS,
        cost=10,
    )
    async def qr(self, race: str, base: str, render: Render) -> Response:
        """Return the link to a race as a QR code."""
        return await _qr(f"{base}/r/{(await self._registry.summary(race)).race}", render)

    @route(
        "GET",
        f"{V1}/challenges/{{challenge}}/qr.svg",
        ResponseSpec(media=(MEDIA["svg"],), headers=("Cache-Control",)),
        refuses=("not-found", *STORE_REFUSALS),
        cost=10,
    )
    async def qr_of_challenge(self, challenge: str, base: str, render: Render) -> Response:
        """Return the link to a challenge as a QR code."""
        return await _qr(f"{base}/c/{(await self._registry.challenges.get(challenge)).id}", render)

    @route("GET", f"{V1}/races/{{race}}/card.txt", ResponseSpec(media=(TEXT,)), refuses=RACE_REFUSALS, cost=10)
    async def text(self, race: str, query: SeatQuery, client: str, base: str, render: Render) -> Response:
        """Return a race as a line of text and its link. Of a seat, it shows how well the racer did and how fast, and
        once the deal is public also the pace and, if par has been computed, how many plays of the computer did worse.
        """
        found = (await self._registry.room(race, client)).race
        shared, seat = SharedRace.of(found, self._registry.clock.now()), query.seat
        if seat not in (None, *(standing.seat for standing in shared.standings)):
            raise Refused("not-found", f"Nobody has seat {seat}.")
        boast, pace = "", ""
        if seat is not None and found.stage == "over":
            boast = await self._boast(found, seat, client)
            if data := await self._replay(found):
                pace = decoder("msgpack", dict[int, str]).decode(await render("pace", data)).get(seat, "")
        line = share_text.text(shared, f"{base}/r/{found.id}", seat, pace=pace, boast=boast)
        return Response(line, media_type=TEXT, headers={"Cache-Control": "no-cache"})

    async def _boast(self, race: Race, seat: int, address: str) -> str:
        """Return how a result compares with the computer's, or "" if that is not known, not public or no boast."""
        try:
            _, racers = await self._pars.of_race(race.id, address)
        except (Refused, InProgress):
            return ""
        return next((each.boast for each in racers if each.seat == seat), "")

    async def _replay(self, race: Race) -> bytes | None:
        """Return the stored replay, or None if it is not stored yet or not public."""
        try:
            return await self._registry.archive.render_input(race.id, self._registry.clock.now())
        except Refused:
            return None


async def _qr(link: str, render: Render) -> Response:
    rows = decoder("json", list[str]).decode(await render("qr", link.encode()))
    return Response(qr_svg(rows), media_type=MEDIA["svg"], headers=INERT | LINK)


def qr_svg(rows: Sequence[str]) -> str:
    """Draw rows of modules, ``1`` for dark, as a QR code with its quiet zone."""
    size = len(rows) + 2 * QUIET_ZONE
    dark = "".join(
        f"M{x} {y}h1v1h-1z"
        for y, row in enumerate(rows, QUIET_ZONE)
        for x, module in enumerate(row, QUIET_ZONE)
        if module == "1"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" shape-rendering="crispEdges">'
        f'<path fill="#fff" d="M0 0h{size}v{size}H0z"/><path d="{dark}"/></svg>\n'
    )
