"""Names: what a person may be called, and nothing that could deceive a reader or a terminal."""

import unicodedata

from samedeal.errors import Refused

LONGEST = 24
# Letters, marks, numbers, punctuation, symbols, and the plain space; so no controls, formats (bidirectional and
# zero-width ones among them), surrogates, private or unassigned code points.
_CATEGORIES = frozenset("LMNPS")
_MARKS_IN_A_ROW = 2


def normalised(name: str) -> str:
    """The name in Unicode's form NFC without spaces at its ends. Raises Refused("bad-message") for a bad one."""
    name = unicodedata.normalize("NFC", name.strip(" "))
    if not 1 <= len(name) <= LONGEST:
        raise Refused("bad-message", f"A name has 1 to {LONGEST} characters.")
    marks = 0
    for character in name:
        category = unicodedata.category(character)
        marks = marks + 1 if category[0] == "M" else 0
        if (category[0] not in _CATEGORIES and character != " ") or marks > _MARKS_IN_A_ROW:
            raise Refused("bad-message", f"A name may not contain the character U+{ord(character):04X} there.")
    return name
