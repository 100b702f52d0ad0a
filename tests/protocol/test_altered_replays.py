"""Altered replays are refused: verification names the fact and the entry.

The kinds of alterations and what is expected of them are in ``support.altered_replays``.
"""

import json
from contextlib import suppress
from functools import cache
from io import BytesIO
from itertools import product
from random import Random
from typing import Any

import pytest
from msgspec import structs

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.receipts import DigestReceipt, Receipts
from samedeal.proof.verification import FACTS, UNCHECKED, verify
from samedeal.race.events import Dealt
from samedeal.replays.replay import MAX_BYTES, Replay, ReplayLines, read
from support.alterations import AT_ENTRY, EACH_VALUE, UNREADABLE, NotPossible
from support.altered_examples import EXAMPLES
from support.altered_replays import FORMS, KINDS, Altered, altered_replay, with_content, written
from support.finished_races import finished, opened
from support.original_replays import original_replays
from support.races_by_hand import closed, revealed
from support.replay_writing import Content

SEED = 1
ROUNDS = 4
"""The rounds through all kinds: in turn as they are, and repaired."""


@cache
def originals() -> dict[str, bytes]:
    return original_replays(SEED)


@cache
def original(name: str) -> Replay:
    return read(originals()[name])


def log_of(data: bytes, form: str) -> Replay | ReplayLines:
    return ReplayLines(BytesIO(data)) if form == "lines" else read(data)


def failures(data: bytes, form: str = "json", known: Replay | None = None) -> dict[str, int | None]:
    """Return the failed facts with their entries, without unchecked ones, or UNREADABLE.

    With a known replay, its key and all of its digests are known.
    """
    keys = () if known is None else (known.signature.key,)
    digests = () if known is None else tuple(DigestReceipt(entry.n, entry.h) for entry in known.entries)
    try:
        facts = verify(log_of(data, form), keys, None if known is None else Receipts(known.header, (), digests))
    except Refused as refused:
        return {UNREADABLE if refused.code in ("bad-replay", "unsupported-version") else refused.code: None}
    return {fact.name: fact.entry for fact in facts if not fact.holds and fact.note != UNCHECKED}


def wrong(altered: Altered, known: Replay) -> str | None:
    """Return the differences from what is expected of an altered replay, if any."""
    failed = failures(altered.data, altered.form, known if altered.repaired else None)
    if altered.fits(failed):
        return None
    return f"{altered._replace(data=b'')}: found {failed}"


@pytest.mark.parametrize("number", range(-1, ROUNDS))
def test_every_alteration_is_refused_with_the_right_fact_at_the_right_entry(number: int) -> None:
    """First every value of every field."""
    start, stop = number * len(KINDS), (number + 1) * len(KINDS)
    mistakes = []
    for each in range(start, stop) if number >= 0 else range(-len(EACH_VALUE), 0):
        altered = altered_replay(originals(), SEED, each)
        mistakes.append(wrong(altered, original(altered.original)))
        if not failures(altered.data, altered.form):  # then it has the same meaning, unless others signed it
            log = log_of(altered.data, altered.form)
            assert tuple(log.entries) == original(altered.original).entries or altered.repaired
    assert not any(mistakes), "\n".join(filter(None, mistakes))


@pytest.mark.parametrize("kind", AT_ENTRY)
def test_every_entry_is_protected(kind: str) -> None:
    """As it is and repaired. A kind that moves entries may leave out one of them."""
    known, mistakes, possible = finished("corners", moves=4), [], set()
    for index, repaired in product(range(len(known.entries)), (False, True)):

        def change(content: Content, random: Random, index: int = index) -> None:
            AT_ENTRY[kind](content, index, random)

        with suppress(NotPossible):
            content = json.loads(codec.encode(known, "json"))
            altered = with_content(content, kind, change, Random(index), repaired=repaired, form="json")
            mistakes.append(wrong(altered, known))
            possible.add(index)
    assert not any(mistakes), mistakes
    assert len(possible) >= len(known.entries) - 1


def test_untouched_replays_hold_in_every_form() -> None:
    for number, name in enumerate(originals()):
        texts = {form: written(json.loads(originals()[name]), form, Random(1)) for form in FORMS}
        for form, text in texts.items():
            assert tuple(log_of(text, form).entries) == original(name).entries, name
        form = FORMS[number % len(FORMS)]
        assert failures(texts[form], form, original(name)) == {}, name


def test_every_fact_but_the_deal_can_fail() -> None:
    """A wrong deal shows in the moves, or in the digests."""
    assert {fact for _, expected in EXAMPLES.values() for fact in expected} == FACTS.keys() - {"deal"}


@pytest.mark.parametrize(("race", "k"), [({}, 7), ({"seed": "42", "filter": "friendly/1"}, 0)])
def test_a_chosen_deal_fails_the_filter_even_if_the_chain_is_intact(race: dict[str, Any], k: int) -> None:
    """Another number, or a public deal with a filter."""
    log = revealed(**race)
    log.say(Dealt(k=k), 5_000)
    dealt = len(log.entries)
    assert failures(codec.encode(closed(log).replay(), "json")) == {"filter": dealt}


def test_the_proofs_of_a_truncated_log_are_unchecked() -> None:
    replay = finished("corners")
    facts = verify(structs.replace(replay, entries=replay.entries[:-1]))
    unchecked = {fact.name for fact in facts if fact.note == UNCHECKED}
    assert unchecked == FACTS.keys() - {"complete", "numbers", "times", "signature"}


def test_a_log_that_the_server_rewrote_contradicts_only_the_receipts() -> None:
    """Everything else holds: it is a race that could have happened."""
    known = finished("corners")
    log = opened("corners")
    for entry in known.entries:
        event = structs.replace(entry.event, name="eve") if entry.n == 2 else entry.event
        log.say(event, entry.at - log.race.at)
    data = codec.encode(log.replay(), "json")
    assert failures(data) == {}
    assert failures(data, known=known) == {"receipts": 2}


def test_a_verification_can_leave_out_the_filter() -> None:
    log = revealed()
    log.say(Dealt(k=7), 5_000)
    facts = verify(closed(log).replay(), with_filter=False)
    assert {fact.name for fact in facts} == FACTS.keys() - {"filter"}
    assert all(fact.holds for fact in facts)


# Bytes.


def test_messagepack_must_be_canonical() -> None:
    data = codec.encode(finished("corners"), "msgpack")
    assert failures(data) == {}
    for old, new in ((b"\xa5place\x01", b"\xa5place\xcc\x01"), (b"\xa1t\xa6", b"\xa1t\xd9\x06")):
        assert old in data
        assert failures(data.replace(old, new, 1)) == {UNREADABLE: None}
    turned = codec.encode(dict(reversed(json.loads(codec.encode(finished("corners"), "json")).items())), "msgpack")
    assert failures(turned) == {UNREADABLE: None}


def test_a_file_over_the_size_limit_is_refused() -> None:
    with pytest.raises(Refused, match=str(MAX_BYTES)):
        read(b"{" + b" " * MAX_BYTES)


# The races of a replay.


def test_the_races_of_a_replay_match_the_original_fold() -> None:
    replay = finished("corners")
    races = list(replay.races())
    assert len(races) == len(replay.entries) + 1
    assert races[-1].digest == replay.digest


def test_the_races_of_an_altered_replay_are_refused() -> None:
    replay = finished("corners")
    for count in (0, 5):
        truncated = structs.replace(replay, entries=replay.entries[:count])
        with pytest.raises(Refused, match=f"The log ends at entry {count} without a closing entry") as refusal:
            truncated.races()
        assert refusal.value.code == "bad-replay"
    with pytest.raises(Refused):
        list(structs.replace(finished("gallery"), entries=replay.entries).races())
