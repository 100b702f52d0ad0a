"""What a room remembers of its log is every entry, byte for byte, and takes a fraction of what the entries would."""

from random import Random

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Entry
from samedeal.wire import codec
from samedeal_server.store.compact_log import PACKED, CompactLog
from support.finished_races import SECRET, finished


@pytest.fixture(scope="module", params=list(GAMES))
def entries(request: pytest.FixtureRequest) -> list[Entry]:
    """The log of a finished race with every kind of event, longer than several packs."""
    found = finished(request.param, moves=5 * PACKED).entries
    assert len(found) > 3 * PACKED
    return list(found)


def test_every_entry_comes_back_as_it_was(entries: list[Entry]) -> None:
    remembered = CompactLog(SECRET, entries)
    assert len(remembered) == len(entries)
    assert [codec.encode(entry, "json") for entry in remembered] == [codec.encode(entry, "json") for entry in entries]


def test_it_does_not_matter_in_what_portions_they_came(entries: list[Entry]) -> None:
    random, remembered, taken = Random(1), CompactLog(SECRET), 0
    while taken < len(entries):
        portion = random.choice((0, 1, 1, 1, 2, 5, PACKED - 1, PACKED, 3 * PACKED))
        remembered.extend(entries[taken : taken + portion])
        taken = min(len(entries), taken + portion)
        assert len(remembered) == taken
    assert list(remembered) == entries


def test_any_of_them_can_be_asked_for(entries: list[Entry]) -> None:
    remembered, end = CompactLog(SECRET, entries), len(entries)
    places = (0, 1, PACKED - 1, PACKED, PACKED + 1, 3 * PACKED, end - 1, -1, -end)
    assert [remembered[at] for at in places] == [entries[at] for at in places]
    for start in places:
        assert remembered[start:] == entries[start:]
    assert remembered[end:] == []
    with pytest.raises(IndexError):
        remembered[end]


def test_nothing_is_remembered_of_a_race_of_which_nothing_came() -> None:
    assert list(CompactLog(SECRET)) == []
    assert not CompactLog(SECRET)
