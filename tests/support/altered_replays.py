"""Altered replays with the outcomes that are expected of them: one family for all tests of verification.

It imports nothing of ours but the modules with the kinds and ``replay_writing``, so it shares no code with the
verifiers. A replay with another content comes as it is, or repaired: with commitments (sometimes), numbers, times,
digests and a signature that fit, as somebody without the server's key could write it. Such a forgery still has another
signer, and contradicts the receipts of the racers.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Final, NamedTuple

from support import altered_entries, altered_fields, altered_texts  # noqa: F401 (they register the kinds)
from support.alterations import (
    ANY,
    AS_IS,
    CHANGES,
    EACH_VALUE,
    REFUSED,
    SAME,
    TEXT_CHANGES,
    UNREADABLE,
    UNTIMED,
    Change,
    NotPossible,
)
from support.replay_writing import (
    Content,
    canonical,
    chain,
    commit,
    format_for,
    in_json,
    in_lines,
    in_loose_json,
    in_messagepack,
    renumber,
    sign,
)

KINDS: Final = (*CHANGES, *TEXT_CHANGES)
"""The names of all kinds."""
FORMS: Final = ("json", "loose json", "lines", "msgpack")
SHORT: Final = 9000
"""The most bytes of a replay that is called short."""
FACTS_WITHOUT_FOLD: Final = {"rules", "complete", "commitment"}
"""If one of these fails, the log is not folded."""


class Altered(NamedTuple):
    """An altered replay. The seed and the number determine it."""

    number: int
    kind: str
    original: str
    """The name of the original."""
    form: str
    data: bytes
    expected: str | None
    """UNREADABLE, SAME, REFUSED, ANY, the names of facts of which one fails at the first change, or None for any."""
    repaired: bool = False
    changed: int | None = None
    """The number of the first entry that is another one, 0 for another header, or None if the log is the same."""
    entries: int = 0
    """The number of entries."""
    known: int = 0
    """The number of entries of the original."""

    def fits(self, failed: Mapping[str, int | None]) -> bool:
        """Return whether failed facts, with their entries, are as expected. ``failed`` is UNREADABLE or the facts that
        fail with the original's key and digests, for a repaired replay, or alone.
        """
        if UNREADABLE in failed or self.expected in (UNREADABLE, SAME, REFUSED, ANY):
            return {
                UNREADABLE: UNREADABLE in failed,
                SAME: not failed,
                REFUSED: bool(failed),
                ANY: True,
            }.get(self.expected or "", False)
        if self.repaired:
            return ("signature", None) in failed.items() and self._contradicts_receipts(failed)
        return bool(failed) and self._is_located(failed) and self._is_named(failed)

    def _contradicts_receipts(self, failed: Mapping[str, int | None]) -> bool:
        """Another log, up to the original's end, contradicts its digests from the first change on."""
        if self.changed is None or self.changed > self.known:
            return "receipts" not in failed
        return ("receipts", min(self.changed, self.entries) if self.changed else None) in failed.items()

    def _is_located(self, failed: Mapping[str, int | None]) -> bool:
        """Nothing fails before the first change, and something fails at it."""
        if self.changed is None:
            return failed.keys() <= {"standings", "signature", "chain"}
        if self.changed == 0:
            return True
        first = min((n for fact, n in failed.items() if n and fact not in FACTS_WITHOUT_FOLD), default=None)
        if first is None or FACTS_WITHOUT_FOLD & failed.keys():
            return (first or self.changed) >= self.changed and bool(FACTS_WITHOUT_FOLD & failed.keys())
        return first == self.changed

    def _is_named(self, failed: Mapping[str, int | None]) -> bool:
        """One of the expected facts fails where it should."""
        if not self.expected:
            return True
        return any(fact in failed and failed[fact] in self._places(fact) for fact in self.expected.split())

    def _places(self, fact: str) -> tuple[int | None, ...]:
        if fact in ("rules", "standings", "signature"):
            return (None,)
        if fact == "commitment" or self.changed is None:
            return (self.entries,)
        if self.changed == 0:
            return (1,) if fact == "chain" else tuple(range(1, self.entries + 1))
        return (self.changed,)


def altered_replay(originals: Mapping[str, bytes], seed: int, number: int, forms: tuple[str, ...] = FORMS) -> Altered:
    """Return an altered replay. ``originals`` are replays in JSON by name.

    The number selects its kind, all in turn. Negative numbers, from ``-len(EACH_VALUE)``, select all values of all
    fields in turn, in short replays.
    """
    random, name = Random(f"{seed} {number}"), KINDS[number % len(KINDS)]
    repaired, change = number // len(KINDS) % 2 == 1, CHANGES.get(name)
    names = list(originals)
    if number < 0:
        repaired, (name, change) = False, EACH_VALUE[number]
        names = [each for each in names if len(originals[each]) <= SHORT]
    while True:
        original, form = random.choice(names), random.choice(forms)
        content = json.loads(originals[original])
        if change is None:
            text = written(content, form, random)
            data, expected = TEXT_CHANGES[name](text, random, form)
            if data != text:
                return Altered(number, name, original, form, data, expected)
            continue
        with suppress(NotPossible):
            altered = with_content(content, name, change, random, repaired=repaired, form=form)
            return altered._replace(number=number, original=original)


def with_content(content: Content, name: str, change: Change, random: Random, *, repaired: bool, form: str) -> Altered:
    """Return a replay whose content is changed. Raises NotPossible if nothing changes."""
    before = json.loads(canonical(content))
    expected = change(content, random)
    if canonical(content) == canonical(before):
        raise NotPossible
    repaired = repaired and expected != UNREADABLE and name not in AS_IS
    if repaired:
        _repair(content, before["entries"][-1][2]["secret"], random, untimed=name in UNTIMED)
    if expected == UNREADABLE:
        return Altered(0, name, "", *_written_anyhow(content, form, random), expected)
    needed = format_for(content["header"])
    if repaired or random.randrange(4):
        content["format"] = needed
    if content["format"] != needed:
        expected = UNREADABLE
    data, sizes = written(content, form, random), (len(content["entries"]), len(before["entries"]))
    return Altered(0, name, "", form, data, expected, repaired, _first_change(before, content), *sizes)


def written(content: Content, form: str, random: Random) -> bytes:
    if form == "loose json":
        return in_loose_json(content, random)
    return {"json": in_json, "lines": in_lines, "msgpack": in_messagepack}[form](content)


def _written_anyhow(content: Content, form: str, random: Random) -> tuple[str, bytes]:
    """Return the form and the text of a content that is not valid: JSON, unless the form can have it."""
    with suppress(AttributeError, OverflowError, TypeError):
        if form != "lines" or isinstance(content.get("entries"), list):
            return form, written(content, form, random)
    return "json", in_json(content)


def _first_change(before: Content, content: Content) -> int | None:
    if canonical(before["header"]) != canonical(content["header"]):
        return 0
    old, new = before["entries"], content["entries"]
    if old == new:
        return None
    same = next(
        (i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    return same + 1


def _repair(content: Content, secret: str, random: Random, *, untimed: bool) -> None:
    """Make commitments, numbers, times, digests and the signature fit."""
    if not untimed:
        renumber(content)
    if content["entries"]:
        secret = content["entries"][-1][2].get("secret", secret)
    if random.randrange(2):
        commit(content, secret)
    chain(content, secret)
    sign(content, random.randbytes(32))
