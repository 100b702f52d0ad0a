"""Settings are read from the environment and refused by name without secrets."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from samedeal_server.addresses import TrustedProxies
from samedeal_server.settings import Keys, Settings, SettingsError, load_keys
from support.waiting import LIMIT_S

KEY = "0f" * 32


def test_settings_of_an_empty_environment_are_the_defaults() -> None:
    settings = Settings.from_env({"HOME": "/home/ada", "SAMEDEAL_TOKEN": "of a client"})
    assert settings == Settings()
    assert (settings.host, settings.port, settings.redis_url, settings.rate) == ("127.0.0.1", 8640, None, 20)
    assert settings.data_dir.name == "samedeal"


SET: dict[str, tuple[str, Any]] = {
    "host": ("0.0.0.0", "0.0.0.0"),
    "port": ("80", 80),
    "workers": ("4", 4),
    "redis_url": ("redis://store:6379", "redis://store:6379"),
    "store_durability": ("everysec", "everysec"),
    "data_dir": ("/var/lib/samedeal", Path("/var/lib/samedeal")),
    "public_url": ("https://race.example", "https://race.example"),
    "source_url": ("https://code.example/samedeal", "https://code.example/samedeal"),
    "frame_ancestors": ("https://blog.example", "https://blog.example"),
    "master_key": (KEY, KEY),
    "accept_master_key": ("0123456789abcdef", "0123456789abcdef"),
    "signing_key": (KEY[::-1], KEY[::-1]),
    "admin_key": ("!" * 32, "!" * 32),
    "trusted_proxies": ("127.0.0.1/32, 10.0.0.0/8", TrustedProxies("127.0.0.1/32,10.0.0.0/8")),
    "replay_days": ("30", 30),
    "guest_days": ("0", 0),
    "refused_names": ("/etc/samedeal/names", Path("/etc/samedeal/names")),
    "rate": ("2.5", 2.5),
    "connections": ("500", 500),
    "connections_per_address": ("0", 0),
    "http_connections_per_address": ("20", 20),
    "requests_per_second": ("13.5", 13.5),
    "requests_per_address": ("23.5", 23.5),
    "request_burst": ("140", 140),
    "guests_per_minute": ("10", 10),
    "races_per_minute": ("11", 11),
    "wrong_tokens_per_minute": ("12", 12),
    "open_races": ("40", 40),
    "open_races_per_address": ("41", 41),
    "open_races_per_guest": ("42", 42),
    "ready_seconds": ("0", 0.0),
    "drain_seconds": ("2.5", 2.5),
    "search_ahead": ("off", "off"),
    "log_level": ("debug", "debug"),
    "log_format": ("json", "json"),
    "access_log": ("on", "on"),
    "metrics": ("on", "on"),
}
"""A text for each setting, and the value that it has then."""


def test_every_setting_can_be_set() -> None:
    env = {f"SAMEDEAL_{name.upper()}": text for name, (text, _) in SET.items()}
    assert Settings.from_env(env) == Settings(**{name: value for name, (_, value) in SET.items()})
    assert env.keys() == Settings().redacted().keys()


def test_unprefixed_variables_are_read_and_the_prefix_takes_precedence() -> None:
    env = {"REDIS_URL": "rediss://store", "PORT": "80"}
    assert Settings.from_env(env) == Settings(redis_url="rediss://store", port=80)
    assert Settings.from_env(env | {"SAMEDEAL_PORT": "81"}).port == 81


def test_empty_value_counts_as_unset() -> None:
    assert Settings.from_env({"SAMEDEAL_PUBLIC_URL": "", "REDIS_URL": "", "SAMEDEAL_REDIS_URL": ""}) == Settings()


def test_data_dir_expands_the_home_directory() -> None:
    assert Settings.from_env({"SAMEDEAL_DATA_DIR": "~/races"}).data_dir == Path.home() / "races"


@pytest.mark.parametrize(
    "url",
    [
        *("redis://h", "rediss://u:p@h:1/2", "unix:///run/s.sock?db=2"),
        *("redis+cluster://h", "rediss+cluster://u:p@h:1,[::1]:2/?ssl_ca_certs=/ca.pem"),
    ],
)
def test_store_url_is_accepted(url: str) -> None:
    assert Settings.from_env({"REDIS_URL": url}).redis_url == url


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("PORT", "http", "PORT is http; expected a number from 0 (any free port) to 65535."),
        ("SAMEDEAL_PORT", "65536", "SAMEDEAL_PORT is 65536; expected"),
        ("SAMEDEAL_RATE", "nan", "SAMEDEAL_RATE is nan; expected a number above 0."),
        ("SAMEDEAL_RATE", "inf", "SAMEDEAL_RATE is inf; expected"),
        ("SAMEDEAL_OPEN_RACES", "0", "SAMEDEAL_OPEN_RACES is 0; expected a number from 1."),
        ("SAMEDEAL_LOG_LEVEL", "loud", "SAMEDEAL_LOG_LEVEL is loud; expected debug, info, warning or error."),
        ("SAMEDEAL_PUBLIC_URL", "race.example", "SAMEDEAL_PUBLIC_URL is race.example; expected https:// or"),
        ("SAMEDEAL_PUBLIC_URL", "https://race.example/daily", "SAMEDEAL_PUBLIC_URL is https://race.example/daily;"),
        ("SAMEDEAL_FRAME_ANCESTORS", "example.org", "SAMEDEAL_FRAME_ANCESTORS is example.org; expected none, *, or"),
        (
            "SAMEDEAL_FRAME_ANCESTORS",
            "https://a.example; script-src *",
            "SAMEDEAL_FRAME_ANCESTORS is https://a.example;",
        ),
        ("REDIS_URL", "localhost:6379", "REDIS_URL is localhost:6379; expected redis://…"),
        ("REDIS_URL", "unix://relative", "REDIS_URL is unix://relative; expected"),
        ("REDIS_URL", "redis+cluster://h/2", "REDIS_URL is redis+cluster://h/2; expected"),
        ("REDIS_URL", "redis+cluster:///h", "REDIS_URL is redis+cluster:///h; expected"),
    ],
)
def test_invalid_value_is_refused_by_name(variable: str, value: str, expected: str) -> None:
    with pytest.raises(SettingsError, match="^" + re.escape(expected)):
        Settings.from_env({variable: value})


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"PORT": "x", "SAMEDEAL_CONNECTIONS": "y", "SAMEDEAL_CONECTIONS": "5"})
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("SAMEDEAL_PROT", "did you mean SAMEDEAL_PORT?"),
        ("SAMEDEAL_QUEUE_LENGTH", "docs/operate/operations.md lists all settings."),
    ],
)
def test_unknown_setting_is_refused_with_a_suggestion(wrong: str, advice: str) -> None:
    with pytest.raises(SettingsError, match=f"^Unknown setting {wrong}; {re.escape(advice)}$"):
        Settings.from_env({wrong: ""})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SAMEDEAL_MASTER_KEY", "hush"),
        ("SAMEDEAL_SIGNING_KEY", "hush"),
        ("SAMEDEAL_ADMIN_KEY", "hush"),
        ("SAMEDEAL_ADMIN_KEY", f"hush {KEY}"),
        ("SAMEDEAL_MASTER_KEY", KEY + "hush"),
        ("REDIS_URL", "http://ada:hush@store"),
        ("REDIS_URL", "ada:hush@store"),
        ("REDIS_URL", "http://ada:h@hush@store"),
        ("REDIS_URL", "http://:hush?hush@store"),
        ("REDIS_URL", "http://store?password=hush"),
        ("REDIS_URL", "http://store?password=a@hush"),
        ("SAMEDEAL_PUBLIC_URL", "https://ada:hush@race.example"),
        ("SAMEDEAL_SOURCE_URL", "https://ada:hush@race.example/code"),
    ],
)
def test_error_does_not_contain_secrets(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=variable) as caught:
        Settings.from_env({variable: value})
    assert "hush" not in str(caught.value)


def test_redacted_settings_do_not_contain_secrets() -> None:
    settings = Settings(master_key=KEY, signing_key=KEY, redis_url="rediss://ada:hush@store:1")
    assert settings.redacted()["SAMEDEAL_MASTER_KEY"] == settings.redacted()["SAMEDEAL_SIGNING_KEY"] == "(not shown)"
    assert settings.redacted()["SAMEDEAL_REDIS_URL"] == "rediss://…@store:1"
    assert settings.redacted()["SAMEDEAL_PORT"] == "8640"
    for text in (repr(settings), str(settings), f"{settings}"):
        assert KEY not in text
        assert "hush" not in text


@pytest.mark.parametrize("name", Keys._fields)
def test_key_file_is_created_once_and_private(name: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    keys = load_keys(settings)
    key: bytes = getattr(keys, name)
    file = tmp_path / "data" / f"{name}.key"
    assert len(key) == 32
    assert file.read_text() == key.hex() + "\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {path.name for path in file.parent.iterdir()} == {"master.key", "signing.key"}
    assert load_keys(settings) == keys
    assert getattr(load_keys(Settings(data_dir=tmp_path / "other")), name) != key
    assert keys.master != keys.signing


def test_empty_data_dir_becomes_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    load_keys(Settings(data_dir=tmp_path))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_data_dir_with_other_files_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letters").touch()
    load_keys(Settings(data_dir=tmp_path))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_keys_in_the_settings_create_no_files(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", master_key=KEY, signing_key=KEY[::-1])
    assert load_keys(settings) == Keys(bytes.fromhex(KEY), bytes.fromhex(KEY[::-1]))
    assert not (tmp_path / "data").exists()


def test_processes_that_start_together_agree_on_the_keys(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from samedeal_server.settings import Settings, load_keys;"
        "print(flush=True); sys.stdin.read();"
        "print(*(key.hex() for key in load_keys(Settings(data_dir=Path(sys.argv[1])))))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    keys = {process.communicate(timeout=LIMIT_S)[0] for process in processes}
    assert keys == {" ".join((tmp_path / f"{name}.key").read_text().strip() for name in Keys._fields) + "\n"}


@pytest.mark.parametrize("text", ["", "short", KEY[:-1], KEY + "0", KEY[:-1] + "g", "é" * 64])
def test_invalid_key_file_is_refused_and_unchanged(text: str, tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(SettingsError, match=r"master\.key is not a valid key: expected 64 hex") as caught:
        load_keys(Settings(data_dir=tmp_path))
    assert not text or text not in str(caught.value)
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_key_file_readable_by_others_is_refused(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    file.write_text(KEY)
    file.chmod(mode)
    with pytest.raises(SettingsError, match=r"master\.key is readable by other users: run chmod 600"):
        load_keys(Settings(data_dir=tmp_path))


@pytest.mark.parametrize("variable", ["SAMEDEAL_DATA_DIR", "HOME", "XDG_DATA_HOME"])
def test_a_data_directory_that_is_not_utf_8_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv(variable, "/srv/caf\udce9")
    with pytest.raises(SettingsError, match="not valid UTF-8"):
        Settings.from_env(os.environ)


def test_unusable_data_dir_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"Cannot read or create the key .*master\.key"):
        load_keys(Settings(data_dir=tmp_path / "file"))
