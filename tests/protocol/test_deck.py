"""Shuffling, byte for byte: implementations in other languages must produce the same values."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal.cards import ACE, KING, RANKS, SUITS, pack, rank_of, suit_of
from samedeal.deck import Words
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from support.races_by_hand import opened
from support.vectors import VECTORS


def test_the_first_word_of_a_label() -> None:
    first = VECTORS["first_word"]
    assert Words(first["label"]).below(2**32) == first["word"]


@pytest.mark.parametrize("label", VECTORS["deals"])
def test_a_recorded_deal(label: str) -> None:
    slug, seed = label.split("|")
    game, words, shuffles = GAMES[slug], Words(label), 1
    while not game.playable(cards := game.known_cards(seed) or words.shuffled(game.pack())):
        shuffles += 1
    assert " ".join(cards) == VECTORS["deals"][label]
    assert shuffles == VECTORS["shuffles"].get(label, 1)
    assert game.from_seed(seed) == game.dealt(cards)


def test_a_word_beyond_the_largest_multiple_is_skipped() -> None:
    label, n = "biased", 2**31 + 1
    word = Words(label).below
    plain = [word(2**32) for _ in range(64)]
    picked = Words(label)
    expected = [value for value in plain if value < n]
    assert any(value >= n for value in plain)
    assert [picked.below(n) for _ in expected] == expected


@settings(derandomize=True, max_examples=50)
@given(label=st.text(), n=st.integers(1, 2**32))
def test_numbers_are_below_their_bound(label: str, n: int) -> None:
    words = Words(label)
    assert all(0 <= words.below(n) < n for _ in range(8))


@settings(derandomize=True, max_examples=50)
@given(label=st.text())
def test_a_shuffle_is_a_permutation_and_deterministic(label: str) -> None:
    shuffled = Words(label).shuffled(pack())
    assert sorted(shuffled) == sorted(pack())
    assert shuffled == Words(label).shuffled(pack())


def test_each_place_is_about_equally_likely_for_a_card() -> None:
    words, places = Words("fair"), [0] * 52
    for _ in range(2600):
        places[words.shuffled(pack()).index("AS")] += 1
    chi_squared = sum((count - 50) ** 2 / 50 for count in places)
    assert chi_squared < 87  # 51 degrees of freedom: a fair shuffle exceeds this once in a thousand labels


def test_a_seed_with_a_bar_is_refused() -> None:
    with pytest.raises(ValueError, match="a text without"):
        GAMES["corners"].from_seed("1|2")


@pytest.mark.parametrize("seed", ["ms:", "ms:0", "ms:01", "ms:1000001", "ms:-1", "ms:1 ", "ms:١", "ms:1\n"])
def test_a_malformed_number_of_a_microsoft_deal_is_refused(seed: str) -> None:
    with pytest.raises(ValueError, match="not a deal of Microsoft FreeCell"):
        GAMES["freecell"].from_seed(seed)
    with pytest.raises(Refused, match="The deal or variant is not known here"):
        opened("freecell", seed)
    assert GAMES["corners"].from_seed(seed) == GAMES["corners"].from_seed(seed)


def test_the_check_values_of_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "bots" / "notation.md").read_text()
    assert f"The first word of `{VECTORS['first_word']['label']}` is {VECTORS['first_word']['word']}." in text
    listed = dict(re.findall(r"^\| `([a-z-]+:\d+)` \| ((?:\w\w ){9}\w\w)", text, re.MULTILINE))
    assert listed.keys() == {f"{slug}:1" for slug in GAMES} | {"gallery:66"}
    for code, cards in listed.items():
        assert VECTORS["deals"][code.replace(":", "|")].startswith(cards)


def test_rank_and_suit_are_read_from_the_notation() -> None:
    assert (rank_of("TD"), suit_of("TD")) == (10, "D")
    assert [rank_of(card) for card in pack()] == 4 * list(range(ACE, KING + 1))


@pytest.mark.parametrize("text", ["", "A", "1S", "10S", "SA", "as", "AS ", "??", "A♠"])
def test_invalid_cards_raise_key_error(text: str) -> None:
    for about in (rank_of, suit_of):
        with pytest.raises(KeyError):
            about(text)


def test_a_pack_lists_each_suit_from_ace_to_king() -> None:
    assert " ".join(pack()[:14]) == "AS 2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS AH"
    assert "".join(suit_of(card) for card in pack()[:: len(RANKS)]) == SUITS == "SHCD"
    assert len(set(pack())) == 52


def test_a_pack_of_two_decks_is_one_after_the_other() -> None:
    assert pack(2) == pack() + pack()
