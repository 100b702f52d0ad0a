"""The verifier in JavaScript, written from the documents alone: it finds what ours finds, and deals the same cards."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from samedeal.deck import Words
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.signature import Signature, public_key, signed
from samedeal.proof.verification import verify
from samedeal.race.events import Closed, Joined, Taken
from samedeal.race.race import OPEN_MS
from samedeal.replays.replay import ReplayLines, read
from samedeal.wire import codec
from support.finished_races import SECRET, SIGNING_KEY, finished, opened

NODE = shutil.which("node")
FOLDER = Path(__file__).parents[2] / "examples" / "verify"
DOCS = Path(__file__).parents[2] / "docs"
DEALS: dict[str, str] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["deals"]
SHUFFLED_AGAIN = "corner-stones:5308"
"""A deal of Corner Stones whose first shuffle has no move."""

pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
every_game = pytest.mark.parametrize("slug", GAMES)
FACTS = ["complete", "numbers", "times", "signature", "nonces", "commitment", "deal", "chain"]


def run(*arguments: str | Path) -> tuple[int, str]:
    """What the verifier ends with and what it says."""
    done = subprocess.run(
        [str(NODE), FOLDER / "verify.mjs", *arguments], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@cache
def encoded(slug: str, seed: str | None = None, daily: bool = False) -> bytes:
    return codec.encode(finished(slug, seed=seed, daily=daily), "json")


@cache
def in_lines(slug: str) -> bytes:
    return b"".join(finished(slug, moves=6).lines())


def plain(slug: str = "corners") -> Any:
    """A replay as lists and dicts, to be damaged."""
    return json.loads(encoded(slug))


def verified(content: Any, folder: Path, *keys: str) -> tuple[int, dict[str, str]]:
    """What the verifier ends with, and each fact that fails with what is said of it."""
    file = folder / "replay.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    code, output = run(*(word for key in keys for word in ("--key", key)), file)
    failed = (line.split(maxsplit=2) for line in output.splitlines() if line.startswith("FAILS"))
    return code, {fact: said for _, fact, said in failed}


def first(replay: Any, kind: str) -> int:
    """The index of the first entry of a kind of event."""
    return next(at for at, entry in enumerate(replay["entries"]) if entry[2]["t"] == kind)


# Replays that nobody has touched.


def facts_that_hold(file: Path) -> list[str]:
    """Every fact of a file that holds; it must be a good one."""
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
def test_an_untouched_replay_in_lines_holds(slug: str, tmp_path: Path) -> None:
    file = tmp_path / "replay.ndjson"
    file.write_bytes(in_lines(slug))
    assert facts_that_hold(file) == FACTS


def test_a_replay_holds_that_names_the_connections_of_its_racers(tmp_path: Path) -> None:
    log = opened("corners", seed="1")
    log.say(Joined(seat=1, player="p1", name="ada", by="0123456789abcdef"))
    log.say(Taken(seat=1, by="fedcba9876543210"), 10)
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    assert verified(codec.encode(log.replay(), "json").decode(), tmp_path) == (0, {})


@every_game
@pytest.mark.parametrize(("seed", "daily"), [(None, False), (None, True), ("42", False)])
def test_it_names_the_deal_and_its_first_cards(slug: str, seed: str | None, daily: bool, tmp_path: Path) -> None:
    file = tmp_path / "replay.json"
    file.write_bytes(encoded(slug, seed, daily))
    race = list(finished(slug, seed=seed, daily=daily).races())[-1]
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
    file.write_bytes(codec.encode(log.replay(), "json"))
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
    assert ".7\n?      not checked here: whether friendly/1 accepts a deal before 7\n" in output


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


# Daily deals.


@pytest.mark.parametrize("day", ["2023-11-13", "2023-11-15", "2024-02-29"])
def test_a_daily_deal_passed_off_as_that_of_another_day_is_not_the_one_committed_to(day: str, tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    began = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1000
    replay["header"]["opened_at"] = int(began)
    assert verified(replay, tmp_path)[1]["commitment"] == f"at entry {len(replay['entries'])}"


@pytest.mark.parametrize("fields", [{"seed": "42"}, {"variant": {"refill": "waste"}}])
def test_a_daily_deal_with_a_seed_or_a_variant_is_none(fields: dict[str, Any], tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    replay["header"] |= fields
    assert verified(replay, tmp_path)[1]["commitment"] == f"at entry {len(replay['entries'])}"


def test_a_commitment_to_a_daily_deal_is_good_for_its_game_only(tmp_path: Path) -> None:
    replay = json.loads(encoded("corners", daily=True))
    replay["header"] |= {"game": "the-edge", "rules": "the-edge/1"}
    assert verified(replay, tmp_path)[1]["commitment"] == f"at entry {len(replay['entries'])}"


# Signatures.

ORDER = 2**252 + 27742317777372353535851937790883648493
"""How many points the group of Ed25519 has."""
PRIME = 2**255 - 19
NEUTRAL = (1).to_bytes(32, "little").hex()
"""The point with which everybody can sign everything, and the same written otherwise."""
NEUTRAL_AGAIN = (PRIME + 1).to_bytes(32, "little").hex()


def _greater(value: str) -> str:
    """A signature with the order of the group added to its number: the equation holds, the encoding is another."""
    number = int.from_bytes(bytes.fromhex(value[64:]), "little") + ORDER
    return value[:64] + number.to_bytes(32, "little").hex()


def _signatures() -> dict[str, tuple[dict[str, str], bool]]:
    """Signatures of one race, and whether they hold."""
    mine = json.loads(encoded("corners"))["signature"]
    ours, replay = Signature(**mine), finished("corners")
    race, digest = replay.header.race, replay.digest
    return {
        "ours": (mine, True),
        "by another key": (to_builtins(signed(bytes(32), race, digest)), True),
        "under another key": (mine | {"key": public_key(bytes(32))}, False),
        "of another race": (to_builtins(signed(SIGNING_KEY, "other-race", digest)), False),
        "of another digest": (to_builtins(signed(SIGNING_KEY, race, "0" * 64)), False),
        "of another game's race": (json.loads(encoded("gallery"))["signature"], False),
        "changed at first": (mine | {"value": f"{int(ours.value[0], 16) ^ 1:x}{ours.value[1:]}"}, False),
        "changed at last": (mine | {"value": f"{ours.value[:-1]}{int(ours.value[-1], 16) ^ 1:x}"}, False),
        "all zeros": (mine | {"value": "0" * 128}, False),
        "no point": (mine | {"key": (2).to_bytes(32, "little").hex()}, False),
        "a number too large": (mine | {"value": _greater(ours.value)}, False),
        "a point written otherwise": ({"key": NEUTRAL, "value": NEUTRAL_AGAIN + "0" * 64}, False),
        "a key that signs everything": ({"key": NEUTRAL, "value": NEUTRAL + "0" * 64}, True),
        "that key written otherwise": ({"key": NEUTRAL_AGAIN, "value": NEUTRAL + "0" * 64}, True),
    }


@pytest.mark.parametrize("name", _signatures())
def test_it_finds_of_a_signature_what_ours_finds(name: str, tmp_path: Path) -> None:
    replay = json.loads(encoded("corners"))
    replay["signature"], holds = _signatures()[name]
    found = {fact.name: fact.holds for fact in verify(read(json.dumps(replay).encode()))}
    assert found.pop("signature") == holds
    assert all(found.values())
    told = "not by " + replay["signature"]["key"]
    assert verified(replay, tmp_path) == ((0, {}) if holds else (5, {"signature": told}))
    ours = public_key(SIGNING_KEY)
    asked = verify(read(json.dumps(replay).encode()), {ours})
    by_ours = name == "ours"
    assert [fact.holds for fact in asked if fact.name == "signature"] == [by_ours]
    assert verified(replay, tmp_path, "0" * 64, ours)[0] == (0 if by_ours else 5)
    assert verified(replay, tmp_path, "0" * 64)[0] == 5


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
        lambda text: text.replace("[1,1700000001000", "[1,253402300800000", 1),
        lambda text: text.replace('"opened_at":1700000000000', '"opened_at":253402300800000'),
        lambda text: text.replace('"game":', '"daily":false,"game":'),
        lambda text: text.replace('"salt":"' + "0" * 32, '"salt":"'),
        lambda text: text.replace('"salt":"' + "0" * 32, '"salt":"' + "0" * 31),
        lambda text: re.sub('"signature":{[^}]*},', "", text),
        lambda text: re.sub('"key":"[0-9a-f]*",', "", text),
        lambda text: text.replace('"value":"', '"value":"00'),
        lambda text: text.replace('"value":"', '"more":1,"value":"'),
        lambda text: re.sub('"value":"[0-9a-f]*"', lambda found: found[0].upper().replace("VALUE", "value"), text),
    ],
    ids=range(20),
)
def test_what_is_no_replay_is_refused(change: Callable[[str], str], tmp_path: Path) -> None:
    text = encoded("corners").decode()
    assert change(text) != text
    code, failed = verified(change(text), tmp_path)
    assert (code, list(failed)) == (5, ["format"])


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:3], b"\n", *lines[3:]],
        lambda lines: lines[:-1],
        lambda lines: lines[:1],
        lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], *lines],
        lambda lines: [lines[0], b" " + lines[1], *lines[2:]],
        lambda lines: [lines[0].replace(b"\n", b"\r\n"), *lines[1:]],
        lambda lines: [*lines[:-1], lines[-1].replace(b'"home":', b'"home" :', 1)],
        lambda lines: [*lines[:-1], lines[-1].replace(b'"home":', b'"home":9,"home":', 1)],
        lambda lines: [*lines[:-1], lines[-1].replace(b'{"digest"', b'{"format":"samedeal.replay/1","digest"', 1)],
        lambda lines: [lines[0], lines[1].replace(b'"ada"', b'"\\u0061da"'), *lines[2:]],
        lambda lines: [lines[0], lines[1].replace(b'"ada"', b'"' + b"a" * 65_536 + b'"'), *lines[2:]],
    ],
    ids=range(13),
)
def test_lines_that_are_no_replay_are_refused_as_ours_refuses_them(
    change: Callable[[list[bytes]], list[bytes]], tmp_path: Path
) -> None:
    lines = in_lines("corners").splitlines(keepends=True)
    damaged = b"".join(change(lines))
    assert damaged != b"".join(lines)
    with pytest.raises(Refused) as refusal:
        list(ReplayLines(BytesIO(damaged)).entries)
    assert refusal.value.code == "bad-replay"
    code, failed = verified(damaged.decode(), tmp_path)
    assert (code, list(failed)) == (5, ["format"])


def test_a_changed_line_breaks_the_chain_there(tmp_path: Path) -> None:
    text = in_lines("corners").decode()
    assert verified(text.replace('"ada"', '"eve"', 1), tmp_path) == (5, {"chain": "at entry 1"})


def test_a_wrong_command_line_is_answered_with_the_right_one() -> None:
    wrong = [(), ("--deal",), ("--deal", "poker:1"), ("--help",), ("--key",), ("--key", "0" * 64)]
    wrong += [("--key", "00", "file"), ("one", "two"), ("--deal", "corners:1", "file")]
    for arguments in wrong:
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
