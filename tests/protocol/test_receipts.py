"""Receipts: files with receipts are read strictly, and several files about a race are merged."""

import pytest
from msgspec import json, structs, to_builtins

from samedeal.digest_chain import first_digest
from samedeal.errors import Refused
from samedeal.proof import receipts
from samedeal.proof.receipts import (
    DigestReceipt,
    HeaderReceipt,
    NonceReceipt,
    Receipt,
    Receipts,
    about,
    header_line,
    line,
    read,
)
from samedeal.proof.verification import verify
from samedeal.race.events import Header, Nonce, header_bytes
from support.finished_races import SECRET, finished

REPLAY = finished("corners")
HEADER = HeaderReceipt(REPLAY.header)
OTHER = HeaderReceipt(structs.replace(REPLAY.header, salt="11" * 16))
MINE, REUSED = NonceReceipt(1, "01" * 32), NonceReceipt(1, "02" * 32)


def digest(n: int) -> DigestReceipt:
    """The receipt for an entry of REPLAY."""
    return DigestReceipt(n, REPLAY.entries[n - 1].h)


def stored(*receipts: Receipt) -> list[Receipts]:
    """The receipts in a file with these lines."""
    return read(map(line, receipts))


def refusal(*lines: bytes) -> Refused:
    with pytest.raises(Refused) as refused:
        read(lines)
    return refused.value


# Files.


def test_lines_have_the_documented_form() -> None:
    assert line(MINE) == b'["nonce",1,"' + b"01" * 32 + b'"]\n'
    assert line(DigestReceipt(0, "0f" * 32)) == b'["digest",0,"' + b"0f" * 32 + b'"]\n'
    assert line(HEADER) == b'["header",' + header_bytes(REPLAY.header) + b"]\n"


def test_a_file_without_lines_has_no_receipts() -> None:
    assert read([]) == []


def test_receipts_belong_to_the_header_before_them() -> None:
    assert stored(HEADER, digest(2), OTHER, MINE, digest(3), HEADER, digest(4)) == [
        Receipts(REPLAY.header, (), (digest(2), digest(4)), None),
        Receipts(OTHER.header, (MINE,), (digest(3),), 0),
    ]


@pytest.mark.parametrize(
    ("lines", "sent_after"),
    [
        ((HEADER, MINE, digest(5)), 0),
        ((HEADER, digest(5), MINE, digest(9)), 5),
        ((HEADER, digest(5), digest(2), MINE), 5),
        ((HEADER, digest(5), MINE, digest(9), MINE), 5),
        ((HEADER, digest(9), HEADER, MINE), 0),
        ((HEADER, digest(9)), None),
    ],
)
def test_the_newest_entry_before_the_nonce_is_counted_from_the_header(
    lines: tuple[Receipt, ...], sent_after: int | None
) -> None:
    (receipts_,) = stored(*lines)
    assert receipts_.sent_after == sent_after


@pytest.mark.parametrize("first", [MINE, digest(1)])
def test_receipts_before_the_first_header_are_refused(first: Receipt) -> None:
    refused = refusal(line(first), line(HEADER))
    assert refused.code == "bad-replay"
    assert refused.text == "Receipts must start with a header, but line 1 comes before the first one."


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\n",
        b"\xff\xfe\n",
        b'["\xff",1]\n',
        b"[" * 60_000,
        b'["digest",1]\n',
        b'["digest",-1,"' + b"0" * 64 + b'"]\n',
        b'["digest",1,"' + b"0" * 63 + b'"]\n',
        b'["nonce",0,"' + b"0" * 64 + b'"]\n',
        b'["nonce",1,"' + b"0" * 64 + b'",1]\n',
        b'["elsewhere",1]\n',
        b'["header",{}]\n',
        line(HEADER).replace(b'"race":', b'"race":"x","race":'),
        line(HEADER).replace(b'"opened_at":', b'"daily":false,"opened_at":'),
        line(digest(0)).replace(b"0,", b"-0,"),
        line(digest(1)).replace(b"1,", b"1.0,"),
    ],
    ids=lambda damaged: repr(damaged[:20]),
)
def test_an_invalid_line_is_refused_with_its_number(damaged: bytes) -> None:
    refused = refusal(line(HEADER), line(MINE), damaged, line(digest(1)))
    assert refused.code == "bad-replay"
    assert refused.text.startswith("Line 3 is not a valid receipt: ")


def test_a_header_keeps_fields_that_this_version_does_not_know() -> None:
    sent = to_builtins(REPLAY.header) | {"teams": [{"seats": [1, 2]}]}
    assert header_line(to_builtins(REPLAY.header)) == line(HEADER)
    assert json.decode(header_line(sent)) == ["header", sent]


def test_receipts_of_a_newer_race_need_a_newer_version() -> None:
    header = to_builtins(REPLAY.header)
    newer = [header | {"teams": []}, header | {"options": header["options"] | {"filter": "certified/9"}}]
    for sent in newer:
        refused = refusal(line(OTHER), header_line(sent), line(MINE))
        assert refused.code == "unsupported-version"
        assert refused.text.startswith("These receipts for calm-otter-42 need a newer version of samedeal: ")


def test_the_length_of_a_line_is_limited() -> None:
    longest = b" " * (receipts.MAX_LINE_BYTES - len(line(MINE))) + line(MINE)
    assert len(read([line(HEADER), longest])) == 1
    assert refusal(line(HEADER), b" " + longest).text == "Receipts can have at most 1048576 lines of 65536 bytes."


def test_the_number_of_lines_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "MAX_LINES", 3)
    lines = [line(HEADER), line(MINE), line(digest(1)), line(digest(2))]
    assert len(read(lines[:3])) == 1
    assert refusal(*lines).text == "Receipts can have at most 3 lines of 65536 bytes."


# Receipts about one race.


def test_receipts_of_the_same_race_are_merged() -> None:
    ada, bo = NonceReceipt(1, "0a" * 32), NonceReceipt(2, "0b" * 32)
    receipts = [*stored(HEADER, digest(5), ada), *stored(OTHER, MINE), *stored(HEADER, digest(4), bo), *stored(HEADER)]
    assert about(REPLAY.header, receipts) == Receipts(REPLAY.header, (ada, bo), (digest(5), digest(4)), 4)


def test_receipts_without_a_nonce_have_no_time_of_sending() -> None:
    assert about(REPLAY.header, stored(HEADER, digest(5))) == Receipts(REPLAY.header, (), (digest(5),), None)


def test_receipts_of_another_race_are_returned_if_there_are_no_others() -> None:
    receipts = stored(OTHER, digest(5), MINE)
    assert about(REPLAY.header, receipts) is receipts[0]


def test_a_nonce_that_was_sent_in_another_race_counts_as_sent_at_the_start() -> None:
    mine = stored(HEADER, digest(5), REUSED)
    assert about(REPLAY.header, mine).sent_after == 5
    assert about(REPLAY.header, [*mine, *stored(OTHER, MINE)]).sent_after == 5
    assert about(REPLAY.header, [*mine, *stored(OTHER, MINE, REUSED)]).sent_after == 0


# Receipts and replays.


def test_receipts_hold_against_the_replay_of_their_race() -> None:
    before = DigestReceipt(0, first_digest(SECRET, header_bytes(REPLAY.header)))
    assert failure(HEADER, before, *map(digest, range(1, len(REPLAY.entries) + 1))) is None


def test_another_digest_before_the_first_entry_contradicts_the_replay() -> None:
    note = "the digest before the first entry does not match the one received"
    assert failure(HEADER, DigestReceipt(0, "0" * 64), digest(1)) == (None, note)


def test_another_digest_contradicts_the_replay_at_its_entry() -> None:
    note = "the digest of entry 5 does not match the one received"
    assert failure(HEADER, digest(4), DigestReceipt(5, "0" * 64), digest(6)) == (5, note)
    assert failure(HEADER, digest(5), DigestReceipt(5, "0" * 64)) == (5, note)


def test_another_header_contradicts_the_replay() -> None:
    assert failure(OTHER, digest(1)) == (None, "the receipts are for a race with another header")


def test_a_header_that_states_a_default_is_another_one() -> None:
    stated = header_bytes(REPLAY.header).replace(b'"options":{', b'"options":{"start_delay_ms":5000,')
    receipt = HeaderReceipt(json.decode(stated, type=Header))
    assert failure(receipt, digest(1)) == (None, "the receipts are for a race with another header")


def test_receipts_without_digests_prove_nothing() -> None:
    assert failure(HEADER) == failure(HEADER, MINE) == (None, "no digests to compare")


def test_an_entry_that_the_log_does_not_have_contradicts_the_replay() -> None:
    last = len(REPLAY.entries)
    note = f"the log ends at entry {last}, but entry {last + 1} was received"
    assert failure(HEADER, DigestReceipt(last + 1, "0" * 64)) == (last, note)


def test_another_nonce_contradicts_the_replay_at_the_entry_that_opens_it() -> None:
    opening = next(entry.n for entry in REPLAY.entries if isinstance(entry.event, Nonce) and entry.event.seat == 1)
    assert failure(HEADER, digest(opening - 1), MINE) is None
    note = "the nonce of seat 1 does not match the one sent"
    assert failure(HEADER, digest(opening - 1), REUSED) == (opening, note)


def failure(*receipts: Receipt) -> tuple[int | None, str] | None:
    """Return the entry and the reason if these receipts contradict REPLAY."""
    (fact,) = [fact for fact in verify(REPLAY, receipts=stored(*receipts)[0]) if fact.name == "receipts"]
    return None if fact.holds else (fact.entry, fact.note)
