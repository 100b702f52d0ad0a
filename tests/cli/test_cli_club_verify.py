"""``samedeal club verify`` and ``samedeal table`` with a club, and the same proof by a program that shares no code."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from cli.test_cli_table import javascript, python
from samedeal import codec
from samedeal.proof import receipts as proof
from samedeal.race.club import Club, ClubCancelled, ClubFinished, Erased
from samedeal.race.events import Header
from samedeal.replays.replay import Replay
from samedeal.replays.signature import public_key
from samedeal.scores.challenge_table import RaceReplay
from samedeal_cli.failure import Declined
from samedeal_cli.net import clubs, guests
from samedeal_cli.net.clubs import ClubApi
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.receipts import FOLDER
from samedeal_cli.settings import state_dir
from support import club_servers
from support.challenges import raced
from support.clubs import ID, IDS, LoggedClub, header, random_club
from support.documents import serving
from support.finished_races import SIGNING_KEY
from support.forged_clubs import stated
from support.node import needs_node
from support.offline_cli import run
from support.servers import Server

pytestmark = pytest.mark.tier(2)

KEY = public_key(SIGNING_KEY)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def documents(logged: LoggedClub) -> dict[str, bytes]:
    """Return the files of a club by name."""
    found: dict[str, object] = {f"{ID}.club": logged.log(), f"{ID}.scores": stated(logged)}
    found |= {f"{log.header.challenge}.challenge": log for log in logged.challenges}
    found |= {replay.header.race: replay for replay in logged.replays}
    return {f"{name}.json": codec.encode(each, "json") for name, each in found.items()}


def files(folder: Path, logged: LoggedClub) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in documents(logged)]
    for path, data in zip(paths, documents(logged).values(), strict=True):
        path.write_bytes(data)
    return paths


def served(logged: LoggedClub) -> dict[str, bytes]:
    """Return what a server says about a club, by path."""
    api, found = "/api/v1", documents(logged)
    paths = {
        f"{api}/clubs/{ID}/{name}": found[f"{ID}.{file}.json"] for name, file in (("log", "club"), ("scores",) * 2)
    }
    paths |= {f"{api}/challenges/{log.header.challenge}/log": codec.encode(log, "json") for log in logged.challenges}
    paths |= {f"{api}/replays/{each.header.race}.json": codec.encode(each, "json") for each in logged.replays}
    return paths | {"/.well-known/samedeal": b'{"keys":[{"key":"%s"}]}' % KEY.encode()}


def club(number: int = 20) -> LoggedClub:
    """Return a club with a challenge."""
    return random_club(Random(number))


def players_of(replay: Replay) -> dict[str, object]:
    """Return who was dealt cards in a race, by player."""
    return dict(RaceReplay.of(replay).race.racers)


def receipts_of(header: Header) -> None:
    """Store the receipts of a race."""
    path = state_dir() / FOLDER / f"{header.race}.0.ndjson"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(proof.line(proof.HeaderReceipt(header)) + proof.line(proof.DigestReceipt(0, "0" * 64)))


@needs_node
def test_both_programs_print_the_same_bytes(tmp_path: Path) -> None:
    for number in range(2):
        paths = files(tmp_path / f"{number}", club(number))
        for options in ([], ["--key", KEY], ["--no-verify"]):
            code, out, error = python(*options, *paths)
            assert (code, error, json.loads(out)["faults"]) == (0, "", [])
            assert javascript(*options, *reversed(paths)) == (code, out, "")


def test_the_tables_the_ratings_and_the_proof_are_printed(tmp_path: Path) -> None:
    logged = club()
    assert logged.challenges
    paths = files(tmp_path, logged)
    result = run("club", "verify", *paths, "--key", KEY)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[-2:] == [f"signed by {KEY}", "verified (key known)"]
    assert any(line.startswith("ratings in ") for line in lines)
    assert any(line.endswith("provisional") for line in lines)
    assert any(line.startswith(" 1. Name ") for line in lines)
    assert run("table", *paths).stdout.splitlines()[-1] == "verified, key unknown: check the signer with --key"
    logged.say(Erased(player=IDS[0]))
    logged.challenges, logged.replays = [], [each for each in logged.replays if IDS[0] not in players_of(each)]
    erased = run("club", "verify", *files(tmp_path / "erased", logged), "--key", KEY).stdout
    count = erased.count(" cannot be verified: a player was erased\n")
    assert count > 1
    assert erased.endswith(f"\nverified except for {count} races, because a player was erased (key known)\n")
    missing = run("club", "verify", *[path for path in paths if path.name != f"{logged.replays[-1].header.race}.json"])
    assert missing.exit_code == 5
    assert "is missing" in missing.stdout


@needs_node
def test_both_programs_refuse_the_same_files(tmp_path: Path) -> None:
    paths = files(tmp_path / "1", club())
    log, scores, *others = paths
    altered, other = tmp_path / "altered.json", tmp_path / "other.json"
    founded = LoggedClub(Club.opened(replace(header(), club="other-club")))
    other.write_bytes(codec.encode(founded.log(), "json"))
    altered.write_bytes(log.read_bytes().replace(b'"t":"cancelled"', b'"t":"finished"'))
    challenge = next(path for path in others if path.name.endswith(".challenge.json"))
    same, race = LoggedClub(), tmp_path / "race.json"
    name = challenge.name.split(".")[0]
    same.finish(raced(same.race(name), [0, 1], Random(8), IDS.__getitem__))
    race.write_bytes(codec.encode(same.replays[0], "json"))
    for given, code, why in (
        ([*paths, other], 2, f"other.json: the club {ID} is already in {log}"),
        ([*paths, challenge], 2, f"{challenge}: the challenge {name} is already in {challenge}"),
        ([*paths, race], 2, f"race.json: the challenge {name} is already in {challenge}"),
        ([log, race, challenge], 2, f"{challenge}: the race {name} is already in {race}"),
        ([*paths, others[-1]], 2, "is already in"),
        ([scores, others[-1]], 2, f"{scores}: the log of the club is missing"),
        (["--key", "1" * 64, *paths], 5, "The club is signed by"),
        ([altered], 5, "altered.json: "),
    ):
        for found, out, error in (javascript(*given), python(*given)):
            assert (found, out) == (code, b""), error
            assert why in error
    wrong = tmp_path / "scores.json"
    wrong.write_bytes(scores.read_bytes().replace(b'"n":', b'"N":'))
    for found, _, error in (javascript(log, wrong), python(log, wrong)):
        assert (found, "scores.json: " in error) == (5, True)
    assert run("table", *paths, "--best-of", "3").exit_code == 2
    assert "none of the files is the log of a club" in run("club", "verify", others[-1]).stderr


@pytest.fixture
def member() -> Iterator[None]:
    """A guest on the servers of `serving`, of which only the port is not known."""
    yield
    for guest in guests.stored():
        guests.delete(guest)


def test_a_club_is_downloaded_verified_and_saved(tmp_path: Path, member: None) -> None:
    logged = club()
    with serving(served(logged)) as (address, asked):
        guests.save(guests.Guest(address, "ada", "player-1", "token"))
        result = run("table", "--json", f"{address}/g/{ID}")
        saved = run("club", "verify", f"{address}/g/{ID}", "--as", "ada", "--save", tmp_path / "new" / "club", "--json")
    assert (result.exit_code, saved.exit_code) == (0, 0), result.stderr
    table = json.loads(result.stdout)
    assert (table["outcome"], table["faults"], saved.stdout) == ("verified", [], result.stdout)
    assert asked.count("/.well-known/samedeal") == 2
    paths = sorted((tmp_path / "new" / "club").iterdir())
    assert {path.name for path in paths} == documents(logged).keys()
    assert run("club", "verify", *paths, "--key", KEY, "--json").stdout == result.stdout


def test_what_a_dishonest_server_leaves_out_or_changes_is_named(member: None) -> None:
    logged = club()
    left_out = next(each for each in logged.replays if each.header.club).header
    shorter = random_club(Random(20), lambda event: None if getattr(event, "race", None) == left_out.race else event)
    first = next(each.event for each in logged.entries if isinstance(each.event, ClubFinished))
    hidden = random_club(Random(20), lambda event: ClubCancelled(race=first.race) if event == first else event)
    rated = served(logged)
    scores = json.loads(rated[f"/api/v1/clubs/{ID}/scores"])
    game, rows = next(iter(scores["ratings"].items()))
    rows[0]["strength"] *= 1 + 2**-52
    rated[f"/api/v1/clubs/{ID}/scores"] = json.dumps(scores).encode()
    for paths, says in (
        (served(hidden), f"{first.race} was dealt, although the log says that it was cancelled"),
        (rated, f"the ratings in {game} do not follow from the log"),
        (served(shorter), ""),
        (served(shorter), f"{left_out.race} is not in the log of the club"),
    ):
        with serving(paths) as (address, _):
            guests.save(guests.Guest(address, "ada", "player-1", "token"))
            result = run("club", "verify", f"{address}/g/{ID}")
        assert (result.exit_code, says in result.stdout) == (5 if says else 0, True)
        if not says:
            receipts_of(left_out)


async def test_a_club_on_a_server_is_verified_with_the_receipts_and_offline(store_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "club"
    with Server(store_url) as server:
        page, people = club_servers.members(server, "ada", "bo")
        for name, (token, player) in zip(("ada", "bo"), people, strict=True):
            guests.save(guests.Guest(server.url, name, player, token))
        tokens = [token for token, _ in people]
        for _ in range(2):
            await club_servers.race(server, page.club, tokens)
        await club_servers.once_finished(server, page.club, tokens[0], 2)
        result = run("club", "verify", page.club, "--server", server.url, "--as", "bo", "--save", folder)
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "verified (key known)"), result.output
        assert "2 races" in result.stdout
    offline = run("club", "verify", *folder.iterdir())
    assert (offline.exit_code, offline.stdout.splitlines()[:-1]) == (0, result.stdout.splitlines()[:-1])
    code, out, error = javascript(*folder.iterdir())
    assert (code, error, json.loads(out)["outcome"]) == (0, "", "key-unknown")


@pytest.mark.parametrize("refusals", [2, clubs.MAX_ATTEMPTS])
def test_a_download_waits_while_the_server_is_asked_too_often(
    refusals: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([Declined("too-many", "too many requests")] * refusals)
    paths = served(club())

    def download(_: Api, path: str, **__: object) -> bytes:
        if refused := next(answers, None):
            raise refused
        if data := paths.get(f"/api/v1{path}"):
            return data
        raise Declined("replay-sealed", "not available")

    monkeypatch.setattr(Api, "download", download)
    monkeypatch.setattr(clubs, "PAUSE_S", 0)
    found = ClubApi(Api("http://127.0.0.1:1"), "token", ID)
    if refusals == clubs.MAX_ATTEMPTS:
        with pytest.raises(Declined, match="too many requests"):
            found.download(tmp_path)
    else:
        assert len(found.download(tmp_path)) > 3
