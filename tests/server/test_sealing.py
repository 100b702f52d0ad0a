"""Nobody learns hidden cards or secrets of a running race from messages, receipts, the store or the log.

The tests know the deal, the secret, the nonces and the tokens, and search everything that the server sends for them.
"""

import asyncio
import hmac
import json
import re
from collections.abc import Iterable
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from samedeal import codec
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import entry_bytes
from samedeal.replays.signature import public_key
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.leak_probes import all_requests, stored, written
from support.logged_server import Line, LoggedServer, request
from support.positions import with_hidden
from support.sealed_race import (
    KEY,
    PRIVATE_KEY,
    RACERS,
    REPLAY_FORMS,
    RacerModel,
    cards,
    check_packets,
    finish,
    forms,
    found,
    play,
    sealed_race,
    shown,
)

SETTINGS = {"log_level": "debug", "log_format": "json", "metrics": "on"}


@pytest.mark.parametrize("game", sorted(GAMES))
def test_position_does_not_depend_on_hidden_cards(game: str) -> None:
    """Shuffling the hidden cards changes neither the view, nor the legal moves, nor the texts of refusals."""
    chance, compared = Random(game), 0
    for seed in range(6):
        hand = RacerModel([GAMES[game].from_seed(f"{seed}")])
        places = list(hand.game.table.piles)
        tries = ["draw", "redeal", "deal", "w", *places, *(f"{place}-" for place in places)]
        tries += [chance.choice(places) + chance.choice(places) for _ in range(50)]
        for _ in range(60):
            twin = with_hidden(hand.game, lambda cards: chance.sample(cards, len(cards)))
            compared += twin != hand.game
            assert observe(twin, tries) == observe(hand.game, tries)
            move = hand.any_move(chance)
            if move is None:
                break
            hand.make(move)
    assert compared > 20 or not GAMES[game].stock, "no hidden cards were shuffled"


def observe(game: Game, tries: Iterable[str]) -> tuple[Any, ...]:
    why = [game.why_not(move) for move in tries if move not in game.moves()]
    return game.view(), game.notes, game.moves(), game.outcome, game.home, why


@pytest.mark.parametrize("seed", [None, "7"])
@pytest.mark.parametrize("game", sorted(GAMES))
async def test_racers_receive_only_their_own_table(server: LoggedServer, game: str, seed: str | None) -> None:
    async with sealed_race(server, game, seed) as race:
        await play(race, 12 if GAMES[game].attempts else 25)  # not to the end of a game with one attempt
        await asyncio.sleep(0.3)  # until the last progress is sent
        for name, line in race.lines.items():
            await line.ask("ping")
            check_packets(race, name, line, boards=False)
        replay = await finish(race)
    assert all(fact.holds for fact in verify(replay))
    assert f"{game}:{race.seed}" == f"{game}:{replay.header.seed or race.seed}"
    assert race.secret == replay.secret, "the test searched for the wrong secret"
    everything = {card for pile in race.hands["ada"].positions[0].table.piles.values() for card in map(str, pile)}
    assert not GAMES[game].stock or race.hands["cy"].seen(0) < everything, "the deal has no hidden cards"


async def test_search_finds_the_secrets_of_a_finished_race(server: LoggedServer) -> None:
    """After the race, everything except tokens and keys is public."""
    async with sealed_race(server, "corners") as race:
        await play(race, 2)
        await finish(race)
        text = request(server, "GET", f"/api/v1/replays/{race.race_id}.json").body
        last = await race.lines["ada"].ask("watch", race=race.race_id)
    assert found(text, race.forbidden()) == [race.secret.hex().encode()] + [
        nonce.hex().encode() for nonce in race.nonces.values()
    ]
    assert isinstance(last, m.View)
    assert last.deal == f"corners:{race.seed}"
    assert cards(["AS", "the TD-", {"2C": 1}, ["XAS", "ASK", "as", "1S"]]) == {"AS", "TD", "2C"}


async def test_finished_race_does_not_reveal_private_keys(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race:
        await finish(race)
        replays = [request(server, "GET", f"/api/v1/replays/{race.race_id}.{form}").body for form in REPLAY_FORMS]
        answers = [*replays, *(request(server, "POST", "/api/v1/verify", body).body for body in replays)]
        answers += [request(server, "GET", path).body for path in ("/.well-known/samedeal", f"/r/{race.race_id}")]
        for line in race.lines.values():
            await line.ask("watch", race=race.race_id)
            answers += line.packets
    public = public_key(PRIVATE_KEY).encode()
    assert all(public in answer for answer in answers[: 2 * len(replays) + 1]), "the search would find nothing"
    assert [found(answer, [*forms(KEY), *forms(PRIVATE_KEY)]) for answer in answers] == [[]] * len(answers)


async def test_spectators_after_the_race_receive_nothing_before_its_end(server: LoggedServer) -> None:
    async with sealed_race(server, "corners", spectators="after") as race:
        await play(race, 10)
        for name, line in race.lines.items():
            await line.ask("ping")
            check_packets(race, name, line, boards=False, standings=name != "eve")
        assert "standings" not in request(server, "GET", f"/api/v1/races/{race.race_id}").json
        await finish(race)
        over = await race.lines["eve"].ask("watch", race=race.race_id)
        assert isinstance(over, m.View)
        assert {standing.name for standing in over.standings} == set(RACERS)


async def test_open_race_shows_tables_to_spectators_but_not_to_racers(server: LoggedServer) -> None:
    async with sealed_race(server, "corners", spectators="open") as race:
        await play(race, 10)
        seen = {}
        for name, line in race.lines.items():
            view = await line.ask("watch" if name == "eve" else "join", race=race.race_id)
            assert isinstance(view, m.View)
            seen[name] = set(view.boards or {})
            check_packets(race, name, line, boards=name in ("cy", "eve"))
        assert seen == {"ada": set(), "bo": set(), "cy": {1, 2}, "eve": {1, 2, 3}}
        boards = request(server, "GET", f"/api/v1/races/{race.race_id}").json["boards"]
        for seat, name in enumerate(RACERS, start=1):
            assert boards[str(seat)]["table"] == shown(race.hands[name].game)


@pytest.mark.parametrize("form", ["json", "msgpack"])
async def test_no_request_reveals_more(server: LoggedServer, form: codec.Form) -> None:
    """Strangers, racers of another race and all clients of this race try every request."""
    async with sealed_race(server, "the-edge") as race, sealed_race(server, "the-edge") as other:
        await play(race, 3)
        requests = all_requests(race)
        async with await Line.open(server, form, "mallory") as stranger:
            for fields in requests:
                await stranger.ask(**fields)
            check_packets(race, "mallory", stranger, boards=False)
            for packet in stranger.packets:
                assert found(packet, race.forbidden()) == []
                message = decoding.decode_from_server(packet, form)
                if not isinstance(message, m.Welcome):  # tokens may look like cards
                    assert cards(json.loads(codec.encode(message, "json"))) == set()
        for name in ("eve", "cy"):
            line = race.lines[name]
            for fields in requests:
                if fields["t"] != "move":
                    await line.ask(**fields)
            check_packets(race, name, line, boards=False)
        line = other.lines["bo"]
        for fields in requests:
            await line.ask(**fields)
        for packet in line.packets:
            assert found(packet, race.forbidden()) == []
        await line.ask("watch", race=race.race_id)
        view = await line.ask("watch", race=race.race_id)
        assert isinstance(view, m.View)
        assert (view.seat, view.board, view.boards, view.deal) == (None, None, None, None)


async def test_wrong_token_reveals_nothing(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race:
        token = race.tokens["ada"]
        digest = sha256(token.encode()).hexdigest()
        for wrong in (token[:-1], token + "=", token.upper(), digest, f"guest:{digest}", "ada", race.race_id):
            async with await Line.open(server) as line:
                assert isinstance(await line.ask("hello", token=wrong), m.Problem)
                with pytest.raises(ConnectionClosed):
                    await line.ask("join", race=race.race_id)
                assert found(b"".join(line.packets), race.forbidden()) == []
        async with await Line.open(server, additional_headers={"Authorization": "Bearer wrong"}) as line:
            assert isinstance(await line.ask("watch", race=race.race_id), m.Problem)
            assert await line.close_code() == 4003


async def test_receipts_do_not_confirm_guesses_of_moves(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race:
        await play(race, 5)
        replay = await finish(race)
    keys = [b"", race.race_id.encode(), race.header.salt.encode(), bytes.fromhex(race.header.salt)]
    keys += [race.header.commitment.encode(), bytes.fromhex(race.header.commitment), bytes(32)]
    keys += [race.nonces["ada"], race.tokens["ada"].encode()]
    checked = 0
    for before, entry in zip(replay.entries, replay.entries[1:], strict=False):
        text = entry_bytes(entry.n, entry.at, entry.event)
        assert hmac.digest(race.secret, before.h.encode() + b"|" + text, "sha256").hex() == entry.h
        for chained in (
            before.h.encode() + b"|" + text,
            before.h.encode() + text,
            bytes.fromhex(before.h) + text,
            text,
        ):
            assert sha256(chained).hexdigest() != entry.h
            assert entry.h not in [hmac.digest(key, chained, "sha256").hex() for key in keys]
        checked += 1
    assert checked > 15


async def test_store_and_disk_hold_no_secret_of_a_running_race(server: LoggedServer, store_url: str) -> None:
    async with sealed_race(server, "corners") as race:
        await play(race, 5)
        secrets = [form for raw in (race.secret, KEY, PRIVATE_KEY) for form in forms(raw)]
        secrets += forms(bytes.fromhex(race.seed.partition(".")[0]))
        secrets += [race.seed.encode(), *(token.encode() for token in race.tokens.values())]
        for place in (stored, written):
            data = place(store_url)
            assert race.race_id.encode() in data
            assert b'"move":"' in data
            assert found(data, secrets) == []
        await finish(race)
        for place in (stored, written):
            data = place(store_url)
            assert race.secret.hex().encode() in data, "the search would find nothing"
            never = [*forms(KEY), *forms(PRIVATE_KEY), *(token.encode() for token in race.tokens.values())]
            assert found(data, never) == []


async def test_log_contains_no_secret(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race:
        await play(race, 5)
        await race.lines["ada"].send(b'{"t":"hello","id":1,"token":"' + race.tokens["ada"].encode() + b'","x":1}')
        async with await Line.open(server) as line:
            await line.ask("hello", token=race.tokens["bo"] + "x")
        await finish(race)
        log = server.log
    lines = [json.loads(line) for line in log.splitlines()]
    events = {line["message"].partition(": ")[2] for line in lines if line.get("race") == race.race_id}
    assert events >= {"joined", "readied", "counting", "nonce", "dealt", "moved", "resigned", "closed"}
    for line in lines:
        if line.get("seat"):
            assert re.fullmatch("[0-9a-f]{16}", line["connection"])
            assert line["race"]
    assert found(log.encode(), race.forbidden()) == []
    assert server.failures() == []
