"""Opening a race: checking what a client wants, choosing a name and a deal, and registering the race in the store."""

import hmac
import re
from collections.abc import Iterable, Mapping
from secrets import choice, randbelow, token_hex
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from samedeal import commitments
from samedeal.codec import convert
from samedeal.computer.deal_filters import GRADES, daily_filter, has_grades, usual_filter
from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.due import due_at
from samedeal.race.events import Header, HeadStart, Options
from samedeal.race.ghosts import MAX_GHOSTS
from samedeal.race.race import Race
from samedeal_server.live.room_parts import RaceState
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.store.archive import Archive
from samedeal_server.store.clock import STEP_MS
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADJECTIVES = _words("""
    able airy amber apt bold brave brief bright brisk calm clear clever cool cosy crisp dapper deft eager early fair
    fancy fine fleet fond frank free fresh gentle glad golden good grand great happy hardy honest jolly keen kind large
    light lively lucky mellow merry mild neat nimble noble plain proud quick quiet ready royal sharp shiny silver smart
    snug sound spry steady sunny sure swift tidy tall true vivid warm wise witty young zesty
""")
ANIMALS = _words("""
    badger bat bear beaver bee bison boar bream camel cat cod condor crab crane crow deer dingo dog dove duck eagle
    eel egret elk falcon ferret finch fox frog gecko goat goose gull hare hawk heron horse ibex ibis jay kiwi koala lark
    lemur lion lizard llama lynx magpie mole moose moth mouse mule newt otter owl ox panda perch pike pony puffin puma
    quail rabbit raven robin salmon seal shrew skink snail stoat stork swan swift tapir tern thrush tiger toad trout
    turtle viper vole walrus wasp weasel whale wolf wombat wren yak zebra
""")


GAME_OPTIONS: Final = ("limit_ms", "attempts")
"""The options whose defaults depend on the game."""
DAILY_OPTIONS: Final = {"max_racers", "start_delay_ms", "unlisted"}
"""The options that a race on a daily deal can have: those that keep results comparable."""
VISIBLE: Final = (
    r"^[^|\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ue000-\uf8ff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f\U000f0000-\U0010ffff"
    r"]+$(?!\n)"
)
"""A seed without bars, control, format and private-use characters, or separators other than the space.

Characters above U+FFFF are written literally, because Python and JavaScript share no escape for them.
"""


class _Checked(Struct, frozen=True):
    """Gives errors in options the path that they have in the request."""

    options: Options


def race_options(
    game: type[Game], *, seed: str | None, daily: bool, variant: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, str | bool], Options]:
    """Return the variant and the options that a client requests for a race. Raises Refused("bad-request")."""
    usual = {name: getattr(game, name) for name in GAME_OPTIONS}
    values = usual | {"filter": usual_filter(game) if seed is None else "any"}
    values |= options
    checked = checked_options(values)
    if checked.filter in GRADES and not has_grades(game):
        raise Refused("bad-request", f"The deals of {game.title} have no grades.")
    if seed is not None and checked.filter != "any":
        raise Refused("bad-request", "An open deal cannot have a filter.")
    if seed is not None:
        check_visible(seed)
    if daily:
        _check_daily(seed, variant, options)
    return chosen_variant(game, variant), _without_defaults(checked)


def checked_options(values: Mapping[str, Any]) -> Options:
    """Return options as a client requests them. Raises Refused("bad-request")."""
    try:
        converted = {name: _integer(value) for name, value in values.items()}
        return convert({"options": converted}, _Checked).options
    except msgspec.ValidationError as error:
        raise Refused("bad-request", f"{error}.") from error


def check_visible(seed: str) -> None:
    """Raise Refused("bad-request") for a seed with characters outside VISIBLE: messages quote it on terminals."""
    if not re.fullmatch(VISIBLE, seed):
        raise Refused("bad-request", "A seed can contain visible characters and spaces only.")


def chosen_variant(game: type[Game], variant: Mapping[str, Any]) -> dict[str, str | bool]:
    """Return the options that differ from the game's defaults. Raises Refused("bad-request") for others than it has."""
    for option in variant:
        if option not in game.options:
            raise Refused("bad-request", f"{game.title} has no option {option!r}.")
    try:
        game.check_variant(variant)
    except ValueError as error:
        raise Refused("bad-request", f"{error}.") from error
    return {option: choice for option, choice in variant.items() if choice != game.options[option][0]}


class SharedDeal(NamedTuple):
    """The open deal on which several races took place."""

    game: type[Game]
    variant: dict[str, str | bool]
    seed: str


async def deal_of_races(archive: Archive, race_ids: Iterable[str], now: int, *, unlisted: bool) -> SharedDeal:
    """Return the deal of finished races whose racers become the ghosts of a new race.

    `unlisted` is whether the new race is. Raises Refused("not-found"), Refused("replay-sealed") for a daily deal that
    is not public, Refused("not-allowed") unless all are on the same deal, Refused("unsupported-version") for a race
    under other rules.
    """
    deals, racers = dict[tuple[str, str, tuple[tuple[str, str | bool], ...]], str](), 0
    for race_id in race_ids:
        header, summary = await archive.header_and_summary(race_id, now)
        if not summary.deal:
            raise Refused("not-allowed", f"Race {race_id} was cancelled before the deal.")
        if header.options.unlisted and not unlisted:
            text = f"Race {race_id} is unlisted, and its id grants entry: a race against it must be unlisted too."
            raise Refused("not-allowed", text)
        game = GAMES.get(header.game)
        if game is None or game.rules != header.rules:
            raise Refused("unsupported-version", f"Race {race_id} was played under the rules {header.rules}.")
        racers += len(summary.standings)
        deals[header.rules, summary.deal, tuple(sorted(header.variant.items()))] = race_id
    if len(deals) > 1:
        one, other, *_ = deals.values()
        raise Refused("not-allowed", f"The races {one} and {other} are on different deals.")
    if racers > MAX_GHOSTS:
        raise Refused("not-allowed", f"These races have {racers} racers; a race has at most {MAX_GHOSTS} ghosts.")
    ((_, deal, variant),) = deals
    slug, _, seed = deal.partition(":")
    return SharedDeal(GAMES[slug], dict(variant), seed)


class RaceOpener:
    """Opens races with secrets derived from a master key."""

    def __init__(self, store: RaceStore, clubs: ClubLogs, master_key: bytes, max_open_races: int) -> None:
        """`max_open_races` is the maximum number of live races in the store; 0 for no limit."""
        self._store, self._clubs, self._master_key = store, clubs, master_key
        self._max_open_races = max_open_races
        self._last_opened_at = 0

    async def new_header(
        self,
        game: type[Game],
        variant: dict[str, str | bool],
        seed: str | None,
        options: Options,
        *,
        daily: bool = False,
        follows: str | None = None,
        ghosts: tuple[str, ...] = (),
        head_start: HeadStart | None = None,
    ) -> Header:
        """Return the header of a new race with an unused id, on today's deal if `daily`.

        Raises Refused("bad-request") for an unknown variant or seed, Refused("store-unavailable").
        """
        try:
            game.from_seed(seed or "", **variant)
        except ValueError as error:
            raise Refused("bad-request", f"{error}.") from error
        race_id = await self.new_id(unlisted=options.unlisted)
        # Unique in this process, because lists are sorted by it.
        now, last = self._store.clock.now(), self._last_opened_at
        opened_at = self._last_opened_at = now if last > now + STEP_MS else max(now, last + 1)
        if daily:
            date, salt = Day.at(opened_at).date, ""
            options = structs.replace(options, filter=daily_filter(game, date))
            secret = commitments.daily_secret(self._master_key, game.slug, date)
            commitment = commitments.daily_commitment(game.slug, date, secret)
        else:
            salt = token_hex(16)
            secret = self.secret(race_id, salt)
            commitment = commitments.commitment(race_id, secret)
        return Header(
            race=race_id,
            game=game.slug,
            rules=game.rules,
            variant=variant,
            seed=seed,
            daily=daily,
            commitment=commitment,
            salt=salt,
            opened_at=opened_at,
            options=options,
            follows=follows,
            ghosts=ghosts,
            head_start=head_start,
        )

    async def new_id(self, *, unlisted: bool) -> str:
        """Return an unused id for a race or a challenge. Raises Refused("store-unavailable")."""
        while await self._exists(race_id := _new_race_id(unlisted=unlisted)):
            pass
        return race_id

    def secret(self, race_id: str, salt: str) -> bytes:
        """Return the secret of a race or a challenge."""
        return commitments.secret(self._master_key, race_id, salt)

    async def claim(
        self, header: Header, owners: Mapping[str, int] | None = None, club: tuple[str, str] | None = None
    ) -> Header:
        """Count the race, and have it cleaned up even if it is never opened. For the rest see Registry.create.

        If there is a `club`, with the player who opens the race, it is then entered in the club's log. Return the
        header with the club. Raises Refused("not-allowed") for others than its members.
        """
        limit, due = self._max_open_races, _first_due_at(self.opened(header))
        await self._store.live.claim(header.race, due, limit=limit, owners=owners)
        if club is None:
            return header
        try:
            link = await self._clubs.open(*club, header.race, header.commitment, (header.game,))
        except Refused:
            await self._store.live.forget(header.race)
            raise
        return structs.replace(header, club=link)

    async def open(self, header: Header, host: Guest | None, replaces: str | None = None) -> RaceState | None:
        """Open the claimed race in the store, in place of another one if it `replaces` one, or return None if its id is
        taken.

        Safe to repeat. Raises Refused("store-unavailable").
        """
        race = self.opened(header)
        due = _first_due_at(race)
        await self._store.live.add_to_deal(header)
        if not await self._store.log.create(race.id, header, race.digest, host=host, replaces=replaces):
            return None
        await self._store.live.update(race, due, None, host)
        return RaceState(race, host=host, due_at=due)

    def opened(self, header: Header) -> Race:
        """Return a race that this server opened, before its first entry."""
        return Race.opened(header, secret_of(self._master_key, header))

    def address_owner(self, address: str) -> str:
        """Return the name under which races opened from an address are counted. It does not reveal the address."""
        return f"address:{hmac.digest(self._master_key, address.encode(), 'sha256')[:16].hex()}"

    async def _exists(self, race_id: str) -> bool:
        return await self._store.archive.has(race_id) or (await self._store.log.head(race_id))[0] >= 0


class Quotas:
    """How many races an address and a guest may open."""

    def __init__(self, opener: RaceOpener, rate_limits: RateLimits, settings: Settings) -> None:
        self._opener, self._rate_limits, self._settings = opener, rate_limits, settings

    def take(self, client: str, player: str | None) -> Mapping[str, int]:
        """Take a new race from the quota of a client's network, and return whose open races it counts towards.

        The result maps names to limits, as for ``Registry.create``. Raises Refused("too-many").
        """
        self._rate_limits.races.take(client)
        return self.owners(client, player)

    def owners(self, client: str, player: str | None) -> Mapping[str, int]:
        """Return whose open races a new one counts towards, with the limit of each."""
        owners = {self._opener.address_owner(client): self._settings.open_races_per_address}
        if player is not None:
            owners[f"guest:{player}"] = self._settings.open_races_per_guest
        return owners


def _new_race_id(*, unlisted: bool) -> str:
    """Return a random id that is easy to say. Unlisted races get 60 more random bits, because the id grants entry."""
    name = f"{choice(ADJECTIVES)}-{choice(ANIMALS)}-{1000 + randbelow(9000)}"
    return f"{name}-{token_hex(8)[:15]}" if unlisted else name


def _check_daily(seed: str | None, variant: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse anything that would make a race on a daily deal different from the others."""
    if seed is not None:
        raise Refused("bad-request", "A daily deal is the same for everyone and takes no seed.")
    if variant:
        raise Refused("bad-request", "A daily deal is played in the usual variant only.")
    if others := sorted(options.keys() - DAILY_OPTIONS):
        allowed, fixed = ", ".join(sorted(DAILY_OPTIONS)), ", ".join(others)
        raise Refused("bad-request", f"A race on a daily deal takes the options {allowed}, but not {fixed}.")


def _without_defaults(options: Options) -> Options:
    """Return equal options. Those that were requested with the default are omitted from the header like all others."""
    usual = Options(limit_ms=options.limit_ms)
    values = structs.asdict(options).items()
    return structs.replace(usual, **{name: value for name, value in values if value != getattr(usual, name)})


def _integer(value: float | bool | str) -> float | bool | str:
    """Convert a number such as 8.0 to an integer: JSON Schema treats it as one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def checked_game(slug: str) -> type[Game]:
    """Return the game with a slug. Raises Refused("not-found")."""
    if slug not in GAMES:
        raise Refused("not-found", f"Unknown game {slug!r}. The games are {', '.join(sorted(GAMES))}.")
    return GAMES[slug]


def _first_due_at(race: Race) -> int:
    return due_at(race, seen={}, away_ms=0)


def secret_of(master_key: bytes, header: Header) -> bytes:
    """Return the secret of a race that was opened with a master key."""
    if header.daily:
        return commitments.daily_secret(master_key, header.game, header.date)
    return commitments.secret(master_key, header.heat.challenge if header.heat else header.race, header.salt)
