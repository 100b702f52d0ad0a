"""Challenges: opening them and their heats, and what each viewer may see of them."""

import asyncio
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from samedeal import codec, commitments
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.challenge import (
    Challenge,
    ChallengeDeal,
    ChallengeHeader,
    HeatOpened,
    Opened,
)
from samedeal.replays.log_files import ChallengeLog
from samedeal.wire.documents import ChallengePage, ListedChallenge
from samedeal_server.live.fields import Page
from samedeal_server.live.opening import Quotas, checked_game, checked_options, race_options
from samedeal_server.live.registry import Registry
from samedeal_server.live.room import Room
from samedeal_server.net.limits import too_many
from samedeal_server.store.guest_tokens import Guest

DEAL_OPTIONS: Final = {"attempts", "end_when_stuck", "filter", "limit_ms", "undo"}
"""The options that a challenge fixes for the heats on a deal."""
HEAT_OPTIONS: Final = {"max_racers", "start_delay_ms"}
"""The options that each heat chooses itself."""
MAX_ENTRIES: Final = 100_000
"""The number of log entries beyond which a challenge takes no more heats."""
SHOWN: Final = 100
"""How many names and how many heats a page has."""


class NewDeal(Struct, frozen=True, forbid_unknown_fields=True):
    """A deal of a new challenge."""

    game: str
    variant: dict[str, str | bool] = {}
    """The options of the game that differ from their defaults."""
    options: dict[str, int | float | bool | str] = {}
    """Options of the races on it that differ from their defaults: `attempts`, `end_when_stuck`, `filter`, `limit_ms`
    and `undo`."""


class Challenges:
    """The challenges of a server."""

    def __init__(self, registry: Registry, quotas: Quotas, signing_key: bytes) -> None:
        self._registry, self._quotas, self._signing_key = registry, quotas, signing_key
        self._logs, self._clock = registry.challenges, registry.clock

    async def open(
        self,
        deals: Sequence[NewDeal],
        until_ms: int,
        common: Mapping[str, Any],
        guest: Guest,
        client: str,
        club: str | None = None,
    ) -> ChallengeHeader:
        """Prepare a challenge until its creator contributes to its deals.

        `until_ms` is how long it is open, `common` are options of all races, and `club` is the club that it is for.
        Raises Refused.
        """
        self._registry.check_open()
        chosen = tuple([_deal(deal, common) for deal in deals])
        self._quotas.take(client, guest.player)
        while True:
            challenge_id, salt = await self._registry.opener.new_id(unlisted=bool(common["unlisted"])), token_hex(16)
            secret, opened_at = self._registry.opener.secret(challenge_id, salt), self._clock.now()
            header = ChallengeHeader(
                challenge=challenge_id,
                creator=guest.player,
                deals=chosen,
                commitment=commitments.commitment(challenge_id, secret),
                salt=salt,
                opened_at=opened_at,
                until=opened_at + until_ms,
            )
            if club:
                games = tuple([deal.game for deal in chosen])
                link = await self._registry.clubs.open(club, guest.player, challenge_id, header.commitment, games)
                header = replace(header, club=link)
            if await self._logs.create(header, guest):
                return header

    async def contribute(self, challenge_id: str, nonce: str, guest: Guest, client: str) -> None:
        """Complete the opening of a challenge with its creator's contribution. Safe to repeat. Raises Refused."""
        challenge = await self._logs.opening(challenge_id)
        if challenge.header.creator != guest.player:
            raise Refused("not-allowed", "Only the creator of a challenge can contribute to its deals.")
        if challenge.nonce == nonce:
            return
        opened = Opened(nonce=nonce)
        challenge.extended(max(challenge.at, self._clock.now()), opened)  # before it is counted
        await self._logs.claim(challenge.header, self._quotas.owners(client, guest.player))
        await self._logs.append(challenge_id, lambda challenge: None if challenge.nonce == nonce else opened)

    async def open_heat(
        self, challenge_id: str, deal: int, chosen: Mapping[str, Any], guest: Guest, client: str
    ) -> Room:
        """Open a heat on a deal of a challenge, hosted by the guest, with the options `chosen`. Raises Refused."""
        self._registry.check_open()
        challenge = await self._logs.get(challenge_id)
        if others := sorted(chosen.keys() - HEAT_OPTIONS):
            raise Refused("bad-request", f"The options of a challenge are fixed: {', '.join(others)}.")
        if challenge.n >= MAX_ENTRIES:
            raise too_many("heats", "This challenge cannot have more races.")
        if challenge.header.club:
            await self._registry.clubs.check_member(challenge.header.club.club, guest.player)
        event = HeatOpened(deal=deal, by=token_hex(8))
        challenge.extended(max(challenge.at, self._clock.now()), event)  # before it is counted
        options = checked_options(to_builtins(challenge.header.deals[deal - 1].options) | chosen)
        owners = self._quotas.take(client, guest.player)
        await self._logs.count_heat(challenge.header, owners)
        before, at = await self._logs.append(challenge_id, lambda _: event)
        header = before.heat_header(deal, at, options)
        try:
            await self._registry.claim(header, owners=owners)
        except Refused:
            await self._logs.settle(header.race, None)
            raise
        if (room := await self._registry.open(header, guest)) is None:
            raise Refused("store-unavailable")
        return room

    async def page(self, challenge_id: str, page: Page, viewer: Guest | None, base: str) -> ChallengePage:
        """Return what a viewer may see of a challenge, with a page of the results. Raises Refused("not-found")."""
        challenge = await self._logs.get(challenge_id)
        header, registry = challenge.header, self._registry
        field = await registry.fields.results(header.commitment, len(header.deals))
        row, names, players = field.of(viewer.player) if viewer else None, field.names, len(field)
        played, table, after = field.played, field.table(page.skip, page.limit), page.skip + page.limit
        counts = await self._logs.first_races(challenge, viewer.player) if viewer else [None] * len(header.deals)
        # Only the result of the race that counts: another one may end while that race is running.
        results = zip(row.deals if row else [None] * len(counts), counts, strict=True)
        yours = [result if result and result.race == race else None for result, race in results]
        is_visible = challenge.revealed or header.shows_results or all(yours)
        host = await self._logs.host(challenge_id)
        heats = await registry.live.summaries([f"{challenge_id}-{heat}" for heat in sorted(challenge.heats)[-SHOWN:]])
        return ChallengePage(
            challenge=challenge_id,
            link=f"{base}/c/{challenge_id}",
            by=host.name if host else None,
            header=header,
            nonce=challenge.nonce or "",
            stage=challenge.stage(self._clock.now()),
            reveals_at=header.reveals_at,
            names=names,
            players=players,
            played=played,
            heats=[heat for heat in heats if heat and heat.stage == "open" and heat.max_racers > 1],
            counts=counts,
            yours=yours if is_visible else [result and replace(result, place=0, points=0.0) for result in yours],
            results=table if is_visible else None,
            next=after if is_visible and after < players else None,
            secret=challenge.secret.hex() if challenge.revealed else None,
            codes=await self._codes(challenge, field.codes) if challenge.revealed else [None] * len(header.deals),
        )

    async def listed(self, game: str | None, limit: int) -> list[ListedChallenge]:
        """Return at most `limit` listed challenges that are open; only those with `game` if it is given."""
        found = [
            ListedChallenge(
                challenge=header.challenge,
                by=host.name if host else None,
                games=[deal.game for deal in header.deals],
                until=header.until,
            )
            for header, host in await self._logs.listed(SHOWN)
        ]
        return [each for each in found if game is None or game in each.games][:limit]

    async def log(self, challenge_id: str) -> bytes:
        """Return the log of a challenge as JSON. Raises Refused("replay-sealed") before the reveal."""
        challenge = await self._logs.get(challenge_id)
        if not challenge.revealed:
            raise Refused("replay-sealed", "The log is available once the deals of the challenge are public.")
        entries = await self._logs.entries(challenge_id)
        return await asyncio.to_thread(
            lambda: codec.encode(ChallengeLog.of(challenge, entries, self._signing_key), "json")
        )

    async def _codes(self, challenge: Challenge, known: Sequence[str | None]) -> list[str | None]:
        """Return the codes of the deals of a revealed challenge; None for unplayed ones not found in time."""
        codes = list[str | None]()
        for number, (deal, code) in enumerate(zip(challenge.header.deals, known, strict=True), start=1):
            if code is None and deal.game in GAMES and (number == 1 or codes[-1]):
                root = challenge.root(number)
                code = await self._registry.deal_finder.code(GAMES[deal.game], root, deal.options.filter, deal.variant)
            codes.append(code)
        return codes


def _deal(deal: NewDeal, common: Mapping[str, Any]) -> ChallengeDeal:
    """Return a deal of a challenge. Raises Refused."""
    game = checked_game(deal.game)
    if others := sorted(deal.options.keys() - DEAL_OPTIONS):
        allowed = ", ".join(sorted(DEAL_OPTIONS))
        raise Refused("bad-request", f"A deal of a challenge takes the options {allowed}, but not {', '.join(others)}.")
    options = {**deal.options, **common, "finishers": "none"}
    variant, checked = race_options(game, seed=None, daily=False, variant=deal.variant, options=options)
    return ChallengeDeal(game=game.slug, rules=game.rules, variant=variant, options=checked)
