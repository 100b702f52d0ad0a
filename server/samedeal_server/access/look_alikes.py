"""Look-alikes: which scripts a name mixes, and what it looks like to a reader who takes it for plain Latin letters."""

import re
import unicodedata
from collections.abc import Iterator
from string import ascii_lowercase, digits
from typing import Final

_JAPANESE: Final = frozenset({"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
_TOGETHER: Final = (
    _JAPANESE | {"LATIN"},
    frozenset({"CJK", "IDEOGRAPHIC", "BOPOMOFO", "LATIN"}),
    frozenset({"CJK", "IDEOGRAPHIC", "HANGUL", "LATIN"}),
)
"""The scripts that are commonly written together: the restriction level "highly restrictive" of Unicode TS 39."""
_COMMON: Final = frozenset({"DIGIT", "MODIFIER"})
"""The first words of the names of letters and digits that belong to no script."""
_LETTERS: Final[dict[str, str]] = {
    # Latin letter: letters that Unicode's list of confusable characters maps to it, in lower case without marks, small
    # capitals, and letters with strokes
    "a": "ɑαаᎪᗅꓮᴀ",
    "b": "ƅβвьᏏᏴᑲᖯᗷꓐꞵʙ",
    "c": "σсᏟᴄⲥꓚ",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓᴅđ",
    "e": "εеҽᎬⴹꓰꬲᴇ",
    "f": "ϝքᖴꓝꞙꬵғ",
    "g": "ƍɡԍցᏀᏳᶃꓖɢ",
    "h": "ηнһհᎻᏂᕼⲏꓧʜħ",
    "j": "ʝϳјᎫᒍꓙᴊ",
    "k": "κкᏦᛕⲕꓗᴋ",
    "l": "iıɩɪιіӏᎥꙇǀᏞᒪᛁⲓⳑⵏꓡꓲʟł",
    "m": "μϻмᎷᗰᛖⲙꓟᴍ",
    "n": "νոռⲛꓠɴ",
    "o": "οоօଠഠဝჿዐᴏᴑⲟⵔꓳꬽø",
    "p": "ρрᏢᑭⲣꓑᴘ",
    "q": "ԛգզⵕ",
    "r": "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ",
    "s": "ƽѕտᏕᏚꓢꜱ",
    "t": "τтᎢⲧꓔᴛŧ",
    "u": "ʋυսሀᑌᴜꓴꞟꭎꭒ",
    "v": "ѵᏙᐯᴠⴸꓦꛟ",
    "w": "ɯѡԝաᎳᏔᴡꓪ",
    "x": "χхᕁᕽᚷⲭⵝꓫꭓ",
    "y": "ɣʏγуүყᎩᎽᶌỿⲩꓬꭚ",
    "z": "ζᏃᴢꓜ",
}
_LOOKS_LIKE: Final = str.maketrans(
    {letter: latin for latin, letters in _LETTERS.items() for letter in letters}
    | dict(zip("01345789@$!|", "oleastbgasll", strict=True))
)
_ENCLOSED: Final = {
    first + index: letter for first in (0x1F150, 0x1F170, 0x1F1E6) for index, letter in enumerate(ascii_lowercase)
}
"""White letters on black circles and squares, and the letters of flags. NFKC replaces all other letters in shapes."""
_MOST_WORDS, _LONGEST_RUN = 24, 48
"""What is considered of a name whose characters stand for several letters each."""
_EDGES: Final = re.compile(r"^[!|]+|[!|]+$")


def scripts(name: str) -> list[str]:
    """Return the scripts of the letters and digits of a name, each by the first word of Unicode's character names.

    Styled letters such as fullwidth or mathematical ones count as plain ones.
    """
    characters = unicodedata.normalize("NFKC", name)
    written = [
        unicodedata.name(each, "").partition(" ")[0] for each in characters if each.isalpha() or each.isdecimal()
    ]
    return [script for script in dict.fromkeys(written) if script not in _COMMON]


def mixes_scripts(name: str) -> bool:
    """Return whether a name mixes scripts that are not commonly written together, so that it can imitate another."""
    used = set(scripts(name))
    return len(used) > 1 and not any(used <= together for together in _TOGETHER)


def skeleton(word: str) -> str:
    """Return the Latin letters that a word looks like. Words that look alike have the same skeleton.

    Case, accents, spaces and signs do not count; digits and signs that stand for letters do, such as ``1`` and ``@``.
    """
    folded = _decomposed(unicodedata.normalize("NFKC", word).casefold()).casefold()
    plain = "".join(each for each in folded.translate(_LOOKS_LIKE) if each.isalnum())
    return plain.replace("rn", "m").replace("vv", "w")


def words(name: str) -> Iterator[str]:
    """Yield the skeleton of every run of consecutive words in a name, also without the digits around it.

    Spaces and signs separate words, so ``a d m i n`` contains ``admin``.
    """
    found = [_EDGES.sub("", part) for part in re.split(r"[^\w@$!|]+|_+", _decomposed(name))]
    for start in range(len(found[:_MOST_WORDS])):
        run = ""
        for word in found[start:]:
            run += word
            if len(run) > _LONGEST_RUN:
                break
            yield skeleton(run)
            yield skeleton(run.rstrip(digits))
            yield skeleton(run.strip(digits))


def _decomposed(text: str) -> str:
    """Return a text in compatibility form, with marks apart from their letters and letters out of their shapes."""
    return unicodedata.normalize("NFKD", text).translate(_ENCLOSED)
