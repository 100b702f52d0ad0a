"""The daily deals are those that earlier versions have announced: their commitments and roots never change."""

from hashlib import sha256

from samedeal.commitments import daily_commitment, daily_secret
from samedeal.day import Day
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header, Options
from samedeal.race.race import Race

KEY = bytes(range(32))
FIRST, DAYS = Day.of("2026-11-26"), 366
SLUGS = ("corner-stones", "the-edge", "corners", "kings-in-the-corners", "gallery")
DIGEST = "255fe7f4fb38dd1d79b2a8c98ccedd860d0ff94d0b6605bc25fd5af27dbc1a4d"
"""Over the commitments and roots of these days, as they were before there were challenges."""


def announced(day: Day, slug: str) -> str:
    secret = daily_secret(KEY, slug, day.date)
    header = Header(
        race="calm-otter-42",
        game=slug,
        rules=GAMES[slug].rules,
        daily=True,
        commitment=daily_commitment(slug, day.date, secret),
        opened_at=day.ends_at - 1,
        options=Options(limit_ms=360_000),
    )
    return f"{slug} {header.date} {header.commitment} {Race.opened(header, secret).root}\n"


def test_the_commitments_and_roots_of_the_next_year_are_unchanged() -> None:
    days = [Day(FIRST.number + number) for number in range(DAYS)]
    text = "".join(announced(day, slug) for day in days for slug in SLUGS)
    assert sha256(text.encode()).hexdigest() == DIGEST
