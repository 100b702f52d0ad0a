"""The configuration: precedence, invalid files, and ``samedeal config``."""

import json
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from samedeal_cli.config_file import KEYS, allowed, config_file, configured, set_key, variable
from samedeal_cli.net import guests
from samedeal_cli.settings import Settings
from samedeal_server import settings as server_settings
from support.offline_cli import outcome

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TERM", "xterm")
    (tmp_path / "config" / "samedeal").mkdir(parents=True)
    return config_file()


def test_keys_match_the_fields_of_settings() -> None:
    assert {field.name for field in fields(Settings)} == {*KEYS, "json", "quiet"}


def test_a_server_ignores_the_variables_of_clients() -> None:
    assert {*map(variable, KEYS), "SAMEDEAL_TOKEN"} == server_settings.CLIENT_VARIABLES


def test_defaults_apply_without_a_file(file: Path, capsys: Capsys) -> None:
    assert configured() == Settings()
    assert not file.exists()
    assert capsys.readouterr().err == ""


def test_precedence_is_flag_environment_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('color = "never"\nascii = true\nname = "ada"\nserver = "cards.example"\nmouse = false\n')
    assert outcome("config", "get", "color") == (0, "never\n", "")
    assert outcome("config", "get", "server") == (0, "http://cards.example\n", "")
    monkeypatch.setenv("SAMEDEAL_COLOR", "always")
    monkeypatch.setenv("SAMEDEAL_ASCII", "off")
    assert outcome("config", "get", "color") == (0, "always\n", "")
    assert outcome("config", "get", "ascii") == (0, "off\n", "")
    assert outcome("--color", "auto", "config", "get", "color") == (0, "auto\n", "")
    document = json.loads(outcome("config", "--json", "--mouse", "--server", "http://other")[1])
    assert document["path"] == str(file)
    assert {
        key: tuple(setting.values()) for key, setting in document["keys"].items() if setting["from"] != "default"
    } == {
        "server": ("http://other", "flag"),
        "name": ("ada", "file"),
        "color": ("always", "environment"),
        "ascii": (False, "environment"),
    }
    assert outcome("config", "get", "mouse") == (0, "off\n", "")
    assert outcome("config", "get", "mouse", "--mouse") == (0, "on\n", "")


def test_no_color_overrides_the_file_but_not_samedeal_color(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('color = "always"\n')
    assert configured().colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert not configured().colored
    monkeypatch.setenv("SAMEDEAL_COLOR", "always")
    assert configured().colored
    monkeypatch.delenv("SAMEDEAL_COLOR")
    monkeypatch.setenv("NO_COLOR", "")
    assert configured().colored, "an empty variable does not count"
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert not configured().colored
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not configured().colored


def test_invalid_values_are_reported_and_valid_ones_used(file: Path, capsys: Capsys) -> None:
    file.write_text(
        'suits = "two"\ntheme = "pink"\nmouse = "maybe"\nname = 7\nserver = "ftp://x"\ncolour = "never"\n'
        'auto_drop = false\n[elsewhere]\ntheme = "dark"\n'
    )
    settings = configured()
    assert (settings.suits, settings.auto_drop) == ("two", False)
    assert (settings.theme, settings.mouse, settings.name, settings.server) == ("terminal", True, "", "")
    errors = capsys.readouterr().err.splitlines()
    assert sorted(line.removeprefix(f"samedeal: {file}: ") for line in errors) == [
        "mouse must be on or off",
        "name must be a string",
        "server: 'ftp://x' is not a valid server address (try http://127.0.0.1:8640)",
        "theme must be one of terminal, dark, light, contrast, not 'pink'",
        "unknown key 'colour'",
        "unknown key 'elsewhere'",
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"suits = \x00", "TOML: Invalid value (at line 1, column 9)"),
        (b'suits = "two"\ntheme = drak\n', "TOML: Invalid value (at line 2, column 9)"),
        (b'suits = "two"\nsuits = "four"\n', "TOML: Cannot overwrite a value (at line 2, column 15)"),
        (b'suits = "two"\nname = """' + b"# a comment\n" * 20_000, "TOML: Unterminated string (at end of document)"),
        (b"suits = " + b"[" * 100_000, "TOML: maximum recursion depth exceeded"),
    ],
    ids=["encoding", "zero byte", "value", "duplicate key", "unclosed string", "nested arrays"],
)
def test_invalid_file_is_reported_ignored_and_never_changed(content: bytes, why: str, file: Path) -> None:
    file.write_bytes(content)
    ignored = f"samedeal: {file}: ignored, because it is not valid {why}\n"
    code, out, err = outcome("config", "get", "suits")
    assert (code, out, err[: len(ignored) - 1]) == (0, "four\n", ignored[:-1])
    for words in (("set", "suits", "two"), ("unset", "suits")):
        code, out, err = outcome("config", *words)
        assert (code, out, err.count("\n")) == (1, "", 2)
        assert f"samedeal: the configuration is not changed, because it is not valid {why.partition(' ')[0]}" in err
        assert err.endswith(f": {file}\n")
    assert file.read_bytes() == content


def test_invalid_variable_exits_with_2_except_for_help_doctor_and_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_SUITS", "three")
    wrong = "SAMEDEAL_SUITS must be one of four, two, not 'three'"
    assert outcome("games") == (2, "", f"samedeal: {wrong}\n")
    for words in (["--help"], ["--version"], ["games", "--help"], ["completion", "bash"]):
        code, out, err = outcome(*words)
        assert (code, err) == (0, "")
        assert out
    code, out, _ = outcome("doctor", "--json", "--server", "http://127.0.0.1:1")
    assert code == 3
    assert wrong in json.loads(out)["wrong"]


KEPT = """# how I like it
suits = "four"   # no, two

theme = 'dark'
later = [1, 2]
# about the other program
[other]
suits = "none of ours"
"""


def test_config_set_preserves_comments_and_order(file: Path) -> None:
    file.write_text(KEPT)
    file.chmod(0o640)
    for words in (("suits", "two"), ("cards", "boxed"), ("mouse", "no")):
        assert outcome("config", "set", *words)[:2] == (0, "")
    wanted = KEPT.replace('suits = "four"', 'suits = "two"')
    wanted = wanted.replace("[other]", 'cards = "boxed"\nmouse = false\n\n[other]')
    assert file.read_text() == wanted
    assert file.stat().st_mode & 0o777 == 0o640
    assert outcome("config", "unset", "cards")[:2] == (0, "")
    assert outcome("config", "unset", "mouse")[:2] == (0, "")
    assert outcome("config", "unset", "mouse")[:2] == (0, "")
    assert file.read_text().replace("\n\n[", "\n[") == KEPT.replace('suits = "four"', 'suits = "two"')
    assert list(file.parent.iterdir()) == [file]


def test_config_set_creates_a_private_file(file: Path) -> None:
    file.parent.rmdir()
    assert outcome("config", "set", "name", 'Zoë "the \\ fox"')[0] == 0
    assert tomllib.loads(file.read_text()) == {"name": 'Zoë "the \\ fox"'}
    assert file.stat().st_mode & 0o077 == 0
    assert configured().name == 'Zoë "the \\ fox"'


def test_config_file_may_be_a_symbolic_link(file: Path, tmp_path: Path) -> None:
    mine = tmp_path / "dotfiles.toml"
    mine.write_text("# kept elsewhere\n")
    file.symlink_to(mine)
    set_key("ascii", True)
    assert file.is_symlink()
    assert mine.read_text() == "# kept elsewhere\nascii = true\n"


@pytest.mark.parametrize(
    ("before", "setting", "after"),
    [
        ('name = """\nada"""\n', ("name", "bo"), 'name = "bo"\n'),
        (
            "later = [\n  1,\n]\n'suits' = \"two\"",
            ("theme", "dark"),
            'later = [\n  1,\n]\n\'suits\' = "two"\ntheme = "dark"\n',
        ),
        ("later = [\n  1,\n]\n'suits' = \"two\"", ("suits", "four"), "later = [\n  1,\n]\n'suits' = \"four\""),
        ("[other]\nx = 1\n[name]\ny = 2\n", ("name", "bo"), 'name = "bo"\n\n[other]\nx = 1\n'),
        ("# Zo\u00eb\r\nmouse = true\r\n", ("mouse", "off"), "# Zo\u00eb\r\nmouse = false\r\n"),
    ],
    ids=["multiline string", "value of several lines", "quoted key", "table", "line ends"],
)
def test_config_set_changes_only_its_key(before: str, setting: tuple[str, str], after: str, file: Path) -> None:
    file.write_bytes(before.encode())
    assert outcome("config", "set", *setting)[0] == 0
    assert file.read_bytes().decode() == after


def test_unwritable_file_is_reported(file: Path) -> None:
    file.parent.rmdir()
    file.parent.write_text("no folder")
    code, out, err = outcome("config", "set", "suits", "two")
    assert (code, out) == (1, "")
    assert err.count("\n") <= 2
    assert "samedeal: " in err


@pytest.mark.parametrize("key", KEYS)
def test_every_allowed_value_can_be_set_and_read(key: str, file: Path) -> None:
    for value in allowed(key) or {"server": ("https://cards.example",), "name": ("Zoë",)}[key]:
        assert outcome("config", "set", key, value) == (0, "", "")
        assert outcome("config", "get", key) == (0, f"{value}\n", "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("get",), "config get takes a KEY"),
        (("set", "suits"), "config set takes a KEY and a VALUE"),
        (("list", "suits"), "config list takes no arguments"),
        (("unset", "suits", "two"), "config unset takes a KEY"),
        (("get", "colour"), "unknown key 'colour'; did you mean color?"),
        (("set", "suits", "three"), "suits must be one of four, two, not 'three'"),
        (("set", "name", ""), "name: A name"),
        (("change",), "Invalid value for '[list|path|get|set|unset]'"),
    ],
)
def test_invalid_arguments_change_nothing(args: tuple[str, ...], says: str, file: Path) -> None:
    code, out, err = outcome("config", *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert not file.exists()


def test_config_set_warns_if_the_environment_overrides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_SUITS", "four")
    assert outcome("config", "set", "suits", "two") == (0, "", "SAMEDEAL_SUITS is set and overrides this\n")


def test_config_set_warns_if_another_name_is_used_on_the_server() -> None:
    server = "http://127.0.0.1:8640"
    assert outcome("config", "set", "name", "bo") == (0, "", "")
    guests.save(guests.Guest(server, "ada", "0" * 16, "sd_x"))
    says = f"At {server} you still play as ada without --as 'bo b'\n"
    assert outcome("config", "set", "name", "bo b") == (0, "", says)
    assert outcome("config", "set", "name", "ada") == (0, "", "")


def test_configured_name_is_the_default_name(file: Path) -> None:
    file.write_text('name = "ada"\n')
    assert json.loads(outcome("whoami", "--json")[1])["default"] == "ada"
    assert outcome("logout", "--server", "http://127.0.0.1:1")[2].startswith("samedeal: ada was not found for")


def test_config_lists_each_key_with_its_value_and_source(file: Path) -> None:
    file.write_text('theme = "dark"\n')
    code, out, _ = outcome("config")
    rows = [line.split(maxsplit=3) for line in out.splitlines()]
    assert code == 0
    assert [row[0] for row in rows] == list(KEYS)
    assert ["theme", "dark", "file"] in [row[:3] for row in rows]
    assert ["name", "-", "default"] in [row[:3] for row in rows]
    assert outcome("config", "path") == (0, f"{file}\n", "")
