"""Line mode: what it prints and the commands it accepts."""

import asyncio
import os
import re
import threading

import pytest
from msgspec import structs

from samedeal.errors import IllegalMove
from samedeal.games.catalogue import GAMES
from samedeal.race.race import Stage
from samedeal.race.standings import Standing
from samedeal.wire import messages as m
from samedeal.wire.documents import GameDescription
from samedeal_cli.line.descriptions import Boards, Descriptions
from samedeal_cli.line.line_mode import LineMode
from samedeal_cli.net.connection import Connection
from samedeal_cli.render.phrases import card_name
from samedeal_cli.settings import Settings
from support import example_states
from support.scripted_server import HEADER, RACE, Peer, server, view

CORNERS = GAMES["corners"]
GAME = structs.replace(GameDescription.of(CORNERS), options={})


def standing(seat: int, name: str, outcome: str, home: int = 0, place: int = 1) -> Standing:
    return example_states.standing(seat, name, outcome, home, place=place, bot=False, attempts=1, ms=home * 1000)


class Session:
    """Runs line mode with messages of a server and the input of a script."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    async def __call__(
        self,
        typed: str,
        *messages: m.FromServer,
        answers: tuple[m.FromServer, ...] = (),
        boards: Boards = "words",
        interactive: bool = False,
        width: int = 80,
        stage: Stage = "open",
        screen_reader: bool = False,
    ) -> list[str]:
        """Return the lines that line mode prints."""
        begun, told = asyncio.Event(), asyncio.Event()

        async def script(peer: Peer) -> None:
            await peer.seat(stage=stage)
            await begun.wait()
            for message in messages:
                await peer.say(message)
                await (await peer.socket.ping())  # the answer shows that the client has the message
                for _ in range(20):  # iterations of the event loop, in which it prints the message
                    await asyncio.sleep(0)
            told.set()
            for answer in answers:
                request = await peer.hear()
                await peer.say(structs.replace(answer, re=request.id))
            await peer.socket.wait_closed()

        reading, writing = os.pipe()
        ended = threading.Event()

        def read() -> bytes:
            data = os.read(reading, 65_536)
            if not data:
                ended.set()
            return data

        self._monkeypatch.setattr("samedeal_cli.line.console._read", read)
        async with server(script) as (url, _), Connection(url, RACE, name="ada") as connection:
            running = asyncio.create_task(
                LineMode(
                    connection,
                    GAME,
                    Settings(screen_reader=screen_reader),
                    boards=boards,
                    interactive=interactive,
                    width=width,
                ).run(ready=False)
            )
            begun.set()
            await told.wait()
            os.write(writing, typed.encode())
            os.close(writing)
            await asyncio.wait_for(running, 10)
            await asyncio.to_thread(ended.wait, 10)
        os.close(reading)
        return self._capsys.readouterr().out.splitlines()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Session:
    return Session(monkeypatch, capsys)


def dealt(moves: tuple[str, ...] = ()) -> m.Board:
    game = CORNERS.from_seed("42")
    for move in moves:
        game = game.after(move)
    return m.Board(
        table=game.view(),
        notes=game.notes,
        outcome=game.outcome,
        home=game.home,
        attempt=1,
        ply=len(moves),
        moves=game.moves(),
    )


async def test_news_of_rivals_are_quarters_overtakes_and_results(session: Session) -> None:
    def racing(mine: int, theirs: int, outcome: str = "playing") -> m.View:
        ahead = mine >= theirs
        own = standing(1, "ada", "playing", mine, 1 if ahead else 2)
        rival = standing(2, "bo", outcome, theirs, 2 if ahead else 1)
        return structs.replace(view("running"), standings=(own, rival), board=dealt())

    def waiting(outcome: str) -> m.View:
        rivals = (standing(1, "ada", "ready"), standing(2, "bo", outcome))
        return structs.replace(view("open"), standings=rivals)

    news = [waiting("waiting"), waiting("ready"), racing(1, 0), racing(1, 11), racing(1, 13), racing(14, 13)]
    lines = await session("last\nquit\n", *news, racing(14, 25), racing(14, 48, "won"), boards="none")
    events = [line for line in lines if line.startswith(": ")]
    assert events == [
        ": bo joined",
        ": bo is ready",
        ": you are 2nd of 2: bo passed you",
        ": bo is past a quarter, 13 of 48",
        ": you are 1st of 2: you passed bo",
        ": bo is past halfway, 25 of 48",
        ": you are 2nd of 2: bo passed you",
        ": bo solved the deal in 48.0 s",
    ]
    assert lines[-1] == "your seat is reserved. To rejoin: join again"


async def test_end_that_arrives_with_the_end_of_the_input_is_announced(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def has_no_turn_yet(_: LineMode) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(LineMode, "_listen", has_no_turn_yet)
    over = structs.replace(view("over"), standings=(standing(1, "ada", "resigned"),), board=dealt())
    assert "the race is over; the deal was" in await session("quit\n", over)


async def test_screen_reader_output_has_no_prompt(session: Session) -> None:
    start = structs.replace(view("running"), board=dealt(), standings=(standing(1, "ada", "playing"),))
    after = structs.replace(start, n=2, board=dealt(("draw",)))
    lines = await session("draw\nquit\n", start, answers=(after,), interactive=True, screen_reader=True)
    assert "f1: 7 of spades" in lines
    assert any(line.startswith("ok 1: draw: ") for line in lines)
    assert not any(line.startswith(">") or "\x1b" in line for line in lines)


async def test_rivals_of_the_same_name_are_told_apart(session: Session) -> None:
    def racing(theirs: int) -> m.View:
        racers = (standing(1, "ada", "playing"), standing(2, "bo", "playing", theirs), standing(3, "bo", "playing"))
        return structs.replace(view("running"), standings=racers, board=dealt())

    lines = await session("standings\nquit\n", racing(0), racing(13), boards="none")
    assert ": bo #2 is past a quarter, 13 of 48" in lines
    assert [line.partition(": ")[2].split(",")[0] for line in lines if " of 3: " in line] == ["ada", "bo #2", "bo #3"]


async def test_spectator_sees_the_newest_tables(session: Session) -> None:
    def tables(moves: tuple[str, ...]) -> m.View:
        racers = (standing(2, "bo", "playing"), standing(3, "cy", "playing"))
        boards = {2: dealt(), 3: dealt(moves)}
        return structs.replace(view("running"), seat=None, board=None, boards=boards, standings=racers)

    moves = ("draw", "draw")
    progress = m.Progress(race=RACE, n=9, standings=tables(()).standings)
    lines = await session("last\nboard\nquit\n", tables(()), tables(moves[:1]), tables(moves), progress)
    stocks = [line for line in lines if line.startswith("stock: ")]
    assert stocks[-2:] == [f"stock: {len(board.table['stock'])} face down" for board in (dealt(), dealt(moves))]
    assert [line for line in lines if line in ("bo:", "cy:")][-2:] == ["bo:", "cy:"]


async def test_commands_print_their_results(session: Session) -> None:
    start = structs.replace(
        view("running"), board=dealt(), standings=(standing(1, "ada", "playing"),), clock_ms=300_000
    )
    after = structs.replace(start, n=2, board=dealt(("draw",)))
    card = dealt(("draw",)).table["waste"][-1]
    problem = m.Problem.of(IllegalMove("3D does not follow AC: foundations go up in suit."))
    typed = f"board\nlegal\ndraw\nlast\nR5\np {card.lower()}\np 10\np\nscan r\nscan\nscan l\nrules\n"
    typed += "standings\nclock\n?\nquit\n"
    lines = await session(typed, start, answers=(after, problem))
    text = "\n".join(lines)
    assert "f1: 7 of spades" in lines
    assert "stock: 43 face down" in lines
    assert "pass 1 of 3" in lines
    assert " ".join(CORNERS.from_seed("42").moves()) in lines
    assert any(re.fullmatch(r"ok 1: draw: .* to waste, stock 42", line) for line in lines)
    assert any(re.fullmatch(r"draw: .* to waste, stock 42", line) for line in lines)
    assert "no: 3 of diamonds does not follow ace of clubs: foundations go up in suit" in text
    assert any(line.endswith(": waste, on top") for line in lines)
    assert [line for line in lines if re.match(r"r\d: ", line)][-5:] == [
        f"r{n}: {card_name(dealt().table[f'r{n}'][0])}" for n in range(1, 6)
    ]
    assert lines.count("which piles? Type scan and one of: f, r, stock, waste") == 2
    assert "'10' is not a valid card (try 6h, 10s or qd)" in lines
    assert "which card? For example, p 6h finds the six of hearts" in lines
    assert "Moves: r1 to r5 or w plays a card, draw draws one, and redeal turns the waste" in lines
    assert "1 of 1: ada, 0 of 48, playing" in lines
    assert any(re.fullmatch(r"4:59\.\d left|5:00\.0 left", line) for line in lines)
    assert "quit       leave; you can rejoin    last       repeat the last event" in lines
    assert max(map(len, lines[-9:])) <= 80


async def test_restart_and_undo_say_what_changed(session: Session) -> None:
    drawn = structs.replace(
        view("running"), board=dealt(("draw",)), standings=(standing(1, "ada", "playing"),), clock_ms=300_000
    )
    undone = structs.replace(drawn, n=2, board=structs.replace(dealt(), ply=2))
    again = structs.replace(drawn, n=3, board=structs.replace(dealt(), ply=3, attempt=2))
    lines = await session("undo\nrestart\nquit\n", drawn, answers=(undone, again))
    assert "ok 2: undo: stock 43 face down" in lines
    after = lines[lines.index("ok 3: restart: attempt 2") + 1 :]
    assert "f1: 7 of spades" in after
    assert "waste: empty" in after


async def test_finished_solo_game_is_finished_and_a_race_says_who_is_waited_for(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = structs.replace(
        view("running"),
        board=structs.replace(dealt(), outcome="lost"),
        standings=(standing(1, "ada", "playing"), standing(2, "bo", "playing", place=2)),
        clock_ms=192_000,
    )
    ada, bo = lost.standings
    resigned = structs.replace(lost, n=2, standings=(structs.replace(ada, outcome="resigned", done=True), bo))
    lines = await session("resign\n", lost, answers=(resigned,))
    assert "you have resigned; your best attempt counts" in lines
    assert any(re.fullmatch(r"Waiting for bo \(\d:\d\d at most\)\.", line) for line in lines)
    alone = structs.replace(HEADER, options=structs.replace(HEADER.options, max_racers=1))
    monkeypatch.setattr("support.scripted_server.HEADER", alone)
    lines = await session("finish\n", lost, answers=(resigned,))
    assert "you have finished; your best attempt counts" in lines


def test_empty_piles_say_what_they_accept() -> None:
    edge = GAMES["the-edge"]
    description = Descriptions(GameDescription.of(edge), Settings(), boards="words", width=80)
    game = edge.from_seed("226")
    board = structs.replace(dealt(), table=game.view(), moves=("b2", "b3"))
    lines = list(description.table(board))
    assert "a1: empty, for a king" in lines
    assert "b1: empty, for a queen" in lines
    assert "b2: empty, accepts a card now" in lines
    assert "c2: empty" in lines


async def test_help_on_a_narrow_terminal_has_one_column(session: Session) -> None:
    lines = await session("?\nquit\n", width=60)
    assert "quit       leave; you can rejoin" in lines
    assert "last       repeat the last event" in lines


async def test_commands_before_the_deal_ask_to_wait(session: Session) -> None:
    rivals = (standing(1, "ada", "waiting"), standing(2, "bo", "waiting"), standing(3, "cy", "ready"))
    start = structs.replace(view("open"), board=None, standings=rivals)
    typed = "board\nlegal\np 6h\nscan f\nfoo\nl4c4\nready\nquit\n"
    lines = await session(typed, start, answers=(start,), interactive=True)
    answers = [line.removeprefix("> ").strip() for line in lines if not line.startswith(": ")]
    expected = ["no table yet: the cards are not dealt"] * 4
    expected += ["unknown: foo; type ? for help", "no: moves come after the deal; type ? for help"]
    expected += ["you are ready; waiting for bo", "your seat is held for a short time. To rejoin: join again"]
    assert answers[-len(expected) :] == expected


async def test_rejoining_player_is_told_that_the_race_is_running(session: Session) -> None:
    lines = await session("quit\n", stage="running", boards="none")
    assert any(re.fullmatch(r"the race is running: 0:0\d\.\d left", line) for line in lines)
    assert not any(line.startswith("go: ") for line in lines)


async def test_late_spectator_sees_standings_and_no_seat_notice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = structs.replace(
        view("running"), seat=None, board=None, standings=(standing(1, "bo", "playing", 13),), watching=2
    )

    async def script(peer: Peer) -> None:
        watch = await peer.welcome()
        if peer.number == 0:
            await peer.say(structs.replace(seen, re=watch.id, header=HEADER))
            await peer.socket.close(1012)
        else:
            await peer.say(structs.replace(seen, re=watch.id, stage="over", deal="corners:1.0"))

    monkeypatch.setattr("samedeal_cli.line.console._read", lambda: b"")
    async with server(script) as (url, _), Connection(url, RACE, name="ada", watch=True) as connection:
        mode = LineMode(connection, GAME, Settings(), boards="words", interactive=False, width=80)
        await asyncio.wait_for(mode.run(ready=None), 10)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:5] == ["you are watching", "1 of 1: bo, 13 of 48, playing, after 13.0 s", "2 watching"]
    assert "the server is restarting; reconnecting" in lines
    assert lines[lines.index("the race is over; the deal was") + 1] == "corners:1.0"
    assert not any("your seat" in line for line in lines)
