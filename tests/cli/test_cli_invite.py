"""Invitations: QR codes, this machine's address on its network, and the commands that show them."""

import os
import re
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import segno

from samedeal_cli.failure import Failure
from samedeal_cli.local_server import lan_address
from samedeal_cli.render.qr_code import qr_lines
from support.offline_cli import printed
from support.program import SAMEDEAL
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

LINK = "http://192.168.1.20:8640/r/calm-otter-4217"
Modules = list[list[bool]]


def dark(lines: list[str]) -> Modules:
    """The modules of a QR code in half blocks, including the border; True for dark."""
    light = {"█": (1, 1), "▀": (1, 0), "▄": (0, 1), " ": (0, 0)}
    return [[not light[character][half] for character in line] for line in lines for half in (0, 1)]


def code(link: str, border: int) -> Modules:
    return [[bool(module) for module in row] for row in segno.make(link, micro=False).matrix_iter(border=border)]


@pytest.mark.parametrize("link", [LINK, "http://10.0.0.2:8640", f"https://cards.example/r/{'a' * 64}"])
def test_qr_code_has_a_border_and_all_modules(link: str) -> None:
    lines = qr_lines(link)
    width = len(lines[0])
    assert {len(line) for line in lines} == {width}
    assert len(lines) == (width + 1) // 2
    assert dark(lines)[:width] == code(link, 2)


def test_qr_code_of_a_typical_link_fits_a_small_terminal() -> None:
    lines = qr_lines(LINK)
    assert len(lines) <= 20
    assert len(lines[0]) <= 60


def test_ascii_qr_code_uses_two_characters_per_module() -> None:
    lines = qr_lines(LINK, ascii=True)
    assert all(re.fullmatch(r"(##|  )+", line) for line in lines)
    assert [[line[at : at + 2] == "  " for at in range(0, len(line), 2)] for line in lines] == code(LINK, 2)


def test_coloured_qr_code_is_dark_on_light() -> None:
    for line, bare in zip(qr_lines(LINK, color=True), qr_lines(LINK), strict=True):
        assert line == f"\x1b[97;40m{bare}\x1b[0m"
    for line, bare in zip(qr_lines(LINK, ascii=True, color=True), qr_lines(LINK, ascii=True), strict=True):
        assert line.isascii()
        assert line.endswith("\x1b[0m")
        assert line.replace("\x1b[107m  ", "##").replace("\x1b[40m  ", "  ").removesuffix("\x1b[0m") == bare


def test_new_writes_link_to_stdout_and_qr_code_to_stderr(store_url: str) -> None:
    with Server(store_url, public_url="http://192.168.1.20:8640") as server:
        assert server.process
        assert server.process.stdout
        assert server.process.stdout.readline() == "public URL: http://192.168.1.20:8640\n"
        out, err = printed("new", "corners", "--qr", "--server", server.url)
    link = out.removesuffix("\n")
    assert re.fullmatch(r"http://192\.168\.1\.20:8640/r/[a-z0-9-]+", link)
    assert err.splitlines()[1:] == qr_lines(link)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def has_network() -> bool:
    with suppress(Failure):
        return bool(lan_address())
    return False


in_a_network = pytest.mark.skipif(not has_network(), reason="platform: this machine has no network address")


@in_a_network
def test_serve_lan_is_reachable_and_shows_its_link(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [*SAMEDEAL, "--ascii", "serve", "--lan", "--port", str(port), "--data-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            assert "http://" in process.stdout.readline()
            base = f"http://{lan_address()}:{port}"
            with urlopen(f"{base}/healthz", timeout=LIMIT_S) as answer:
                assert answer.status == 200
            with urlopen(Request(f"{base}/", headers={"Accept": "text/plain"})) as answer:
                assert f"samedeal --server {base} new" in answer.read().decode()
        finally:
            process.terminate()
            output = process.communicate(timeout=LIMIT_S)[1].splitlines()
    begin = output.index(f"{base}: everyone on this network can connect; connections are not encrypted") + 1
    assert any("samedeal_server: store: " in line for line in output[:begin]), "it was shown before the start"
    code = qr_lines(base, ascii=True)
    assert output[begin : begin + len(code)] == code


@in_a_network
def test_demo_lan_shows_its_link() -> None:
    environment = os.environ | {"PYTHONUTF8": "1"}
    command = [*SAMEDEAL, "demo", "--lan", "--port", str(free_port())]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as demo:
        try:
            assert demo.stdout
            output = ""
            for line in demo.stdout:
                output += line
                if line.startswith("  for a program"):
                    break
        finally:
            demo.terminate()
            demo.communicate(timeout=LIMIT_S)
    link = re.search(rf"in a browser    (http://{lan_address()}:\d+)\n", output)
    assert link
    assert "everyone on this network can connect" in output
    assert "\n".join(f"  {line}" for line in qr_lines(link[1])) in output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--host", "0.0.0.0"), "--lan cannot be combined"),
        (("--public-url", "http://a"), "--lan cannot be combined"),
        (("--port", "0"), "--lan needs a fixed port"),
    ],
)
def test_lan_with_conflicting_options_exits_with_2(args: tuple[str, ...], says: str) -> None:
    assert says in printed("serve", "--lan", *args, code=2)[1]


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_lan_without_a_network_fails(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_cli.local_server.own_addresses", lambda: ("127.0.1.1",))
    assert printed(command, "--lan", code=1)[1].startswith("samedeal: this machine has no network address")


def test_serve_suggests_a_free_port_if_its_port_is_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        _, err = printed("serve", "--port", str(port), code=1)
    assert re.fullmatch(rf"samedeal: port {port} is in use; try: samedeal serve --port \d+\n", err)
