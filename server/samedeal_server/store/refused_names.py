"""Refused names: those that imitate the server or its operator, also with look-alikes, and the operator's own list."""

import logging
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Final, NamedTuple

import regex

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal.race.server_bots import SERVER_BOTS
from samedeal_server.settings import SettingsError

logger = logging.getLogger(__name__)

RESERVED: Final = ("admin", "administrator", "moderator", "operator", "same deal", "server", "staff", "system")
"""Words that no name may contain."""
MAX_BYTES: Final = 2**20
"""The maximum size of the operator's list."""


class _Words(NamedTuple):
    """What no name may contain, as skeletons: whole words, and parts of words."""

    whole: frozenset[str]
    parts: tuple[str, ...]


class RefusedNames:
    """Decides whether new guests may have a name. Names of existing guests and in replays are not affected."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` is the operator's list. Raises SettingsError if it cannot be used."""
        self._reserved = _Words(frozenset(map(skeleton, RESERVED)), ())
        self._bots = frozenset(map(skeleton, SERVER_BOTS))
        self._file, self._stamp, self._listed = file, _stamp(file), _read(file)

    def check(self, name: str) -> None:
        """Raise Refused("name-refused") if new guests may not have a name, without repeating any list.

        Raises Refused("bad-message") for an invalid name. Reads the operator's list again if it has changed.
        """
        name = normalised(name)
        if mixes_scripts(name):
            mixed = " and ".join(scripts(name)[:2])
            text = f"A name must be written in one script; this one mixes {mixed}. Use only one of them."
            raise Refused("name-refused", text)
        self._reread()
        joined, runs = skeleton(name), set(words(name))
        if joined in self._bots:
            text = "This is the name of one of the server's bots. Add something to it, such as an initial."
            raise Refused("name-refused", text)
        if not runs.isdisjoint(self._reserved.whole | self._listed.whole) or any(
            part in joined for part in self._listed.parts
        ):
            raise Refused("name-refused", "This name is not available on this server. Choose another one.")

    def _reread(self) -> None:
        """Read the operator's list again if it has changed. A list that cannot be used leaves the last one in force."""
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._listed = _read(self._file)
            logger.info("read SAMEDEAL_REFUSED_NAMES again")
        except SettingsError as error:
            logger.error("the last list of refused names stays in force: %s", error)


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """Return what changes whenever a file changes, or None if there is none."""
    try:
        stat = file.stat() if file else None
    except OSError:
        return None
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat else None


def _read(file: Path | None) -> _Words:
    if file is None:
        return _Words(frozenset(), ())
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise SettingsError(f"Cannot read SAMEDEAL_REFUSED_NAMES {file}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"SAMEDEAL_REFUSED_NAMES {file} is not UTF-8 text: {error.reason}.") from error
    if len(data) > MAX_BYTES:
        raise SettingsError(f"SAMEDEAL_REFUSED_NAMES {file} has more than {MAX_BYTES} bytes.")
    return _parse(file, text.splitlines())


def _parse(file: Path, lines: Iterable[str]) -> _Words:
    whole, parts = set[str](), list[str]()
    for number, line in enumerate(lines, start=1):
        if not (word := line.partition("#")[0].strip()):
            continue
        is_part = len(word) > 2 and word.startswith("*") and word.endswith("*")
        bare = word[1:-1] if is_part else word
        if "*" in bare or not (looks := skeleton(bare)):
            expected = "a word, or *word* for names that contain it anywhere"
            raise SettingsError(f"SAMEDEAL_REFUSED_NAMES {file}, line {number}: expected {expected}.")
        if is_part:
            parts.append(looks)
        else:
            whole.add(looks)
    return _Words(frozenset(whole), tuple(parts))


_SCRIPTS: Final = """
    Latin Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul
    Hebrew Hiragana Kannada Katakana Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan

    Adlam Ahom Anatolian_Hieroglyphs Avestan Balinese Bamum Bassa_Vah Batak Beria_Erfe Bhaiksuki Brahmi Buginese Buhid
    Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic Cuneiform Cypriot Cypro_Minoan
    Deseret Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Garay Glagolitic Gothic Grantha
    Gunjala_Gondi Gurung_Khema Hanifi_Rohingya Hanunoo Hatran Imperial_Aramaic Inscriptional_Pahlavi
    Inscriptional_Parthian Javanese Kaithi Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khojki Khudawadi Kirat_Rai
    Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Mandaic Manichaean Marchen Masaram_Gondi
    Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani
    Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal
    Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic
    Old_Uyghur Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic
    Samaritan Saurashtra Sharada Shavian Siddham Sidetic Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri
    Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tai_Yo Takri Tangsa Tangut Tifinagh Tirhuta Todhri Tolong_Siki
    Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
"""
"""All scripts with letters, those that are written most first: a character of several scripts is named by the first."""
_TOGETHER: Final = ("Han Hiragana Katakana Latin", "Han Bopomofo Latin", "Han Hangul Latin")
"""The scripts that are commonly written together: the restriction level "highly restrictive" of Unicode TS 39."""


def _letters(scripts: str) -> str:
    """Return a pattern of characters that belong to one of some scripts."""
    return "[" + "".join(rf"\p{{Script_Extensions={script}}}" for script in scripts.split()) + "]"


_SCRIPT: Final = regex.compile("|".join(f"(?P<{script}>{_letters(script)})" for script in _SCRIPTS.split()))
_UNMIXED: Final = regex.compile(
    "|".join(f"{_letters(f'{scripts} Common')}*+" for scripts in (*_SCRIPTS.split(), *_TOGETHER))
)
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
    """Return the scripts of the letters and digits of a name."""
    found = (letter.lastgroup.replace("_", " ") for letter in _SCRIPT.finditer(_written(name)))
    return list(dict.fromkeys(found))


def mixes_scripts(name: str) -> bool:
    """Return whether a name mixes scripts that are not commonly written together, so that it can imitate another."""
    return not _UNMIXED.fullmatch(_written(name))


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


def _written(name: str) -> str:
    """Return the letters and digits of a name. Styled ones such as fullwidth or mathematical ones become plain ones."""
    return "".join(each for each in unicodedata.normalize("NFKC", name) if each.isalpha() or each.isdecimal())


def _decomposed(text: str) -> str:
    """Return a text in compatibility form, with marks apart from their letters and letters out of their shapes."""
    return unicodedata.normalize("NFKD", text).translate(_ENCLOSED)
