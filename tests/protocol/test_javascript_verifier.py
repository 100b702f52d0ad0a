"""The JavaScript verifier, written from the documentation alone, agrees with the library."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from samedeal.deck import Words
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Joined, Taken
from samedeal.race.race import OPEN_MS
from samedeal.wire import codec
from support.finished_races import SECRET, finished, opened
from support.javascript_verifier import FOLDER, NODE, encoded, in_lines, run, verified

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
every_game = pytest.mark.parametrize("slug", GAMES)
FACTS = ["complete", "numbers", "times", "signature", "nonces", "commitment", "deal", "chain"]


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
    return [line.split()[1] for line in output.splitlines() if line.startswith("holds")]


@every_game
@pytest.mark.parametrize(("seed", "daily"), [(None, False), (None, True), ("42", False), ("béla 7 🂡", False)])
def test_an_untouched_replay_holds(slug: str, seed: str | None, daily: bool, tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed, daily))
    assert facts_that_hold(file) == FACTS


@every_game
def test_an_untouched_line_based_replay_holds(slug: str, tmp_path: Path) -> None:
    file = tmp_path / "replay.ndjson"
    file.write_bytes(in_lines(slug))
    assert facts_that_hold(file) == FACTS


def test_a_replay_with_connection_ids_holds(tmp_path: Path) -> None:
    log = opened("corners", seed="1")
    log.say(Joined(seat=1, player="p1", name="ada", by="0123456789abcdef"))
    log.say(Taken(seat=1, by="fedcba9876543210"), 10)
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    assert verified(codec.encode(log.replay(), "json").decode(), tmp_path) == (0, {})


@every_game
@pytest.mark.parametrize(("seed", "daily"), [(None, False), (None, True), ("42", False)])
def test_the_output_shows_the_deal_and_its_first_cards(
    slug: str, seed: str | None, daily: bool, tmp_path: Path
) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed, daily))
    race = list(finished(slug, seed=seed, daily=daily).races())[-1]
    output = run(file)[1]
    assert f"deal        {race.deal}\n" in output
    game, words = GAMES[slug], Words(f"{slug}|{race.seed}")
    while not game.playable(cards := words.shuffled(game.pack())):
        pass
    assert f"the first cards are {' '.join(cards[:10])}\n" in output


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
    assert "called off" in output


def test_the_output_for_the_example_matches_the_documentation(tmp_path: Path) -> None:
    example = (DOCS / "bots" / "replay-format.md").read_text().partition("```json\n")[2].partition("\n```")[0]
    file = tmp_path / "replay.json"
    file.write_text(example)
    assert run(file) == (0, (FOLDER / "README.md").read_text().partition("```text\n")[2].partition("```")[0])


# Tampered replays.


@every_game
def test_a_changed_move_breaks_the_chain_at_its_entry(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    replay["entries"][at][2]["move"] = "undo"
    assert verified(replay, tmp_path) == (5, {"chain": f"at entry {at + 1}"})


@every_game
def test_a_changed_nonce_is_found_at_its_entry(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "nonce")
    replay["entries"][at][2]["nonce"] = "0" * 64
    assert verified(replay, tmp_path) == (5, dict.fromkeys(("nonces", "chain"), f"at entry {at + 1}"))


@every_game
def test_a_changed_secret_does_not_match_the_commitment(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    replay["entries"][-1][2]["secret"] = "0" * 64
    last = f"at entry {len(replay['entries'])}"
    assert verified(replay, tmp_path) == (5, {"commitment": last, "chain": "at entry 1"})


@every_game
def test_a_changed_digest_is_found_at_its_entry(slug: str, tmp_path: Path) -> None:
    for at in (0, 7, -1):
        replay = plain(slug)
        replay["entries"][at][3] = "0" * 64
        assert verified(replay, tmp_path) == (5, {"chain": f"at entry {range(len(replay['entries']))[at] + 1}"})


@every_game
def test_a_dropped_entry_is_found_at_its_position(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    del replay["entries"][at]
    assert verified(replay, tmp_path) == (5, dict.fromkeys(("numbers", "chain"), f"at entry {at + 1}"))


def test_a_dropped_entry_is_found_even_if_the_others_are_renumbered(tmp_path: Path) -> None:
    replay = plain()
    at = first(replay, "moved")
    del replay["entries"][at]
    for n, entry in enumerate(replay["entries"], start=1):
        entry[0] = n
    assert verified(replay, tmp_path) == (5, {"chain": f"at entry {at + 1}"})


def test_a_truncated_log_is_not_complete(tmp_path: Path) -> None:
    replay = plain()
    del replay["entries"][-1]
    assert verified(replay, tmp_path) == (5, {"complete": f"at entry {len(replay['entries'])}"})
    replay["entries"] = []
    assert verified(replay, tmp_path)[0] == 5


def test_a_closing_entry_in_the_middle_is_found_at_its_position(tmp_path: Path) -> None:
    replay = plain()
    replay["entries"].insert(20, replay["entries"][-1])
    code, failed = verified(replay, tmp_path)
    assert (code, failed["complete"]) == (5, "at entry 21")


def test_an_entry_with_an_earlier_time_is_found_at_its_position(tmp_path: Path) -> None:
    replay = plain()
    replay["entries"][20][1] = replay["entries"][19][1] - 1
    assert verified(replay, tmp_path) == (5, dict.fromkeys(("times", "chain"), "at entry 21"))


def test_another_deal_of_the_same_root_is_found(tmp_path: Path) -> None:
    replay = plain()
    at = first(replay, "dealt")
    replay["entries"][at][2]["k"] = 7
    assert verified(replay, tmp_path)[1]["deal"] == f"at entry {at + 1}"


def test_the_output_says_that_filters_are_not_checked(tmp_path: Path) -> None:
    replay = plain()
    replay["header"]["options"]["filter"] = "friendly/1"
    replay["entries"][first(replay, "dealt")][2]["k"] = 7
    assert "deal" not in verified(replay, tmp_path)[1]
    output = run(tmp_path / "replay.json")[1]
    assert ".7\n?      not checked here: whether friendly/1 accepts a deal before 7\n" in output


def test_a_nonce_after_the_deal_is_found_at_its_entry(tmp_path: Path) -> None:
    replay = plain()
    entries = replay["entries"]
    late, deal = entries[first(replay, "nonce")], first(replay, "dealt")
    entries.remove(late)
    entries.insert(deal, late)
    assert verified(replay, tmp_path)[1]["nonces"] == f"at entry {deal + 1}"


@pytest.mark.parametrize("field", ["race", "game", "salt", "commitment", "rules"])
def test_a_changed_header_breaks_the_chain_from_the_start(field: str, tmp_path: Path) -> None:
    replay = plain()
    value = replay["header"][field]
    replay["header"][field] = value.translate(str.maketrans("c0", "e1")) if field != "salt" else "11" * 16
    assert replay["header"][field] != value
    assert verified(replay, tmp_path)[1]["chain"] == "at entry 1"


# Daily deals.


@pytest.mark.parametrize("day", ["2023-11-13", "2023-11-15", "2024-02-29"])
def test_a_daily_deal_of_another_day_does_not_match_the_commitment(day: str, tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    began = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1000
    replay["header"]["opened_at"] = int(began)
    assert verified(replay, tmp_path)[1]["commitment"] == f"at entry {len(replay['entries'])}"


@pytest.mark.parametrize("fields", [{"seed": "42"}, {"variant": {"refill": "waste"}}])
def test_a_daily_deal_with_a_seed_or_a_variant_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    replay["header"] |= fields
    assert verified(replay, tmp_path)[1]["commitment"] == f"at entry {len(replay['entries'])}"


def test_a_daily_commitment_is_valid_for_its_game_only(tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    replay["header"] |= {"game": "the-edge", "rules": "the-edge/1"}
    assert verified(replay, tmp_path)[1]["commitment"] == f"at entry {len(replay['entries'])}"
