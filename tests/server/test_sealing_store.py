"""No secret of a running race is in receipts, the store or the log."""

import hmac
import json
import re
from collections.abc import Iterator
from hashlib import sha256

import pytest

from samedeal.race.events import entry_bytes
from support.leak_probes import stored, written
from support.logged_server import Line, LoggedServer
from support.sealed_race import KEY, PRIVATE_KEY, finish, forms, found, play, sealed_race


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server with debug logs and metrics."""
    log = tmp_path_factory.mktemp("sealing") / "log"
    server = LoggedServer(
        store_url, log, connections_per_address="0", log_level="debug", log_format="json", metrics="on"
    )
    with server.start() as running:
        yield running


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
