"""A race with secrets known to the test, to check that clients receive only what they may know."""

import base64
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

import msgspec

from samedeal import codec, commitments
from samedeal.computer.deal_filters import first
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.klondike import COLUMNS, Klondike
from samedeal.race.events import RACE_FORMAT, Header, Heat
from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.replays.replay import Replay
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.contests import Contest
from support.logged_server import Line, LoggedServer, request
from support.servers import MASTER_KEY, SIGNING_KEY

KEY, PRIVATE_KEY = bytes.fromhex(MASTER_KEY), bytes.fromhex(SIGNING_KEY)
CARD = re.compile(r"(?<![0-9A-Za-z])[A2-9TJQK][SHCD](?![0-9A-Za-z])")
REPLAY_FORMS = ("json", "msgpack", "ndjson")
RACERS = ("ada", "bo", "cy")
"""The racers; cy resigns at once and then watches."""
VIEWS = {"ada": "full", "bo": "changes", "cy": "changes"}


@dataclass
class RacerModel:
    """The positions of one racer after each ply, computed independently of the race."""

    positions: list[Game]
    undo_history: list[Game] = field(default_factory=list)
    may_restart: bool = True
    refusals: set[str] = field(default_factory=set)
    """The texts of refused moves, computed from these positions alone."""

    @property
    def game(self) -> Game:
        return self.positions[-1]

    @property
    def ply(self) -> int:
        return len(self.positions) - 1

    def make(self, move: str) -> None:
        game = self.game
        if move == "restart":
            self.positions.append(self.positions[0])
            self.undo_history = []
        elif move == "undo":
            self.positions.append(self.undo_history.pop())
        else:
            self.positions.append(game.after(move))
            self.undo_history = [] if face_down(game) != face_down(self.game) else [*self.undo_history, game]

    def any_move(self, chance: Random) -> str | None:
        """Return a random legal move, sometimes undo or restart."""
        if self.game.won:
            return None
        has_moved = self.game != self.positions[0]
        if self.game.over or (has_moved and chance.random() < 0.05):
            return "restart" if has_moved and self.may_restart else None
        if self.undo_history and chance.random() < 0.2:
            return "undo"
        return chance.choice(self.game.moves())

    def seen(self, ply: int) -> set[str]:
        """Return the cards that this racer's moves have turned up by a ply."""
        return {card for game in self.positions[: ply + 1] for pile in shown(game).values() for card in pile} - {"??"}


def shown(game: Game) -> dict[str, list[str]]:
    """Return the table with hidden cards as ``??``."""
    down = face_down(game)
    return {
        place: ["??"] * down.get(place, 0) + [*map(str, pile[down.get(place, 0) :])]
        for place, pile in game.table.piles.items()
    }


def face_down(game: Game) -> dict[str, int]:
    """Return how many cards are face down: the stock and, in Klondike, a number of each column."""
    columns = zip(COLUMNS, game.down, strict=True) if isinstance(game, Klondike) else ()
    return {"stock": len(game.table.piles.get("stock", ())), **dict(columns)}


@dataclass
class SealedRace:
    """A running race, its clients and all its secrets."""

    server: LoggedServer
    header: Header
    seed: str
    secret: bytes
    hands: dict[str, RacerModel]
    lines: dict[str, Line]
    tokens: dict[str, str]
    players: dict[str, str]
    """The public ids."""
    nonces: dict[str, bytes]

    @property
    def race_id(self) -> str:
        return self.header.race

    @property
    def sealed(self) -> bool:
        return self.header.seed is None

    def forbidden(self, viewer: str | None = None) -> list[bytes]:
        """Return what a viewer must not receive in any encoding; None is a viewer without token and nonce."""
        hidden = [self.secret, KEY, PRIVATE_KEY]
        hidden += [nonce for name, nonce in self.nonces.items() if name != viewer]
        texts = [token for name, token in self.tokens.items() if name != viewer]
        if self.sealed:
            root, _, _ = self.seed.partition(".")
            hidden.append(bytes.fromhex(root))
            texts.append(self.seed)
        return [form for raw in hidden for form in forms(raw)] + [text.encode() for text in texts]


def forms(raw: bytes) -> Iterator[bytes]:
    """Yield the bytes and their text encodings."""
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield base64.b64encode(raw).rstrip(b"=")
    yield base64.urlsafe_b64encode(raw).rstrip(b"=")


@asynccontextmanager
async def sealed_race(
    server: LoggedServer,
    game: str,
    seed: str | None = None,
    spectators: str = "progress",
    daily: bool = False,
    contest: Contest | None = None,
) -> AsyncIterator[SealedRace]:
    """A race that has just been dealt: ada and bo play, cy has resigned, eve watches. It can be a heat on the first
    deal of a challenge.
    """
    options: dict[str, Any] = {"start_delay_ms": 300, "max_racers": 3}
    if contest:
        race_id = contest.heat(server, **options)
    elif daily:
        opening = json.dumps({"game": game, "daily": True, "options": options}).encode()
        race_id = request(server, "POST", "/api/v1/races", opening).json["race"]
    else:
        race_id = server.create(game, seed=seed, spectators=spectators, **options)
    header = msgspec.convert(request(server, "GET", f"/api/v1/races/{race_id}").json["header"], Header)
    nonces = {name: sha256(f"{race_id} {name}".encode()).digest() for name in RACERS}
    if contest:
        secret, dealt = contest.secret, contest.seed(1)
    else:
        secret = (
            commitments.daily_secret(KEY, game, header.date) if daily else commitments.secret(KEY, race_id, header.salt)
        )
        root = commitments.root(secret, () if daily else nonces.values())
        dealt = seed or f"{root}.{first(GAMES[game], root, {}, header.options.filter)}"
    async with AsyncExitStack() as stack:
        lines, tokens, players = {}, {}, {}
        for name, form in zip((*RACERS, "eve"), ("json", "msgpack", "json", "msgpack"), strict=True):
            line = lines[name] = await stack.enter_async_context(
                await Line.open(server, "json" if form == "json" else "msgpack")
            )
            welcome = await line.ask("hello", name=name, format=RACE_FORMAT, features=[m.REACTIONS, m.GUIDANCE])
            assert isinstance(welcome, m.Welcome)
            assert welcome.token
            tokens[name], players[name] = welcome.token, welcome.player
        await lines["eve"].ask("watch", race=race_id)
        for name in RACERS:
            promise = commitments.nonce_commitment(race_id, nonces[name])
            joined = await lines[name].ask("join", race=race_id, commitment=promise, views=VIEWS[name])
            assert isinstance(joined, m.View)
        for name in RACERS:
            await lines[name].ask("ready")
        waits = not (seed or daily or contest)  # for nonces; otherwise the deal can come first
        for name in RACERS:
            assert isinstance(await lines[name].ask("nonce", nonce=nonces[name].hex()), m.View) or not waits
        for line in lines.values():
            while not is_running(line):
                await line.hear()
        assert isinstance(await lines["cy"].ask("resign"), m.View)
        hands = {
            name: RacerModel([GAMES[game].from_seed(dealt)], may_restart=not header.options.attempts) for name in RACERS
        }
        yield SealedRace(server, header, dealt, secret, hands, lines, tokens, players, nonces)


def is_running(line: Line) -> bool:
    """Return whether a client has received a view of a running race, which can be the answer to its nonce."""
    messages = (decoding.decode_from_server(packet, line.form) for packet in reversed(line.packets))
    return any(isinstance(message, m.View) and message.stage == "running" for message in messages)


async def play(scene: SealedRace, rounds: int) -> None:
    """Ada and bo play randomly and try illegal moves in between."""
    chance = Random(scene.header.game)
    places = list(scene.hands["ada"].game.table.piles)
    tries = ["draw", "redeal", "deal", "undo", "restart", "w", *places]
    tries += [first + second for first in places for second in places] + [f"{place}-" for place in places]
    for name in ("ada", "bo"):
        assert isinstance(await scene.lines[name].ask("react", reaction="oops"), m.Reaction)
    for _ in range(rounds):
        for name in ("ada", "bo"):
            line, hand = scene.lines[name], scene.hands[name]
            for token in chance.sample(tries, 3):
                allowed = {*hand.game.moves(), *(["undo"] if hand.undo_history else []), "restart"}
                if token not in allowed:
                    hand.refusals.add(hand.game.why_not(token))
                    assert isinstance(await line.ask("move", move=token, ply=hand.ply), m.Problem)
            move = hand.any_move(chance)
            if move:
                before = hand.ply
                hand.make(move)
                answer = await line.ask("move", move=move, ply=before)
                is_done = hand.game.won or (hand.game.over and not hand.may_restart)
                assert isinstance(answer, m.View if VIEWS[name] == "full" or is_done else m.Changes), move


async def finish(scene: SealedRace) -> Replay:
    """Ada and bo resign, which ends the race. Return its replay."""
    for name in ("ada", "bo"):
        await scene.lines[name].ask("resign")
    return await scene.server.replay(scene.race_id)


def texts(content: Any) -> Iterator[str]:
    """Yield every string in JSON content, field names included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from texts(name)
            yield from texts(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from texts(value)


def cards(content: Any) -> set[str]:
    return {card for text in texts(content) for card in CARD.findall(text)}


def found(data: bytes, forbidden: Iterable[bytes]) -> list[bytes]:
    return [secret for secret in forbidden if secret in data]


def reveals_nothing(scene: SealedRace, name: str, packets: Iterable[bytes], form: codec.Form) -> bool:
    """Assert that a viewer has received no cards of a common deal, except those turned up by the viewer's moves."""
    hand = scene.hands.get(name)
    for packet in packets:
        assert found(packet, scene.forbidden(name)) == []
        message = decoding.decode_from_server(packet, form)
        assert getattr(message, "deal", None) is None
        seen = hand.seen(hand.ply) if hand else set()
        if isinstance(message, m.Welcome):
            continue  # tokens may look like cards
        content = json.loads(codec.encode(message, "json"))
        assert cards(content) <= seen or (hand and isinstance(message, m.Problem) and message.detail in hand.refusals)
    return True


def check_packets(scene: SealedRace, name: str, line: Line, *, boards: bool, standings: bool = True) -> None:
    """Assert that a viewer has received only permitted information.

    `boards` permits tables of other racers, `standings` permits the standings of the running race.
    """
    hand, ply, stage, board = scene.hands.get(name), 0, "open", dict[str, Any]()
    public = {scene.race_id, scene.header.game, scene.header.rules, scene.header.commitment, scene.header.salt}
    public |= {"open", "countdown", "running", scene.header.options.spectators, scene.header.options.filter, *RACERS}
    public |= {"waiting", "ready", "playing", "stuck", "lost", "over", "won", "resigned"}
    if not scene.sealed:
        public |= {scene.seed, f"{scene.header.game}:{scene.seed}"}
    if heat := scene.header.heat:
        public |= {heat.challenge, heat.nonce, heat.h, scene.header.options.finishers, "dan"}  # its host
    assert line.packets
    for packet in line.packets:
        message = decoding.decode_from_server(packet, line.form)
        assert codec.encode(message, line.form) == packet, "the packet contains unknown fields"
        assert found(packet, scene.forbidden(name)) == []
        content = json.loads(codec.encode(message, "json"))
        if isinstance(message, m.View | m.Changes) and (news := content.pop("board", None)) is not None:
            assert hand, f"{name} has no table"
            if isinstance(message, m.Changes):
                news["table"] = board["table"] | news["table"]
                assert set(content) == {"t", "re", "n", "h"}
            board, ply = news, news["ply"]
            game = hand.positions[ply]
            assert board["table"] == shown(game)
            assert board.get("moves") == ([] if name == "cy" else list(game.moves())) or ply == 0
            assert cards(board) <= hand.seen(ply)
        if isinstance(message, m.View):
            for seat, other in content.pop("boards", {}).items():
                assert boards, f"{name} sees the table of seat {seat}"
                rival = scene.hands[RACERS[int(seat) - 1]]
                assert other["table"] == shown(rival.positions[other["ply"]])
                assert "moves" not in other
                assert cards(other) <= rival.seen(other["ply"])
            assert message.h == content.pop("h")
            assert message.deal is None or not scene.sealed
        if isinstance(message, m.View | m.Progress):
            stage = message.stage if isinstance(message, m.View) else stage
            if not standings and stage == "running":
                assert message.standings == ()
            values = {text for text in texts(content) if text not in FIELDS}
            assert values <= public, values - public
        elif isinstance(message, m.Reaction):
            sent = {"t": "reaction", "race": scene.race_id, "seat": message.seat, "reaction": "oops"}
            assert content == sent | ({} if message.re is None else {"re": message.re})
        elif isinstance(message, m.Problem):
            known = hand.seen(ply) if hand else set()
            assert cards(content) <= known or (hand and message.detail in hand.refusals)


FIELDS = {field for kind in (m.View, m.Progress, Header) for field in kind.__struct_fields__} | {
    "t",
    "view",
    "progress",
}
FIELDS |= {name for kind in (Standing, Ghost) for name in kind.__struct_fields__}
FIELDS |= {"limit_ms", "max_racers", "spectators", "finishers", *Heat.__struct_fields__}
FIELDS |= {"start_delay_ms", "undo", "attempts", "filter", "unlisted"}
