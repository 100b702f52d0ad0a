"""The HTTP interface: games, races, daily deals, par, replays, verification, with problems as RFC 9457 has them."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from samedeal import sight, strip, wire
from samedeal.catalogue import GAMES
from samedeal.errors import CODES, Malformed, Refused
from samedeal.friendly import usual_filter
from samedeal.game import Game
from samedeal.log import Hex32, Options, SeatNumber, Seed
from samedeal.par import Par
from samedeal.race import Stage
from samedeal.replay import MOST_BYTES, Replay
from samedeal.steps import steps
from samedeal_server import metrics
from samedeal_server.addresses import base_of, network
from samedeal_server.allowances import Allowances
from samedeal_server.archive import Search
from samedeal_server.daily import Dailies, day_of
from samedeal_server.hall import Hall, checked_game
from samedeal_server.pars import Doing, Pars
from samedeal_server.settings import Settings
from samedeal_server.verifier import verified
from samedeal_server.well_known import PATH, well_known

T = TypeVar("T")
F = TypeVar("F", bound=str)
Form = Literal["json", "msgpack", "ndjson"]
"""How a replay is written."""
MEDIA = {
    "json": "application/json",
    "msgpack": "application/vnd.msgpack",
    "ndjson": "application/x-ndjson",
    "svg": "image/svg+xml",
}
ACCEPTED: dict[Form, tuple[str, ...]] = {
    "json": ("application/json",),
    "msgpack": ("application/vnd.msgpack", "application/msgpack", "application/x-msgpack"),
    "ndjson": ("application/x-ndjson", "application/ndjson"),
}
"""What the media types are called by those who ask for them; JSON comes first where any will do."""
QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")
MOST_CREATED_BYTES = 16_384
UPLOAD_S = 20
MOST_VERIFICATIONS, MOST_VERIFICATIONS_OF_ONE = 16, 8
"""How many replays may be on their way or wait until they are verified, and how many of them from one address."""
KEPT_WITHIN_S = 2
"""How long the replay of a race that has just ended is waited for."""
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


CHOSEN_FOR_DAILY = {"max_racers", "start_delay_ms", "unlisted"}
"""The options that leave the results of a daily deal comparable."""


class Opening(Struct, frozen=True, forbid_unknown_fields=True):
    """What POST /races takes."""

    game: str
    seed: Seed | None = None
    """Makes it an open deal; without it the deal is sealed, or daily."""
    daily: bool = False
    """Makes it the deal of today: then only the options of CHOSEN_FOR_DAILY may be given, and no variant."""
    variant: dict[str, str | bool] = {}
    options: dict[str, int | bool | str] = {}
    """Those of Options that are not to have their defaults; `limit_ms` has the game's."""


class Chosen(Struct, frozen=True):
    """The options of an Opening, checked where they are known to be whole."""

    options: Options


class Listing(Struct, frozen=True, forbid_unknown_fields=True):
    """What GET /races is narrowed to."""

    stage: Stage | None = None
    game: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class Strips(Struct, frozen=True, forbid_unknown_fields=True):
    """Which racers a par is to have: all, or the one of a seat."""

    seat: SeatNumber | None = None


class Dealt(Struct, frozen=True):
    """The seed in a deal code."""

    seed: Seed


class Demand(Struct, frozen=True, forbid_unknown_fields=True):
    """What POST /verify asks of a replay beyond being true."""

    key: tuple[Hex32, ...] = ()
    """The public keys one of which the signature has to be made with."""


class Api:
    """The routes, over a hall."""

    def __init__(
        self, hall: Hall, dailies: Dailies, pars: Pars, allowances: Allowances, settings: Settings, ready: Any
    ) -> None:
        """`ready` is a coroutine function that raises Refused while the server cannot do its work."""
        self._hall, self._dailies, self._pars, self._settings, self._ready = hall, dailies, pars, settings, ready
        self._allowances = allowances
        self._verifying, self._converting = asyncio.Lock(), asyncio.Lock()
        # By their addresses; those that wait too: at the end of a race all its racers want to know.
        self._verifications = Counter[str]()

    def routes(self) -> list[BaseRoute]:
        v1 = "/api/v1"
        return [
            Route(f"{v1}/games", self.games),
            Route(f"{v1}/games/{{game}}", self.game),
            Route(f"{v1}/races", self.races_or_new, methods=["GET", "POST"]),
            Route(f"{v1}/races/{{race}}", self.race),
            Route(f"{v1}/races/{{race}}/par", self.race_par),
            Route(f"{v1}/races/{{race}}/par.svg", self.race_par_svg),
            Route(f"{v1}/deals/{{code:path}}/par", self.deal_par),
            Route(f"{v1}/deals/{{code:path}}/par/{{name}}", self.bot_play),
            Route(f"{v1}/daily", self.daily_today),
            Route(f"{v1}/daily/{{date}}/{{game}}", self.daily),
            Route(f"{v1}/replays", self.replays),
            Route(f"{v1}/replays/{{name}}", self.replay),
            Route(f"{v1}/replays/{{race}}/steps", self.steps),
            Route(f"{v1}/verify", self.verify, methods=["POST"]),
            Route(PATH, self.known),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/problems/{code}", self.problem),
        ]

    async def games(self, request: Request) -> Response:
        return _json({"games": [_described(game) for game in GAMES.values()]})

    async def game(self, request: Request) -> Response:
        return _json(_described(checked_game(request.path_params["game"])))

    async def races_or_new(self, request: Request) -> Response:
        return await (self.create if request.method == "POST" else self.races)(request)

    async def create(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(self._settings.hello_timeout_ms / 1000):
                body = await _body(request, MOST_CREATED_BYTES)
        except TimeoutError:
            raise Refused("bad-request", "The request did not arrive in time.") from None
        opening = _converted(body, Opening)
        game = checked_game(opening.game)
        usual = {"limit_ms": game.limit_ms, "filter": usual_filter(game) if opening.seed is None else "any"}
        options = _checked({"options": {**usual, **opening.options}}, Chosen).options
        if opening.seed is not None and options.filter != "any":
            raise Refused("bad-request", "An open deal is the one announced: it takes no filter.")
        if opening.seed is not None and not opening.seed.isprintable():
            raise Refused("bad-request", "A seed has only characters that can be seen.")
        if opening.daily:
            _check_daily(opening)
        variant = _variant(game, opening.variant)
        self._allowances.races.take(request.client.host if request.client else "")
        if await self._hall.archive.live() >= self._settings.open_races:
            raise Refused("too-many", "There are as many open races as the server takes; try again later.")
        room = await self._hall.create(game, variant, opening.seed, options, daily=opening.daily)
        header = room.race.header
        created = _json({"race": header.race, "link": self._link(request, header.race), "header": header}, status=201)
        created.headers["Location"] = f"/api/v1/races/{header.race}"
        return created

    async def races(self, request: Request) -> Response:
        listing = _asked(request, Listing)
        races = [
            {
                "race": race.id,
                "game": race.header.game,
                "stage": race.stage,
                "racers": len(race.roster),
                "max_racers": race.options.max_racers,
                "opened_at": race.header.opened_at,
                "sealed": race.header.sealed,
                "daily": race.header.daily,
            }
            for race in await self._hall.listed(100)
            if listing.stage in (None, race.stage) and listing.game in (None, race.header.game)
        ]
        return _json({"races": races[: listing.limit]})

    async def race(self, request: Request) -> Response:
        room = await self._hall.room(request.path_params["race"])
        return _json(sight.view(room.race, None, self._hall.clock.now(), header=True))

    async def deal_par(self, request: Request) -> Response:
        found = await self._pars.of_deal(*_deal(request))
        return _doing(found) if isinstance(found, Doing) else _json(_par(found))

    async def bot_play(self, request: Request) -> Response:
        number, form = _form(request)
        if not NUMBER.fullmatch(number):
            raise Refused("not-found", "The plays of the computer are numbered from 0 on.")
        play = await self._pars.play(*_deal(request), int(number))
        return Response(_written(play, form), media_type=MEDIA[form], headers={"Vary": "Accept"})

    async def race_par(self, request: Request) -> Response:
        kinds = {"json": (MEDIA["json"],), "svg": (MEDIA["svg"],)}
        return await self._race_par(request, _liked(request, kinds) == "svg")

    async def race_par_svg(self, request: Request) -> Response:
        return await self._race_par(request, True)

    async def _race_par(self, request: Request, picture: bool) -> Response:
        asked = _asked(request, Strips)
        found = await self._pars.of_race(request.path_params["race"])
        if isinstance(found, Doing):
            return _doing(found)
        par, racers = found
        racers = tuple(racer for racer in racers if asked.seat in (None, racer.seat))
        if asked.seat is not None and not racers:
            raise Refused("not-found", f"Nobody played from seat {asked.seat}.")
        response = (
            Response(strip.svg(par, racers), media_type=MEDIA["svg"])
            if picture
            else _json({"race": request.path_params["race"], **_par(par), "racers": racers})
        )
        response.headers["Vary"] = "Accept"
        return response

    async def daily_today(self, request: Request) -> Response:
        today = self._dailies.today
        return _json({"daily": [await self._dailies.of(game, today) for game in GAMES.values()]})

    async def daily(self, request: Request) -> Response:
        game, day = checked_game(request.path_params["game"]), day_of(request.path_params["date"])
        return _json(await self._dailies.of(game, day))

    async def replays(self, request: Request) -> Response:
        search = _asked(request, Search)
        found = await self._hall.archive.search(search, self._hall.clock.now())
        following = found[-1].race if len(found) == search.limit else None
        return _json({"replays": found, "next": following})

    async def replay(self, request: Request) -> Response:
        race, form = _form(request)
        text = await self._text(race)
        tag = f'"sha256-{sha256(text).hexdigest()}-{form}"'
        headers = {"ETag": tag, "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept"}
        if _has(request, tag):
            return Response(status_code=304, headers=headers)
        data = text
        if form != "json":
            async with self._converting:  # one at a time: a long one takes much memory
                replay = await asyncio.to_thread(wire.decode, text, "json", Replay)
                data = await asyncio.to_thread(_written, replay, form)
        return Response(data, media_type=MEDIA[form], headers=headers)

    async def steps(self, request: Request) -> Response:
        """A finished race as its tables one after another, for clients that hold no rules."""
        text = await self._text(request.path_params["race"])
        async with self._converting:
            told = await asyncio.to_thread(lambda: steps(wire.decode(text, "json", Replay)))
        return _json(told, headers={"Cache-Control": "public, max-age=31536000, immutable"})

    async def verify(self, request: Request) -> Response:
        query = request.query_params
        demand = _checked({name: query.getlist(name) for name in query}, Demand)
        known = {key.key for key in await self._hall.archive.keys()}
        address = network(request.client.host) if request.client and self._settings.connections_per_address else ""
        most = MOST_VERIFICATIONS_OF_ONE if address else MOST_VERIFICATIONS
        if self._verifications.total() >= MOST_VERIFICATIONS or self._verifications[address] >= most:
            raise Refused("too-many", "Replays are verified one at a time, and too many wait already.")
        self._verifications[address] += 1
        try:
            with TemporaryFile() as file:
                await _upload(request, file)
                async with self._verifying:
                    found = await verified(file, demand.key)
        except Refused:
            metrics.VERIFICATIONS.labels("refused").inc()
            raise
        finally:
            self._verifications[address] -= 1
            self._verifications += Counter()  # without addresses that have none
        ok = all(fact.holds for fact in found.facts)
        metrics.VERIFICATIONS.labels("holds" if ok else "fails").inc()
        return _json({"ok": ok, "key": found.key, "known_key": found.key in known, "facts": found.facts})

    async def known(self, request: Request) -> Response:
        return _json(well_known(self._settings, await self._hall.archive.keys(), self._hall.clock.now()))

    async def healthz(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:
        await self._ready()
        return PlainTextResponse("ready\n")

    async def problem(self, request: Request) -> Response:
        code = request.path_params["code"]
        if code not in CODES:
            raise Refused("not-found", "There is no such problem.")
        status, title = CODES[code]
        return PlainTextResponse(f"{code} ({status}): {title}.\n")

    async def _text(self, race: str) -> bytes:
        """The replay of a race as it is kept; one that is being put away is waited for."""
        for _ in range(KEPT_WITHIN_S * 10):
            text = await self._hall.archive.text(race, self._hall.clock.now())
            if text is not None:
                return text
            if not (await self._hall.room(race)).race.closed:
                raise Refused("replay-sealed", f"The replay of {race} can be had when the race is over.")
            await asyncio.sleep(0.1)
        raise Refused("not-found", "The replay is being put away; it will be here in a moment.")

    def _link(self, request: Request, race: str) -> str:
        return f"{base_of(request, self._settings)}/r/{race}"


def _check_daily(opening: Opening) -> None:
    """Raises Refused("bad-request") where a race on a daily deal is not to be like all others on it."""
    if opening.seed is not None:
        raise Refused("bad-request", "A daily deal is the same for all: it takes no seed.")
    if opening.variant:
        raise Refused("bad-request", "A daily deal is played in the usual variant: it takes no other.")
    if others := sorted(opening.options.keys() - CHOSEN_FOR_DAILY):
        chosen, fixed = ", ".join(sorted(CHOSEN_FOR_DAILY)), ", ".join(others)
        raise Refused("bad-request", f"A daily deal is raced alike by all: it takes {chosen}, and not {fixed}.")


def problem_response(refused: Refused) -> Response:
    """A refusal over HTTP."""
    return Response(wire.encode(refused.problem(), "json"), refused.status, media_type="application/problem+json")


def _described(game: type[Game]) -> dict[str, Any]:
    return {
        "slug": game.slug,
        "title": game.title,
        "rules": game.rules,
        "layout": game.layout,
        "fanned": sorted(game.fanned),
        "foundations": sorted(game.foundations),
        "labels": game.labels,
        "hidden": sorted(game.hidden),
        "goal": game.goal,
        "limit_ms": game.limit_ms,
        "options": game.options,
    }


def _par(par: Par) -> dict[str, Any]:
    game = GAMES[par.game]
    return {
        "game": par.game,
        "deal": par.deal,
        "variant": par.variant,
        "bot": par.bot,
        "plays": par.plays,
        "goal": game.goal,
        "counted": par.counted,
        "homes": par.homes,
        "results": par.results,
        "minimum": par.minimum,
        "median": par.median,
        "mean": par.mean,
        "maximum": par.maximum,
        "solved": par.solved,
    }


def _doing(doing: Doing) -> Response:
    response = _json(doing, status=202)
    response.headers["Retry-After"] = "1"
    return response


def _json(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(wire.encode(content, "json"), status, headers, MEDIA["json"])


def _form(request: Request) -> tuple[str, Form]:
    """The race that a replay's name asks for, and the form: by suffix, else by Accept."""
    name: str = request.path_params["name"]
    race, dot, suffix = name.partition(".")
    for form in ACCEPTED:
        if suffix == form:
            return race, form
    if dot:
        raise Refused("not-found", "Replays are there as .json, .msgpack and .ndjson.")
    return race, _liked(request, ACCEPTED)


def _written(replay: Replay, form: Form) -> bytes:
    return b"".join(replay.lines()) if form == "ndjson" else wire.encode(replay, form)


def _liked(request: Request, forms: Mapping[F, tuple[str, ...]]) -> F:
    """The form that a client likes best, by the media types that each form goes by; the first if it likes all alike."""
    accepted = ",".join(request.headers.getlist("accept")) or "*/*"
    likings = {form: max(_liking(accepted, kind) for kind in kinds) for form, kinds in forms.items()}
    best = max(likings, key=lambda form: likings[form])
    if not likings[best]:
        raise Refused("not-acceptable", f"This is there as {' and '.join(kinds[0] for kinds in forms.values())}.")
    return best


def _liking(accepted: str, kind: str) -> float:
    """How much a client likes a media type, 0 to 1, by the nearest of the ranges that it accepts."""
    ranges = ("*/*", f"{kind.partition('/')[0]}/*", kind)
    near, liking = -1, 0.0
    for part in accepted.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        quality = next((piece.removeprefix("q=") for piece in parameters if piece.startswith("q=")), "1")
        if name in ranges and QUALITY.fullmatch(quality) and ranges.index(name) >= near:
            near, liking = ranges.index(name), float(quality)
    return liking


def _has(request: Request, tag: str) -> bool:
    """Whether the client says that it has what goes by this entity tag."""
    tags = {known.strip().removeprefix("W/") for known in request.headers.get("if-none-match", "").split(",")}
    return tag in tags or "*" in tags


async def _body(request: Request, most: int) -> bytes:
    return b"".join([chunk async for chunk in _chunks(request, most)])


async def _upload(request: Request, file: IO[bytes]) -> None:
    """Writes the body into a file. Raises Refused for one that is too large or too slow."""
    try:
        async with asyncio.timeout(UPLOAD_S):
            async for chunk in _chunks(request, MOST_BYTES):
                file.write(chunk)
    except TimeoutError:
        raise Refused("bad-request", f"The replay did not arrive within {UPLOAD_S} s.") from None
    file.flush()


async def _chunks(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body, piece by piece. Raises Refused("too-large") as soon as it is."""
    stated = request.headers.get("content-length", "")
    length = 0
    if stated.isdecimal() and float(stated) > most:
        raise Refused("too-large", f"The body has at most {most} bytes.")
    async for chunk in request.stream():
        length += len(chunk)
        if length > most:
            raise Refused("too-large", f"The body has at most {most} bytes.")
        yield chunk


def _converted(data: bytes, kind: type[T]) -> T:
    try:
        return wire.decode(data, "json", kind)
    except (Malformed, Refused) as error:
        raise Refused("bad-request", f"{error}") from error


def _checked(values: dict[str, Any], kind: type[T], *, strict: bool = True) -> T:
    try:
        return msgspec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise Refused("bad-request", f"{error}.") from error


def _asked(request: Request, kind: type[T]) -> T:
    """What the query of an address asks for."""
    return _checked(dict(request.query_params), kind, strict=False)


def _variant(game: type[Game], variant: dict[str, str | bool]) -> dict[str, str | bool]:
    """The choices of a variant that are not the defaults. Raises Refused("bad-request") for what the game has not."""
    for option in variant:
        if option not in game.options:
            raise Refused("bad-request", f"{game.title} has no option {option!r}.")
    return {option: choice for option, choice in variant.items() if choice != game.options[option][0]}


def _deal(request: Request) -> tuple[type[Game], str, dict[str, str | bool]]:
    """The deal that an address names, in the variant that its query asks for. Raises Refused for what there is not."""
    slug, _, seed = request.path_params["code"].partition(":")
    game, variant = checked_game(slug), dict[str, str | bool]()
    for option, text in request.query_params.multi_items():
        choices = {f"{choice}".lower(): choice for choice in game.options.get(option, ())}
        if choices and (text not in choices or option in variant):
            raise Refused("bad-request", f"Say {option} once, as {' or '.join(choices)}.")
        variant[option] = choices.get(text, text)
    return game, _checked({"seed": seed}, Dealt).seed, _variant(game, variant)
