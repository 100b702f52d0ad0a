"""The JavaScript verifier on signatures, invalid files and deals."""

import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from msgspec import to_builtins

from samedeal.deck import Words
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.signature import Signature, public_key, signed
from samedeal.proof.verification import verify
from samedeal.replays.replay import ReplayLines, read
from support.finished_races import SIGNING_KEY, finished
from support.javascript_verifier import NODE, encoded, in_lines, run, run_on, verified

DEALS: dict[str, str] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["deals"]
SHUFFLED_AGAIN = "corner-stones:5308"
"""A deal of Corner Stones whose first shuffle has no move."""
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


# Signatures.

ORDER = 2**252 + 27742317777372353535851937790883648493
"""The order of the Ed25519 group."""
PRIME = 2**255 - 19
NEUTRAL = (1).to_bytes(32, "little").hex()
"""The neutral point, for which anyone can forge signatures, in a second encoding."""
NEUTRAL_AGAIN = (PRIME + 1).to_bytes(32, "little").hex()


def _greater(value: str) -> str:
    """A signature with the group order added to its scalar: the equation holds, but the encoding is not canonical."""
    number = int.from_bytes(bytes.fromhex(value[64:]), "little") + ORDER
    return value[:64] + number.to_bytes(32, "little").hex()


def _signatures() -> dict[str, tuple[dict[str, str], bool]]:
    """Signatures of one race, and whether they are valid."""
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
def test_signatures_are_judged_as_in_the_library(name: str, tmp_path: Path) -> None:
    replay = json.loads(encoded("corners"))
    replay["signature"], holds = _signatures()[name]
    facts = {fact.name: fact.holds for fact in verify(read(json.dumps(replay).encode()))}
    assert facts.pop("signature") == holds
    assert all(facts.values())
    expected = {"signature": "not a signature by its key"}
    assert verified(replay, tmp_path) == ((0, {}) if holds else (5, expected))
    ours = public_key(SIGNING_KEY)
    asked = verify(read(json.dumps(replay).encode()), {ours})
    by_ours = name == "ours"
    assert [fact.holds for fact in asked if fact.name == "signature"] == [by_ours]
    assert verified(replay, tmp_path, "0" * 64, ours)[0] == (0 if by_ours else 5)
    another = {"signature": f"by another key, {replay['signature']['key']}"} if holds else expected
    assert verified(replay, tmp_path, "0" * 64) == (5, another)


# Invalid files.


def is_unreadable(text: str, folder: Path) -> bool:
    """Whether the verifier prints that the file is not a replay, and nothing else, with the exit code for that."""
    code, output = run_on(text, folder)
    return code == 5 and output.startswith("not a replay: ") and output.count("\n") == 1


def _twice(text: str) -> str:
    return text.replace('"seat":1', '"seat":2,"seat":1', 1)


@pytest.mark.parametrize(
    "change",
    [
        _twice,
        lambda _: "",
        lambda _: "null",
        lambda text: text[:-1],
        lambda text: text.replace("samedeal.replay/1", "samedeal.replay/3"),
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
def test_an_invalid_replay_is_refused(change: Callable[[str], str], tmp_path: Path) -> None:
    text = encoded("corners").decode()
    assert change(text) != text
    with pytest.raises(Refused):
        read(change(text).encode())
    assert is_unreadable(change(text), tmp_path)


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
def test_invalid_lines_are_refused_as_in_the_library(
    change: Callable[[list[bytes]], list[bytes]], tmp_path: Path
) -> None:
    lines = in_lines("corners").splitlines(keepends=True)
    damaged = b"".join(change(lines))
    assert damaged != b"".join(lines)
    with pytest.raises(Refused) as refusal:
        list(ReplayLines(BytesIO(damaged)).entries)
    assert refusal.value.code == "bad-replay"
    assert is_unreadable(damaged.decode(), tmp_path)


def test_a_changed_line_breaks_the_chain_at_its_entry(tmp_path: Path) -> None:
    text = in_lines("corners").decode()
    expected = {"chain": "at entry 1", "standings": "others follow"}
    assert verified(text.replace('"ada"', '"eve"', 1), tmp_path) == (5, expected)


def test_a_wrong_command_line_prints_the_usage() -> None:
    wrong = [(), ("--deal",), ("--deal", "poker:1"), ("--help",), ("--key",), ("--key", "0" * 64), ("--receipts",)]
    wrong += [("--key", "00", "file"), ("one", "two"), ("--deal", "corners:1", "file"), ("--receipts", "file")]
    for arguments in wrong:
        code, output = run(*arguments)
        assert (code, output.split()[0]) == (2, "usage:")


# Deals.


@pytest.mark.parametrize("label", DEALS)
def test_a_recorded_deal_is_shuffled_identically(label: str) -> None:
    code, output = run("--deal", label.replace("|", ":", 1))
    assert (code, output.splitlines()[0]) == (0, DEALS[label])


def test_a_deal_without_a_move_is_shuffled_again() -> None:
    slug, _, seed = SHUFFLED_AGAIN.partition(":")
    game, words = GAMES[slug], Words(f"{slug}|{seed}")
    assert not game.playable(words.shuffled(game.pack()))
    assert game.playable(second := words.shuffled(game.pack()))
    assert run("--deal", SHUFFLED_AGAIN) == (0, f"{' '.join(second)}\n")
