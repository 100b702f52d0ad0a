"""A campaign of tampered replays: each is refused with the right fact and entry.

MUTATIONS_SEED selects other mutations. Failures state it.
"""

import os
import re
from collections import Counter
from io import BytesIO
from random import Random

import pytest
from msgspec import structs

from samedeal.errors import Refused
from samedeal.proof.receipts import DigestReceipt, Receipts
from samedeal.proof.signature import Signature, signed
from samedeal.proof.verification import UNCHECKED, verify
from samedeal.race.events import Header, Options
from samedeal.race.seat import Standing
from samedeal.replays.replay import ReplayLines, read
from samedeal.wire import codec
from support.replay_mutations import OUR_KEY, THEIR_SIGNING_KEY, Mutation, mutations
from support.rewritten_replays import rewritten_replays
from support.tampered_replays import FORMS, RACES, Form, Kind, encoded, subject

SEED = int(os.environ.get("MUTATIONS_SEED") or 1)
LEAST = {
    "one byte, json": 320,
    "one byte, msgpack": 320,
    "one byte, lines": 320,
    "header": 450,
    "options": 400,
    "standings": 240,
    "signature": 200,
    "cut": 110,
    "dropped": 90,
    "swapped": 90,
    "repeated": 75,
    "closed": 30,
    "dropped, numbered anew": 90,
    "swapped, numbered anew": 90,
    "repeated, numbered anew": 75,
    "closed, numbered anew": 30,
    "number": 40,
    "redated": 110,
    "digest": 80,
    "event": 40,
    "seat": 270,
    "nonce": 50,
    "commitment": 50,
    "secret": 60,
    "k": 40,
    "move": 120,
    "anew, the signature as it was": 90,
    "anew, that of another race": 90,
    "anew, without a signature": 90,
    "anew, signed by the forger": 90,
    "anew, and our key shown for theirs": 90,
    "against receipts": 150,
}
"""The minimum number of mutations of each kind in all races."""

every_race = pytest.mark.parametrize(("slug", "kind"), RACES)


def failures(
    data: bytes, form: Form, keys: tuple[str, ...] = (), receipts: Receipts | None = None
) -> dict[str, int | None]:
    """The failed facts with their entries, without unchecked ones."""
    try:
        log = ReplayLines(BytesIO(data)) if form == "lines" else read(data)
        facts = verify(log, keys, receipts)
    except Refused as refused:
        return {"unreadable" if refused.code == "bad-replay" else refused.code: None}
    return {fact.name: fact.entry for fact in facts if not fact.holds and fact.note != UNCHECKED}


def wrong(mutation: Mutation) -> str | None:
    """The differences from the expected verification of a mutation."""
    try:
        actual = failures(mutation.data, mutation.form, mutation.keys, mutation.receipts)
    except Exception as error:
        error.add_note(f"{mutation.kind}: {mutation.what}, {mutation.form}")
        raise
    if mutation.expected.fits(actual):
        return None
    return f"{mutation.kind}: {mutation.what}, {mutation.form}: found {actual} for {mutation.expected}"


@every_race
def test_every_mutation_is_refused_with_the_right_fact_at_the_right_entry(slug: str, kind: Kind) -> None:
    mistakes = list(filter(None, map(wrong, mutations(subject(slug, kind), SEED))))
    assert not mistakes, "\n".join([f"MUTATIONS_SEED={SEED}, {slug}, {kind}", *mistakes[:20]])


def test_every_kind_has_the_expected_number_of_mutations() -> None:
    all_mutations = [mutation for race in RACES for mutation in mutations(subject(*race), SEED)]
    counted = Counter(mutation.kind for mutation in all_mutations)
    print("\n".join(f"{count:6} {kind}" for kind, count in [*counted.most_common(), ("in all", counted.total())]))
    assert counted.total() >= 4_500
    assert counted.keys() == LEAST.keys()
    assert {kind: count for kind, count in counted.items() if count < LEAST[kind]} == {}
    untouched = {encoded(subject(*race).content, form) for race in RACES for form in FORMS}
    assert [
        mutation
        for mutation in all_mutations
        if mutation.data in untouched and not (mutation.keys or mutation.receipts)
    ] == []


def test_every_field_is_changed_in_every_race_that_has_it() -> None:
    for slug, kind in RACES:
        race = subject(slug, kind)
        changed = {"/".join(map(str, mutation.path)) for mutation in mutations(race, SEED)}
        fields = {f"header/{field}" for field in Header.__struct_fields__}
        fields |= {f"header/options/{field}" for field in Options.__struct_fields__}
        fields |= {f"signature/{field}" for field in Signature.__struct_fields__}
        fields |= {f"standings/0/{field}" for field in Standing.__struct_fields__}
        assert fields - changed == set()
        parts = {re.sub(r"^entries/\d+/", "", path) for path in changed}
        events = {f"2/{field}" for _, _, event, _ in race.content["entries"] for field in event if field != "t"}
        assert {"0", "1", "3", "digest", "signature", *events} - parts == set()


@every_race
@pytest.mark.parametrize("form", FORMS)
def test_untouched_replays_hold(slug: str, kind: Kind, form: Form) -> None:
    race = subject(slug, kind)
    stored = Receipts(race.replay.header, (), tuple(DigestReceipt(entry.n, entry.h) for entry in race.replay.entries))
    assert failures(encoded(race.content, form), form, (OUR_KEY,), stored) == {}


@every_race
def test_a_rewritten_log_fails_only_its_signature_and_receipts(slug: str, kind: Kind) -> None:
    """Everything else about the rewritten log is valid."""
    race = subject(slug, kind)
    stories = rewritten_replays(race, Random(SEED))
    assert len(stories) >= 12
    for what, replay in stories:
        assert failures(codec.encode(replay, "json"), "json", (OUR_KEY,)) == {}, what
        forged = structs.replace(replay, signature=signed(THEIR_SIGNING_KEY, race.name, replay.digest))
        assert failures(codec.encode(forged, "json"), "json") == {}, what
        assert failures(codec.encode(forged, "json"), "json", (OUR_KEY,)) == {"signature": None}, what
