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
from support.offline_cli import printed
from support.program import ran
from support.servers import Server
from support.terminals import at_a_terminal, until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TERM": "dumb"}


def offered(*words: str, incomplete: str = "") -> list[tuple[str, str]]:
    """Return the type and the value of every completion after these words."""
    items = ShellComplete(main, {}, "samedeal", "_SAMEDEAL_COMPLETE").get_completions([*words], incomplete)
    return [(item.type, item.value) for item in items]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ([""], list(COMMANDS)),
        (["re"], [name for name in COMMANDS if name.startswith("re")]),
        (["new", "co"], ["corner-stones", "corners"]),
        (["-q", "new", "corners", "--spec"], ["--spectators"]),
        (["new", "corners", "--spectators", ""], ["progress", "after", "open"]),
        (["config", "set", "theme", "d"], ["dark"]),
    ],
)
def test_words_are_completed(words: list[str], values: list[str]) -> None:
    assert offered(*words[:-1], incomplete=words[-1]) == [("plain", value) for value in values]


def test_completion_ignores_an_invalid_config_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "samedeal").mkdir()
    (tmp_path / "samedeal" / "config.toml").write_text("suits = ")
    monkeypatch.setitem(ENVIRONMENT, "XDG_CONFIG_HOME", str(tmp_path))
    run = subprocess.run(
        ["samedeal"],
        env=ENVIRONMENT | {"_SAMEDEAL_COMPLETE": "bash_complete", "COMP_WORDS": "samedeal doc", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "plain,doctor\n", "")


@pytest.mark.parametrize("command", ["verify", "replay", "export", "table a", "race", "practice", "solve"])
def test_files_are_completed_where_a_replay_is_expected(command: str) -> None:
    """Shells complete the names, if an item has the type ``file``."""
    assert offered(*command.split(), incomplete="fri") == [("file", "fri")]


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
def test_every_shell_has_a_script(shell: str) -> None:
    script, _ = printed("completion", shell)
    assert f"_SAMEDEAL_COMPLETE={shell}_complete" in script
    if path := shutil.which(shell):
        assert subprocess.run([path, "-n"], input=script, text=True, check=False, timeout=LIMIT_S).returncode == 0


def test_completion_without_argument_uses_the_current_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --no-files --command samedeal" in printed("completion")[0]
    monkeypatch.setenv("SHELL", "/bin/ksh")
    assert printed("completion", code=2)[1] == "samedeal: name a shell: bash, zsh, fish\n"


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
