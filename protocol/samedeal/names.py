"""Names of people: validation against characters that deceive readers or break terminals, and unique names."""

import unicodedata
from collections import Counter
from collections.abc import Mapping

from samedeal.errors import Refused

LONGEST = 24
# Letters, marks, numbers, punctuation, symbols, and the plain space. This excludes controls, format characters (such as
# bidirectional ones; the joiners have rules of their own), surrogates, private-use and unassigned code points.
_CATEGORIES = frozenset("LMNPS")
# Variation selectors for the text or emoji form of the preceding character; they are dropped.
_PRESENTATION = str.maketrans("", "", "\ufe0e\ufe0f")
# The characters with Unicode's Default_Ignorable_Code_Point property in the categories above.
_IGNORABLE = (
    *("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180c", "\u180d", "\u180f", "\u3164", "\uffa0"),
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
)
# Blank but not ignorable: braille blank, object replacement character, Khitan filler, Duployan thick letter selector,
# Egyptian blanks, and the null notehead.
_BLANK = ("\u2800", "\ufffc", "\U00016fe4", "\U0001bc9d", "\U00013441", "\U00013442", "\U0001d159")
_INVISIBLE = frozenset((*_IGNORABLE, *_BLANK))
# Visible only through their effect on the following letter.
_STACKERS = frozenset("\u1039\u17d2\u1a60\u2d7f\uaaf6\U00010a3f\U00011133\U000113d0\U0001193e\U00011a47\U00011a99")
JOINERS = "\u200c\u200d"
"""Invisible characters that change the shapes of the letters around them, or make one emoji out of several: the zero
width non-joiner and joiner."""
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_VIRAMA = 9  # the combining class of the marks that join two consonants
_MARKS_IN_A_ROW = 2


def normalised(name: str) -> str:
    """Return the name in NFC, without leading and trailing spaces and without emoji variation selectors.

    Raises Refused("bad-message") for an invalid name.
    """
    name = unicodedata.normalize("NFC", name.translate(_PRESENTATION).strip(" "))
    if not 1 <= len(name) <= LONGEST:
        raise Refused("bad-message", f"A name must have 1 to {LONGEST} characters.")
    marks_left = 0  # none at the start and after a space, where marks would attach to other text
    base = " "
    for previous, character, following in zip(f" {name}", name, f"{name[1:]} ", strict=False):
        if character in JOINERS and _joins(character, base, previous, following):
            continue
        category = unicodedata.category(character)
        if category[0] == "M":
            marks_left = marks_left - 1 if _fits(character, base) else -1
        else:
            marks_left, base = 0 if character == " " else _MARKS_IN_A_ROW, character
        stacks_nothing = character in _STACKERS and unicodedata.category(following) != "Lo"
        bad = (category[0] not in _CATEGORIES and character != " ") or character in _INVISIBLE
        if bad or marks_left < 0 or stacks_nothing:
            number = f"U+{ord(character):04X}"
            raise Refused("bad-message", f"A name cannot contain the character {number} in this place. Remove it.")
    return name


def seat_marks(names: Mapping[int, str]) -> dict[int, str]:
    """Return the suffixes that make names unique, by seat: `` #2``, or nothing.

    A name that contains ``#`` always gets one, so that no name can imitate another. Joiners make no difference.
    """
    times = Counter(map(without_joiners, names.values()))
    return {
        seat: f" #{seat}" if times[without_joiners(name)] > 1 or "#" in name else "" for seat, name in names.items()
    }


def without_joiners(name: str) -> str:
    """Return a name without joiners, in which names can look the same that are not."""
    return name.translate(dict.fromkeys(map(ord, JOINERS)))


def _joins(joiner: str, base: str, previous: str, following: str) -> bool:
    """Return whether a joiner is where people write it: between Arabic letters, next to a virama, or between emoji.

    ``base`` is the last character before it that is not a mark.
    """
    is_letter = unicodedata.category(following)[0] == "L"
    if unicodedata.combining(previous) == _VIRAMA:
        return is_letter
    if joiner == JOINERS[0]:
        return is_letter and unicodedata.bidirectional(base) == unicodedata.bidirectional(following) == "AL"
    if unicodedata.combining(following) == _VIRAMA:
        return unicodedata.category(previous)[0] == "L"
    is_emoji = unicodedata.category(previous) == "So" or previous in _SKIN_TONES
    return is_emoji and unicodedata.category(following) == "So"


def _fits(mark: str, base: str) -> bool:
    """Return whether a mark can combine with a character. A mark whose name states a script requires that script."""
    script, _, rest = unicodedata.name(mark).partition(" ")
    return script == "COMBINING" or "COMBINING" in rest or unicodedata.name(base, "").startswith(script)
