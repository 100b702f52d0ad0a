"""Compares the library with the JavaScript verifier on challenges: the table byte for byte, or why a log is refused."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from subprocess import PIPE, run
from typing import NamedTuple

import msgspec

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import outcome_of, verify
from samedeal.replays.replay import Replay
from samedeal.scores.challenge_table import ChallengeTable, RaceReplay
from support.challenges import read_challenge
from support.node import NODE

PROGRAM = Path(__file__).with_suffix(".mjs")


class Case(NamedTuple):
    """The log of a challenge in JSON, replays, and the known keys."""

    log: bytes
    replays: Sequence[Replay]
    keys: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What a verifier says: the table, why the log is refused, or ``unreadable``; and the outcomes of the replays."""

    said: str
    outcomes: list[str]


def of_library(case: Case) -> Answer:
    try:
        log = read_challenge(case.log)
    except Refused:
        return Answer("unreadable", [])
    try:
        log.verified(case.keys)
    except Refused as refused:
        return Answer(refused.text, [])
    known = bool(case.keys)
    outcomes: list[str] = [outcome_of(verify(replay, case.keys), key_known=known) for replay in case.replays]
    outcome: Outcome = "verified" if known else "key-unknown"
    table = ChallengeTable.of(log, map(RaceReplay.of, case.replays), outcome)
    return Answer(codec.encode(table, "json").decode(), outcomes)


def of_javascript(cases: Iterable[Case]) -> list[Answer]:
    done = run([NODE, PROGRAM], input=b"\n".join(map(_line, cases)), stdout=PIPE, check=True)
    return [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]


def _line(case: Case) -> bytes:
    replays = [codec.encode(replay, "json") for replay in case.replays]
    return msgspec.json.encode({"log": case.log, "replays": replays, "keys": case.keys})  # bytes in Base64
