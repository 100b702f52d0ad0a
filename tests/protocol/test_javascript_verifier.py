"""The JavaScript verifier, written from the documentation alone, agrees with the library."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.proof.signature import public_key
from samedeal.proof.verification import FACTS
from samedeal.race.events import Closed, Joined, Taken
from samedeal.race.race import OPEN_MS
from samedeal.wire import codec
from support.finished_races import SECRET, SIGNING_KEY, finished, opened
from support.javascript_verifier import (
    FOLDER,
    NODE,
    WITHOUT_SIGNATURES,
    encoded,
    in_lines,
    refused,
    run,
    run_on,
    verified,
)

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
every_game = pytest.mark.parametrize("slug", GAMES)


def plain(slug: str = "corners") -> Any:
    """A replay as lists and dicts, to be modified."""
    return json.loads(encoded(slug))


def first(replay: Any, kind: str) -> int:
    """The index of the first entry with an event of this kind."""
    return next(at for at, entry in enumerate(replay["entries"]) if entry[2]["t"] == kind)


# Untouched replays.


def facts_that_hold(file: Path) -> list[str]:
    """The facts that hold for a valid file."""
    code, output = run(file)
    assert code == 0, output
    *facts, outcome = output.splitlines()
    assert outcome == "verified, key unknown: compare it with the server's, or use --key"
    return [line.split()[1] for line in facts if line.startswith("holds")]


@every_game
@pytest.mark.parametrize(("seed", "daily"), [(None, False), (None, True), ("42", False), ("béla 7 🂡", False)])
def test_an_untouched_replay_holds(slug: str, seed: str | None, daily: bool, tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed, daily))
    assert facts_that_hold(file) == list(FACTS)


@every_game
def test_an_untouched_line_based_replay_holds(slug: str, tmp_path: Path) -> None:
    file = tmp_path / "replay.ndjson"
    file.write_bytes(in_lines(slug))
    assert facts_that_hold(file) == list(FACTS)


def test_a_replay_with_a_known_key_is_verified(tmp_path: Path) -> None:
    code, output = run_on(plain(), tmp_path, "0" * 64, public_key(SIGNING_KEY))
    assert (code, output.splitlines()[-1]) == (0, "verified (key known)")


def test_a_replay_with_connection_ids_holds(tmp_path: Path) -> None:
    log = opened("corners", seed="1")
    log.say(Joined(seat=1, player="p1", name="ada", by="0123456789abcdef"))
    log.say(Taken(seat=1, by="fedcba9876543210"), 10)
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    assert verified(codec.encode(log.replay(), "json").decode(), tmp_path) == (0, {})


@every_game
@pytest.mark.parametrize(("seed", "daily"), [(None, False), (None, True), ("42", False)])
def test_the_output_shows_the_deal(slug: str, seed: str | None, daily: bool, tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed, daily))
    race = list(finished(slug, seed=seed, daily=daily).races())[-1]
    assert f"holds  deal        {race.deal}\n" in run(file)[1]


def test_json_may_have_whitespace_and_fields_in_any_order(tmp_path: Path) -> None:
    turned = json.dumps(dict(reversed(plain().items())), indent=2, ensure_ascii=False)
    assert verified("\n" + turned, tmp_path) == (0, {})


def test_a_cancelled_race_holds(tmp_path: Path) -> None:
    log = opened("corners")
    log.say(Closed(secret=bytes(range(32)).hex()), OPEN_MS)
    file = tmp_path / "replay.json"
    file.write_bytes(codec.encode(log.replay(), "json"))
    code, output = run(file)
    assert code == 0
    assert "holds  deal        none was dealt\n" in output


def test_the_output_for_a_changed_example_matches_the_documentation(tmp_path: Path) -> None:
    example = (DOCS / "bots" / "replay-format.md").read_text().partition("```json\n")[2].partition("\n```")[0]
    replay = json.loads(example)
    replay["entries"][3][2]["t"] = "unreadied"
    code, output = run_on(replay, tmp_path)
    assert code == 5
    assert output == (FOLDER / "README.md").read_text().partition("```text\n")[2].partition("```")[0]


# Tampered replays.


@every_game
def test_a_changed_move_is_found_at_its_entry(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    replay["entries"][at][2]["move"] = "undo"
    assert refused(replay, tmp_path) == {"moves": at + 1}


@every_game
def test_a_changed_nonce_is_found_at_its_entry(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "nonce")
    replay["entries"][at][2]["nonce"] = "0" * 64
    assert refused(replay, tmp_path) == {"nonces": at + 1}


@every_game
def test_a_changed_secret_does_not_match_the_commitment(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    replay["entries"][-1][2]["secret"] = "0" * 64
    assert refused(replay, tmp_path) == {"commitment": len(replay["entries"])}


@every_game
def test_a_changed_digest_is_found_at_its_entry(slug: str, tmp_path: Path) -> None:
    for at in (0, 7, -1):
        replay = plain(slug)
        replay["entries"][at][3] = "0" * 64
        assert refused(replay, tmp_path) == {"chain": range(len(replay["entries"]))[at] + 1}


@every_game
def test_a_dropped_entry_is_found_at_its_position(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    del replay["entries"][at]
    found = refused(replay, tmp_path)
    assert found["numbers"] == at + 1
    assert at + 1 in (found.get("chain"), found.get("moves"))


@every_game
def test_a_dropped_entry_is_found_even_if_the_others_are_renumbered(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    del replay["entries"][at]
    for n, entry in enumerate(replay["entries"], start=1):
        entry[0] = n
    found = refused(replay, tmp_path)
    assert at + 1 in (found.get("chain"), found.get("moves"))


def test_a_truncated_log_is_not_complete(tmp_path: Path) -> None:
    replay = plain()
    del replay["entries"][-1]
    assert refused(replay, tmp_path) == {"complete": len(replay["entries"])}
    replay["entries"] = []
    assert refused(replay, tmp_path) == {"complete": 0}


def test_a_closing_entry_in_the_middle_is_found_at_its_position(tmp_path: Path) -> None:
    replay = plain()
    replay["entries"].insert(20, replay["entries"][-1])
    found = refused(replay, tmp_path)
    assert found == {"complete": 21, "numbers": 21, "times": 22, "order": 21}


def test_an_entry_with_an_earlier_time_is_found_at_its_position(tmp_path: Path) -> None:
    replay = plain()
    replay["entries"][20][1] = replay["entries"][19][1] - 1
    found = refused(replay, tmp_path)
    assert {"times": 21, "chain": 21}.items() <= found.items() <= {"times": 21, "chain": 21, "standings": None}.items()


def test_another_deal_of_the_same_root_is_found(tmp_path: Path) -> None:
    replay = plain()
    at = first(replay, "dealt")
    replay["entries"][at][2]["k"] = 7
    found = refused(replay, tmp_path)
    assert {"filter": at + 1, "chain": at + 1}.items() <= found.items()


def test_a_signature_that_cannot_be_checked_has_an_outcome_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", WITHOUT_SIGNATURES)
    code, output = run_on(plain(), tmp_path)
    assert (code, output.splitlines()[-1]) == (6, "not checked: signature")
    assert "?????  signature   Ed25519 is not available here\n" in output


def test_a_nonce_after_the_deal_is_found_at_its_entry(tmp_path: Path) -> None:
    replay = plain()
    entries = replay["entries"]
    late, deal = entries[first(replay, "nonce")], first(replay, "dealt")
    entries.remove(late)
    entries.insert(deal, late)
    found = refused(replay, tmp_path)
    assert found["order"] == deal + 1


@pytest.mark.parametrize(
    ("field", "fact"),
    [("race", "commitment"), ("game", "rules"), ("salt", "chain"), ("commitment", "commitment"), ("rules", "rules")],
)
def test_a_changed_header_is_found(field: str, fact: str, tmp_path: Path) -> None:
    replay = plain()
    value = replay["header"][field]
    replay["header"][field] = value.translate(str.maketrans("c0", "e1")) if field != "salt" else "11" * 16
    assert replay["header"][field] != value
    found = refused(replay, tmp_path)
    assert found[fact] == {"chain": 1, "rules": None, "commitment": len(replay["entries"])}[fact]


# Daily deals.


@pytest.mark.parametrize("day", ["2023-11-13", "2023-11-15", "2024-02-29"])
def test_a_daily_deal_of_another_day_does_not_match_the_commitment(day: str, tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    began = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1000
    replay["header"]["opened_at"] = int(began)
    assert refused(replay, tmp_path)["commitment"] == len(replay["entries"])


@pytest.mark.parametrize("fields", [{"seed": "42"}, {"variant": {"refill": "waste"}}])
def test_a_daily_deal_with_a_seed_or_a_variant_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    replay["header"] |= fields
    assert refused(replay, tmp_path)["commitment"] == len(replay["entries"])


def test_a_daily_commitment_is_valid_for_its_game_only(tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    replay["header"] |= {"game": "the-edge", "rules": "the-edge/1"}
    assert refused(replay, tmp_path)["commitment"] == len(replay["entries"])
