"""The logs of challenges and clubs as files: reading is strict, and nothing in them can be altered."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from samedeal import codec
from samedeal.errors import Refused
from samedeal.race.club import AnyClubEvent, Dissolved, Erased, Invited, Revoked
from samedeal.replays import log_files
from samedeal.replays.log_files import ChallengeLog, ClubLog, read_log_file
from samedeal.replays.signature import Signature, public_key, signed
from support.challenges import ID, LoggedChallenge, read_challenge
from support.clubs import ID as CLUB_ID
from support.clubs import LoggedClub
from support.finished_races import SIGNING_KEY, finished
from support.saved_replays import CHALLENGE, CLUB
from support.servers import SIGNING_KEY as SAVED_KEY

SIGNER = public_key(SIGNING_KEY)


def revealed() -> ChallengeLog:
    logged = LoggedChallenge.open()
    logged.finish_unraced()
    logged.reveal()
    return logged.log()


def in_club(*events: AnyClubEvent) -> ClubLog:
    logged = LoggedClub()
    for event in events:
        logged.say(event)
    return logged.log()


def in_json(log: ChallengeLog | ClubLog) -> bytes:
    return codec.encode(log, "json")


def refusal(log: ChallengeLog | ClubLog, *keys: str) -> str:
    """Return why a log does not hold."""
    with pytest.raises(Refused) as refused:
        log.verified(keys)
    assert refused.value.code == "bad-replay"
    return refused.value.text


def test_a_log_round_trips_and_holds() -> None:
    log = revealed()
    assert read_challenge(in_json(log)) == log
    assert read_challenge(json.dumps(json.loads(in_json(log)), indent=1).encode()) == log
    assert log.verified().revealed
    assert log.verified((SIGNER,)).digest == log.digest
    assert log.signature == signed(SIGNING_KEY, f"challenge/{ID}", log.digest)


@pytest.mark.parametrize("file", [CHALLENGE, CLUB])
def test_the_saved_logs_hold(file: Path) -> None:
    log = read_log_file(file.read_bytes())
    assert log
    assert log.verified((public_key(bytes.fromhex(SAVED_KEY)),)).n == len(log.entries)
    assert codec.encode(log, "json") == file.read_bytes()


def test_files_state_what_they_are() -> None:
    for other in (codec.encode(finished("corners"), "json"), b"{}", b'{"format":1}', b"text", b""):
        assert read_log_file(other) is None


@pytest.mark.parametrize(
    "text",
    ['{"x":1,', '{"digest":"' + "0" * 64 + '",', '{"format":"samedeal.challenge/1",'],
    ids=["an unknown field", "another digest", "the same again"],
)
def test_unknown_and_duplicate_fields_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="not the log of a challenge") as refused:
        read_challenge(in_json(revealed()).replace(b"{", text.encode(), 1))
    assert refused.value.code == "bad-replay"


@pytest.mark.parametrize("data", [b'{"format":"samedeal.challenge/2"}', b'{"format":"samedeal.challenge/1"}'])
def test_other_formats_are_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="not the log of a challenge"):
        read_log_file(data)


def test_long_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = in_json(revealed())
    monkeypatch.setattr(log_files, "MAX_LOG_BYTES", len(data) - 1)
    with pytest.raises(Refused, match="at most"):
        read_challenge(data)


@pytest.mark.parametrize("field", ["n", "at", "event", "h"])
def test_an_altered_entry_is_named(field: str) -> None:
    log = revealed()
    other: dict[str, Any] = {"n": 9, "at": log.entries[1].at + 1, "event": log.entries[2].event, "h": "0" * 64}
    entries = (log.entries[0], replace(log.entries[1], **{field: other[field]}), *log.entries[2:])
    assert refusal(replace(log, entries=entries)) == "Entry 2 does not match the log of the challenge."


def test_what_does_not_hold_is_named() -> None:
    log = revealed()
    last = "The log of the challenge does not end with the secret."
    assert refusal(replace(log, entries=())) == refusal(replace(log, entries=log.entries[:-1])) == last
    assert refusal(replace(log, digest="0" * 64)) == "The last digest of the challenge does not match its log."
    other = replace(log.header, commitment="0" * 64)
    assert refusal(replace(log, header=other)) == "The secret does not match the commitment of the challenge."
    swapped = (log.entries[0], log.entries[2], log.entries[1], *log.entries[3:])
    assert refusal(replace(log, entries=swapped)) == "Entry 2 does not match the log of the challenge."
    key = public_key(bytes(32))
    expected = f"The challenge is signed by {SIGNER}, which is not one of the expected keys."
    assert refusal(log, key) == expected
    of_a_race = signed(SIGNING_KEY, ID, log.digest)
    for signature in (of_a_race, Signature(key=key, value=log.signature.value)):
        text = f"The signature of the challenge is not valid for {signature.key}."
        assert refusal(replace(log, signature=signature)) == text


def test_the_log_of_a_club_round_trips_and_holds_at_any_entry() -> None:
    for log in (in_club(), in_club(Invited(digest="0" * 64), Revoked())):
        assert read_log_file(in_json(log)) == log
        assert log.verified((SIGNER,)).n == len(log.entries)
        assert log.signature == signed(SIGNING_KEY, f"club/{CLUB_ID}", log.digest)


def test_what_does_not_hold_in_the_log_of_a_club_is_named() -> None:
    log = in_club(Invited(digest="0" * 64), Revoked())
    assert refusal(replace(log, entries=())) == "The last digest of the club does not match its log."
    assert refusal(replace(in_club(), digest="0" * 64)) == "The last digest of the club does not match its log."
    other = (log.entries[0], replace(log.entries[1], event=Dissolved()))
    assert refusal(replace(log, entries=other)) == "Entry 2 does not match the log of the club."
    founded = replace(log.header, founder="eve")
    assert refusal(replace(log, header=founded)) == "Entry 1 does not match the log of the club."
    of_a_challenge = signed(SIGNING_KEY, f"challenge/{CLUB_ID}", log.digest)
    assert refusal(replace(log, signature=of_a_challenge)) == f"The signature of the club is not valid for {SIGNER}."
    assert refusal(log, public_key(bytes(32))).startswith("The club is signed by ")


def test_the_last_digest_is_checked_before_the_entries() -> None:
    """The JavaScript verifier says the same."""
    log = revealed()
    entries = (*log.entries[:-1], replace(log.entries[-1], h="0" * 64))
    assert refusal(replace(log, entries=entries)) == "The last digest of the challenge does not match its log."
    club = in_club(Revoked())
    assert (
        refusal(replace(club, entries=(replace(club.entries[0], h="0" * 64),)))
        == "The last digest of the club does not match its log."
    )


@pytest.mark.parametrize("player", ["é", "a b", "", "x" * 65, "a\n"])
def test_ids_of_members_are_printable_ascii(player: str) -> None:
    data = in_json(in_club(Erased(player="~")))
    assert b'"player":"~"' in data
    with pytest.raises(Refused, match="not the log of a club"):
        read_log_file(data.replace(b'"~"', json.dumps(player).encode()))
