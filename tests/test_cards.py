"""Cards and the unshuffled decks."""

import msgspec
import pytest

from samedeal.cards import KING, RANKS, SUITS, Card, adjacent, pack


def test_a_card_is_its_notation_and_knows_rank_and_suit() -> None:
    card = Card("TD")
    assert card == "TD"
    assert (card.rank, card.suit) == (10, "D")


@pytest.mark.parametrize("text", ["", "A", "1S", "10S", "SA", "as", "AS ", "??", "A♠"])
def test_other_texts_are_no_cards(text: str) -> None:
    with pytest.raises(ValueError, match="is not a card"):
        Card(text)


def test_the_text_of_a_card_is_a_plain_string() -> None:
    card = Card("QH")
    assert type(card.text) is str
    assert msgspec.json.encode(card.text) == b'"QH"'


def test_a_pack_lists_each_suit_from_ace_to_king() -> None:
    assert " ".join(pack()[:14]) == "AS 2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS AH"
    assert "".join(card.suit for card in pack()[:: len(RANKS)]) == SUITS == "SHCD"
    assert len(set(pack())) == 52


def test_a_pack_of_two_decks_is_one_after_the_other() -> None:
    assert pack(2) == pack() + pack()


def test_king_and_ace_are_neighbours() -> None:
    assert adjacent(Card("KS"), Card("AH"))
    assert adjacent(Card("AH"), Card("KS"))


def test_every_card_has_two_neighbours_in_each_suit() -> None:
    for card in pack():
        assert {(other.rank - card.rank) % KING for other in pack() if adjacent(card, other)} == {1, 12}
        assert sum(adjacent(card, other) for other in pack()) == 8
