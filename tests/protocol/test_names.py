"""Names: valid and invalid ones, invisible characters, and idempotent normalisation. Older logs still verify."""

import unicodedata
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal.errors import Refused
from samedeal.names import JOINERS, LONGEST, normalised, without_joiners
from samedeal.proof.verification import verify
from samedeal.race.events import Joined
from support.finished_races import finished

IGNORABLE = [
    *(range(0xAD, 0xAE), range(0x34F, 0x350), range(0x61C, 0x61D), range(0x115F, 0x1161), range(0x17B4, 0x17B6)),
    *(range(0x180B, 0x1810), range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070)),
    *(range(0x3164, 0x3165), range(0xFE00, 0xFE10), range(0xFEFF, 0xFF00), range(0xFFA0, 0xFFA1)),
    *(range(0xFFF0, 0xFFF9), range(0x1BCA0, 0x1BCA4), range(0x1D173, 0x1D17B), range(0xE0000, 0xE1000)),
]
"""Default_Ignorable_Code_Point, as in DerivedCoreProperties.txt of Unicode 16."""
BLANK = "\u2800\ufffc\U0001d159\U00016fe4\U00013441\U00013442\U0001bc9d"
STACKERS = "\u1039\u17d2\u1a60\u2d7f"


def called(name: str) -> str | None:
    """The normalised name, or None if it is refused."""
    try:
        return normalised(name)
    except Refused:
        return None


@pytest.mark.parametrize(
    "name",
    [
        *("Ada", "x", "Ada Lovelace", "O'Brien-Smith", "R2-D2", "<b>&amp;</b>", "race:{x}*", "½ ™ €"),
        *("Zoë", "Łukasz", "Дмитрий", "李小龍", "עברית", "العربية", "한국어"),
        *("हिन्दी", "प्रिया", "ไทย", "กิ่งแก้ว", "עִבְרִית", "مُحَمَّد", "தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം"),
        *("বাংলা", "ગુજરાતી", "ਪੰਜਾਬੀ", "ଓଡ଼ିଆ", "සිංහල", "မြန်မာ", "မန္တလေး", "ខ្មែរ", "ສະບາຍດີ", "བོད་ཡིག", "አማርኛ", "ދިވެހި"),
        *("ひらがな", "か\u3099", "Nguyễn", "Ş\u0323ule", "🇳🇴", "👍🏽", "1\u20e3"),
        *("🂡 ace", "🐙", "❤", "e\u0323\u0302"),
        *("علی\u200cرضا", "عَلِی\u200cرضا", "ශ්\u200dරියානි", "র\u200d্যাপ", "क्\u200dष", "क्\u200cष"),
        *("👩\u200d🚀 Ada", "👩🏽\u200d🚀", "👨\u200d👩\u200d👧", "❤\u200d🔥"),
        "n" * LONGEST,
        "💥" * LONGEST,
    ],
)
def test_valid_names_are_accepted(name: str) -> None:
    assert normalised(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    ("name", "is_called"),
    [("  Ada  ", "Ada"), ("Zoe\u0308", "Zoë"), ("\u212bke", "Åke"), ("가", "가"), ("a  b", "a  b")],
)
def test_names_are_normalised(name: str, is_called: str) -> None:
    assert normalised(name) == is_called


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "   ", "n" * (LONGEST + 1), "\u0958" * 13),
        *("a\nb", "a\tb", "a\x00b", "a\x1b[31mb", "a\x7fb", "a\x85b", "\ra"),
        *("\u202eevil", "a\u202db", "a\u2066b", "a\u2069b", "a\u200eb", "a\u061cb"),
        *("a\u200bb", "a\u200cb", "a\u200db", "a\u2060b", "a\ufeffb", "a\u00adb"),
        *(
            "\u200cعلی",
            "علی\u200c",
            "علی\u200c\u200cرضا",
            "علی\u200dرضا",
            "علی\u200c1",
            "ad\u200c\u0323a",
            "क्\u200d",
            "क\u200cष",
        ),
        *("\u200d🚀", "👩\u200d", "👩\u200d\u200d🚀", "👩\u200dAda", "👩\u200c🚀", "1\u200d🚀"),
        *("a\u00a0b", "a\u2003b", "a\u3000b", "a\u2028b", "a\u2029b"),
        *("\ud800", "a\udfffb", "\ue000", "\U000e0041", "\U0010ffff", "\u0378"),
        *("Z\u0335\u0322\u0327", "x\u0300\u0301\u0302", "a" + "\u0489" * 10),
        *("\u3164", "\u115f\u1160", "a\uffa0b", "\u2800", "a\u034fb"),
        *("\u0301", "\u0301a", "\ufe0f", "a \u0301b"),
    ],
)
def test_deceptive_names_are_refused(name: str) -> None:
    with pytest.raises(Refused) as refusal:
        normalised(name)
    assert refusal.value.code == "bad-message"
    assert refusal.value.text.isprintable()


@settings(derandomize=True, max_examples=500)
@given(st.text(st.characters() | st.sampled_from(f"{JOINERS}یक्👩"), max_size=30))
def test_a_name_that_is_accepted_is_accepted_again_unchanged(name: str) -> None:
    try:
        accepted = normalised(name)
    except Refused:
        return
    assert normalised(accepted) == accepted
    assert without_joiners(accepted).isprintable()
    assert 1 <= len(accepted) <= LONGEST
    assert accepted.encode()


# Invisible characters.


def test_ignorable_characters_do_not_make_a_different_name() -> None:
    for number in chain.from_iterable(IGNORABLE):
        for name in (f"Ada{chr(number)}", f"A{chr(number)}da", f"{chr(number)}Ada"):
            assert called(name) in (None, "Ada"), f"U+{number:04X}"
        assert called(chr(number)) is None, f"U+{number:04X}"


@pytest.mark.parametrize("character", [*BLANK, *STACKERS])
def test_blank_characters_are_refused(character: str) -> None:
    for name in (character, f"Ada{character}", f"A{character}da", f"Ada {character}"):
        assert called(name) is None


@pytest.mark.parametrize("selector", ["\ufe0e", "\ufe0f"])
def test_emoji_presentation_selectors_are_dropped(selector: str) -> None:
    assert called(f"❤{selector}") == "❤"
    assert called(f" {selector}Ada {selector} ") == "Ada"
    assert called(f"1{selector}\u20e3") == "1\u20e3"
    assert called(selector) is None


def test_a_replay_with_a_name_that_is_now_invalid_still_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.finished_races.NAMES", ("Ada\U0001d159", "Ada\u17d2", "\ufe0f"))
    replay = finished("corners")
    joined = [entry.event.name for entry in replay.entries if isinstance(entry.event, Joined)]
    assert joined[0] == "Ada\U0001d159"
    assert all(fact.holds for fact in verify(replay))


def test_a_mark_cannot_follow_a_letter_of_another_script() -> None:
    for mark in ("\u093c", "\u0e34", "\u05bc", "\u064e", "\u1a60", "\u1bab", "\u0d4d"):
        assert called(f"Ada{mark}") is None, unicodedata.name(mark)
    assert called("Ada\u0323") == "Ad\u1ea1"
