"""The worked example of docs/bots/replay-format.md, computed from its replay with only SHA-256, HMAC and JSON."""

import hmac
import json
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from samedeal import codec
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof import receipts
from samedeal.proof.verification import FACTS, RECEIPTS, verify
from samedeal.race.challenge import ChallengeDeal, ChallengeHeader
from samedeal.race.events import Header, Heat, Options
from samedeal.replays import replay as replays
from samedeal.replays.log_files import ChallengeLog
from samedeal.replays.replay import MAX_BYTES, MAX_ENTRIES, MAX_LINE_BYTES, ReplayLines, read
from support.finished_races import finished
from support.replay_writing import canonical, in_lines

PAGE = Path(__file__).parents[2] / "docs" / "bots" / "replay-format.md"
GREATEST_TIME = 253_402_300_799_999
BEGIN, END = "<!-- example -->\n", "<!-- end of example -->\n"


def example() -> bytes:
    """Return the replay on the page, that of a short race: two racers, three moves."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].split("```json\n")[1].partition("\n```")[0].encode()


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def section(data: bytes) -> str:
    """Return the example of a replay as the page shows it."""
    replay = json.loads(data)
    header, entries = replay["header"], replay["entries"]
    race, secret = header["race"], entries[-1][2]["secret"]
    nonces = [event["nonce"] for _, _, event, _ in entries if event["t"] == "nonce"]
    commit, root_text = f"samedeal/1/commit|{race}|{secret}", f"samedeal/1/root|{secret}|{','.join(nonces)}"
    lines = ["The replay, in canonical JSON:", "", "```json", data.decode(), "```", ""]

    def step(title: str, *texts: str) -> None:
        lines.extend([title, "", "```text", *texts, "```", ""])

    step("The header's commitment is the SHA-256 of this text:", commit, f"= {hashed(commit)}")
    text = f"samedeal/1/nonce|{race}|{nonces[0]}"
    step("The commitment of seat 1, in its `joined`:", text, f"= {hashed(text)}")
    step("The root, and the seed that is dealt:", root_text, f"= {hashed(root_text)}", f"seed {hashed(root_text)}.0")
    label = f"{header['game']}|{hashed(root_text)}.0"
    block = sha256(f"{label}|0".encode()).digest()
    words = [int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4)]
    step(
        "Block 0 of the deal's words, the SHA-256 of this text, split into eight words:",
        f"{label}|0",
        *map(str, words),
    )
    deck = GAMES[header["game"]].from_seed(label.partition("|")[2]).table
    laid = " ".join(deck[place][0] for place in ("f1", "f2", "f3", "f4", "r1", "r2", "r3", "r4", "r5"))
    step("The cards on f1 to f4 and r1 to r5 in the deal:", laid)
    key = bytes.fromhex(secret)
    digest = hmac.digest(key, f"samedeal/1/log|{canonical(header)}".encode(), "sha256").hex()
    step(
        "The digest before the first entry, HMAC-SHA256 with the 32 secret bytes as the key, of this text:",
        "samedeal/1/log|" + canonical(header),
        f"= {digest}",
    )
    covered = f"{digest}|{canonical(entries[0][:3])}"
    digest = hmac.digest(key, covered.encode(), "sha256").hex()
    step("The digest of entry 1, of this text with the same key:", covered, f"= {digest}")
    step("What the signature signs:", signed_text(replay))
    day = "2023-11-14"
    daily = f"samedeal/1/daily|{header['game']}|{day}|{secret}"
    step(
        f"The race was opened on {day}. If it were a daily race with the same secret, its commitment would be",
        daily,
        f"= {hashed(daily)}",
    )
    daily_root = f"samedeal/1/root|{secret}|"
    step("and its root", daily_root, f"= {hashed(daily_root)}")
    shown = in_lines(replay).decode().splitlines()
    step("The replay as NDJSON begins with", *shown[:2])
    step("and ends with", *shown[-2:])
    early, countdown, late = (["digest", n, entries[n - 1][3]] for n in (2, 5, 8))
    stored = [["header", header], early, countdown, ["nonce", 1, nonces[0]], late]
    step("Receipts of the racer in seat 1:", *(canonical(line) for line in stored))
    return "\n".join(lines)


def signed_text(replay: Any) -> str:
    return f"samedeal/1/replay|{replay['header']['race']}|{replay['digest']}"


def test_the_documentation_example_follows_its_own_rules() -> None:
    _, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, _ = rest.partition(END)
    assert shown == "\n" + section(example())


def test_the_example_holds() -> None:
    assert all(fact.holds for fact in verify(read(example())))


def test_the_receipts_on_the_page_hold_against_its_replay() -> None:
    shown = PAGE.read_text().partition("Receipts of the racer in seat 1:\n\n```text\n")[2].partition("```")[0]
    (stored,) = receipts.read(line.encode() for line in shown.splitlines())
    assert (len(stored.nonces), len(stored.digests), stored.sent_after) == (1, 3, 5)
    facts = verify(read(example()), receipts=stored)
    assert [fact.name for fact in facts] == [*FACTS, *RECEIPTS]
    assert all(fact.holds for fact in facts)
    lines: tuple[receipts.Receipt, ...] = (
        receipts.HeaderReceipt(stored.header),
        *stored.digests[:2],
        *stored.nonces,
        *stored.digests[2:],
    )
    assert b"".join(map(receipts.line, lines)).decode() == shown


def test_the_documentation_states_every_file_limit() -> None:
    text = PAGE.read_text()
    assert f"{MAX_BYTES // 2**20} MiB" in text
    assert f"{GREATEST_TIME}, the end of the year 9999" in text
    assert datetime.fromtimestamp(GREATEST_TIME // 1000, UTC).isoformat() == "9999-12-31T23:59:59+00:00"
    for limit in (MAX_LINE_BYTES, receipts.MAX_LINE_BYTES, MAX_ENTRIES, receipts.MAX_LINES):
        assert f"{limit:,}" in text


def test_the_documentation_names_every_fact_and_field() -> None:
    text = PAGE.read_text()
    replay = json.loads(example())
    fields = {*replay, *replay["standings"][0], *replay["signature"], *FACTS, *RECEIPTS}
    fields |= {*Header.__struct_fields__, *Options.__struct_fields__, *Heat.__struct_fields__}
    fields |= {*ChallengeLog.__struct_fields__, *ChallengeHeader.__struct_fields__, *ChallengeDeal.__struct_fields__}
    assert [field for field in sorted(fields) if f"`{field}`" not in text] == []


REPLAY = finished("corners")
LINES = list(REPLAY.lines())


def refusal(*lines: bytes) -> str:
    with pytest.raises(Refused) as refused:
        ReplayLines(BytesIO(b"".join(lines)))
    assert refused.value.code == "bad-replay"
    return refused.value.text


def test_the_first_line_is_enough_to_recognise_a_line_based_replay() -> None:
    assert replays.in_lines(LINES[0])
    assert replays.in_lines(LINES[0].removesuffix(b"\n"))
    assert replays.in_lines(b"".join(LINES))


@pytest.mark.parametrize("start", [b"", b"\n" + LINES[0], LINES[0][:-2], LINES[1], codec.encode(REPLAY, "json")])
def test_other_files_are_not_taken_for_line_based_replays(start: bytes) -> None:
    assert not replays.in_lines(start)


def test_the_length_of_a_line_is_limited() -> None:
    longest = b" " * (MAX_LINE_BYTES - len(LINES[1])) + LINES[1]
    assert "Line 2 of the replay is not in canonical form" in _entries_refusal(LINES[0], longest, *LINES[2:])
    assert refusal(LINES[0], b" " + longest, *LINES[2:]) == "Line 2 has more than 65536 bytes."


def test_the_number_of_entries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MAX_ENTRIES", len(REPLAY.entries))
    assert tuple(ReplayLines(BytesIO(b"".join(LINES))).entries) == REPLAY.entries
    monkeypatch.setattr(replays, "MAX_ENTRIES", len(REPLAY.entries) - 1)
    assert refusal(*LINES) == f"A replay can have at most {len(REPLAY.entries) - 1} entries."


def _entries_refusal(*lines: bytes) -> str:
    """Return the refusal of an entry in lines that are accepted otherwise."""
    replay = ReplayLines(BytesIO(b"".join(lines)))
    with pytest.raises(Refused) as refused:
        list(replay.entries)
    return refused.value.text
