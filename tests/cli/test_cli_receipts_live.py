"""Receipts of whole races against a real server, with killed clients."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from samedeal.replays.signature import public_key
from samedeal_cli.net.receipts import in_file
from support.finished_races import SIGNING_KEY
from support.offline_cli import written
from support.program import SAMEDEAL, ended, started
from support.receipt_files import fact, other_last_move, rewritten
from support.servers import Server
from support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.tier(2)


class Person:
    """A person with their own account. Input and output are pipes."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "samedeal"
        self._environment = os.environ | {"XDG_STATE_HOME": str(folder), "PYTHONWARNINGS": "error"}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return started(*SAMEDEAL, *arguments, environment=self._environment)

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out + err

    def files(self, race: str) -> list[Path]:
        return sorted((self.state / "receipts").glob(f"{race}.*"), key=lambda path: path.stat().st_mtime)

    def digests(self, race: str) -> int:
        """The number of stored digests."""
        return sum(path.read_text().count('["digest"') for path in self.files(race))

    def until(self, race: str, digests: int) -> None:
        """Wait until a number of digests is stored."""
        wait_until(lambda: self.digests(race) >= digests)


def type_in(process: "subprocess.Popen[str]", *lines: str) -> None:
    assert process.stdin
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def test_receipts_survive_a_killed_client_and_bind_the_server(redis_url: str, tmp_path: Path) -> None:
    ada, bo = Person(tmp_path / "ada"), Person(tmp_path / "bo")
    with Server(redis_url, signing_key=SIGNING_KEY.hex()) as game:
        race = game.create("corners", max_racers=2, start_delay_ms=300)
        link = f"{game.url}/r/{race}"
        player, rival = (
            ada.start("join", link, "--as", "ada", "--ready"),
            bo.start("join", link, "--as", "bo", "--ready"),
        )
        type_in(player, "draw", "draw", "draw")
        ada.until(race, 6)
        player.kill()
        player.communicate()
        (stored,) = in_file(ada.files(race)[0])
        assert len(stored.nonces) == 1
        player = ada.start("join", link, "--as", "ada")
        type_in(player, "draw", "resign")
        type_in(rival, "draw", "draw", "resign")
        for process in (player, rival):
            ended(process)
        replay = asyncio.run(game.replay(race))
        for person, runs in ((ada, 2), (bo, 1)):
            assert len(person.files(race)) == runs
            code, output = person.run("verify", link)
            assert code == 0, output
            assert fact(output).endswith("digests agree (stored here)")
            assert f"; {game.url} publishes it" in fact(output, "signature")
            assert int(output.split("during the race: ")[1].split()[0]) == len(
                {line for path in person.files(race) for line in path.read_text().splitlines() if "digest" in line}
            )
        n, change = other_last_move(replay)
        file = str(written(tmp_path / "lie.json", rewritten(replay, replay.header, change, replay.secret)))
        for person in (ada, bo):
            code, output = person.run("verify", file, "--key", public_key(SIGNING_KEY))
            assert code == 5
            assert fact(output, "signature")[0] == "✔"
            told_of = {digest.n for path in person.files(race) for digest in in_file(path)[0].digests}
            first = min(number for number in told_of if number >= n)
            assert fact(output).startswith(f"✘ receipts    entry {first}: the digest of entry {first} does not")
            assert person.run("verify", file, "--no-receipts")[0] == 0
