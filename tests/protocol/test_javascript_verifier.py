"""The JavaScript verifier as a program: its output, its exit codes, signatures, and deals.

``test_verifiers_agree_on_replays`` compares what it says about altered replays with what the library says.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs, to_builtins

from samedeal import codec
from samedeal.deck import Words
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import FACTS, verify
from samedeal.race.events import Closed, Joined
from samedeal.race.race import OPEN_MS, Race
from samedeal.replays.replay import read
from samedeal.replays.signature import Signature, public_key, signed
from support.agreement_of_replays import Question, of_javascript, of_library
from support.altered_examples import EXAMPLES
from support.altered_replays import Altered
from support.finished_races import SECRET, SIGNING_KEY, Logged, finished, opened
from support.forged_replays import prolonged
from support.javascript_verifier import FOLDER, WITHOUT_SIGNATURES, encoded, refused, run, run_on, verified
from support.node import NODE, needs_node
from support.terminals import at_a_terminal, until
from support.vectors import VECTORS

PAGE = Path(__file__).parents[2] / "docs" / "bots" / "replay-format.md"
DEALS: dict[str, str] = VECTORS["deals"]
SHUFFLED_AGAIN = "corner-stones:5308"
"""A deal of Corner Stones whose first shuffle has no move."""
OURS = public_key(SIGNING_KEY)
pytestmark = [needs_node, pytest.mark.tier(2)]


def question(replay: object, *keys: str) -> Question:
    """Ask both verifiers about a replay, with these known keys."""
    return Question(Altered(0, "", "", "json", codec.encode(replay, "json"), None), keys, None)


@pytest.mark.parametrize(
    ("slug", "seed", "daily", "form"),
    [
        ("gallery", None, False, "json"),
        ("corners", None, False, "lines"),
        ("corners", None, True, "json"),
        ("corners", "42", False, "json"),
        ("corners", "b 🂡", False, "lines"),
    ],
)
def test_an_untouched_replay_holds(slug: str, seed: str | None, daily: bool, form: str, tmp_path: Path) -> None:
    replay, file = finished(slug, seed=seed, daily=daily), tmp_path / "replay"
    file.write_bytes(codec.encode(replay, "json") if form == "json" else b"".join(replay.lines()))
    code, output = run(file)
    assert code == 0, output
    *facts, outcome = output.splitlines()
    assert outcome == "verified, key unknown: compare it with the server's, or use --key"
    assert [line.split()[:2] for line in facts] == [["holds", fact] for fact in FACTS]
    assert f"holds  deal        {list(replay.races())[-1].deal}\n" in output


def test_a_replay_with_a_known_key_is_verified(tmp_path: Path) -> None:
    code, output = run_on(encoded("corners").decode(), tmp_path, "0" * 64, OURS)
    assert (code, output.splitlines()[-1]) == (0, "verified (key known)")


def test_a_cancelled_race_holds(tmp_path: Path) -> None:
    log = opened("corners")
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    code, output = run_on(codec.encode(log.replay(), "json").decode(), tmp_path)
    assert code == 0
    assert "holds  deal        none was dealt\n" in output


@pytest.mark.parametrize("fact", ["order", "filter", "signature"])
def test_a_fact_that_fails_is_shown_with_its_entry(fact: str, tmp_path: Path) -> None:
    change, expected = EXAMPLES[fact]
    replay = json.loads(encoded("corners"))
    change(replay)
    assert refused(replay, tmp_path) == expected


def test_every_fact_fails_at_its_entry() -> None:
    questions = []
    for change, expected in EXAMPLES.values():
        replay = json.loads(encoded("corners"))
        change(replay)
        questions.append(question(replay))
        failed = {
            fact: result for fact, result in of_library(questions[-1]).facts.items() if result.startswith("fails")
        }
        assert failed == {fact: f"fails at {entry}" for fact, entry in expected.items()}
    assert of_javascript(questions) == list(map(of_library, questions))


def test_the_output_for_a_changed_example_matches_the_documentation(tmp_path: Path) -> None:
    replay = json.loads(PAGE.read_text().partition("```json\n")[2].partition("\n```")[0])
    replay["entries"][3][2]["t"] = "unreadied"
    code, output = run_on(replay, tmp_path)
    assert code == 5
    assert output == (FOLDER / "README.md").read_text().partition("```text\n")[2].partition("```")[0]


@pytest.mark.parametrize("text", ["", "null", encoded("corners").decode()[:-1], encoded("corners").decode() + "{}"])
def test_a_file_that_is_not_a_replay_is_named_in_one_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        read(text.encode())
    code, output = run_on(text, tmp_path)
    assert (code, output.startswith("not a replay: "), output.count("\n")) == (5, True, 1)


def test_a_wrong_command_line_prints_the_usage() -> None:
    wrong = [(), ("--deal", "poker:1"), ("--key", "00", "file"), ("one", "two"), ("--receipts", "file")]
    for arguments in wrong:
        code, output = run(*arguments)
        assert (code, output.split()[0]) == (2, "usage:")


HIDDEN = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b\x7f\n\r\ue000\u2028\U000e0041"


@pytest.mark.parametrize("program", ["verify.mjs", "table.mjs"])
def test_texts_in_files_cannot_control_the_terminal(program: str, tmp_path: Path) -> None:
    content = json.loads(encoded("corners"))
    replays: list[Any] = [
        HIDDEN,
        content | {"format": f"samedeal.replay/{HIDDEN}"},
        content | {HIDDEN: 1},
        content | {"header": content["header"] | {"rules": HIDDEN}},
        content | {"header": content["header"] | {"game": HIDDEN}},
    ]
    for replay in replays:
        file = tmp_path / f"{HIDDEN}.json"
        file.write_text(replay if replay == HIDDEN else json.dumps(replay, ensure_ascii=False), encoding="utf-8")
        code, output = run(file, program=program)
        assert code == 5
        assert all(line.isprintable() for line in output.split("\n"))
    assert run(tmp_path / HIDDEN, program=program)[1].removesuffix("\n").isprintable()  # a missing file


def test_names_in_a_table_are_escaped_on_a_terminal_only(tmp_path: Path) -> None:
    replay, file = finished("corners"), tmp_path / "race.json"
    log = Logged(Race.opened(replay.header, replay.secret))
    for entry in replay.entries:
        event = structs.replace(entry.event, name=f"eve{HIDDEN}") if isinstance(entry.event, Joined) else entry.event
        log.say(event, entry.at - log.race.at)
    file.write_bytes(codec.encode(log.replay(), "json"))
    code, output = run(file, program="table.mjs")
    assert (code, [row["name"] for row in json.loads(output)["table"]]) == (0, [f"eve{HIDDEN}"] * 2)
    assert HIDDEN[-3:] in output
    with at_a_terminal(os.environ, [NODE, str(FOLDER / "table.mjs"), str(file)]) as (_, terminal):
        shown = until(terminal, '"wins":0}]}')
    assert shown.isprintable()
    assert json.loads(shown) == json.loads(output)


# Signatures.

ORDER = 2**252 + 27742317777372353535851937790883648493
"""The order of the Ed25519 group."""
PRIME = 2**255 - 19
EIGHTH = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
"""The y-coordinate of a point of order 8."""
WEAK = [y + x for y in (0, 1, PRIME - 1, EIGHTH, PRIME - EIGHTH, PRIME, PRIME + 1, PRIME + 18) for x in (0, 2**255)]
"""The points of small order, with either sign of x, and points in a second encoding."""


def _bytes(number: int) -> str:
    return number.to_bytes(32, "little").hex()


NEUTRAL, NEUTRAL_AGAIN = _bytes(1), _bytes(PRIME + 1)
"""The neutral point, for which anyone can forge signatures, in two encodings."""


def _greater(value: str) -> str:
    """A signature with the group order added to its scalar: the equation holds, but the encoding is not canonical."""
    number = int.from_bytes(bytes.fromhex(value[64:]), "little") + ORDER
    return value[:64] + number.to_bytes(32, "little").hex()


def _signatures() -> dict[str, tuple[dict[str, str], bool]]:
    """Signatures of one race, and whether they are valid."""
    replay = finished("corners")
    ours, mine = replay.signature, to_builtins(replay.signature)
    return {
        "ours": (mine, True),
        "by another key": (to_builtins(signed(bytes(32), replay.header.race, replay.digest)), True),
        "under another key": (mine | {"key": public_key(bytes(32))}, False),
        "of another race": (to_builtins(signed(SIGNING_KEY, "other-race", replay.digest)), False),
        "of another digest": (to_builtins(signed(SIGNING_KEY, replay.header.race, "0" * 64)), False),
        "no point": (mine | {"key": (2).to_bytes(32, "little").hex()}, False),
        "a number too large": (mine | {"value": _greater(ours.value)}, False),
        "a point written otherwise": ({"key": NEUTRAL, "value": NEUTRAL_AGAIN + "0" * 64}, False),
        "a key that signs everything": ({"key": NEUTRAL, "value": NEUTRAL + "0" * 64}, False),
        "that key written otherwise": ({"key": NEUTRAL_AGAIN, "value": NEUTRAL + "0" * 64}, False),
    }


def test_signatures_are_judged_as_in_the_library() -> None:
    questions = []
    for name, (signature, holds) in _signatures().items():
        replay = json.loads(encoded("corners")) | {"signature": signature}
        for keys, accepted in (((), holds), ((OURS,), name == "ours"), (("0" * 64,), False)):
            facts = {fact.name: fact.holds for fact in verify(read(json.dumps(replay).encode()), keys)}
            assert facts.pop("signature") == accepted
            assert all(facts.values())
            questions.append(question(replay, *keys))
    assert of_javascript(questions) == list(map(of_library, questions))


@pytest.mark.parametrize(
    ("name", "keys", "expected"),
    [
        ("by another key", (), None),
        ("by another key", ("0" * 64,), "by another key, {key}"),
        ("of another race", (), "not a signature by its key"),
        ("that key written otherwise", (), "anybody can sign with the weak key {key}"),
    ],
)
def test_a_refused_signature_is_explained(
    name: str, keys: tuple[str, ...], expected: str | None, tmp_path: Path
) -> None:
    signature, _ = _signatures()[name]
    outcome = (5, {"signature": expected.format(**signature)}) if expected else (0, {})
    assert verified(json.loads(encoded("corners")) | {"signature": signature}, tmp_path, *keys) == outcome


def test_weak_keys_are_refused_by_both_verifiers() -> None:
    """Even if they are known keys."""
    questions = []
    for key in map(_bytes, WEAK):
        replay = structs.replace(finished("corners"), signature=Signature(key=key, value=NEUTRAL + "0" * 64))
        (failed,) = [fact for fact in verify(replay, {key}) if not fact.holds]
        assert (failed.name, failed.note) == ("signature", f"anybody can sign with the weak key {key}")
        questions.append(question(to_builtins(replay), key))
    assert of_javascript(questions) == list(map(of_library, questions))


def test_a_signature_that_cannot_be_checked_has_an_outcome_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", WITHOUT_SIGNATURES)
    code, output = run_on(encoded("corners").decode(), tmp_path)
    assert (code, output.splitlines()[-1]) == (6, "not checked: signature")
    assert "?????  signature   Ed25519 is not available here\n" in output


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


# Progress.


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_bytes(codec.encode(prolonged(finished("corners"), 2_000), "json"))
    with at_a_terminal(os.environ, [NODE, str(FOLDER / "verify.mjs"), str(file)]) as (_, terminal):
        text = until(terminal, "key unknown")
    percent = [int(part[:-2]) for part in text.partition("holds")[0].split("\r") if part.endswith(" %")]
    assert percent == sorted(percent)
    assert len(percent) > 3
    assert percent[-1] <= 100
    assert "holds  signature" in text
    code, output = run(file)
    assert code == 0
    assert "%" not in output
