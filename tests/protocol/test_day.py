"""Days: dates of daily deals are parsed strictly, in one notation."""

import pytest

from samedeal.day import DAY_MS, Day


@pytest.mark.parametrize(
    ("text", "number"),
    [("1970-01-01", 0), ("1970-01-02", 1), ("2000-02-29", 11_016), ("2026-11-21", 20_778), ("9999-12-31", 2_932_896)],
)
def test_a_date_is_parsed_and_written_in_the_same_notation(text: str, number: int) -> None:
    day = Day.of(text)
    assert (day, day.date) == (Day(number), text)
    assert day.ends_at == (number + 1) * DAY_MS


@pytest.mark.parametrize("text", ["1969-12-31", "0001-01-01", "20261121", "2026-W47-6"])
def test_a_date_before_1970_or_in_another_notation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf"'{text}' is not a valid date \(try 2026-11-21\)"):
        Day.of(text)


@pytest.mark.parametrize("text", ["", "today", "2026-11", "2026-02-29", "2026-13-01", "2026-11-21 ", "２026-11-21"])
def test_a_text_that_is_not_a_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month"):
        Day.of(text)


def test_a_day_starts_and_ends_at_midnight_utc() -> None:
    day = Day.of("2026-11-21")
    assert [Day.at(time) for time in (day.ends_at - DAY_MS, day.ends_at - 1)] == [day, day]
    assert Day.at(day.ends_at) == Day.of("2026-11-22")


def test_earlier_days_compare_as_less() -> None:
    days = [Day.of(text) for text in ("2026-11-21", "1999-12-31", "2026-11-20")]
    assert [day.date for day in sorted(days)] == ["1999-12-31", "2026-11-20", "2026-11-21"]
