"""Names: what a person may be called, and nothing that could deceive a reader or a terminal."""

import unicodedata

from samedeal.errors import Refused

LONGEST = 24
# Letters, marks, numbers, punctuation, symbols, and the plain space; so no controls, formats (bidirectional and
# zero-width ones among them), surrogates, private or unassigned code points.
_CATEGORIES = frozenset("LMNPS")
# Letters, marks and symbols all the same, but nothing is to be seen of them: fillers, joiners, the blank of braille.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_MARKS_IN_A_ROW = 2


def normalised(name: str) -> str:
    """The name in Unicode's form NFC without spaces at its ends. Raises Refused("bad-message") for a bad one."""
    name = unicodedata.normalize("NFC", name.strip(" "))
    if not 1 <= len(name) <= LONGEST:
        raise Refused("bad-message", f"A name has 1 to {LONGEST} characters.")
    room = 0  # for marks: none at the beginning and after a space, where they would sit on what is not theirs
    for character in name:
        category = unicodedata.category(character)
        room = room - 1 if category[0] == "M" else 0 if character == " " else _MARKS_IN_A_ROW
        if (category[0] not in _CATEGORIES and character != " ") or character in _INVISIBLE or room < 0:
            raise Refused("bad-message", f"A name may not contain the character U+{ord(character):04X} there.")
    return name
