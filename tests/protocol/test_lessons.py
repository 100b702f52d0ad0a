"""Lessons: the practice deals can be played as described, and the document shows the strategy."""

import re
from pathlib import Path

import pytest

from samedeal.cards import BACK
from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE, STRATEGY
from samedeal.wire.documents import GameDescription

RULES = (Path(__file__).parents[2] / "docs" / "play" / "rules.md").read_text()
CARD = re.compile(r"\b[A2-9TJQK][SHCD]\b")


def test_every_game_of_the_project_has_a_lesson() -> None:
    assert set(PRACTICE) == set(STRATEGY) == set(list(GAMES)[:8])


@pytest.mark.parametrize("slug", PRACTICE)
def test_the_steps_of_a_practice_deal_are_legal_and_describe_visible_cards(slug: str) -> None:
    practice = PRACTICE[slug]
    at = GAMES[slug].from_seed(practice.seed)
    for step in practice.steps:
        assert step.move in at.moves(), step
        after = at.after(step.move)
        visible = {card for position in (at, after) for pile in position.view().values() for card in pile} - {BACK}
        assert set(CARD.findall(step.text)) <= visible, step.text
        moved = {pile[-1] for place, pile in after.view().items() if len(at.view()[place]) < len(pile)}
        named = set(CARD.findall(step.text))
        assert not named or step.move.isalpha() or named & moved, f"{step.text} does not name the card that moves"
        assert step.text.endswith((".", ":"))
        assert len(step.text) <= 120
        at = after
    assert not at.over


@pytest.mark.parametrize("slug", PRACTICE)
def test_clients_get_the_practice_deal(slug: str) -> None:
    assert GameDescription.of(GAMES[slug]).practice == PRACTICE[slug]


@pytest.mark.parametrize("slug", STRATEGY)
def test_the_document_shows_the_strategy_and_begins_with_five_lines(slug: str) -> None:
    title = GAMES[slug].title
    chapter = RULES.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\d\. ", chapter.partition("###")[0], re.MULTILINE) == ["1. ", "2. ", "3. ", "4. ", "5. "]
    section = chapter.partition(f"### Strategy in {title}\n")[2].partition("###")[0]
    assert section.strip() == "\n".join(f"- {text}" for text in STRATEGY[slug])
