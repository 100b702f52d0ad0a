"""The commands ``pass``, ``login`` and ``logout`` against a real server; each device is a state directory."""

import json
import os
from pathlib import Path

import pytest

from samedeal_cli.commands.parameters import LOGIN, Login
from samedeal_cli.net import guests
from samedeal_cli.net.guests import Guest
from samedeal_cli.render.qr_code import qr_lines
from support.offline_cli import Result, run
from support.program import SAMEDEAL
from support.servers import Racer, Server, racers
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)


@pytest.fixture(autouse=True)
def _name(on_live: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEDEAL_NAME", "ada")


class Device:
    """A state directory, in which commands run."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch

    def run(self, *arguments: object, stdin: str = "") -> Result:
        self._monkeypatch.setenv("XDG_STATE_HOME", str(self.folder))
        return run(*arguments, stdin=stdin.encode())

    def guests(self) -> list[Guest]:
        self._monkeypatch.setenv("XDG_STATE_HOME", str(self.folder))
        return guests.stored()

    async def play_first_race(self, live: Server, name: str = "ada") -> Guest:
        """Create a guest and store it, as a race does."""
        self._monkeypatch.setenv("XDG_STATE_HOME", str(self.folder))
        async with racers(live, name) as (racer,):
            assert racer.token
            guests.save(guest := Guest(live.url, name, racer.player, racer.token))
            return guest


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    return Device(tmp_path / "laptop", monkeypatch)


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    return Device(tmp_path / "desktop", monkeypatch)


def code_of(device: Device, *arguments: str) -> str:
    result = device.run("pass", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


async def is_known(live: Server, token: str) -> bool:
    """Return whether a token identifies a guest."""
    racer = Racer("ada")
    racer.token = token
    try:
        await racer.connect(live)
    except AssertionError:
        return False
    finally:
        await racer.close()
    return True


async def test_code_moves_the_name_to_another_device(live: Server, laptop: Device, desktop: Device) -> None:
    guest = await laptop.play_first_race(live)
    result = laptop.run("pass")
    code = result.stdout.strip()
    assert result.stdout == f"{code}\n"
    link = f"{live.url}/login#{code}"
    assert result.stderr.splitlines() == [
        f"On the other device, run samedeal login and enter the code, or open {link}",
        "Only this machine can open that link; for other devices, use samedeal serve --lan",
    ]
    result = desktop.run("login", code)
    assert (result.exit_code, result.output) == (0, f"You are ada at {live.url}\n")
    (new,) = desktop.guests()
    assert (new.server, new.name, new.player) == (guest.server, guest.name, guest.player)
    assert new.token != guest.token
    assert await is_known(live, new.token)
    assert await is_known(live, guest.token)
    (file,) = (desktop.folder / "samedeal/guests").iterdir()
    assert file.stat().st_mode & 0o077 == 0


async def test_link_names_the_server(
    live: Server, laptop: Device, desktop: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await laptop.play_first_race(live)
    link = json.loads(laptop.run("pass", "--json").stdout)["link"]
    monkeypatch.setenv("SAMEDEAL_SERVER", "http://127.0.0.1:1")
    result = desktop.run("login", link, "--json")
    assert json.loads(result.stdout) == {"server": live.url, "name": "ada", "player": guest.player}
    assert [guest.server for guest in desktop.guests()] == [live.url]


@pytest.mark.parametrize(
    ("typed", "login"),
    [
        (" K7MP-X3QR-TW9D\n", Login(None, "K7MP-X3QR-TW9D")),
        ("k7mp x3qr tw9d", Login(None, "k7mp x3qr tw9d")),
        ("https://cards.example/login#K7MP", Login("https://cards.example", "K7MP")),
        ("192.168.1.20:8640/login/#K7MP", Login("http://192.168.1.20:8640", "K7MP")),
    ],
)
def test_code_and_link_are_accepted(typed: str, login: Login) -> None:
    assert LOGIN.convert(typed, None, None) == login


@pytest.mark.parametrize(
    "typed", ["https://cards.example/r/calm-otter-42", "https://cards.example#K7MP", "ftp://x/login#K"]
)
def test_other_links_are_refused(typed: str, desktop: Device) -> None:
    result = desktop.run("login", typed)
    assert result.exit_code == 2
    assert "is not" in result.stderr


async def test_code_is_read_from_standard_input(live: Server, laptop: Device, desktop: Device) -> None:
    await laptop.play_first_race(live)
    assert desktop.run("login").exit_code == 2
    assert desktop.run("login", stdin="a/b\n").exit_code == 2
    assert desktop.run("login", stdin=f"{code_of(laptop)}\n").exit_code == 0
    assert [guest.name for guest in desktop.guests()] == ["ada"]


async def test_code_is_asked_for_on_a_terminal(live: Server, laptop: Device, tmp_path: Path) -> None:
    await laptop.play_first_race(live)
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "desktop")}
    with at_a_terminal(environment, [*SAMEDEAL, "login"]) as (process, terminal):
        until(terminal, "Code: ")
        os.write(terminal, f"{code_of(laptop).lower()}\n".encode())
        until(terminal, "You are ada")
        assert process.wait(50) == 0


async def test_qr_code_is_the_link(live: Server, laptop: Device) -> None:
    await laptop.play_first_race(live)
    result = laptop.run("pass", "--qr")
    assert "\n".join(qr_lines(f"{live.url}/login#{result.stdout.strip()}")) in result.stderr


async def test_login_does_not_replace_a_name_without_force(live: Server, laptop: Device, desktop: Device) -> None:
    guest, other = await laptop.play_first_race(live), await desktop.play_first_race(live)
    bot = await desktop.play_first_race(live, "bot")
    code = code_of(laptop)
    result = desktop.run("login", code)
    assert result.exit_code == 2
    assert "you already play as " in result.stderr
    assert "the code was not used" in result.stderr
    assert {guest.token for guest in desktop.guests()} == {other.token, bot.token}
    result = desktop.run("login", code, "--force")
    assert result.exit_code == 0
    assert f"The player {other.player}, who had the same name, is logged out on this device" in result.stderr
    assert {guest.player for guest in desktop.guests()} == {guest.player, bot.player}
    assert not await is_known(live, other.token)


async def test_login_says_how_to_play_under_another_name(live: Server, laptop: Device, desktop: Device) -> None:
    await laptop.play_first_race(live, "Zoë O’Neil")
    result = desktop.run("login", code_of(laptop, "--as", "Zoë O’Neil"))
    assert (
        "Play with --as 'Zoë O’Neil', or make it your default: samedeal config set name 'Zoë O’Neil'" in result.stderr
    )


async def test_pass_uses_the_token_of_the_environment(
    live: Server, laptop: Device, desktop: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await laptop.play_first_race(live, "bo")
    result = desktop.run("pass")
    assert (result.exit_code, result.stderr.startswith("samedeal: ada was not found for ")) == (2, True)
    monkeypatch.setenv("SAMEDEAL_TOKEN", guest.token)
    code = code_of(desktop)
    monkeypatch.delenv("SAMEDEAL_TOKEN")
    assert desktop.run("login", code).exit_code == 0
    assert [guest.player for guest in desktop.guests()] == [guest.player]


async def test_logout_revokes_the_token_of_this_device(live: Server, laptop: Device, desktop: Device) -> None:
    guest = await laptop.play_first_race(live)
    assert desktop.run("login", code_of(laptop)).exit_code == 0
    (on_desktop,) = desktop.guests()
    result = laptop.run("logout")
    assert (result.exit_code, result.output) == (0, f"Logged out ada at {live.url}\n")
    assert laptop.guests() == []
    assert not await is_known(live, guest.token)
    assert await is_known(live, on_desktop.token)
    assert laptop.run("logout").exit_code == 2


async def test_token_that_is_not_revoked_is_kept_without_force(
    live: Server, laptop: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await laptop.play_first_race(live)
    closed = Guest("http://127.0.0.1:1", "ada", guest.player, guest.token)
    guests.save(closed)
    monkeypatch.setenv("SAMEDEAL_SERVER", closed.server)
    result = laptop.run("logout")
    assert result.exit_code == 3
    assert "You are still logged in as ada; to forget the name anyway, use --force" in result.stderr
    assert closed in laptop.guests()
    result = laptop.run("logout", "--force", "--json")
    assert (result.exit_code, "The token was not revoked: " in result.stderr) == (0, True)
    assert json.loads(result.stdout) == {"server": closed.server, "name": "ada"}
    assert laptop.guests() == [guest]
