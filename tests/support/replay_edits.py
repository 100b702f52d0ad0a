"""Edits of replays, and the facts that fail afterwards."""

from functools import cache
from typing import Any

from msgspec import json

from samedeal.proof.verification import FACTS, UNCHECKED, verify
from samedeal.replays.replay import Replay
from samedeal.wire import codec
from support.finished_races import finished

FORMS: tuple[codec.Form, ...] = ("json", "msgpack")
race_of = cache(finished)


def failures(replay: Replay) -> dict[str, int | None]:
    """The failed facts with their entries, without unchecked ones."""
    facts = verify(replay)
    assert [fact.name for fact in facts] == list(FACTS)
    return {fact.name: fact.entry for fact in facts if not fact.holds and fact.note != UNCHECKED}


def plain(replay: Replay) -> Any:
    """The replay as lists and dicts, to be modified."""
    return json.decode(codec.encode(replay, "json"))
