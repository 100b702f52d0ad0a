"""The page's connection and table with taps, answers, broadcasts, losses and restorations in every order, in Node."""

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from samedeal.wire import messages as m
from samedeal.wire.codec import decode_to_server, encode
from samedeal.wire.documents import GameDescription
from support.all_orders import Client, Made, SlowServer, check_all_orders, settle, two_moves, unseen

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "tests" / "support" / "page_client.mjs"
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
Node = subprocess.Popen[str]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A process that runs the page's modules, which are copied to one directory as the server arranges them."""
    directory = tmp_path_factory.mktemp("modules")
    shutil.copytree(ROOT / "clients" / "web", directory, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples" / "verify", directory / "verify")
    (directory / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    command = ["node", str(DRIVER), str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        yield process
        process.kill()


class Page(Client):
    """The page's connection and table."""

    def __init__(self, node: Node, server: SlowServer) -> None:
        super().__init__(server)
        self._node, self._waiting = node, 0
        self.refusals: list[str] = []
        race = server.log.race
        self._tell("start", {"race": race.id, "game": GameDescription.of(race.game), "view": json_of(server.view())})

    def touch(self, place: str) -> None:
        self._tell("touch", place)

    def press(self, key: str) -> None:
        self._tell(key)

    def receive(self, message: m.FromServer) -> None:
        super().receive(message)
        self._tell("receive", json_of(message))

    def lose(self) -> None:
        self._tell("lose")

    def restore(self) -> None:
        super().restore()
        self._tell("restore", json_of(self.live.view))

    def check(self, *, idle: bool) -> None:
        assert not (idle and self._waiting)
        refused = [move for move, before in self.server.served.values() if before is None]
        assert not idle or len(self.refusals) == len(refused)

    def _tell(self, event: str, argument: Any = None) -> None:
        assert self._node.stdin
        assert self._node.stdout
        self._node.stdin.write(msgspec.json.encode((event, argument)).decode() + "\n")
        self._node.stdin.flush()
        out = msgspec.json.decode(self._node.stdout.readline())
        self.made += [Made(move, self.board.table) for move in out["made"]]
        self._waiting += len(out["made"]) - out["answered"]
        self.refusals += out["refusals"]
        for sent in out["sent"]:
            request = decode_to_server(msgspec.json.encode(sent), "json")
            assert isinstance(request, m.Move)
            assert self.server.up
            self.server.requests.append(request)


def json_of(message: m.FromServer) -> msgspec.Raw:
    return msgspec.Raw(encode(message, "json"))


def test_every_order_of_taps_and_messages_ends_with_every_tap_played_or_refused_visibly(node: Node) -> None:
    check_all_orders(partial(Page, node))


@pytest.mark.xfail(
    strict=True, reason="P-F1: a tap on the board before the answer plays whatever card is there by then"
)
@pytest.mark.parametrize("slug", ["corners", "gallery", "kings-in-the-corners", "the-edge"])
def test_taps_before_the_answer_play_no_card_that_was_not_on_the_screen(node: Node, slug: str) -> None:
    server = SlowServer(slug, "1", 0)
    moves = two_moves(server)
    page = Page(node, server)
    for move in moves:
        page.play(move)
    settle(page)
    assert not unseen(page)
