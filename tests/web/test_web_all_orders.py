"""The page's connection and table with taps, answers, broadcasts, losses and restorations in every order, in Node."""

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from samedeal.codec import encode
from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal.wire.decoding import decode_to_server
from samedeal.wire.documents import GameDescription
from support.all_orders import Client, Made, SlowServer, check_all_orders, settle, two_moves, unseen
from support.node import needs_node

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "tests" / "support" / "page_client.mjs"
CHANGED = "The cards have changed."
pytestmark = needs_node
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
        assert not unseen(self)
        refused = [move for move, before in self.server.served.values() if before is None]
        assert not idle or len(refused) == sum(not text.startswith(CHANGED) for text in self.refusals)

    def _tell(self, event: str, argument: Any = None) -> None:
        assert self._node.stdin
        assert self._node.stdout
        self._node.stdin.write(msgspec.json.encode((event, argument)).decode() + "\n")
        self._node.stdin.flush()
        out = msgspec.json.decode(self._node.stdout.readline())
        self.made += [Made(move, self.board.table) for move in out["made"]]
        dropped = self._waiting + len(out["made"]) - out["answered"] - out["waiting"]
        assert not dropped or f"{dropped} queued move" in out["refusals"][-1]
        del self.made[len(self.made) - dropped :]
        self._waiting = out["waiting"]
        self.refusals += out["refusals"]
        for sent in out["sent"]:
            request = decode_to_server(msgspec.json.encode(sent), "json")
            assert isinstance(request, m.Move)
            assert self.server.up
            self.server.requests.append(request)


def json_of(message: m.FromServer) -> msgspec.Raw:
    return msgspec.Raw(encode(message, "json"))


def test_every_order_of_taps_and_messages_ends_with_every_tap_played_refused_or_dropped_visibly(node: Node) -> None:
    check_all_orders(partial(Page, node))


@pytest.mark.parametrize("slug", ["corners", "gallery", "kings-in-the-corners", "the-edge"])
def test_taps_before_the_answer_play_no_card_that_was_not_on_the_screen(node: Node, slug: str) -> None:
    server = SlowServer(slug, "1", 0)
    moves = two_moves(server)
    page = Page(node, server)
    for move in moves:
        page.play(move)
    settle(page)
    assert not unseen(page)


def test_queued_draws_are_played_whatever_they_turn_up(node: Node) -> None:
    page = Page(node, SlowServer("corners", "1", 0))
    for _ in range(3):
        page.press("draw")
    settle(page)
    assert [made.move for made in page.made] == ["draw"] * 3


def test_refused_move_drops_those_behind_it(node: Node) -> None:
    page = Page(node, SlowServer("corners", "1", 0))
    for _ in range(3):
        page.press("draw")
    request = page.server.requests.popleft()
    page.receive(m.Problem.of(Refused("stale-move", "Not now."), request.id))
    assert page.refusals == ["Not now. 2 queued moves were dropped."]
    assert not page.server.requests


def test_selection_outlasts_a_view_that_leaves_its_cards(node: Node) -> None:
    server = SlowServer("corner-stones", "1", 0)
    page = Page(node, server)
    move = (page.board.moves or ())[0]
    first, second = page.selection.parse(move).places
    page.touch(first)
    page.receive(server.view())
    page.touch(second)
    assert [made.move for made in page.made] == [move]
