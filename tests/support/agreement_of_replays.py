"""Compares the library with the JavaScript verifier on altered replays, fact by fact.

A replay of which only the standings are wrong is compared once more with those that follow from its log.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from random import Random
from subprocess import PIPE, run
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.receipts import Receipts, about
from samedeal.proof.receipts import read as read_receipts
from samedeal.proof.verification import FACTS, UNCHECKED, outcome_of, verify
from samedeal.race.race import Race
from samedeal.replays.replay import MAX_LINE_BYTES, Replay, ReplayLines, in_lines, read
from support.altered_receipts import altered_receipts
from support.altered_replays import FORMS, Altered, altered_replay
from support.node import NODE
from support.original_replays import original_replays

PROGRAM = Path(__file__).with_suffix(".mjs")
BATCH = 200
SHOWN = 5
"""The number of disagreements that are shown."""


class Answer(NamedTuple):
    """What a verifier says about a replay."""

    outcome: str
    """Also ``unreadable``."""
    facts: dict[str, str]


class Question(NamedTuple):
    """A replay to verify, with the known keys and the receipts."""

    altered: Altered
    keys: tuple[str, ...]
    receipts: bytes | None

    @property
    def for_javascript(self) -> bytes:
        receipts = None if self.receipts is None else b64encode(self.receipts).decode()
        replay = b64encode(self.altered.data).decode()
        return msgspec.json.encode({"replay": replay, "keys": self.keys, "receipts": receipts})


def questions(originals: Mapping[str, bytes], seed: int, numbers: Iterable[int]) -> Iterator[Question]:
    for number in numbers:
        altered = altered_replay(originals, seed, number, FORMS[:3])  # the JavaScript verifier reads no MessagePack
        random = Random(f"{seed} {altered.number} keys and receipts")
        content = msgspec.json.decode(originals[altered.original])
        known = content["signature"]["key"]
        keys = random.choice(((), (), (known,), (random.randbytes(32).hex(), known), (random.randbytes(32).hex(),)))
        receipts = altered_receipts(content, random) if random.randrange(3) == 0 else None
        yield Question(altered, keys, receipts)


def log_of(data: bytes) -> Replay | ReplayLines:
    return ReplayLines(BytesIO(data)) if in_lines(data[:MAX_LINE_BYTES]) else read(data)


def of_library(question: Question) -> Answer:
    receipts, others = None, {}
    try:
        log = log_of(question.altered.data)
        try:
            receipts = _receipts_for(log, question.receipts)
        except Refused:
            others = {"receipts": "unreadable"}
        facts = verify(log, question.keys, receipts)
    except Refused:
        return Answer("unreadable", {})
    results = others | {
        fact.name: "holds" if fact.holds else "unknown" if fact.note == UNCHECKED else f"fails at {fact.entry}"
        for fact in facts
    }
    return Answer(outcome_of(facts, key_known=bool(question.keys)), results)


def _receipts_for(log: Replay | ReplayLines, data: bytes | None) -> Receipts | None:
    if data is None:
        return None
    stored = read_receipts(line for line in BytesIO(data) if line.endswith(b"\n"))
    if not stored:
        raise Refused("bad-replay", "There are no receipts.")
    return about(log.header, stored)


def of_javascript(asked: Iterable[Question]) -> list[Answer]:
    lines = b"\n".join(question.for_javascript for question in asked)
    done = run([NODE, PROGRAM], input=lines, stdout=PIPE, check=True)
    return [said(msgspec.json.decode(line)) for line in done.stdout.splitlines()]


def said(answer: dict[str, Any]) -> Answer:
    """Return the answer of the JavaScript verifier."""
    return Answer(answer["outcome"], {fact["name"]: _result(fact) for fact in answer["facts"]})


def _result(fact: dict[str, Any]) -> str:
    if "holds" not in fact:
        return "unreadable"
    assert "unsupported" not in fact, fact
    return {True: "holds", False: f"fails at {fact['entry']}", None: "unknown"}[fact["holds"]]


def restated(question: Question, answer: Answer) -> Question | None:
    """Return the same replay with the standings that follow from its log, if only these were wrong."""
    if [fact for fact in FACTS if answer.facts.get(fact) != "holds"] != ["standings"]:
        return None
    log = log_of(question.altered.data)
    assert log.closing
    race = Race.opened(log.header, bytes.fromhex(log.closing.secret)).after_all(entries := tuple(log.entries))
    replay = structs.replace(Replay.of(race, entries, bytes(32)), signature=log.signature)
    return question._replace(altered=question.altered._replace(data=codec.encode(replay, "json")))


class Report:
    """Counts by kind, and disagreements."""

    def __init__(self) -> None:
        self.replays, self.refused, self.unreadable, self.restated = Counter[str](), Counter[str](), Counter[str](), 0
        self.disagreements: list[tuple[Question, Answer, Answer]] = []

    def compare(self, asked: list[Question]) -> None:
        ours = list(map(of_library, asked))
        again = [new for question, answer in zip(asked, ours, strict=True) if (new := restated(question, answer))]
        for question, answer in zip(asked, ours, strict=True):
            self.replays[question.altered.kind] += 1
            self.refused[question.altered.kind] += answer.outcome in ("refused", "unreadable")
            self.unreadable[question.altered.kind] += answer.outcome == "unreadable"
        self.restated += len(again)
        asked, ours = [*asked, *again], [*ours, *map(of_library, again)]
        for question, our, their in zip(asked, ours, of_javascript(asked), strict=True):
            if their != our:
                self.disagreements.append((question, our, their))

    def described(self, seed: int) -> str:
        """Return the first few disagreements."""
        lines = []
        for question, our, their in self.disagreements[:SHOWN]:
            altered = question.altered
            lines += [f"\n{altered.kind}{', repaired' if altered.repaired else ''} ({altered.original})"]
            lines += [f"  altered_replay(original_replays({seed}), {seed}, {altered.number}, FORMS[:3])"]
            lines += [f"  library:    {our.outcome} {_differing(our, their)}"]
            lines += [f"  JavaScript: {their.outcome} {_differing(their, our)}"]
        return "\n".join(lines)


def _differing(one: Answer, other: Answer) -> dict[str, str]:
    return {fact: result for fact, result in one.facts.items() if other.facts.get(fact) != result}


def compared(seed: int, numbers: Sequence[int]) -> Report:
    originals, report = original_replays(seed), Report()
    for start in range(0, len(numbers), BATCH):
        report.compare(list(questions(originals, seed, numbers[start : start + BATCH])))
    return report
