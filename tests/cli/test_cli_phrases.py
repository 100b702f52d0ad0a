"""Cards, piles, moves, standings and times in words."""

import time

import pytest
from msgspec import structs

from cli.test_cli_text_table import after, shown
from samedeal.games.catalogue import GAMES
from samedeal.share.phrases import achieved
from samedeal_cli.render.phrases import (
    card_name,
    change_sentence,
    clock,
    counted,
    local_time,
    pile_sentence,
    short_deal,
    standing_sentence,
    with_unique_names,
)
from support import example_states


def said(slug: str, move: str, steps: int = 0) -> str:
    before = after(slug, steps)
    return change_sentence(shown(before), shown(before.after(move)))


def test_card_name_and_pile_sentence() -> None:
    assert [card_name(card) for card in ("AS", "6H", "TD", "QC", "??")] == [
        "ace of spades",
        "6 of hearts",
        "10 of diamonds",
        "queen of clubs",
        "a face-down card",
    ]
    assert pile_sentence("l4", ["QD", "TC"]) == "l4: queen of diamonds, 10 of clubs"
    assert pile_sentence("waste", []) == "waste: empty"
    assert pile_sentence("stock", ["??"] * 7) == "stock: 7 face down"


def test_change_sentence_tells_where_cards_went() -> None:
    game = GAMES["corner-stones"].from_seed("42")
    move = game.moves()[0]
    card, target = game.table[move[:2]][-1], move[2:]
    assert said("corner-stones", move) == f"{card_name(card)} to {target}"
    assert said("corners", "draw").endswith(" to waste, stock 42")
    assert said("the-edge", "a1").endswith(" to hand, stock 50")


@pytest.mark.parametrize("slug", ["kings-in-the-corners", "the-edge"])
def test_change_sentence_names_removed_cards(slug: str) -> None:
    sentences = []
    for seed in range(20):
        for steps in range(1, 25):
            before = after(slug, steps, str(seed))
            if before.moves() and before.notes["phase"] == "match" and before.moves()[0] != "draw":
                sentences.append(change_sentence(shown(before), shown(before.after(before.moves()[0]))))
    assert sentences
    assert all("to discard" in sentence for sentence in sentences)


def test_change_sentence_describes_restart_and_undo() -> None:
    start, later = after("corners", 0), after("corners", 5)
    assert "stock 43 face down" in change_sentence(shown(later), shown(start))
    assert change_sentence(shown(start), shown(start)) == "nothing moved"


def test_standing_sentence_unique_names_and_clock() -> None:
    standing = example_states.standing(4, "bo", "playing", 24, place=1, bot=True, attempts=2, ms=83_400)
    assert standing_sentence(standing, 3) == "1 of 3: bo (bot), 24 of 48, playing, attempt 2, after 1:23.4"
    assert standing_sentence(standing, 3, game="gallery").startswith("1 of 3: bo (bot), score 24, playing")
    assert standing_sentence(standing, 3, "expert").startswith("1 of 3: bo (expert bot), 24 of 48")
    others = [structs.replace(standing, seat=seat, name=name) for seat, name in ((1, "ada"), (2, "bo"), (3, "bo #2"))]
    assert [racer.name for racer in with_unique_names([standing, *others])] == ["bo #4", "ada", "bo #2", "bo #2 #3"]
    assert clock(-5_040) == "-0:05.0"
    assert clock(0) == "0:00.0"
    assert clock(3_600_000) == "60:00.0"


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(number, "move") for number in (0, 1, 2, 1.0, 0.5)] == [
        "0 moves",
        "1 move",
        "2 moves",
        "1 move",
        "0.5 moves",
    ]


def test_results_are_scores_in_games_played_for_their_score() -> None:
    assert achieved("gallery", 31, 96) == "score 65"
    assert achieved("corners", 31, 48) == "31 of 48"
    assert achieved("a-newer-game", 31, 48) == "31 of 48"


def test_only_secret_deals_are_shortened() -> None:
    assert short_deal(f"corners:{'9f3c02b1' * 8}.12") == "corners:9f3c02b1…"
    assert short_deal("corners:42") == "corners:42"


@pytest.mark.parametrize(("zone", "text"), [("UTC", "2027-04-02 00:30 UTC"), ("CET-1", "2027-04-02 01:30 CET")])
def test_times_are_in_the_zone_of_this_machine(zone: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert local_time(1_806_625_800_000) == text
