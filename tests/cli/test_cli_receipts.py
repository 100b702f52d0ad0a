"""Receipts: kept by every command while a race runs, whatever becomes of it, and held against its replay afterwards."""

import asyncio
import json
import os
import resource
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from samedeal.proof.receipts import DigestKept, HeaderKept, NonceKept, Receipts
from samedeal.proof.signature import public_key
from samedeal.race.events import Header, Moved
from samedeal.race.events import Nonce as NonceEvent
from samedeal.race.race import RESTART, Race
from samedeal.replays.replay import Replay
from samedeal.wire import codec
from samedeal.wire import messages as m
from samedeal_cli.failure import Failure, Unreachable
from samedeal_cli.main import main
from samedeal_cli.net import receipts as module
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.net.receipts import ReceiptBook, files, in_file
from support.finished_races import SIGNING_KEY, Logged, finished
from support.scripted_server import HEADER, RACE, Peer, server, view
from support.servers import Server

Change = Callable[[Race, Moved], Moved]
"""What becomes of a move that is made in a race."""
SAMEDEAL = (sys.executable, "-m", "samedeal_cli.main")


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The state directory, of this test alone."""
    for name in ("SAMEDEAL_SERVER", "SAMEDEAL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "samedeal").mkdir(parents=True)
    return tmp_path / "home" / "samedeal"


def run(*arguments: object) -> tuple[int, str, str]:
    """What a command ends with, and what it writes where."""
    with CliRunner().isolation() as (stdout, stderr, _):
        code = main.exit_code([str(argument) for argument in arguments])
        return code, stdout.getvalue().decode(), stderr.getvalue().decode()


def fact(out: str, name: str = "receipts") -> str:
    """What a verification says of a fact."""
    return next(line for line in out.splitlines() if line.split()[1] == name)


def told(replay: Replay, *numbers: int, seat: int | None = 1) -> list[HeaderKept | NonceKept | DigestKept]:
    """What somebody is told who sees these entries, the countdown first."""
    nonce = [
        NonceKept(entry.event.seat, entry.event.nonce)
        for entry in replay.entries
        if isinstance(entry.event, NonceEvent) and entry.event.seat == seat
    ]
    digests = [DigestKept(n, replay.entries[n - 1].h) for n in numbers]
    return [HeaderKept(replay.header), *digests[:1], *nonce, *digests[1:]]


def keep(folder: Path, kept: list[HeaderKept | NonceKept | DigestKept]) -> Path:
    """Has it kept as a client does; the file."""
    (header, *rest) = kept
    assert isinstance(header, HeaderKept)
    before = set(folder.glob("receipts/*"))
    book = ReceiptBook(header.header, folder)
    for one in rest:
        book.note(one)
    (made,) = set(folder.glob("receipts/*")) - before
    return made


def written(path: Path, replay: Replay) -> Path:
    path.write_bytes(codec.encode(replay, "json"))
    return path


def written_anew(replay: Replay, header: Header, change: Change, secret: bytes) -> Replay:
    """The log told again by who has the server's keys: with other moves, every digest right, and signed."""
    log = Logged(Race.opened(header, secret))
    for entry in replay.entries:
        event = entry.event
        if isinstance(event, Moved):
            event = change(log.race, event)
        log.say(event, entry.at - log.race.at)
    return log.replay()


def other_last_move(replay: Replay) -> tuple[int, Change]:
    """The entry of the last move that could have been another, and what makes that of it."""
    *_, (n, other) = (
        (entry.n, other)
        for entry, race in zip(replay.entries, replay.races(), strict=False)
        if isinstance(entry.event, Moved) and (run := race.seats[entry.event.seat - 1].run)
        for other in (*run.game.moves(), *([RESTART] if run.may(RESTART) else []))
        if other != entry.event.move
    )
    return n, partial(_instead, n, other)


def _instead(n: int, other: str, race: Race, event: Moved) -> Moved:
    return structs.replace(event, move=other) if race.n + 1 == n else event


# What is kept.


async def test_the_countdowns_receipt_is_on_the_disk_before_the_nonce_is_sent(state: Path) -> None:
    on_disk: list[Receipts] = []

    async def script(peer: Peer) -> None:
        await peer.seat(stage="open")
        await peer.say(structs.replace(view("countdown"), n=5))
        assert isinstance(await peer.hear(), m.Nonce)
        on_disk.extend(in_file(files(RACE)[0]))
        heard.set()
        await peer.hear()

    heard = asyncio.Event()
    async with server(script) as (url, said), Connection(url, RACE, name="ada", keep_in=state):
        await asyncio.wait_for(heard.wait(), 60)
    (nonce,) = [message.nonce for message in said if isinstance(message, m.Nonce)]
    digests = (DigestKept(1, f"{0:064}"), DigestKept(5, f"{0:064}"))
    assert on_disk == [Receipts(HEADER, (NonceKept(1, nonce),), digests, 5)]


async def test_a_file_is_for_its_owner_alone_and_has_each_line_once(state: Path) -> None:
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
        async with asyncio.timeout(60):
            async for _ in connection:
                if connection.view.n == 6:
                    break
    (file,) = files(RACE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    kinds = [(kept[0], kept[1]) for kept in map(json.loads, file.read_text().splitlines())]
    assert [kind for kind, _ in kinds] == ["header", "digest", "digest", "digest"]
    assert [n for _, n in kinds[1:]] == [1, 5, 6]


@pytest.mark.parametrize(
    ("header", "error"),
    [
        (structs.replace(HEADER, race="../elsewhere"), Unreachable),
        (structs.replace(HEADER, race="another"), Unreachable),
    ],
)
async def test_a_server_that_answers_with_another_race_is_left(
    header: Header, error: type[Failure], state: Path
) -> None:
    async def script(peer: Peer) -> None:
        hello = await peer.hear()
        await peer.say(m.Welcome(re=hello.id, player="p1", name="ada", token="t1", server="test"))
        join = await peer.hear()
        await peer.say(structs.replace(view(), re=join.id, header=header))
        await peer.hear()

    async with server(script) as (url, _):
        with pytest.raises(error):
            async with Connection(url, RACE, name="ada", keep_in=state):
                pass
    assert not list(state.parent.rglob("*.ndjson"))


@pytest.mark.parametrize("answer", [view(), structs.replace(view(), h="no digest"), structs.replace(view(), seat=0)])
async def test_a_server_that_does_not_say_what_race_it_is_or_how_it_stands_is_left(answer: m.View) -> None:
    async def script(peer: Peer) -> None:
        hello = await peer.hear()
        await peer.say(m.Welcome(re=hello.id, player="p1", name="ada", token="t1", server="test"))
        join = await peer.hear()
        await peer.say(structs.replace(answer, re=join.id))
        await peer.hear()

    async with server(script) as (url, _):
        with pytest.raises(Unreachable):
            async with Connection(url, RACE, name="ada"):
                pass


async def _to_the_end(connection: Connection) -> None:
    async for _ in connection:
        pass


async def test_nobody_goes_on_in_a_race_that_was_opened_again_in_between() -> None:
    async def script(peer: Peer) -> None:
        if peer.number == 0:
            await peer.seat(stage="countdown")
            await peer.hear()
            peer.socket.transport.abort()
            return
        hello = await peer.hear()
        await peer.say(m.Welcome(re=hello.id, player="p1", name="ada", server="test"))
        join = await peer.hear()
        header = structs.replace(HEADER, opened_at=1)
        await peer.say(structs.replace(view("countdown"), re=join.id, header=header))
        await peer.hear()

    async with server(script) as (url, said), Connection(url, RACE, name="ada") as connection:
        with pytest.raises(Failure, match="opened it again"):
            await asyncio.wait_for(_to_the_end(connection), 10)
    assert sum(isinstance(message, m.Nonce) for message in said) == 1


def test_what_is_a_year_old_is_forgotten_when_a_race_is_entered(state: Path) -> None:
    replay = finished("corners")
    old, new = keep(state, told(replay, 7)), keep(state, told(replay, 8))
    for path, days in ((old, 366), (new, 364)):
        os.utime(path, (time.time() - days * 86_400,) * 2)
    third = keep(state, told(replay, 9))
    assert set(files()) == {new, third}


# A disk that does not do.


async def _played(state: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(stage="countdown")
        await peer.hear()
        await peer.say(view("running"))
        for ply in (1, 2):
            move = await peer.hear()
            await peer.say(structs.replace(view(ply=ply), re=move.id))
        await peer.hear()

    kept = Nonces.kept(state)
    async with server(script) as (url, _), Connection(url, RACE, name="ada", keep_in=state, nonces=kept) as ada:
        async with asyncio.timeout(60):
            while ada.view.stage != "running":
                await anext(aiter(ada))
            await ada.move("draw")
            await ada.move("draw")
        assert ada.view.n == 3


async def test_a_disk_that_takes_no_receipts_ends_no_game(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "receipts").write_text("in the way")
    await _played(state)
    assert capsys.readouterr().err == "samedeal: no more receipts of this race are kept: Not a directory\n"
    assert files() == []


async def test_a_disk_that_is_full_in_mid_race_ends_no_game(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = ReceiptBook(HEADER, state)
    (file,) = files(RACE)
    book.note(DigestKept(1, f"{0:064}"))
    os.unlink(file)
    file.symlink_to("/dev/full")
    book.note(DigestKept(2, f"{1:064}"))
    book.note(DigestKept(3, f"{2:064}"))
    assert capsys.readouterr().err == "samedeal: no more receipts of this race are kept: No space left on device\n"


def test_a_nonce_that_cannot_be_noted_ends_no_game_and_is_not_used_again(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nonces = Nonces(b"k" * 32, state / "gone" / "nonces.opened")
    used = []
    for _ in range(3):
        used.append(nonces.nonce("a seat", opened=False))
        nonces.note("a seat")
        assert nonces.nonce("a seat", opened=True) == used[-1]
        (state / "gone").mkdir(exist_ok=True)
    assert len(set(used)) == 3
    said = "samedeal: that your nonce for this race is known by now cannot be noted: No such file or directory\n"
    assert capsys.readouterr().err == said


def test_what_a_server_says_without_end_is_not_kept_without_end(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10_000)
    file = keep(state, [HeaderKept(HEADER), *(DigestKept(n, f"{n:064}") for n in range(500))])
    assert 9_800 < file.stat().st_size <= 10_000
    assert capsys.readouterr().err == "samedeal: no more receipts of this race are kept: File too large\n"
    assert len(in_file(file)[0].digests) > 100


# What is held against a replay.


def test_verify_finds_what_was_kept_here_by_itself(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    file = written(tmp_path / "race.json", replay)
    code, out, _ = run("verify", file)
    assert (code, "receipts" in out) == (0, False)
    keep(state, told(replay, 9, 12, 13))
    keep(state, told(replay, 9, 13, 15, seat=2))
    code, out, _ = run("verify", file)
    assert code == 0, out
    assert (
        fact(out) == "✔ receipts    the log is the one that was told while the race ran: 4 digests agree (stored here)"
    )
    assert out.splitlines()[-1].startswith("VERIFIED: ")
    code, out, _ = run("verify", file, "--no-receipts")
    assert (code, "receipts" in out) == (0, False)
    names = [one["name"] for one in json.loads(run("verify", file, "--json")[1])["facts"]]
    assert names[-1] == "receipts"


def test_a_server_that_rewrites_its_log_is_caught_where_it_did(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    n, change = other_last_move(replay)
    lie = written_anew(replay, replay.header, change, replay.secret)
    assert lie.signature.key == replay.signature.key
    file = written(tmp_path / "race.json", lie)
    assert run("verify", file)[0] == 0
    keep(state, told(replay, 9, n - 1))
    assert run("verify", file)[0] == 0  # what comes after the last receipt is not bound by it
    keep(state, told(replay, 9, n))
    code, out, _ = run("verify", file)
    assert code == 5
    assert fact(out) == f"✘ receipts    entry {n}: the digest of entry {n} is not the one that was told (stored here)"
    assert out.splitlines()[-1] == f"NOT VERIFIED: receipts, first at entry {n}."


def test_a_log_that_ends_before_what_was_told_is_caught(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    last = len(replay.entries)
    keep(state, [*told(replay, 9), DigestKept(last + 1, "0" * 64)])
    code, out, _ = run("verify", written(tmp_path / "race.json", replay))
    assert code == 5
    assert f"the log ends at entry {last}, and entry {last + 1} was told of" in fact(out)


def test_a_race_that_was_opened_again_under_its_name_is_caught(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    keep(state, told(replay, 9, 12))
    header = structs.replace(replay.header, opened_at=replay.header.opened_at - 1)
    again = written_anew(replay, header, lambda _, event: event, replay.secret)
    file = written(tmp_path / "race.json", again)
    code, out, _ = run("verify", file)
    assert code == 5
    assert "a race that was opened otherwise (stored here; skip them with --no-receipts)" in fact(out)
    assert run("verify", file, "--no-receipts")[0] == 0
    # Who entered both has receipts of either, and that is all right, but for a nonce that was known beforehand.
    keep(state, told(again, 9, 12, seat=None))
    assert run("verify", file)[0] == 0
    keep(state, told(again, 9, 12))
    code, out, _ = run("verify", file)
    assert (code, "the nonce was sent before the countdown, entry 9, was told of" in fact(out)) == (5, True)


def test_receipts_of_others_are_given_in_files(tmp_path: Path, state: Path) -> None:
    replay, other = finished("corners"), finished("gallery")
    n, change = other_last_move(replay)
    lie = written(tmp_path / "lie.json", written_anew(replay, replay.header, change, replay.secret))
    mine, hers = keep(state, told(replay, 9)), tmp_path / "hers.ndjson"
    theirs = keep(tmp_path, told(replay, 9, n, seat=2))
    assert theirs.parent != mine.parent
    hers.write_bytes(theirs.read_bytes())
    foreign = keep(tmp_path, told(other, 9, seat=None))
    assert run("verify", lie)[0] == 0
    code, out, _ = run("verify", lie, "--receipts", hers)
    assert (code, "(stored here)" in out) == (5, False)
    assert f"entry {n}: the digest of entry {n} is not the one that was told" in fact(out)
    # A file may hold several races, and several files may be given.
    hers.write_bytes(foreign.read_bytes() + hers.read_bytes() + b'["digest",1')
    assert run("verify", lie, "--receipts", hers)[0] == 5
    assert run("verify", lie, "--receipts", mine, "--receipts", hers)[0] == 5
    assert run("verify", written(tmp_path / "race.json", replay), "--receipts", mine, "--receipts", hers)[0] == 0
    code, out, _ = run("verify", tmp_path / "race.json", "--receipts", foreign)
    assert code == 5
    assert fact(out) == "✘ receipts    the receipts are of a race that was opened otherwise"
    assert run("verify", lie, "--receipts", hers, "--no-receipts")[0] == 2


DIGEST = b'["digest",1,"' + b"0" * 64 + b'"]\n'


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda _: b"", "no receipts in it"),
        (lambda _: b"\xff\x00 no receipts", "no receipts in it"),
        (lambda data: data + b"\xff\xfe\n", "Line 4 is no receipt"),
        (lambda data: data + b"[" * 60_000 + b"\n", "Line 4 is no receipt"),
        (lambda data: data + b'["digest",1]\n', "Line 4 is no receipt"),
        (lambda data: data + b'["digest",-1,"' + b"0" * 64 + b'"]\n', "Line 4 is no receipt"),
        (lambda data: data + b'["\x1b[2J",1]\n', "Line 4 is no receipt"),
        (lambda data: data + b'["elsewhere",1,2]\n', "Line 4 is no receipt"),
        (lambda data: data + b"\n", "Line 4 is no receipt"),
        (lambda data: data + b"1" * 70_000, "at most 1048576 lines of 65536 bytes"),
        (lambda data: DIGEST + data, "Receipts begin with a header, and line 1 comes before one"),
        (lambda data: data + DIGEST * 220_000, "at most 16777216 bytes"),
    ],
)
def test_a_damaged_file_is_a_wrong_command_line(
    damage: Callable[[bytes], bytes], says: str, state: Path, tmp_path: Path
) -> None:
    replay = finished("corners")
    file, race = keep(state, told(replay, 9, seat=None)), written(tmp_path / "race.json", replay)
    file.write_bytes(file.read_bytes() + DIGEST.replace(b"0" * 64, replay.entries[0].h.encode()))
    assert run("verify", race)[0] == 0
    damaged = tmp_path / "damaged.ndjson"
    damaged.write_bytes(damage(file.read_bytes()))
    code, out, err = run("verify", race, "--receipts", damaged)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert err.rstrip("\n").isprintable()
    # What was kept here is not passed over silently either, unless there is nothing in it.
    file.write_bytes(damaged.read_bytes())
    assert run("verify", race)[0] == (0 if says == "no receipts in it" else 2)


def test_a_file_of_receipts_that_is_not_there_is_a_wrong_command_line(tmp_path: Path) -> None:
    race = written(tmp_path / "race.json", finished("corners"))
    for missing in (tmp_path / "nowhere", tmp_path):
        code, _, err = run("verify", race, "--receipts", missing)
        assert (code, err.count("\n")) == (2, 1)


def test_a_line_that_was_cut_off_takes_nothing_else_with_it(state: Path, tmp_path: Path) -> None:
    replay = finished("corners")
    file = keep(state, told(replay, 9, 12))
    whole = file.read_bytes()
    for cut in range(1, len(DIGEST)):
        file.write_bytes(whole[:-cut])
        code, out, _ = run("verify", written(tmp_path / "race.json", replay))
        assert (code, "1 digests agree" in out) == (0, True)


def test_receipts_are_listed_and_printed_for_others(state: Path, tmp_path: Path) -> None:
    assert run("receipts") == (0, "", "")
    code, _, err = run("receipts", "calm-otter-42")
    assert (code, err) == (2, "samedeal: no receipts of calm-otter-42 are stored here\n")
    replay = finished("corners")
    first, second = keep(state, told(replay, 9, 12)), keep(state, told(replay, 10))
    code, out, _ = run("receipts")
    assert [line.split()[0] for line in out.splitlines()] == ["calm-otter-42"] * 2
    assert {line.split()[-1] for line in out.splitlines()} == {str(first), str(second)}
    rows = [json.loads(line) for line in run("receipts", "--json")[1].splitlines()]
    assert {(row["race"], row["file"]) for row in rows} == {
        ("calm-otter-42", str(first)),
        ("calm-otter-42", str(second)),
    }
    first.write_bytes(first.read_bytes() + b'["digest"')
    code, out, _ = run("receipts", "http://127.0.0.1:9/r/calm-otter-42")
    given = tmp_path / "given.ndjson"
    given.write_text(out)
    assert len(in_file(given)[0].digests) == 3
    assert run("verify", written(tmp_path / "race.json", replay), "--receipts", given)[0] == 0


# Whose signature it is.


@contextmanager
def site(pages: dict[str, bytes]) -> Iterator[str]:
    """A server of pages."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in pages else 404)
            self.end_headers()
            self.wfile.write(pages.get(self.path, b"{}"))

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        threading.Thread(target=serving.serve_forever).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_the_key_is_compared_with_those_that_are_named(tmp_path: Path) -> None:
    file = written(tmp_path / "race.json", finished("corners"))
    key = public_key(SIGNING_KEY)
    code, out, _ = run("verify", file)
    assert (code, fact(out, "signature")) == (
        0,
        f"✔ signature   the last digest is signed with the key {key}; --key checks whose it is",
    )
    code, out, _ = run("verify", file, "--key", "0" * 64, "--key", key.upper())
    assert (code, fact(out, "signature")) == (0, f"✔ signature   the last digest is signed with the key {key}")
    code, out, _ = run("verify", file, "--key", "0" * 64)
    assert (code, fact(out, "signature")[0]) == (5, "✘")
    for wrong in ("", "0" * 63, "g" * 64, "0" * 65):
        code, out, err = run("verify", file, "--key", wrong)
        assert (code, out, "64 hexadecimal digits" in err) == (2, "", True)


@pytest.mark.parametrize("current", [True, False])
def test_the_key_is_compared_with_those_that_the_server_publishes(current: bool) -> None:
    replay, key = finished("corners"), public_key(SIGNING_KEY)
    pages = {"/api/v1/replays/calm-otter-42.msgpack": codec.encode(replay, "msgpack")}
    with site(pages) as url:
        link = f"{url}/r/calm-otter-42"
        code, out, _ = run("verify", link)
        assert (code, f"{key}; {url} publishes no key" in fact(out, "signature")) == (0, True)
        known = {"key": key, "since": 1, "current": current}
        pages["/.well-known/samedeal"] = json.dumps({"keys": [{"key": "1" * 64, "since": 2}, known]}).encode()
        code, out, _ = run("verify", link)
        assert (code, f"{key}; {url} publishes it" in fact(out, "signature")) == (0, True)
        code, out, _ = run("verify", "calm-otter-42", "--server", url)
        assert (code, f"{key}; {url} publishes it" in fact(out, "signature")) == (0, True)
        pages["/.well-known/samedeal"] = b'{"keys":[{"key":"' + b"1" * 64 + b'"}]}'
        code, out, _ = run("verify", link)
        assert (code, fact(out, "signature")[0], f"{url} does not publish it" in out) == (5, "✘", True)
        assert run("verify", link, "--key", key)[0] == 0
        pages["/.well-known/samedeal"] = b"<html>"
        assert run("verify", link)[0] == 3


# Races that are played.


class Person:
    """Somebody with an account of their own, at a terminal of pipes."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "samedeal"
        self._environment = os.environ | {"XDG_STATE_HOME": str(folder), "PYTHONWARNINGS": "error"}

    def start(self, *arguments: str, at_most: int | None = None) -> "subprocess.Popen[str]":
        """A command; no file that it writes may become larger than `at_most` bytes."""

        def limited() -> None:
            if at_most is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (at_most, at_most))

        command = [*SAMEDEAL, *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=self._environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, preexec_fn=limited
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err

    def files(self, race: str) -> list[Path]:
        return sorted((self.state / "receipts").glob(f"{race}.*"), key=lambda path: path.stat().st_mtime)

    def digests(self, race: str) -> int:
        """How many are on the disk."""
        return sum(path.read_text().count('["digest"') for path in self.files(race))

    def until(self, race: str, digests: int) -> None:
        """Wait until so many are."""
        until = time.monotonic() + 60
        while self.digests(race) < digests:
            assert time.monotonic() < until
            time.sleep(0.01)


def type_in(process: "subprocess.Popen[str]", *lines: str) -> None:
    assert process.stdin
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def ended(process: "subprocess.Popen[str]") -> str:
    """What was said, once it has ended well."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    return out + err


def test_receipts_outlive_a_client_that_is_killed_and_bind_the_server(redis_url: str, tmp_path: Path) -> None:
    ada, bo = Person(tmp_path / "ada"), Person(tmp_path / "bo")
    with Server(redis_url, signing_key=SIGNING_KEY.hex()) as game:
        race = game.create("corners", max_racers=2, start_delay_ms=300)
        link = f"{game.url}/r/{race}"
        player, rival = (
            ada.start("join", link, "--as", "ada", "--ready"),
            bo.start("join", link, "--as", "bo", "--ready"),
        )
        type_in(player, "draw", "draw", "draw")
        ada.until(race, 6)
        player.kill()
        player.communicate()
        (kept,) = in_file(ada.files(race)[0])
        assert len(kept.nonces) == 1
        player = ada.start("join", link, "--as", "ada")
        type_in(player, "draw", "resign")
        type_in(rival, "draw", "draw", "resign")
        for process in (player, rival):
            ended(process)
        replay = asyncio.run(game.replay(race))
        for person, runs in ((ada, 2), (bo, 1)):
            assert len(person.files(race)) == runs
            code, said = person.run("verify", link)
            assert code == 0, said
            assert fact(said).endswith("digests agree (stored here)")
            assert f"; {game.url} publishes it" in fact(said, "signature")
            assert int(said.split("race ran: ")[1].split()[0]) == len(
                {line for path in person.files(race) for line in path.read_text().splitlines() if "digest" in line}
            )
        n, change = other_last_move(replay)
        file = str(written(tmp_path / "lie.json", written_anew(replay, replay.header, change, replay.secret)))
        for person in (ada, bo):
            code, said = person.run("verify", file, "--key", public_key(SIGNING_KEY))
            assert code == 5
            assert fact(said, "signature")[0] == "✔"
            told_of = {digest.n for path in person.files(race) for digest in in_file(path)[0].digests}
            first = min(number for number in told_of if number >= n)
            assert fact(said).startswith(f"✘ receipts    entry {first}: the digest of entry {first} is not")
            assert person.run("verify", file, "--no-receipts")[0] == 0


def test_every_command_that_enters_a_race_keeps_receipts(redis_url: str, tmp_path: Path) -> None:
    with Server(redis_url) as game:
        race = game.create("gallery", max_racers=2, start_delay_ms=1_000)
        link = f"{game.url}/r/{race}"
        eve, ada, rob = (Person(tmp_path / name) for name in ("eve", "ada", "rob"))
        program = tmp_path / "resigns.py"
        program.write_text("print('resign', flush=True)")
        onlooker = eve.start("watch", link)
        eve.until(race, 1)
        player, bot = (
            ada.start("join", link, "--ready"),
            rob.start("bot", link, "--exec", f"{sys.executable} {program}"),
        )
        type_in(player, "deal", "resign")
        for process in (player, bot, onlooker):
            ended(process)
        asyncio.run(game.replay(race))
        for person, nonces in ((eve, 0), (ada, 1), (rob, 1)):
            (kept,) = in_file(person.files(race)[0])
            assert len(kept.nonces) == nonces
            code, said = person.run("verify", link)
            assert (code, "(stored here)" in said) == (0, True), said
        alone = ada.start("solo", "gallery", "--server", game.url)
        type_in(alone, "deal", "resign")
        ended(alone)
        assert len(list((ada.state / "receipts").iterdir())) == 2


def test_a_race_is_played_to_its_end_on_a_full_disk(redis_url: str, tmp_path: Path) -> None:
    ada = Person(tmp_path / "ada")
    ada.state.mkdir(parents=True)
    (ada.state / "nonces.opened").write_text(f"{64 * '0'}\n" * 20)
    with Server(redis_url) as game:
        race = game.create("corners", max_racers=1, start_delay_ms=300)
        player = ada.start("join", f"{game.url}/r/{race}", "--ready", at_most=1_200)
        type_in(player, *["draw"] * 20, "resign")
        said = ended(player)
        assert said.count("no more receipts of this race are kept: File too large") == 1
        assert said.count("cannot be noted: File too large") == 1
        replay = asyncio.run(game.replay(race))
        assert sum(isinstance(entry.event, Moved) for entry in replay.entries) == 20
        assert 3 < ada.digests(race) < 20
        assert ada.run("verify", f"{game.url}/r/{race}")[0] == 0
