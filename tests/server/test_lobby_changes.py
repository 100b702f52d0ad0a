"""The host changes the game and options of a race in the lobby, and everybody moves to the new race."""

import asyncio
import json
from typing import Any

import pytest

from samedeal.commitments import nonce_commitment
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header, Nonce, Options, Readied, Resigned
from samedeal.wire import messages as m
from samedeal_server.live import lobby_changes
from samedeal_server.live.lobby_changes import Change, LobbyChanges
from samedeal_server.live.opening import Quotas
from samedeal_server.live.rematches import Rematches
from samedeal_server.live.room import Room
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.store.guest_tokens import Guest
from support.finished_races import nonce
from support.logged_server import request
from support.servers import Racer, Server, deal_to, names, over, racers, resign_all
from support.sessions import refused, viewed
from support.stores import Process, process, seat_for, that, until

pytestmark = pytest.mark.tier(2)


async def hosted(host: Racer, *others: Racer, server: Server, **options: Any) -> str:
    """Seat players in a race that the first of them has opened. Return its id."""
    race = server.create("corners", token=host.token, start_delay_ms=0, **options)
    for player in (host, *others):
        viewed(await player.join(race))
    return race


async def changed(host: Racer, **fields: Any) -> m.Rematch:
    """Change the race as its host, and return the one that replaces it."""
    found = viewed(await host.ask(m.Again, **fields)).next
    assert found
    return found


def header_of(server: Server, race: str) -> Any:
    return json.loads(server.get(f"/api/v1/races/{race}")[1])["header"]


def races_of(host: str, server: Server) -> list[str]:
    """Return the listed races that a guest has opened."""
    races = json.loads(server.get("/api/v1/races?limit=100")[1])["races"]
    return [race["race"] for race in races if race.get("host") == host]


async def test_everybody_in_the_lobby_gets_the_new_race_and_nobody_is_ready_there(pair: tuple[Server, Server]) -> None:
    one, two = pair
    async with racers(one, "Ada", "Eve") as (ada, eve), racers(two, "Ben") as (ben,):
        old = await hosted(ada, ben, server=one, limit_ms=300_000, undo=False)
        viewed(await eve.ask(m.Watch, race=old))
        viewed(await ben.ask(m.Ready))
        new = await changed(ada, game="the-edge", options={"limit_ms": 60_000, "attempts": 2})
        assert (new.game, new.by, new.stage) == ("the-edge", "Ada", "open")
        for player in (ada, ben, eve):
            view = await player.until(lambda view: view.next is not None)
            assert (view.stage, view.host, view.clock_ms) == ("cancelled", None, None)
            assert view.next
            assert view.next.race == new.race
        for player in (ada, ben):
            view = viewed(await player.join(new.race))
            assert {standing.outcome for standing in view.standings} == {"waiting"}
        header = header_of(two, new.race)
        assert header["options"] == {
            "limit_ms": 60_000,
            "attempts": 2,
            "undo": False,
            "start_delay_ms": 0,
            "filter": "certified/1",
        }
        assert "follows" not in header
        assert view.host == m.Host(name="Ada", seat=1)
        for player in (ada, ben):
            await player.ask(m.Ready)
        await asyncio.gather(ada.dealt(), ben.dealt())


@pytest.mark.parametrize("at", [0, 1], ids=["one process", "another process"])
async def test_the_old_race_cannot_be_joined_and_its_link_leads_to_the_new_one(
    at: int, pair: tuple[Server, Server]
) -> None:
    async with racers(pair[0], "Ada") as (ada,), racers(pair[at], "Cy") as (cy,):
        old = await hosted(ada, server=pair[0])
        first = await changed(ada, options={"undo": False})
        viewed(await ada.join(first.race))
        new = await changed(ada, game="gallery")
        viewed(await ada.join(new.race))
        assert refused(await cy.join(old), "untimely", "The host has changed the game")
        view = viewed(await cy.ask(m.Watch, race=old))
        assert (view.stage, view.next and view.next.race) == ("cancelled", first.race)
        server = pair[at]
        for path in ("r", "w", "o"):
            page = request(server, "GET", f"/{path}/{old}", Accept="text/html")
            assert (page.status, page.headers["location"]) == (307, f"/{path}/{new.race}")
        text = request(server, "GET", f"/r/{old}", Accept="text/plain", User_Agent="curl/8").body.decode()
        assert text.startswith("Ada challenges you to Gallery. 1 of 8 seats taken.\n")
        assert f"samedeal join {server.url}/r/{new.race}\n" in text
        listed = [race["race"] for race in request(server, "GET", "/api/v1/races?limit=100").json["races"]]
        assert new.race in listed
        assert not {old, first.race} & {*listed}


async def test_seats_are_released_and_the_stream_of_the_old_race_ends(pair: tuple[Server, Server]) -> None:
    one, two = pair
    async with racers(one, "Ada", "Ben") as (ada, ben):
        old = await hosted(ada, ben, server=one)
        stream = asyncio.create_task(asyncio.to_thread(two.get, f"/api/v1/races/{old}/events"))
        await changed(ada, options={"undo": False})
        lines = [json.loads(line) for line in (await stream)[1].splitlines() if line]
        assert lines[-1]["stage"] == "cancelled"
        assert lines[-1]["next"]["by"] == "Ada"
        for player in (ada, ben):
            await player.until(lambda view: not view.standings and view.seat is None)


async def test_an_open_deal_stays_with_its_game_and_a_daily_one_keeps_its_rules(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada") as (ada,):
        race = one.create("corners", seed="7", variant={"refill": "waste"}, token=ada.token)
        viewed(await ada.join(race))
        new = await changed(ada, options={"limit_ms": 60_000})
        header = header_of(one, new.race)
        assert (header["seed"], header["variant"], header["options"]) == (
            "7",
            {"refill": "waste"},
            {"limit_ms": 60_000},
        )
        viewed(await ada.join(new.race))
        header = header_of(one, (await changed(ada, game="gallery")).race)
        assert {"seed", "variant"}.isdisjoint(header)
        opening = {"game": "corners", "daily": True, "options": {"max_racers": 4}}
        headers = {"Authorization": f"Bearer {ada.token}"}
        race = json.loads(one.get("/api/v1/races", opening, **headers)[1])["race"]
        viewed(await ada.join(race))
        assert refused(await ada.ask(m.Again, options={"undo": False}), "bad-request", "takes the options")
        header = header_of(one, (await changed(ada, options={"max_racers": 2})).race)
        assert (header["daily"], header["options"]["max_racers"]) == (True, 2)


async def test_the_time_limit_and_attempts_of_a_game_do_not_apply_to_another_game(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada") as (ada,):
        viewed(await ada.join(one.create("golf", token=ada.token)))
        options = header_of(one, (await changed(ada, game="klondike")).race)["options"]
        assert options["limit_ms"] == 900_000
        assert "attempts" not in options
        viewed(await ada.join(one.create("golf", token=ada.token, attempts=0)))
        options = header_of(one, (await changed(ada, options={"undo": False})).race)["options"]
        assert "attempts" not in options, "any number, as the host has chosen"


async def test_only_the_host_changes_a_race_and_only_before_the_countdown(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada", "Ben") as (ada, ben):
        await hosted(ada, ben, server=one)
        assert refused(await ben.ask(m.Again, game="gallery"), "not-allowed", "Only the host")
        assert refused(await ada.ask(m.Again), "untimely", "when the race is over")
        assert refused(await ada.ask(m.Again, options={"seats": 2}), "bad-request", "seats")
        assert refused(await ada.ask(m.Again, options={"limit_ms": 0}), "bad-request", "limit_ms")
        assert refused(await ada.ask(m.Again, game="poker"), "not-found", "poker")
        for same in ({"game": "corners"}, {"options": {"undo": True}}, {"head_start": m.HeadStartFor(1, 0)}):
            assert refused(await ada.ask(m.Again, **same), "bad-request", "like that already")
        assert refused(await ada.ask(m.Again, options={"max_racers": 1}), "bad-request", "2 players need seats")
        for player in (ada, ben):
            await player.ask(m.Ready)
        await asyncio.gather(ada.dealt(), ben.dealt())
        assert refused(await ada.ask(m.Again, game="gallery"), "untimely")
        await resign_all((ada, ben))
        await ada.until(lambda view: view.stage == "over")
        assert refused(await ada.ask(m.Again, options={"undo": False}), "bad-request", "inherits everything")


async def test_a_repeated_request_leads_to_the_same_race(pair: tuple[Server, Server]) -> None:
    """Unless it changes that race again."""
    one, _ = pair
    async with racers(one, "Ada", "Ben") as (ada, ben):
        old = await hosted(ada, ben, server=one)
        headers = {"Authorization": f"Bearer {ada.token}"}

        def ask(**fields: Any) -> tuple[int, str]:
            status, body = one.get("/api/v1/races", {"again": old} | fields, **headers)
            return status, json.loads(body).get("race", "")

        status, race = ask(game="gallery", options={"undo": False})
        assert status == 201
        assert ask() == ask(game="gallery", options={"undo": False}) == (200, race)
        assert (await changed(ben)).race == race
        status, last = ask(options={"undo": True})
        assert (status, ask()) == (201, (200, last))
        assert (header_of(one, last)["game"], last == race) == ("gallery", False)


async def test_changes_at_the_same_time_open_one_race(pair: tuple[Server, Server]) -> None:
    async with racers(pair[0], "Zoe") as (zoe,):
        old = await hosted(zoe, server=pair[0])
        body, token = {"again": old, "game": "gallery"}, {"Authorization": f"Bearer {zoe.token}"}
        asked = (asyncio.to_thread(server.get, "/api/v1/races", body, **token) for server in 2 * pair)
        answers = [(status, json.loads(answer).get("race")) for status, answer in await asyncio.gather(*asked)]
        (race,) = {race for _, race in answers}
        assert sorted(status for status, _ in answers) == [200, 200, 200, 201]
        assert races_of("Zoe", pair[0]) == [race]


async def test_bots_and_reserved_seats_move_to_the_new_race_and_removed_players_do_not(
    pair: tuple[Server, Server],
) -> None:
    one, two = pair
    async with racers(one, "Ada", "Ben", "Cy", "Dee") as (ada, ben, cy, dee), racers(two, "Eve") as (eve,):
        old = await hosted(ada, ben, cy, server=one, max_racers=4)
        viewed(await ada.ask(m.Remove, seat=3))
        viewed(await ada.ask(m.Bot, level="expert"))
        new = await changed(ada, options={"undo": False})
        assert viewed(await ada.join(new.race)).levels == {2: "expert"}
        viewed(await dee.join(new.race))
        assert refused(await eve.join(new.race), "race-full", "reserved")
        assert viewed(await ada.ask(m.Ready)).awaited == ("Ben",), "the bot does not start the race without Ben"
        view = viewed(await ben.join(new.race))
        assert (names(view), view.awaited) == (["Ada", "Joker", "Dee", "Ben"], ())
        await cy.connect(two)
        assert refused(await cy.join(new.race), "not-allowed", "The host has removed you")
        assert refused(await cy.join(old), "untimely", "The host has changed")


async def test_who_has_not_followed_one_change_is_awaited_after_the_next(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada", "Ben", "Cy") as (ada, ben, cy):
        await hosted(ada, ben, cy, server=one)
        viewed(await ada.join((await changed(ada, game="gallery")).race))
        new = await changed(ada, game="the-edge")
        assert {*viewed(await ada.join(new.race)).awaited} == {"Ben", "Cy"}


async def test_a_replaced_race_that_nobody_had_joined_is_not_listed(pair: tuple[Server, Server]) -> None:
    one, two = pair
    async with racers(one, "Una") as (una,):
        old = one.create("corners", token=una.token)
        answer = one.get("/api/v1/races", {"again": old, "game": "gallery"}, Authorization=f"Bearer {una.token}")
        new = json.loads(answer[1])["race"]
        for server in pair:
            await until(lambda: races_of("Una", server) == [new])  # noqa: B023 (called at once)
        page = request(two, "GET", f"/r/{old}", Accept="text/html")
        assert page.headers["location"] == f"/r/{new}"


async def test_a_deal_that_the_host_has_left_is_not_raced(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada") as (ada,):
        await hosted(ada, server=one, seed="left")
        assert one.get("/api/v1/deals/corners:left/board", {"moves": []})[0] == 403
        await changed(ada, game="gallery")
        assert one.get("/api/v1/deals/corners:left/board", {"moves": []})[0] == 200


async def test_programs_in_the_lobby_have_a_moment_to_follow(pair: tuple[Server, Server]) -> None:
    one, _ = pair
    async with racers(one, "Ada", "Ben", "bob") as (ada, ben, bob):
        old = await hosted(ada, ben, server=one)
        promise = nonce_commitment(old, bob.nonce)
        viewed(await bob.ask(m.Join, race=old, commitment=promise, bot=True))
        new = await changed(ada, options={"undo": False})
        for player in (ada, ben):
            viewed(await player.join(new.race))
            view = viewed(await player.ask(m.Ready))
        assert (view.stage, view.awaited) == ("open", ("bob",))


async def test_a_changed_rematch_still_follows_the_race_before(pair: tuple[Server, Server]) -> None:
    one, two = pair
    async with racers(one, "Ada", "Ben") as (ada, ben), racers(two, "Cy") as (cy,):
        first = await hosted(ada, ben, cy, server=one, best_of=3)
        await deal_to((ada, ben, cy))
        await resign_all((ada, ben, cy))
        await over((ada, ben, cy))
        lobby = await changed(ada)
        viewed(await ada.join(lobby.race))
        new = await changed(ada, game="gallery")
        header = header_of(one, new.race)
        assert (header["follows"], header["game"], header["options"]["best_of"]) == (first, "gallery", 3)
        for player in (ben, cy):
            view = await player.until(lambda view: view.next is not None and view.next.race == new.race)
            assert view.next
            assert view.next.game == "gallery"
            assert (await changed(player)).race == new.race
        for player in (ada, ben, cy):
            viewed(await player.join(new.race))
            await player.ask(m.Ready)
        await asyncio.gather(*(player.dealt() for player in (ada, ben, cy)))
        await resign_all((ada, ben, cy))
        await two.replay(new.race)
        await until(lambda: len(json.loads(one.get(f"/api/v1/races/{first}/evening")[1])["races"]) == 2)


async def test_changes_do_not_use_up_how_many_races_the_host_may_open(redis_url: str) -> None:
    with Server(redis_url, open_races_per_guest="1", open_races_per_address="1") as server:
        async with racers(server, "Ada") as (ada,):
            await hosted(ada, server=server)
            for undo in (False, True, False):
                new = await changed(ada, options={"undo": undo})
                viewed(await ada.join(new.race))
            assert Options(**header_of(server, new.race)["options"]).undo is False
            headers = {"Authorization": f"Bearer {ada.token}"}
            assert server.get("/api/v1/races", {"game": "corners"}, **headers)[0] == 429


ADA = Guest("player-1", "Ada")


def quotas_of(parts: Process) -> Quotas:
    return Quotas(parts.registry.opener, RateLimits(Settings()), Settings())


async def lobby_in(parts: Process) -> tuple[Room, LobbyChanges]:
    """Return a lobby of two people that Ada has opened, and what changes it."""
    chosen, owners = Options(limit_ms=60_000, start_delay_ms=0), {"guest:player-1": 5}
    room = await parts.registry.create(GAMES["corners"], {}, None, chosen, host=ADA, owners=owners)
    for seat in (1, 2):
        await room.submit(seat_for(seat))
    return room, LobbyChanges(parts.registry, quotas_of(parts))


async def test_a_race_can_be_changed_only_so_often(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lobby_changes, "MAX_CHANGES", 2)
    room, changes = await lobby_in(parts)
    for undo in (False, True):
        room, is_new = await changes.change(room, ADA, "", Change(options={"undo": undo}))
        assert is_new
    with pytest.raises(Refused, match="changed 2 times"):
        await changes.change(room, ADA, "", Change(options={"undo": False}))


async def test_the_countdown_wins_against_a_change_that_is_being_made(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race that would have replaced it is deleted, and does not follow it later."""
    async with process(redis_url, started=True) as parts:
        room, changes = await lobby_in(parts)
        opened, tried = parts.registry.open, list[str]()

        async def open_slowly(header: Header, *words: Any, **options: Any) -> Any:
            tried.append(header.race)
            found = await opened(header, *words, **options)
            await room.submit(that(*(Readied(seat=seat) for seat in (1, 2))))
            return found

        monkeypatch.setattr(parts.registry, "open", open_slowly)
        with pytest.raises(Refused, match="countdown has started"):
            await changes.change(room, ADA, "", Change("gallery"))
        monkeypatch.undo()
        assert (room.is_replaced, room.host) == (False, ADA)
        with pytest.raises(Refused, match="not found"):
            await parts.registry.room(tried[0])
        for seat in (1, 2):
            await room.submit(that(Nonce(seat=seat, nonce=nonce(seat).hex())))
        await until(lambda: room.race.stage == "running")
        await room.submit(that(*(Resigned(seat=seat) for seat in (1, 2))))
        await until(lambda: room.race.closed)
        assert room.view(None).next is None
        rematch, is_new = await Rematches(parts.registry, quotas_of(parts)).ask(room.race.id, ADA, "")
        assert (is_new, rematch.race.header.follows) == (True, room.race.id)


async def test_a_change_that_fails_forgets_nothing(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erasing the host must still find the race."""
    room, changes = await lobby_in(parts)

    async def full(*_: Any, **__: Any) -> None:
        raise Refused("too-many")

    monkeypatch.setattr(parts.registry.opener, "claim", full)
    with pytest.raises(Refused):
        await changes.change(room, ADA, "", Change("gallery"))
    assert room.host == ADA
    assert await parts.store.ask("ZRANGE", "races:of:guest:player-1", 0, -1) == [room.race.id.encode()]
