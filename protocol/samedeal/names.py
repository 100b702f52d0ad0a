"""Names: what a person may be called, and nothing that could deceive a reader or a terminal."""

import unicodedata

from samedeal.errors import Refused

LONGEST = 24
# Letters, marks, numbers, punctuation, symbols, and the plain space; so no controls, formats (bidirectional and
# zero-width ones among them), surrogates, private or unassigned code points.
_CATEGORIES = frozenset("LMNPS")
# They choose between the text and the emoji form of the character before them, and are dropped.
_PRESENTATION = str.maketrans("", "", "\ufe0e\ufe0f")
# Unicode's Default_Ignorable_Code_Point, as far as the categories allow it.
_IGNORABLE = (
    *("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180c", "\u180d", "\u180f", "\u3164", "\uffa0"),
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
)
# Blank without being ignorable: the blank of braille, the object replacement character, the filler of Khitan, a thick
# stroke of Duployan that is none by itself, the blanks of Egyptian, and a note without a head.
_BLANK = ("\u2800", "\ufffc", "\U00016fe4", "\U0001bc9d", "\U00013441", "\U00013442", "\U0001d159")
_INVISIBLE = frozenset((*_IGNORABLE, *_BLANK))
# They show only in what they do to the letter after them.
_STACKERS = frozenset("\u1039\u17d2\u1a60\u2d7f\uaaf6\U00010a3f\U00011133\U000113d0\U0001193e\U00011a47\U00011a99")
_MARKS_IN_A_ROW = 2


def normalised(name: str) -> str:
    """The name in Unicode's form NFC, without spaces at its ends and without variation selectors of emoji.

    Raises Refused("bad-message") for a bad one.
    """
    name = unicodedata.normalize("NFC", name.translate(_PRESENTATION).strip(" "))
    if not 1 <= len(name) <= LONGEST:
        raise Refused("bad-message", f"A name has 1 to {LONGEST} characters.")
    room = 0  # for marks: none at the beginning and after a space, where they would sit on what is not theirs
    base = " "
    for character, following in zip(name, f"{name[1:]} ", strict=True):
        category = unicodedata.category(character)
        if category[0] == "M":
            room = room - 1 if _fits(character, base) else -1
        else:
            room, base = 0 if character == " " else _MARKS_IN_A_ROW, character
        stacks_nothing = character in _STACKERS and unicodedata.category(following) != "Lo"
        bad = (category[0] not in _CATEGORIES and character != " ") or character in _INVISIBLE
        if bad or room < 0 or stacks_nothing:
            raise Refused("bad-message", f"A name may not contain the character U+{ord(character):04X} there.")
    return name


def _fits(mark: str, base: str) -> bool:
    """Whether a mark belongs on a character: one that is of a single script, as its name says, shows on no other."""
    script, _, rest = unicodedata.name(mark).partition(" ")
    return script == "COMBINING" or "COMBINING" in rest or unicodedata.name(base, "").startswith(script)
