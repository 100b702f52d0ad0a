"""Line-based replays: how a reader recognises them, and how many lines of which length they can have."""

from io import BytesIO

import pytest

from samedeal import codec
from samedeal.errors import Refused
from samedeal.replays import replay as module
from samedeal.replays.replay import MAX_LINE_BYTES, ReplayLines, in_lines
from support.finished_races import finished

REPLAY = finished("corners")
LINES = list(REPLAY.lines())


def refusal(*lines: bytes) -> str:
    with pytest.raises(Refused) as refused:
        ReplayLines(BytesIO(b"".join(lines)))
    assert refused.value.code == "bad-replay"
    return refused.value.text


def test_the_first_line_is_enough_to_recognise_a_line_based_replay() -> None:
    assert in_lines(LINES[0])
    assert in_lines(LINES[0].removesuffix(b"\n"))
    assert in_lines(b"".join(LINES))


@pytest.mark.parametrize("start", [b"", b"\n" + LINES[0], LINES[0][:-2], LINES[1], codec.encode(REPLAY, "json")])
def test_other_files_are_not_taken_for_line_based_replays(start: bytes) -> None:
    assert not in_lines(start)


def test_the_length_of_a_line_is_limited() -> None:
    longest = b" " * (MAX_LINE_BYTES - len(LINES[1])) + LINES[1]
    assert "Line 2 of the replay is not in canonical form" in _entries_refusal(LINES[0], longest, *LINES[2:])
    assert refusal(LINES[0], b" " + longest, *LINES[2:]) == "Line 2 has more than 65536 bytes."


def test_the_number_of_entries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", len(REPLAY.entries))
    assert tuple(ReplayLines(BytesIO(b"".join(LINES))).entries) == REPLAY.entries
    monkeypatch.setattr(module, "MAX_ENTRIES", len(REPLAY.entries) - 1)
    assert refusal(*LINES) == f"A replay can have at most {len(REPLAY.entries) - 1} entries."


def _entries_refusal(*lines: bytes) -> str:
    """Return the refusal of an entry in lines that are accepted otherwise."""
    replay = ReplayLines(BytesIO(b"".join(lines)))
    with pytest.raises(Refused) as refused:
        list(replay.entries)
    return refused.value.text
