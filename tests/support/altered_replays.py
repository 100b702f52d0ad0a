"""Alters replays in many ways, for tests that two verifiers agree. Like the modules with the kinds of alterations, it
imports nothing of ours but them and ``replay_writing``, so it shares no code with the verifiers.

Kinds that change the content come in two versions: as they are, and repaired. In a repaired replay, numbers, times,
digests and the signature fit again, so it is refused for what was changed, if at all. Kinds that are about numbers or
times do not have these repaired.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Final, NamedTuple

from support import altered_entries, altered_fields, altered_play, altered_seats, altered_texts  # noqa: F401 (kinds)
from support.alterations import CHANGES, UNTIMED, NotPossible
from support.replay_writing import Content, canonical, chain, in_json, in_lines, in_loose_json, renumber, sign

KINDS: Final = (*CHANGES, *altered_texts.CHANGES)
"""The names of all kinds."""


class Altered(NamedTuple):
    """An altered replay. The seed and the number determine it."""

    number: int
    kind: str
    repaired: bool
    original: str
    """The name of the original."""
    data: bytes


def altered_replays(originals: Mapping[str, bytes], seed: int, numbers: Iterable[int]) -> Iterator[Altered]:
    """Yield the altered replays with these numbers, of all kinds in turn. ``originals`` are replays in JSON by name."""
    for number in numbers:
        random, index = Random(f"{seed} {number}"), number % len(KINDS)
        repaired = number // len(KINDS) % 2 == 1 and KINDS[index] in CHANGES
        data = None
        while data is None:
            original = random.choice(list(originals))
            data = _altered(KINDS[index], originals[original], random, repaired=repaired)
        yield Altered(number, KINDS[index], repaired, original, data)


def _altered(kind: str, original: bytes, random: Random, *, repaired: bool) -> bytes | None:
    """Return an altered replay, or None if nothing changes."""
    content = json.loads(original)
    if kind in altered_texts.CHANGES:
        text = random.choice((in_json, in_lines))(content)
        changed = altered_texts.CHANGES[kind](text, random)
        return changed if changed != text else None
    secret, before = content["entries"][-1][2]["secret"], canonical(content)
    try:
        CHANGES[kind](content, random)
    except NotPossible:
        return None
    if canonical(content) == before:
        return None
    if repaired:
        _repair(content, secret, random, untimed=kind in UNTIMED)
    way = random.randrange(4)
    if way == 0 or not isinstance(content.get("entries"), list):
        return in_json(content)
    return in_loose_json(content, random) if way == 1 else in_lines(content)


def _repair(content: Content, secret: str, random: Random, *, untimed: bool) -> None:
    """Make numbers, times, digests and the signature fit, unless something of the content is missing."""
    try:
        if not untimed:
            renumber(content)
        if content["entries"]:
            secret = content["entries"][-1][2].get("secret", secret)
        chain(content, secret)
        sign(content, random.randbytes(32))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return
