"""Names: examples of valid and invalid names, and idempotent normalisation."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal.errors import Refused
from samedeal.names import LONGEST, normalised


@pytest.mark.parametrize(
    "name",
    [
        *("Ada", "x", "Ada Lovelace", "O'Brien-Smith", "R2-D2", "<b>&amp;</b>", "race:{x}*", "½ ™ €"),
        *("Zoë", "Łukasz", "Дмитрий", "李小龍", "ひらがな", "עברית", "العربية", "हिन्दी", "ไทย", "한국어"),
        *("🂡 ace", "🐙", "❤", "e\u0323\u0302"),
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
        *("a\u200bb", "a\u200cb", "a\u200db", "a\u2060b", "a\ufeffb", "a\u00adb", "👨\u200d👩"),
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


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.text(st.characters(), max_size=30))
def test_a_name_that_is_accepted_is_accepted_again_unchanged(name: str) -> None:
    try:
        accepted = normalised(name)
    except Refused:
        return
    assert normalised(accepted) == accepted
    assert accepted.isprintable()
    assert 1 <= len(accepted) <= LONGEST
    assert accepted.encode()
