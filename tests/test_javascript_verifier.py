"""The verifier in JavaScript, written from the documents alone: it finds what ours finds, and deals the same cards."""

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from finished import finished, opened
from samedeal import wire
from samedeal.catalogue import GAMES
from samedeal.deal import Words
from samedeal.log import Closed
from samedeal.race import OPEN_MS

NODE = shutil.which("node")
FOLDER = Path(__file__).parents[1] / "examples" / "verify"
DOCS = Path(__file__).parents[1] / "docs"
DEALS: dict[str, str] = json.loads((Path(__file__).parent / "vectors.json").read_text())["deals"]
SHUFFLED_AGAIN = "corner-stones:5308"
"""A deal of Corner Stones whose first shuffle has no move."""

pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
every_game = pytest.mark.parametrize("slug", GAMES)


def run(*arguments: str | Path) -> tuple[int, str]:
    """What the verifier ends with and what it says."""
    done = subprocess.run(
        [str(NODE), FOLDER / "verify.mjs", *arguments], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@cache
def encoded(slug: str, seed: str | None = None) -> bytes:
    return wire.encode(finished(slug, seed=seed), "json")


def plain(slug: str = "corners") -> Any:
    """A replay as lists and dicts, to be damaged."""
    return json.loads(encoded(slug))


def verified(content: Any, folder: Path) -> tuple[int, dict[str, str]]:
    """What the verifier ends with, and each fact that fails with what is said of it."""
    file = folder / "replay.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    code, output = run(file)
    failed = (line.split(maxsplit=2) for line in output.splitlines() if line.startswith("FAILS"))
    return code, {fact: said for _, fact, said in failed}


def first(replay: Any, kind: str) -> int:
    """The index of the first entry of a kind of event."""
    return next(at for at, entry in enumerate(replay["entries"]) if entry[2]["t"] == kind)


# Replays that nobody has touched.


@every_game
@pytest.mark.parametrize("seed", [None, "42", "béla 7 🂡"])
def test_an_untouched_replay_holds(slug: str, seed: str | None, tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed))
    code, output = run(file)
    facts = [line.split()[1] for line in output.splitlines() if line.startswith("holds")]
    assert code == 0, output
    assert facts == ["complete", "numbers", "times", "nonces", "commitment", "deal", "chain"]


@every_game
@pytest.mark.parametrize("seed", [None, "42"])
def test_it_names_the_deal_and_its_first_cards(slug: str, seed: str | None, tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed))
    race = list(finished(slug, seed=seed).races())[-1]
    output = run(file)[1]
    assert f"deal        {race.deal}\n" in output
    game, words = GAMES[slug], Words(f"{slug}|{race.seed}")
    while not game.playable(cards := words.shuffled(game.pack())):
        pass
    assert f"the first cards are {' '.join(cards[:10])}\n" in output


def test_white_space_and_the_order_of_fields_are_free(tmp_path: Path) -> None:
    turned = json.dumps(dict(reversed(plain().items())), indent=2, ensure_ascii=False)
    assert verified("\n" + turned, tmp_path) == (0, {})


def test_a_race_that_was_called_off_holds(tmp_path: Path) -> None:
    log = opened("corners")
    log.say(Closed(secret=bytes(range(32)).hex()), OPEN_MS)
    file = tmp_path / "replay.json"
    file.write_bytes(wire.encode(log.replay(), "json"))
    code, output = run(file)
    assert code == 0
    assert "called off" in output


def test_it_says_of_the_example_what_its_page_shows(tmp_path: Path) -> None:
    example = (DOCS / "replay-format.md").read_text().partition("```json\n")[2].partition("\n```")[0]
    file = tmp_path / "replay.json"
    file.write_text(example)
    assert run(file) == (0, (FOLDER / "README.md").read_text().partition("```text\n")[2].partition("```")[0])


# Replays that somebody has laid hands on.


@every_game
def test_a_changed_move_breaks_the_chain_there(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    replay["entries"][at][2]["move"] = "undo"
    assert verified(replay, tmp_path) == (5, {"chain": f"at entry {at + 1}"})


@every_game
def test_another_nonce_is_found_there(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "nonce")
    replay["entries"][at][2]["nonce"] = "0" * 64
    assert verified(replay, tmp_path) == (5, dict.fromkeys(("nonces", "chain"), f"at entry {at + 1}"))


@every_game
def test_another_secret_is_not_the_one_committed_to(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    replay["entries"][-1][2]["secret"] = "0" * 64
    last = f"at entry {len(replay['entries'])}"
    assert verified(replay, tmp_path) == (5, {"commitment": last, "chain": "at entry 1"})


@every_game
def test_a_changed_digest_is_found_there(slug: str, tmp_path: Path) -> None:
    for at in (0, 7, -1):
        replay = plain(slug)
        replay["entries"][at][3] = "0" * 64
        assert verified(replay, tmp_path) == (5, {"chain": f"at entry {range(len(replay['entries']))[at] + 1}"})


@every_game
def test_a_dropped_entry_is_missed_where_it_stood(slug: str, tmp_path: Path) -> None:
    replay = plain(slug)
    at = first(replay, "moved")
    del replay["entries"][at]
    assert verified(replay, tmp_path) == (5, dict.fromkeys(("numbers", "chain"), f"at entry {at + 1}"))


def test_a_dropped_entry_is_found_though_the_others_are_numbered_anew(tmp_path: Path) -> None:
    replay = plain()
    at = first(replay, "moved")
    del replay["entries"][at]
    for n, entry in enumerate(replay["entries"], start=1):
        entry[0] = n
    assert verified(replay, tmp_path) == (5, {"chain": f"at entry {at + 1}"})


def test_a_log_without_its_end_is_not_complete(tmp_path: Path) -> None:
    replay = plain()
    del replay["entries"][-1]
    assert verified(replay, tmp_path) == (5, {"complete": f"at entry {len(replay['entries'])}"})
    replay["entries"] = []
    assert verified(replay, tmp_path)[0] == 5


def test_a_closing_in_the_middle_is_found_there(tmp_path: Path) -> None:
    replay = plain()
    replay["entries"].insert(20, replay["entries"][-1])
    code, failed = verified(replay, tmp_path)
    assert (code, failed["complete"]) == (5, "at entry 21")


def test_an_entry_dated_before_the_one_it_follows_is_found_there(tmp_path: Path) -> None:
    replay = plain()
    replay["entries"][20][1] = replay["entries"][19][1] - 1
    assert verified(replay, tmp_path) == (5, dict.fromkeys(("times", "chain"), "at entry 21"))


def test_a_server_that_chose_among_the_deals_of_a_root_is_found_out(tmp_path: Path) -> None:
    replay = plain()
    at = first(replay, "dealt")
    replay["entries"][at][2]["k"] = 7
    assert verified(replay, tmp_path)[1]["deal"] == f"at entry {at + 1}"


def test_of_a_filter_it_says_that_it_is_not_checked(tmp_path: Path) -> None:
    replay = plain()
    replay["header"]["options"]["filter"] = "friendly/1"
    replay["entries"][first(replay, "dealt")][2]["k"] = 7
    assert "deal" not in verified(replay, tmp_path)[1]
    output = run(tmp_path / "replay.json")[1]
    assert ".7\n?      that no deal before 7 passes friendly/1 is not checked here\n" in output


def test_a_nonce_that_came_after_the_deal_is_found_there(tmp_path: Path) -> None:
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


# Files that are no replays.


def _twice(text: str) -> str:
    return text.replace('"seat":1', '"seat":2,"seat":1', 1)


@pytest.mark.parametrize(
    "change",
    [
        _twice,
        lambda _: "",
        lambda _: "null",
        lambda text: text[:-1],
        lambda text: text.replace("samedeal.replay/1", "samedeal.replay/2"),
        lambda text: text.replace('"t":"counting"', '"t":"cheated"'),
        lambda text: text.replace('"t":"dealt"', '"k":0,"t":"dealt"'),
        lambda text: text.replace('"t":"dealt"', '"more":1,"t":"dealt"'),
        lambda text: text.replace('"salt":', '"pepper":'),
        lambda text: text.replace("[1,1", "[1.5,1", 1),
    ],
    ids=range(10),
)
def test_what_is_no_replay_is_refused(change: Callable[[str], str], tmp_path: Path) -> None:
    text = encoded("corners").decode()
    assert change(text) != text
    code, failed = verified(change(text), tmp_path)
    assert (code, list(failed)) == (5, ["format"])


def test_a_wrong_command_line_is_answered_with_the_right_one() -> None:
    for arguments in ((), ("--deal",), ("--deal", "poker:1"), ("--help",)):
        code, output = run(*arguments)
        assert (code, output.split()[0]) == (2, "usage:")


# Deals.


@pytest.mark.parametrize("label", DEALS)
def test_a_recorded_deal_is_shuffled_alike(label: str) -> None:
    code, output = run("--deal", label.replace("|", ":", 1))
    assert (code, output.splitlines()[0]) == (0, DEALS[label])


def test_a_deal_without_a_move_is_shuffled_again() -> None:
    slug, _, seed = SHUFFLED_AGAIN.partition(":")
    game, words = GAMES[slug], Words(f"{slug}|{seed}")
    assert not game.playable(words.shuffled(game.pack()))
    assert game.playable(second := words.shuffled(game.pack()))
    assert run("--deal", SHUFFLED_AGAIN) == (0, f"{' '.join(second)}\nshuffled 2 times\n")
