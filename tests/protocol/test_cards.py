"""Cards and the unshuffled decks."""

import pytest

from samedeal.cards import ACE, KING, RANKS, SUITS, adjacent, pack, rank_of, suit_of


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


def test_every_card_is_adjacent_to_two_cards_in_each_suit() -> None:
    for card in pack():
        assert {(rank_of(other) - rank_of(card)) % KING for other in pack() if adjacent(card, other)} == {1, 12}
        assert sum(adjacent(card, other) for other in pack()) == 8
