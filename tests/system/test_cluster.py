"""A Redis Cluster as the store: acknowledged moves survive moving slots and killed nodes."""

import asyncio
import os
import re
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio
from msgspec import structs

from samedeal.commitments import commitment
from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.race.race import Race
from samedeal_server.store.archive import Archive, Search
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.cluster import store_at
from samedeal_server.store.connection import Store, UnfitStoreError
from samedeal_server.store.group_commits import Behind, GroupCommits
from support.campaign import Persistent, racing, seeded_random, start_server, wait_for_more_moves
from support.certificates import self_signed
from support.clusters import ValkeyCluster, cluster, free_ports, slot_of
from support.faulty_store import Valkey
from support.finished_races import SECRET, finished
from support.race_check import find_violations
from support.races_by_hand import closed
from support.races_by_hand import running as dealt
from support.random_games import RESTARTABLE
from support.servers import Server
from support.stores import KEY
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(3)

REPLAY = finished("corners", moves=10)
ENTRIES = REPLAY.entries


@asynccontextmanager
async def served(nodes: ValkeyCluster, count: int = 2) -> AsyncIterator[list[Server]]:
    """Servers over a cluster."""
    servers = [Server(nodes.url) for _ in range(count)]
    try:
        await asyncio.gather(*(start_server(server) for server in servers))
        yield servers
    finally:
        for server in servers:
            server.__exit__()


def racers(
    servers: Sequence[Server], chance: Random, *, fit: Callable[[str], bool] = lambda race: True
) -> list[Persistent]:
    """Return three racers of the first suitable new race, each connected to one of the servers."""
    while not fit(race := servers[0].create(chance.choice(RESTARTABLE), start_delay_ms=100, max_racers=3)):
        pass
    return [
        Persistent(f"racer {number}", race, servers[:: 1 if number % 2 else -1], Random(chance.random()))
        for number in range(3)
    ]


async def checked(servers: Sequence[Server], players: Sequence[Persistent]) -> None:
    """Assert that every server has the replay and that it matches what the players received."""
    replays = [await server.replay(players[0].race, 20) for server in servers]
    assert replays == replays[:1] * len(servers)
    assert find_violations(replays[0], [player.history for player in players]) == []


async def test_race_continues_while_slots_move(tmp_path: Path) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S), cluster(tmp_path / "c") as nodes, served(nodes) as servers:
        players = racers(servers, chance)
        slot = slot_of(players[0].race)
        async with racing(players):
            await wait_for_more_moves(players)
            for step in (nodes.move, nodes.move, nodes.move_at_once):
                source = await nodes.owner(slot)
                await step(slot, chance.choice([node for node in nodes.nodes if node is not source]), chance)
                assert await nodes.owner(slot) is not source
                await wait_for_more_moves(players)
        await checked(servers, players)
    assert [player.losses for player in players] == [[]] * len(players)


async def test_killed_nodes_do_not_affect_races_on_other_nodes(tmp_path: Path) -> None:
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S), cluster(tmp_path / "c") as nodes, served(nodes) as servers:
        players = racers(servers, chance)
        owner = await nodes.owner(slot_of(players[0].race))
        others = racers(servers, chance, fit=lambda race: nodes.home(slot_of(race)) is not owner)
        async with racing(players, others):
            await wait_for_more_moves([*players, *others])
            await owner.valkey.kill()
            await wait_for_more_moves(others)
            await owner.valkey.start()
            await wait_for_more_moves(players)
            for node in nodes.nodes:
                await node.valkey.kill()
            for node in nodes.nodes:
                await node.valkey.start()
        await checked(servers, players)
        await checked(servers, others)
    assert [player.losses for player in (*players, *others)] == [[]] * 6
    assert sum(player.unavailable for player in players) > 0


async def test_race_continues_on_a_replica_and_after_failback(tmp_path: Path) -> None:
    """The server rewrites the entries that the replica had not received."""
    chance = seeded_random()
    async with asyncio.timeout(LIMIT_S), cluster(tmp_path / "c", replicas=True) as nodes, served(nodes, 1) as servers:
        players = racers(servers, chance)
        slot = slot_of(players[0].race)
        async with racing(players):
            await wait_for_more_moves(players)
            for _ in range(2):
                first = await nodes.owner(slot)
                second = await nodes.replica_of(first)
                await first.valkey.kill()
                await nodes.owned(slot, second)
                await wait_for_more_moves(players)
                await first.valkey.start()
                assert await nodes.replica_of(second) is first
        await checked(servers, players)
    assert [player.losses for player in players] == [[]] * len(players)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nodes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ValkeyCluster]:
    async with cluster(tmp_path_factory.mktemp("cluster") / "c") as nodes:
        yield nodes


@pytest.fixture
async def store(nodes: ValkeyCluster) -> AsyncIterator[Store]:
    """The emptied cluster."""
    for node in nodes.nodes:
        await node.ask("FLUSHALL")
        await node.ask("SCRIPT", "FLUSH")
    store = store_at(nodes.url)
    yield store
    await store.close()


def numbered(number: int) -> Header:
    """Return the header of REPLAY's race with another ID."""
    race = f"calm-otter-{number}"
    return structs.replace(REPLAY.header, race=race, commitment=commitment(race, SECRET))


def before(header: Header) -> str:
    """The digest before the first entry."""
    return Race.opened(header, SECRET).digest


async def test_logs_on_all_nodes_are_written_read_and_followed(nodes: ValkeyCluster, store: Store) -> None:
    headers = [numbered(number) for number in range(40)]
    assert {nodes.home(slot_of(header.race)).id for header in headers} == {node.id for node in nodes.nodes}
    log, theirs = RaceLog(GroupCommits(store)), store_at(nodes.url)
    follower, heard = RaceLog(GroupCommits(theirs)), dict[str, int]()

    def known() -> dict[str, int]:
        return {header.race: heard.get(header.race, 0) for header in headers}

    try:
        created = await asyncio.gather(*(log.create(header.race, header, before(header)) for header in headers))
        assert created == [True] * 40
        writing = [log.append(header.race, before(header), ENTRIES[: 1 + n % 5]) for n, header in enumerate(headers)]
        await asyncio.gather(*writing)
        async with asyncio.timeout(LIMIT_S):
            while len(heard) < 40:
                for race, entries in (await follower.follow(known)).items():
                    assert entries
                    heard[race] = heard.get(race, 0) + len(entries)
        assert await follower.follow(lambda: heard) == {}
    finally:
        await theirs.close()
    for n, header in enumerate(headers):
        assert await log.read(header.race) == list(ENTRIES[: 1 + n % 5])
        assert heard[header.race] == 1 + n % 5
        with pytest.raises(Behind):
            await log.append(header.race, "f" * 64, ENTRIES[1 + n % 5 :])


async def test_keys_in_a_moving_slot_are_found(nodes: ValkeyCluster, store: Store) -> None:
    header = numbered(1)
    race, slot, log = header.race, slot_of(header.race), RaceLog(GroupCommits(store))
    assert await log.create(header.race, header, before(header))
    await log.append(race, before(header), ENTRIES[:3])

    async def all_there(count: int) -> None:
        """Send many commands at once, to use every connection."""
        heads, reads = log.head(race), log.read(race)
        assert await heads == (count, ENTRIES[count - 1].h)
        assert await reads == list(ENTRIES[:count])
        assert await asyncio.gather(*(log.field(race, "header", Header) for _ in range(60))) == [header] * 60
        assert await log.follow(lambda: {race: count - 1}) == {race: [ENTRIES[count - 1]]}

    source = nodes.home(slot)
    target = next(node for node in nodes.nodes if node is not source)
    await nodes.begin_to_move(slot, target)
    await log.append(race, ENTRIES[2].h, ENTRIES[3:4])
    await all_there(4)
    await nodes.move_key(f"race:{{{race}}}:log", source, target)
    await all_there(4)
    writing = asyncio.ensure_future(log.append(race, ENTRIES[3].h, ENTRIES[4:5]))
    with pytest.raises(Refused, match="store"):  # its keys are on two nodes: retried until a timeout
        await writing
    writing = asyncio.ensure_future(log.append(race, ENTRIES[3].h, ENTRIES[4:5]))
    await asyncio.sleep(0.1)
    assert not writing.done()
    await nodes.move_key(f"race:{{{race}}}:head", source, target)
    await writing
    await all_there(5)
    await nodes.end_move(slot, source, target)
    await log.append(race, ENTRIES[4].h, ENTRIES[5:6])
    await all_there(6)
    await nodes.move(slot, source, Random(0))
    await log.append(race, ENTRIES[4].h, ENTRIES[5:7])
    await all_there(7)


async def test_finished_races_on_all_nodes_are_listed(store: Store) -> None:
    archive = Archive(store, KEY)
    for number in range(30):
        log = closed(dealt(race_id=f"calm-otter-{number}"))
        await archive.add(log.race, log.entries)
    result = await archive.search(Search(limit=30), now=2**42)
    assert {ended.race for ended in result} == {f"calm-otter-{number}" for number in range(30)}
    assert await archive.search(Search(player="nobody"), now=2**42) == []


async def test_one_reachable_node_is_enough_to_connect(nodes: ValkeyCluster) -> None:
    store = store_at(f"redis+cluster://127.0.0.1:1,127.0.0.1:{nodes.nodes[1].port}/?health_check_interval=0")
    assert re.fullmatch(r"Valkey [\d.]+ Cluster of 3, append-only file on", await store.describe())
    assert await store.starts(["a", "b", "c"], 1) == [b"", b"", b""]
    await store.close()
    store = store_at("redis+cluster://127.0.0.1:1")
    with pytest.raises(Refused):
        await store.describe()
    with pytest.raises(Refused):
        await store.ask("GET", "a")
    await store.close()


async def test_cluster_url_of_a_single_store_is_refused_and_vice_versa(
    nodes: ValkeyCluster, redis_url: str, tmp_path: Path
) -> None:
    one = Store(f"redis://127.0.0.1:{nodes.nodes[0].port}")
    with pytest.raises(UnfitStoreError, match=r"node of a cluster: use a URL that starts with redis\+cluster://"):
        await one.describe()
    await one.close()
    alone = Valkey(tmp_path / "alone", options=("--port", f"{(port := free_ports(1)[0])}"))
    await alone.start()
    try:
        message = await asyncio.to_thread(begun, f"redis+cluster://127.0.0.1:{port}")
    finally:
        await alone.kill()
    says = (
        "The store is not a cluster (This instance has cluster support disabled): use a URL that starts with redis://."
    )
    assert message == (1, f"samedeal: {says}")


async def test_cluster_with_an_unfit_node_is_refused(nodes: ValkeyCluster, store: Store) -> None:
    node = nodes.nodes[1]
    await node.ask("CONFIG", "SET", "maxmemory", 2**30, "maxmemory-policy", "allkeys-lru")
    with pytest.raises(UnfitStoreError, match="may evict races"):
        await store.describe()
    await node.ask("CONFIG", "SET", "maxmemory", 0, "maxmemory-policy", "noeviction")
    await node.ask("CONFIG", "SET", "appendonly", "no")
    assert "WITHOUT an append-only file" in await store.describe()
    await node.ask("CONFIG", "SET", "appendonly", "yes")


async def test_cluster_with_missing_slots_is_refused(nodes: ValkeyCluster, store: Store) -> None:
    await nodes.disown(16_383)
    try:
        with pytest.raises(UnfitStoreError, match="no nodes for 1 of its 16384 slots"):
            await store.describe()
    finally:
        await nodes.nodes[-1].ask("CLUSTER", "ADDSLOTS", 16_383)
        await nodes.owner(16_383)


async def test_cluster_with_tls_and_password_works(tmp_path: Path) -> None:
    """The nodes announce the port of a TLS proxy."""
    certificate = self_signed(tmp_path)
    port, bus, secure = free_ports(3)
    options = (
        *("--port", f"{port}", "--cluster-port", f"{bus}", "--cluster-enabled", "yes"),
        *("--cluster-announce-port", f"{secure}", "--user", "ada", "on", ">hush", "~*", "+@all"),
    )
    alone = Valkey(tmp_path / "alone", options=options)
    await alone.start()
    place = f"127.0.0.1:{secure}/?ssl_ca_certs={certificate}"
    store, stranger = store_at(f"rediss+cluster://ada:hush@{place}"), store_at(f"rediss+cluster://ada:hash@{place}")
    try:
        await alone.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16_383)
        while "cluster_state:ok" not in str(await alone.ask("CLUSTER", "INFO")):  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(0.02)
        async with is_persisted(secure, port, certificate):
            assert (await store.describe()).startswith("Valkey ")
            log, header = RaceLog(GroupCommits(store)), numbered(1)
            assert await log.create(header.race, header, before(header))
            await log.append(header.race, before(header), ENTRIES[:3])
            assert await log.read(header.race) == list(ENTRIES[:3])
            with pytest.raises(Refused):
                await stranger.describe()
            await store.close()
            await stranger.close()
    finally:
        await alone.kill()


@asynccontextmanager
async def is_persisted(port: int, target: int, certificate: Path) -> AsyncIterator[None]:
    """A proxy that terminates TLS on a port and forwards to another."""
    tasks = set[asyncio.Task[None] | None]()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)
        writer.transport.abort()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(forward(reader, to_writer), forward(to_reader, writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(connected, "127.0.0.1", port, ssl=context)
    yield
    server.close()
    await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)


@pytest.mark.parametrize("url", ["redis+cluster://h:port", "redis+cluster://h:99999"])
def test_invalid_store_url_is_reported(url: str) -> None:
    status, says = begun(url)
    assert status == 1
    assert says.startswith("samedeal: The URL of the store cannot be used: Port ")


def begun(url: str) -> tuple[int, str]:
    """Return the exit status and last message of a server that cannot start with a store."""
    env = os.environ | {"REDIS_URL": url}
    ended = subprocess.run([sys.executable, "-m", "samedeal_server"], env=env, capture_output=True, text=True)
    return ended.returncode, ended.stderr.splitlines()[-1]
