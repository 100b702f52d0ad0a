"""Compares the library with the JavaScript verifier on challenges and clubs: what they prove byte for byte, or why a
file is refused.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from subprocess import PIPE, run
from typing import NamedTuple

import msgspec

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import outcome_of, verify
from samedeal.replays.log_files import ChallengeLog, ClubLog, read_log_file
from samedeal.replays.replay import Replay
from samedeal.scores.challenge_table import ChallengeTable, RaceReplay
from samedeal.scores.club_proof import ClubProof
from samedeal.scores.club_scores import ClubScores, read_club_scores
from support.node import NODE

PROGRAM = Path(__file__).with_suffix(".mjs")


class Case(NamedTuple):
    """Logs of challenges or of a club, and scores, in JSON; replays; and the known keys."""

    documents: Sequence[bytes]
    replays: Sequence[Replay]
    keys: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What a verifier says: the table or the proof, why a log is refused, or ``unreadable``; and the outcomes of the
    replays.
    """

    said: str
    outcomes: list[str]


def of_library(case: Case) -> Answer:
    try:
        documents = [read_log_file(data) or read_club_scores(data) for data in case.documents]
    except Refused:
        return Answer("unreadable", [])
    challenges = [each for each in documents if isinstance(each, ChallengeLog)]
    clubs = [each for each in documents if isinstance(each, ClubLog)]
    try:
        for challenge in challenges:
            challenge.verified(case.keys)
        for club in clubs:
            club.verified(case.keys)
    except Refused as refused:
        return Answer(refused.text, [])
    known = bool(case.keys)
    outcomes: list[str] = [outcome_of(verify(replay, case.keys), key_known=known) for replay in case.replays]
    outcome: Outcome = "verified" if known else "key-unknown"
    replays = [*map(RaceReplay.of, case.replays)]
    stated = [each for each in documents if isinstance(each, ClubScores)]
    proof = ClubProof.of(clubs, challenges, replays, stated, outcome=outcome) if clubs else None
    return Answer(codec.encode(proof or ChallengeTable.of(challenges[0], replays, outcome), "json").decode(), outcomes)


def of_javascript(cases: Iterable[Case]) -> list[Answer]:
    done = run([NODE, PROGRAM], input=b"\n".join(map(_line, cases)), stdout=PIPE, check=True)
    return [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]


def _line(case: Case) -> bytes:
    replays = [codec.encode(replay, "json") for replay in case.replays]
    return msgspec.json.encode({"documents": case.documents, "replays": replays, "keys": case.keys})  # bytes in Base64
