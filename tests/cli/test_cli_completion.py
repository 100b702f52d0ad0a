"""Shell completion, requested by real shells."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from samedeal_cli.main import COMMANDS, main
from support.program import ran
from support.servers import Server
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)

ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TERM": "dumb"}


def completed(*words: str) -> list[str]:
    """Bash's completions for the last word."""
    script = (
        'eval "$(samedeal completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }\n'
        '_samedeal_completion samedeal; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    run = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=50
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["samedeal", ""], list(COMMANDS)),
        (["samedeal", "re"], [name for name in COMMANDS if name.startswith("re")]),
        (["samedeal", "new", "co"], ["corner-stones", "corners"]),
        (["samedeal", "-q", "new", "corners", "--spec"], ["--spectators"]),
        (["samedeal", "new", "corners", "--spectators", ""], ["progress", "after", "open"]),
        (["samedeal", "config", "set", "theme", "d"], ["dark"]),
    ],
)
def test_bash_completions(words: list[str], offered: list[str]) -> None:
    assert completed(*words) == offered


def test_completion_ignores_an_invalid_config_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "samedeal").mkdir()
    (tmp_path / "samedeal" / "config.toml").write_text("suits = ")
    monkeypatch.setitem(ENVIRONMENT, "XDG_CONFIG_HOME", str(tmp_path))
    run = subprocess.run(
        ["samedeal"],
        env=ENVIRONMENT | {"_SAMEDEAL_COMPLETE": "bash_complete", "COMP_WORDS": "samedeal doc", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "plain,doctor\n", "")


@pytest.mark.parametrize("command", ["verify", "replay", "export", "table a", "race", "practice", "solve"])
def test_files_are_completed_where_a_replay_is_expected(command: str) -> None:
    """Shells complete the names, if an item has the type ``file``."""
    offered = ShellComplete(main, {}, "samedeal", "_SAMEDEAL_COMPLETE").get_completions(command.split(), "fri")
    assert [(item.type, item.value) for item in offered] == [("file", "fri")]


def test_bash_completes_a_word_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "friday.json").touch()
    bash = ["env", "-C", f"{tmp_path}", "bash", "--norc", "--noprofile", "-i"]
    with at_a_terminal(ENVIRONMENT | {"PS1": "ready> "}, bash) as (_, terminal):
        until(terminal, "ready> ")
        os.write(terminal, b'eval "$(samedeal completion bash)"; echo so""on\n')
        until(terminal, "soon\r\nready> ")
        os.write(terminal, b"samedeal rules kin\t")
        assert re.search(r"samedeal rules kings-in-the-corners $", until(terminal, "corners "))
        os.write(terminal, b"\x15samedeal verify fri\t")
        assert "samedeal verify friday.json " in until(terminal, ".json ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.exit_code(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_SAMEDEAL_COMPLETE={shell}_complete" in script
    if path := shutil.which(shell):
        assert subprocess.run([path, "-n"], input=script, text=True, check=False, timeout=50).returncode == 0


def test_completion_without_argument_uses_the_current_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert main.exit_code(["completion"]) == 0
    assert "complete --no-files --command samedeal" in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/bin/ksh")
    assert main.exit_code(["completion"]) == 2
    assert capsys.readouterr().err == "samedeal: name a shell: bash, zsh, fish\n"


def offered(*words: str, incomplete: str = "") -> list[tuple[str, str]]:
    """Return the type and the value of every completion after these words."""
    items = ShellComplete(main, {}, "samedeal", "_SAMEDEAL_COMPLETE").get_completions([*words], incomplete)
    return [(item.type, item.value) for item in items]


def test_races_are_completed(live: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", live.url)
    race, other = live.create("corners", seed="completion", max_racers=2, start_delay_ms=0), live.create("corners")
    own = ran("new", "corners", "--unlisted", "--json", "--as", "zo").stdout
    ran("join", json.loads(own)["race"], "--as", "zo", typed="quit\n")
    for command in ("join", "watch"):
        assert {("plain", race), ("plain", other)} <= {*offered(command)}
        assert offered(command, incomplete=race) == [("plain", race)]
    unlisted = json.loads(own)["race"]
    assert ("plain", unlisted) in offered("share")
    assert offered("replay") == [("file", "")]
    assert offered("replay", incomplete=unlisted[:5]) == [("file", unlisted[:5]), ("plain", unlisted)]


def test_without_a_server_only_local_races_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", "http://127.0.0.1:1")
    assert offered("join") == []
