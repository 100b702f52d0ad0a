"""Receipts: clients store them while a race runs, even if the disk or the server misbehaves."""

import asyncio
import json
import os
import stat
import time
from pathlib import Path

import pytest
from msgspec import structs

from samedeal.proof.receipts import DigestReceipt, HeaderReceipt, NonceReceipt, Receipts
from samedeal.wire import messages as m
from samedeal_cli.failure import Failure, Unreachable
from samedeal_cli.net import receipts as module
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.net.receipts import ReceiptBook, files, in_file
from support.finished_races import finished
from support.receipt_files import keep, told
from support.scripted_server import HEADER, RACE, Peer, server, view
from support.waiting import LIMIT_S


async def test_countdown_receipt_is_stored_before_the_nonce_is_sent(state: Path) -> None:
    on_disk: list[Receipts] = []

    async def script(peer: Peer) -> None:
        await peer.seat(stage="open")
        await peer.say(structs.replace(view("countdown"), n=5))
        assert isinstance(await peer.hear(), m.Nonce)
        on_disk.extend(in_file(files(RACE)[0]))
        heard.set()
        await peer.hear()

    heard = asyncio.Event()
    async with server(script) as (url, received), Connection(url, RACE, name="ada", keep_in=state):
        await asyncio.wait_for(heard.wait(), 60)
    (nonce,) = [message.nonce for message in received if isinstance(message, m.Nonce)]
    digests = (DigestReceipt(1, f"{0:064}"), DigestReceipt(5, f"{0:064}"))
    assert on_disk == [Receipts(HEADER, (NonceReceipt(1, nonce),), digests, 5)]


async def test_receipts_file_is_private_and_without_duplicates(state: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.seat()
        for _ in range(3):
            await peer.say(view(ply=4))
        if peer.number == 0:
            peer.socket.transport.abort()
            return
        await peer.say(view(ply=5))
        await peer.hear()

    async with server(script) as (url, _), Connection(url, RACE, name="ada", keep_in=state) as connection:
        async with asyncio.timeout(LIMIT_S):
            async for _ in connection:
                if connection.view.n == 6:
                    break
    (file,) = files(RACE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    kinds = [(receipt[0], receipt[1]) for receipt in map(json.loads, file.read_text().splitlines())]
    assert [kind for kind, _ in kinds] == ["header", "digest", "digest", "digest"]
    assert [n for _, n in kinds[1:]] == [1, 5, 6]


@pytest.mark.parametrize("race", ["../elsewhere", "another"])
async def test_header_of_another_race_is_rejected(race: str, state: Path) -> None:
    async def script(peer: Peer) -> None:
        join = await peer.welcome()
        await peer.say(structs.replace(view(), re=join.id, header=structs.replace(HEADER, race=race)))
        await peer.hear()

    async with server(script) as (url, _):
        with pytest.raises(Unreachable):
            async with Connection(url, RACE, name="ada", keep_in=state):
                pass
    assert not list(state.parent.rglob("*.ndjson"))


@pytest.mark.parametrize("answer", [view(), structs.replace(view(), h="no digest"), structs.replace(view(), seat=0)])
async def test_view_without_header_or_valid_state_is_rejected(answer: m.View) -> None:
    async def script(peer: Peer) -> None:
        join = await peer.welcome()
        await peer.say(structs.replace(answer, re=join.id))
        await peer.hear()

    async with server(script) as (url, _):
        with pytest.raises(Unreachable):
            async with Connection(url, RACE, name="ada"):
                pass


async def _to_the_end(connection: Connection) -> None:
    async for _ in connection:
        pass


async def test_client_leaves_a_race_that_was_opened_again() -> None:
    async def script(peer: Peer) -> None:
        if peer.number == 0:
            await peer.seat(stage="countdown")
            await peer.hear()
            peer.socket.transport.abort()
            return
        join = await peer.welcome()
        header = structs.replace(HEADER, opened_at=1)
        await peer.say(structs.replace(view("countdown"), re=join.id, header=header))
        await peer.hear()

    async with server(script) as (url, received), Connection(url, RACE, name="ada") as connection:
        with pytest.raises(Failure, match="opened it again"):
            await asyncio.wait_for(_to_the_end(connection), 10)
    assert sum(isinstance(message, m.Nonce) for message in received) == 1


def test_joining_deletes_receipts_older_than_a_year(state: Path) -> None:
    replay = finished("corners")
    old, new = keep(state, told(replay, 7)), keep(state, told(replay, 8))
    for path, days in ((old, 366), (new, 364)):
        os.utime(path, (time.time() - days * 86_400,) * 2)
    third = keep(state, told(replay, 9))
    assert set(files()) == {new, third}


# Disk errors.


async def _played(state: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(stage="countdown")
        await peer.hear()
        await peer.say(view("running"))
        for ply in (1, 2):
            move = await peer.hear()
            await peer.say(structs.replace(view(ply=ply), re=move.id))
        await peer.hear()

    nonces = Nonces.load(state)
    async with server(script) as (url, _), Connection(url, RACE, name="ada", keep_in=state, nonces=nonces) as ada:
        async with asyncio.timeout(LIMIT_S):
            while ada.view.stage != "running":
                await anext(aiter(ada))
            await ada.move("draw")
            await ada.move("draw")
        assert ada.view.n == 3


async def test_unwritable_receipts_do_not_end_the_game(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "receipts").write_text("in the way")
    await _played(state)
    assert capsys.readouterr().err == "samedeal: no more receipts of this race are stored: Not a directory\n"
    assert files() == []


async def test_disk_full_during_a_race_does_not_end_the_game(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = ReceiptBook(HEADER, state)
    (file,) = files(RACE)
    book.note(DigestReceipt(1, f"{0:064}"))
    os.unlink(file)
    file.symlink_to("/dev/full")
    book.note(DigestReceipt(2, f"{1:064}"))
    book.note(DigestReceipt(3, f"{2:064}"))
    assert capsys.readouterr().err == "samedeal: no more receipts of this race are stored: No space left on device\n"


def test_nonce_that_cannot_be_recorded_is_not_reused(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nonces = Nonces(b"k" * 32, state / "gone" / "nonces.opened")
    used = []
    for _ in range(3):
        used.append(nonces.nonce("a seat", opened=False))
        nonces.note("a seat")
        assert nonces.nonce("a seat", opened=True) == used[-1]
        (state / "gone").mkdir(exist_ok=True)
    assert len(set(used)) == 3
    warning = "samedeal: cannot record that your nonce for this race was revealed: No such file or directory\n"
    assert capsys.readouterr().err == warning


def test_receipts_file_is_bounded(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10_000)
    file = keep(state, [HeaderReceipt(HEADER), *(DigestReceipt(n, f"{n:064}") for n in range(500))])
    assert 9_800 < file.stat().st_size <= 10_000
    assert capsys.readouterr().err == "samedeal: no more receipts of this race are stored: File too large\n"
    assert len(in_file(file)[0].digests) > 100
