"""Keyboards on which a key types another character: the keys of piles are places on the keyboard."""

import pytest

from samedeal.games.catalogue import GAMES
from samedeal_cli.state.race_keys import on_key
from support.example_states import racing

LATIN = "qwertyuioasdfghjkzxcvbnm"
LAYOUTS = {
    "Caps Lock": LATIN.upper(),
    "full width": "".join(chr(ord(letter) + 0xFEE0) for letter in LATIN),
    "Cyrillic": "йцукенгшщфывапролячсмить",
    "Greek": ";ςερτυθιοασδφγηξκζχψωβνμ",
    "Hebrew": "/'קראטוןםשדגכעיחלזסבהנמצ",
}
"""What the keys type that have the letters of LATIN on a keyboard for English."""


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="F-F11")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("slug", GAMES)
def test_keys_of_piles_work_on_every_keyboard(slug: str, layout: str) -> None:
    state = racing(slug)
    for key, typed in zip(LATIN, LAYOUTS[layout], strict=True):
        if key in state.selection.keys.values() and typed.isalpha():
            assert on_key(state, typed) == on_key(state, key), typed
