"""``samedeal table`` with a challenge, and the same table by a program that shares no code with it."""

import json
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from cli.test_cli_table import javascript, python
from samedeal import codec
from samedeal.race.challenge import Opened
from samedeal.replays.signature import public_key, signed
from support.challenges import ID, LoggedChallenge, deal, raced, random_challenge, written
from support.documents import serving
from support.finished_races import SIGNING_KEY, finished
from support.forged_challenges import with_standings
from support.javascript_verifier import WITHOUT_SIGNATURES
from support.node import needs_node
from support.offline_cli import run
from support.saved_replays import CHALLENGE, replay_file, replayed_races
from support.servers import SIGNING_KEY as SAVED_KEY

pytestmark = pytest.mark.tier(2)

KEY = public_key(SIGNING_KEY)
OTHER_KEY = bytes(32)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def challenge() -> LoggedChallenge:
    """Return a challenge in which each of three races alone, and one that nobody joins."""
    logged, random = LoggedChallenge.open(deal("the-edge"), deal("gallery")), Random(3)
    for number, player in ((1, 1), (2, 1), (1, 2), (1, 3), (2, 0)):
        logged.finish(raced(logged.heat(number, max_racers=1), [player] if player else [], random))
    logged.reveal()
    return logged


def files(folder: Path, logged: LoggedChallenge) -> list[Path]:
    return written(folder, logged.log(), logged.replays)


def test_the_table_names_places_points_and_times(tmp_path: Path) -> None:
    log, *heats = files(tmp_path, challenge())
    result = run("table", log, *heats)
    assert (result.exit_code, result.stderr) == (0, "")
    *rows, signer, outcome = result.stdout.splitlines()
    assert rows == [
        " 1. Name 2 the 2nd     1 point  0 solved  3.6 s",
        " 2. Name 1          0.5 points  0 solved  3.6 s",
        " 3. Name 3            0 points  0 solved  0.9 s",
    ]
    assert (signer, outcome) == (f"signed by {KEY}", "verified, key unknown: check the signer with --key")
    missing = run("table", heats[0], log, "--key", KEY)
    assert missing.exit_code == 5
    assert missing.stdout.splitlines()[1:] == [
        *(f"{ID}-{number} is missing" for number in (4, 6, 8)),
        f"signed by {KEY}",
        "refused",
    ]


def test_players_with_the_same_name_are_numbered_and_names_are_safe(tmp_path: Path) -> None:
    logged = LoggedChallenge.open()
    for player in (1, 1, 2):
        logged.finish(raced(logged.heat(max_racers=1), [player], Random(1)))
    logged.reveal()
    names = {f"{ID}-2": "Ada\x1b", f"{ID}-6": "Ada\x1b"}
    logged.replays = [
        replace(each, standings=(replace(each.standings[0], name=names.get(each.header.race, "x")),))
        for each in logged.replays
    ]
    result = run("table", "--no-verify", *files(tmp_path, logged))
    assert [line[:12].strip() for line in result.stdout.splitlines()[:2]] == ["1. Ada\ufffd #1", "1. Ada\ufffd #2"]
    assert result.stdout.splitlines()[-1] == "not checked"


def test_a_challenge_that_nobody_has_played_has_no_rows(tmp_path: Path) -> None:
    logged = LoggedChallenge.open()
    logged.finish_unraced()
    logged.reveal()
    assert run("table", *files(tmp_path, logged)).stdout.splitlines()[0] == "nobody has played"


@needs_node
def test_both_programs_print_the_same_bytes(tmp_path: Path) -> None:
    for number in range(2):
        logged, folder = random_challenge(Random(f"both {number}")), tmp_path / f"{number}"
        folder.mkdir()
        paths = files(folder, logged)
        for options in ([], ["--key", KEY], ["--no-verify"]):
            code, out, error = python(*options, *paths)
            assert (code, error, json.loads(out)["faults"]) == (0, "", [])
            assert javascript(*options, *reversed(paths)) == (code, out, "")
        logged.replays = [with_standings(Random(number), replay) for replay in logged.replays]
        paths = files(folder, logged)
        assert javascript("--no-verify", *paths[1:], paths[0]) == python("--no-verify", *paths)


@needs_node
def test_both_programs_verify_the_saved_challenge() -> None:
    heats = [replay_file(4, race, "json") for race in replayed_races(4) if race.startswith("heat")]
    key = public_key(bytes.fromhex(SAVED_KEY))
    code, out, error = python("--key", key, CHALLENGE, *heats)
    assert (code, json.loads(out)["outcome"], error) == (0, "verified", "")
    assert javascript("--key", key, CHALLENGE, *heats) == (code, out, error)


@needs_node
def test_both_programs_refuse_the_same_files(tmp_path: Path) -> None:
    logged = challenge()
    log, *heats = files(tmp_path, logged)
    altered, other = tmp_path / "altered.json", tmp_path / "other.json"
    altered.write_bytes(log.read_bytes().replace(b'"t":"cancelled"', b'"t":"finished","digest":"' + b"0" * 64 + b'"'))
    other.write_bytes(log.read_bytes())
    twice = f"other.json: the challenge {ID} is already in {log}"
    for paths, code, why in (
        ([altered, *heats], 5, "altered.json: Entry 11 does not match the log of the challenge"),
        ([log, *heats, other], 2, twice),
        ([log, heats[0], *heats], 2, f"the race {ID}-2 is already in"),
        (["--key", public_key(OTHER_KEY), log, *heats], 5, "log.json: The challenge is signed by"),
    ):
        for found, out, error in (javascript(*paths), python(*paths)):
            assert (found, out) == (code, b""), error
            assert why in error
    text = tmp_path / "text.json"
    text.write_text('{"format":"samedeal.challenge/2"}')
    for found, _, error in (javascript(text), python(text)):
        assert (found, "text.json: " in error) == (5, True)
    assert run("table", log, *heats, "--best-of", "3").exit_code == 2


@needs_node
def test_both_programs_name_several_signers(tmp_path: Path) -> None:
    logged = challenge()
    first, *others = logged.replays
    logged.replays = [replace(first, signature=signed(OTHER_KEY, first.header.race, first.digest)), *others]
    paths = files(tmp_path, logged)
    code, out, error = python(*paths)
    assert (code, json.loads(out)["faults"], error) == (5, ["signed by 2 different keys"], "")
    assert javascript(*paths) == (code, out, error)


@needs_node
def test_javascript_names_signatures_that_it_cannot_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_OPTIONS", WITHOUT_SIGNATURES)
    log, *heats = files(tmp_path, challenge())
    code, out, error = javascript(log, *heats)
    assert (code, json.loads(out)["outcome"]) == (6, "not-checked")
    assert error.splitlines()[0] == f"{log}: not checked: signature"


def test_verify_says_how_to_verify_a_challenge(tmp_path: Path) -> None:
    log, *_ = files(tmp_path, challenge())
    result = run("verify", log)
    assert (result.exit_code, "This is the log of a challenge." in result.stderr) == (5, True)
    assert "samedeal table" in result.stderr


def test_the_link_of_a_challenge_downloads_its_log_and_heats() -> None:
    logged = challenge()
    documents = {
        "/.well-known/samedeal": b'{"keys":[{"key":"%s"}]}' % KEY.encode(),
        f"/api/v1/challenges/{ID}/log": codec.encode(logged.log(), "json"),
    }
    replays = {f"/api/v1/replays/{each.header.race}.msgpack": codec.encode(each, "msgpack") for each in logged.replays}
    with serving(documents | replays) as (address, asked):
        result = run("table", "--json", f"{address}/c/{ID}")
    assert (result.exit_code, result.stderr) == (0, "")
    table = json.loads(result.stdout)
    assert (table["outcome"], len(table["table"]), table["faults"]) == ("verified", 3, [])
    assert asked.count("/.well-known/samedeal") == 1
    assert sorted(set(asked)) == sorted([*documents, *list(replays)[:-1]])  # the last heat was cancelled


def test_a_challenge_is_not_a_race(tmp_path: Path) -> None:
    """A replay among the files that is not a heat is a fault."""
    log, *heats = files(tmp_path, challenge())
    race = tmp_path / "race.json"
    race.write_bytes(codec.encode(finished("corners"), "json"))
    result = run("table", log, *heats, race)
    assert (result.exit_code, "calm-otter-42 is not in the log of the challenge" in result.stdout) == (5, True)


def test_a_log_before_the_reveal_is_refused(tmp_path: Path) -> None:
    logged = LoggedChallenge.opening()
    logged.say(Opened(nonce="0" * 64))
    path = tmp_path / "log.json"
    path.write_bytes(codec.encode(logged.log(), "json"))
    result = run("table", path)
    assert (result.exit_code, "does not end with the secret" in result.stderr) == (5, True)
