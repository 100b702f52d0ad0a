"""Keyboards on which a key types another character: the keys of piles are places on the keyboard."""

import pytest

from samedeal.games.catalogue import GAMES
from samedeal_cli.state.race_keys import on_key
from support.example_states import finished, racing

LATIN = "qwertyuioasdfghjkzxcvbnm"
LAYOUTS = {
    "Caps Lock": LATIN.upper(),
    "full width": "".join(chr(ord(letter) + 0xFEE0) for letter in LATIN),
    "Cyrillic": "йцукенгшщфывапролячсмить",
    "Greek": ";ςερτυθιοασδφγηξκζχψωβνμ",
    "Hebrew": "/'קראטוןםשדגכעיחלזסבהנמצ",
}
"""What the keys type that have the letters of LATIN on a keyboard for English."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("slug", GAMES)
def test_keys_of_piles_work_on_every_keyboard(slug: str, layout: str) -> None:
    state = racing(slug)
    for key, typed in zip(LATIN, LAYOUTS[layout], strict=True):
        if key in state.selection.keys.values() and typed.isalpha():
            assert on_key(state, typed) == on_key(state, key), typed


def test_digits_of_a_french_keyboard_need_no_shift() -> None:
    state = racing("the-edge")
    for key, typed in zip("1234", "&é\"'", strict=True):
        assert on_key(state, typed) == on_key(state, key)


def test_signs_with_a_meaning_of_their_own_keep_it() -> None:
    over = finished("corners")
    assert on_key(over, "N") == on_key(over, "n") == on_key(over, "т")
    assert on_key(over, "/") == (over, None)


def test_a_second_unknown_key_is_answered_with_a_hint() -> None:
    state = racing("corners")
    for key, words in (("%", ""), ("f5", "beside its name"), ("%", "beside its name")):
        state, _ = on_key(state, key)
        assert state.notice
        assert "is not a key here." in state.notice.text
        assert words in state.notice.text
