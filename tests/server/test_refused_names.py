"""New guests cannot take names that imitate the server, mix scripts, or are on the operator's list."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from samedeal.errors import Refused
from samedeal.race.server_bots import SERVER_BOTS
from samedeal.wire import messages as m
from samedeal_server.settings import SettingsError
from samedeal_server.store.refused_names import MAX_BYTES, RefusedNames, mixes_scripts
from support.http_api import problem
from support.logged_server import Line, LoggedServer, request
from support.sessions import refused


def why(names: RefusedNames, name: str) -> str:
    """Return why a name is refused, or nothing."""
    try:
        names.check(name)
    except Refused as error:
        return error.text if error.code == "name-refused" else ""
    return ""


@pytest.mark.parametrize(
    "name",
    [
        *(
            "admin",
            "ADMIN",
            "adm1n",
            "Admin 2",
            "admin2",
            "1admin2",
            "a d m i n",
            "xX_admin_Xx",
            "!admin!",
            "ádmin",
            "I am a d m i n",
        ),
        *(
            "Same Deal",
            "samedeal",
            "s4me-dea1",
            "Same Deal Team",
            "Server",
            "5erver",
            "$erver",
            "rnoderator",
            "moderat0r",
        ),
        *("ａｄｍｉｎ", "𝐚𝐝𝐦𝐢𝐧", "ᴀᴅᴍɪɴ", "ađmin", "the operator", "ѕегѵег"),
        *("ⓐⓓⓜⓘⓝ", "🄰🄳🄼🄸🄽", "🅐🅓🅜🅘🅝", "🅰dmin", "Mr 🅰🅳🅼🅸🅽", "🇦🇩🇲🇮🇳", "🅹oker"),
        *SERVER_BOTS,
        *("J0ker", "DEUCE", "ad🅼\u200d🅸n"),
    ],
)
def test_imitations_of_the_server_are_refused(name: str) -> None:
    assert why(RefusedNames(), name)


@pytest.mark.parametrize(
    "name",
    ["аda", "Ꭺda", "Ωmega", "мoderator", "σадмин", "ада a", "DJ Вася", "ᎠΑ", "ada가あ", "ada२", "علی১", "adaـ", "ᛁ𐌰"],
)
def test_names_that_mix_scripts_are_refused(name: str) -> None:
    assert "written in one script" in why(RefusedNames(), name)


@pytest.mark.parametrize(
    "name",
    [
        *("ada", "Zoë", "José", "nguyễn", "O'Brien", "Dr. Ćosić", "ada #2", "ada ♥", "⚡️ada", "①②", "l4u4", "1337"),
        "ada 🇮🇹",
        *("Вася", "Ада 7", "Ωμέγα", "אבא", "مريم", "मीरा", "สมชาย", "ᎠᎣᎸ", "Արամ", "ანა", "ሰላም", "தமிழ்"),
        *("田中", "田中ada", "らーめん Ramen", "ヨシ々", "김철수 Kim", "漢字 한글 abc", "ㄅㄆ 漢 a"),
        *("Badminton", "Systematic", "Observer", "The Joker", "Adminton"),
        *("O\u2019Brien", "Anne\u2011Marie", "\u02bbOkina", "さくらー", "İsmail", "Ælfrēd", "Đặng Thị", "李小龍 Bruce"),
        *("Staffan", "Sergei Systemov", "Modesto", "Trey Songz", "अमित२०", "সুমন১২"),
        *("محمد١٢٣", "علی۱۳۷۰", "ދިވެހި١٢", "𑄌𑄋𑄴𑄟১২", "ᛁᚾᚷ", "ⵣ"),
        *("علی\u200cرضا", "ශ්\u200dරියානි", "র\u200d্যাপ", "क्\u200dष", "👩\u200d🚀 Ada", "👨\u200d👩\u200d👧"),
    ],
)
def test_honest_names_are_accepted(name: str) -> None:
    assert why(RefusedNames(), name) == ""


def test_every_letter_has_a_script() -> None:
    letters = filter(str.isalpha, map(chr, range(sys.maxunicode + 1)))
    assert [letter for letter in letters if mixes_scripts(letter)] == []


def test_the_name_of_a_bot_is_refused_with_the_reason() -> None:
    assert "one of the server's bots" in why(RefusedNames(), "Trey")


def test_invalid_names_are_refused_as_before() -> None:
    with pytest.raises(Refused) as caught:
        RefusedNames().check("\u202eada")
    assert caught.value.code == "bad-message"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "names.txt"
    path.write_text("# the club's list\n\nzonk  # rude here\n*blorp*\nTwo Words\n")
    return path


@pytest.mark.parametrize(
    "name", ["zonk", "Z0NK", "Mr Zonk 3", "z.o.n.k", "superblorping", "bl0rp", "two words", "TwoWords"]
)
def test_words_on_the_list_are_refused(file: Path, name: str) -> None:
    text = why(RefusedNames(file), name)
    assert text == why(RefusedNames(), "admin"), "the refusal shows which list a name is on"


@pytest.mark.parametrize("name", ["zonker", "bazonk", "two", "words", "ada"])
def test_other_names_are_accepted(file: Path, name: str) -> None:
    assert why(RefusedNames(file), name) == ""


def test_a_changed_list_applies_to_the_next_name(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = RefusedNames(file)
    file.write_text("quux\n")
    assert why(names, "quux")
    assert why(names, "zonk") == ""
    file.write_text("*\n")
    assert why(names, "quux"), "a damaged list replaced the last good one"
    assert "line 1: expected a word" in caplog.text
    file.unlink()
    assert why(names, "quux")
    file.write_text("zonk and more\nzonk\n")
    assert why(names, "quux") == ""
    assert why(names, "zonk")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"ok\n?.\n", "line 2: expected a word"),
        (b"a*b\n", "line 1: expected a word"),
        (b"**\n", "line 1: expected a word"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"x" * (MAX_BYTES + 1), f"has more than {MAX_BYTES} bytes"),
        (None, "Cannot read SAMEDEAL_REFUSED_NAMES"),
    ],
)
def test_a_list_that_cannot_be_used_is_a_settings_error(tmp_path: Path, content: bytes | None, text: str) -> None:
    path = tmp_path / "names.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=text):
        RefusedNames(path)


@pytest.fixture
def server(redis_url: str, tmp_path: Path, file: Path) -> Iterator[LoggedServer]:
    with LoggedServer(redis_url, tmp_path / "log", refused_names=str(file)).start() as server:
        yield server


async def test_a_hello_with_a_refused_name_can_be_repeated_with_another(server: LoggedServer) -> None:
    async with await Line.open(server, "json") as line:
        for name in ("admin", "zonk"):
            assert refused(await line.ask("hello", name=name), "name-refused", "not available")
        assert refused(await line.ask("hello", name="аda"), "name-refused", "mixes Cyrillic and Latin")
        assert isinstance(await line.ask("hello", name="ada"), m.Welcome)


def test_refused_names_are_refused_over_http(server: LoggedServer) -> None:
    for name in ("admin", "zonk", "аda"):
        assert problem(request(server, "POST", "/api/v1/guests", json.dumps({"name": name}).encode()), "name-refused")


async def test_guests_keep_names_that_are_refused_later(server: LoggedServer, file: Path) -> None:
    async with await Line.open(server, "json") as line:
        welcome = await line.ask("hello", name="quux")
        assert isinstance(welcome, m.Welcome)
    file.write_text("quux\n")
    async with await Line.open(server, "json") as line:
        assert refused(await line.ask("hello", name="quux"), "name-refused")
        again = await line.ask("hello", token=welcome.token)
        assert isinstance(again, m.Welcome)
        assert again.name == "quux"
