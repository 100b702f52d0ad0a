"""CompactLog: every entry is stored, byte for byte."""

from random import Random

import pytest

from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Entry
from samedeal_server.store.compact_log import BLOCK, CompactLog
from support.finished_races import SECRET, finished


@pytest.fixture(scope="module", params=list(GAMES))
def entries(request: pytest.FixtureRequest) -> list[Entry]:
    """The log of a finished race with every kind of event, longer than several blocks."""
    entries = finished(request.param, moves=5 * BLOCK).entries
    assert len(entries) > 3 * BLOCK
    return list(entries)


def test_every_entry_round_trips(entries: list[Entry]) -> None:
    log = CompactLog(SECRET, entries)
    assert len(log) == len(entries)
    assert [codec.encode(entry, "json") for entry in log] == [codec.encode(entry, "json") for entry in entries]


def test_entries_can_be_added_in_any_portions(entries: list[Entry]) -> None:
    random, log, taken = Random(1), CompactLog(SECRET), 0
    while taken < len(entries):
        portion = random.choice((0, 1, 1, 1, 2, 5, BLOCK - 1, BLOCK, 3 * BLOCK))
        log.extend(entries[taken : taken + portion])
        taken = min(len(entries), taken + portion)
        assert len(log) == taken
    assert list(log) == entries


def test_entries_are_accessible_by_index_and_slice(entries: list[Entry]) -> None:
    log, end = CompactLog(SECRET, entries), len(entries)
    places = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, end - 1, -1, -end)
    assert [log[at] for at in places] == [entries[at] for at in places]
    for start in places:
        assert log[start:] == entries[start:]
    assert log[end:] == []
    with pytest.raises(IndexError):
        log[end]


def test_a_new_log_is_empty() -> None:
    assert list(CompactLog(SECRET)) == []
    assert not CompactLog(SECRET)
