"""Views: no viewer receives hidden information, which would leak the deal that all racers share."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs, to_builtins

from samedeal import codec
from samedeal.cards import BACK
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Left, Moved, Resigned
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO, Run, UndoHistory
from samedeal.race.standings import Seat
from samedeal.values import replace
from samedeal.wire import views
from samedeal.wire.messages import Progress, Rematch, View
from support.finished_races import SECRET, Logged, nonce
from support.positions import with_hidden
from support.races_by_hand import closed, counting, opened, raced, run_of, running, seated
from support.vectors import WINS

FORMS: tuple[codec.Form, ...] = ("msgpack", "json")

every_game = pytest.mark.parametrize("slug", GAMES)
every_sight = pytest.mark.parametrize("spectators", ["progress", "after", "open"])
luck = st.integers(0, 2**64 - 1).map(Random)
few = settings(derandomize=True, max_examples=12)


def viewers(race: Race) -> list[int | None]:
    return [None, *(seat.number for seat in race.roster)]


def seen(race: Race, viewer: int | None) -> tuple[View, Progress]:
    """All messages that a viewer can be sent about a race."""
    view = views.view(race, viewer, race.at, re=1, legal=True, guidance=True, header=True)
    return view, views.progress(race, viewer)


def seen_bytes(race: Race, viewer: int | None) -> list[bytes]:
    """The encodings of these messages, and of all that has changed for a racer since the deal."""
    messages: list[object] = [*seen(race, viewer)]
    if viewer is not None and (run := race.seat(viewer).run):
        messages.append(views.changes(race, viewer, run.deal, re=1, legal=True, guidance=True))
    return [codec.encode(message, form) for message in messages for form in FORMS]


def stages(log: Logged) -> Iterator[Race]:
    """The race before its first entry and after each."""
    race = Race.opened(log.race.header, SECRET)
    yield race
    for entry in log.entries:
        race = race.after(entry)
        yield race


def play(log: Logged, seat: int, *moves: str) -> None:
    for move in moves:
        log.say(Moved(seat=seat, move=move), 10)


# What a view shows.


def test_a_view_before_the_deal_has_a_seat_but_no_board() -> None:
    log = seated()
    view = views.view(log.race, 1, log.race.at)
    assert (view.seat, view.board, view.boards, view.deal, view.clock_ms) == (1, None, None, None, None)
    assert (view.race, view.n, view.h, view.stage) == (log.race.id, 1, log.race.digest, "open")
    assert view.standings == log.race.standings()


def test_the_header_is_included_only_on_request() -> None:
    race = opened().race
    assert views.view(race, None, race.at).header is None
    assert views.view(race, None, race.at, header=True).header == race.header


def test_the_clock_counts_down_to_the_deal_then_to_the_end() -> None:
    race = counting(start_delay_ms=5_000).race
    assert views.view(race, 1, race.at + 1_200).clock_ms == 3_800
    assert views.view(race, 1, race.at + 9_000).clock_ms == 0
    race = running(limit_ms=60_000).race
    assert views.view(race, 1, race.at + 1).clock_ms == 59_999
    assert views.view(race, 1, race.at + 60_001).clock_ms == 0
    race = closed(running()).race
    assert views.view(race, 1, race.at).clock_ms is None


@every_game
def test_a_racer_sees_their_table_and_legal_moves(slug: str) -> None:
    log = running(slug=slug)
    run = run_of(log.race)
    board = views.view(log.race, 1, log.race.at, legal=True).board
    assert board
    assert board.table == run.game.view()
    assert (board.notes, board.home, board.outcome) == (run.game.notes, run.game.home, "playing")
    assert (board.attempt, board.ply, board.undo, board.restart) == (1, 0, False, False)
    assert board.moves == run.game.moves()
    play(log, 1, run.game.moves()[0], RESTART, run.game.moves()[0])
    board = views.view(log.race, 1, log.race.at).board
    assert board
    assert (board.attempt, board.ply, board.restart, board.moves) == (2, 3, True, None)
    assert board.undo == run_of(log.race).may(UNDO)


def test_a_board_of_somebody_who_plays_alone_is_that_of_a_racer_after_the_same_moves() -> None:
    log = running(slug="corner-stones")
    deal, moves = run_of(log.race).game, list[str]()
    for _ in range(3):
        board = views.view(log.race, 1, log.race.at, legal=True, guidance=True).board
        assert views.board_after(deal, moves) == board
        moves.append(run_of(log.race).game.moves()[0])
        play(log, 1, moves[-1])


@every_game
def test_boards_have_guidance_only_on_request(slug: str) -> None:
    log = running(slug=slug, spectators="open")
    game = run_of(log.race).game
    guidance = views.guidance_of(game)
    assert (guidance.instruction, guidance.facts, guidance.marks) == (game.instruction, game.facts, game.marks)
    for viewer in (1, None):
        for wanted in (True, False):
            view = views.view(log.race, viewer, log.race.at, guidance=wanted)
            boards = [board for board in (view.board, *(view.boards or {}).values()) if board]
            assert {board.guidance == guidance for board in boards} == {wanted}
            assert (b"guidance" in codec.encode(view, "json")) is wanted
    log.say(Resigned(seat=1))
    board = views.view(log.race, 1, log.race.at, guidance=True).board
    assert board
    assert board.guidance
    assert (board.guidance.instruction, board.guidance.ending) == ("", "")


def test_a_racer_who_is_done_has_no_moves() -> None:
    log = running(slug="corner-stones")
    play(log, 1, run_of(log.race).game.moves()[0])
    log.say(Resigned(seat=1))
    board = views.view(log.race, 1, log.race.at, legal=True).board
    assert board
    assert (board.moves, board.undo, board.restart, board.outcome) == ((), False, False, "resigned")
    closed(log)
    board = views.view(log.race, 2, log.race.at, legal=True).board
    assert board
    assert (board.moves, board.undo, board.restart) == ((), False, False)


def test_a_viewer_without_a_seat_cannot_view_as_a_racer() -> None:
    log = seated()
    log.say(Left(seat=1))
    for number in (1, 2):
        with pytest.raises(Refused) as refusal:
            views.view(log.race, number, log.race.at)
        assert refusal.value.code == "not-seated"
        with pytest.raises(Refused):
            views.progress(log.race, number)


# What a view never shows.


@pytest.mark.parametrize("starts_at", [None, 5_000])
def test_after_the_race_the_clock_is_that_of_an_open_rematch(starts_at: int | None) -> None:
    race = closed(running()).race
    rematch = Rematch(race="next-race", game="corners", by="Name 1", players=("Name 1",), starts_at=starts_at)
    assert views.view(race, 2, 1_000, rematch=rematch).clock_ms == (starts_at and 4_000)
    assert views.view(race, 2, 6_000, rematch=rematch).clock_ms == (starts_at and 0)
    for stage in ("countdown", "running", "over"):
        assert views.view(race, 2, 1_000, rematch=replace(rematch, stage=stage)).clock_ms is None
    assert views.view(race, 2, 1_000).clock_ms is None


@pytest.mark.parametrize("spectators", ["progress", "after"])
def test_other_tables_are_never_shown(spectators: str) -> None:
    log = running(3, slug="the-edge", spectators=spectators)
    play(log, 1, run_of(log.race).game.moves()[0])
    log.say(Resigned(seat=3))
    seen = [views.view(log.race, viewer, log.race.at) for viewer in viewers(log.race)]
    assert [view.boards for view in seen] == [None] * 4
    assert seen[0].board is None
    assert seen[1].board != seen[2].board


def test_in_an_open_race_spectators_and_finished_racers_see_tables() -> None:
    log = running(3, slug="the-edge", spectators="open")
    boards = {viewer: views.view(log.race, viewer, log.race.at, legal=True).boards for viewer in viewers(log.race)}
    assert {viewer: None if places is None else set(places) for viewer, places in boards.items()} == {
        None: {1, 2, 3},
        1: None,
        2: None,
        3: None,
    }
    log.say(Resigned(seat=2))
    boards = {viewer: views.view(log.race, viewer, log.race.at, legal=True).boards for viewer in viewers(log.race)}
    assert boards[1] is boards[3] is None
    assert boards[2]
    assert set(boards[2]) == {1, 3}
    assert all(board.moves is None for board in boards[2].values())


@pytest.mark.parametrize(
    ("options", "won", "resigned"),
    [
        ({}, True, False),
        ({"finishers": "none"}, False, False),
        ({"finishers": "all"}, True, True),
        ({"spectators": "after"}, True, False),
    ],
    ids=str,
)
def test_finishers_see_the_tables_that_the_option_says(options: dict[str, Any], won: bool, resigned: bool) -> None:
    win = WINS["corners"]
    log = running(3, slug="corners", seed=win["seed"], **options)
    play(log, 1, *win["moves"])
    log.say(Resigned(seat=2))
    boards = [views.view(log.race, viewer, log.race.at, legal=True).boards for viewer in (1, 2, 3, None)]
    assert [set(each or ()) for each in boards] == [
        {2, 3} if won else set(),
        {1, 3} if resigned else set(),
        set(),
        set(),
    ]
    assert all(board.moves is None for each in boards for board in (each or {}).values())


def test_winners_of_a_daily_deal_see_no_other_tables() -> None:
    win = WINS["corners"]
    log = running(2, slug="corners", seed=win["seed"])
    play(log, 1, *win["moves"])
    assert views.sees_boards(log.race, 1)
    daily = replace(log.race, header=structs.replace(log.race.header, seed=None, daily=True))
    assert not views.sees_boards(daily, 1)
    everyone = structs.replace(daily.header, options=structs.replace(daily.options, finishers="all"))
    assert not views.sees_boards(replace(daily, header=everyone), 1)


def test_an_end_that_can_be_undone_or_restarted_shows_no_other_tables() -> None:
    log = running(slug="the-edge", spectators="open")
    while not run_of(log.race).game.over:
        play(log, 1, run_of(log.race).game.moves()[-1])
    assert views.view(log.race, 1, log.race.at).boards is None


def test_spectators_of_an_after_race_see_no_standings_until_it_ends() -> None:
    log = running(spectators="after")
    assert views.view(log.race, None, log.race.at).standings == ()
    assert views.progress(log.race, None).standings == ()
    assert views.view(log.race, 1, log.race.at).standings == log.race.standings()
    assert views.progress(log.race, 1).standings == log.race.standings()
    closed(log)
    assert views.view(log.race, None, log.race.at).standings == log.race.standings()


def test_an_open_deal_is_public_from_the_start_and_a_sealed_one_after_the_race() -> None:
    log = running(seed="42")
    assert views.view(log.race, None, log.race.at).deal == "corners:42"
    log = running()
    assert {views.view(log.race, viewer, log.race.at).deal for viewer in viewers(log.race)} == {None}
    closed(log)
    assert {views.view(log.race, viewer, log.race.at).deal for viewer in viewers(log.race)} == {log.race.deal}


@every_sight
@every_game
@few
@given(random=luck)
def test_no_message_contains_a_sealed_deal(slug: str, spectators: str, random: Random) -> None:
    log = raced(slug, random, 80, spectators=spectators, start_delay_ms=50, limit_ms=9_000, max_racers=3)
    for race in stages(log):
        sealed = {SECRET.hex(), *(nonce(seat.number).hex() for seat in race.seats)}
        if race.seed:
            sealed |= {race.seed, race.seed.partition(".")[0]}
        if race.closed:
            continue
        for viewer in viewers(race):
            for data in seen_bytes(race, viewer):
                assert not [text for text in sealed if text.encode() in data or bytes.fromhex(text[:64]) in data]
            view, _ = seen(race, viewer)
            boards = [*([view.board] if view.board else []), *(view.boards or {}).values()]
            for board in boards:
                if race.game.stock:
                    assert set(board.table[race.game.stock]) <= {BACK}
            own = next((seat.run for seat in race.roster if seat.number == viewer), None)
            assert (view.board is None) == (own is None)
            if view.board and own:
                assert view.board.table == own.game.view()
            if view.boards:
                assert spectators == "open"
                assert own is None or own.done


@pytest.mark.parametrize("slug", [slug for slug, game in GAMES.items() if game.stock])
@every_sight
@few
@given(random=luck)
def test_races_that_differ_only_in_face_down_cards_look_identical(slug: str, spectators: str, random: Random) -> None:
    log = raced(slug, random, 60, spectators=spectators, start_delay_ms=50, max_racers=3)
    differed = False
    for race in stages(log):
        other = replace(race, seats=tuple(_turned_over(seat) for seat in race.seats))
        differed |= other != race
        for viewer in viewers(race):
            if not race.closed:
                assert seen_bytes(race, viewer) == seen_bytes(other, viewer)
    assert differed == any(run.game != _other(run.game) for run in _runs(log))


@every_game
@few
@given(random=luck)
def test_a_racer_learns_only_the_standing_of_a_rival(slug: str, random: Random) -> None:
    """Two races that differ only in one racer's moves look the same to others except for standings and digest."""
    log = running(3, slug=slug)
    for _ in range(random.randrange(1, 8)):
        if moves := run_of(log.race, 2).game.moves():
            log.say(Moved(seat=2, move=random.choice(moves)))
    race, before = log.race, running(3, slug=slug).race
    for viewer in (None, 1, 3):
        later, earlier = (views.view(this, viewer, race.at, legal=True) for this in (race, before))
        assert structs.replace(later, n=0, h="", standings=()) == structs.replace(earlier, n=0, h="", standings=())
        others = [racer for racer in later.standings if racer.seat != 2]
        assert {(racer.seat, racer.home) for racer in others} == {
            (racer.seat, racer.home) for racer in earlier.standings if racer.seat != 2
        }


def test_a_standing_has_no_field_that_shows_a_card_or_a_move() -> None:
    (racer, _) = running().race.standings()
    assert set(to_builtins(racer)) == {
        *("place", "seat", "name", "bot", "outcome", "done"),
        *("home", "goal", "progress", "attempts", "ms"),
    }


def _runs(log: Logged) -> list[Run]:
    return [seat.run for race in stages(log) for seat in race.seats if seat.run]


def _turned_over(seat: Seat) -> Seat:
    """The seat with all face-down piles reversed, in the current position, the deal and the undo history."""
    run = seat.run
    if run is None:
        return seat
    return replace(
        seat,
        nonce="ab" * 32,
        run=replace(
            run,
            deal=_other(run.deal),
            game=_other(run.game),
            undo_history=UndoHistory(tuple((_other(first), moves) for first, moves in run.undo_history.blocks)),
        ),
    )


def _other(game: Game) -> Game:
    return with_hidden(game, lambda cards: cards[::-1])


@every_sight
@pytest.mark.parametrize("slug", ["gallery"])
def test_number_of_watchers_changes_nothing_else_and_is_omitted_after_the_race(slug: str, spectators: str) -> None:
    log = running(2, slug=slug, seed="31", spectators=spectators)
    for race in (log.race, closed(log).race):
        for viewer in viewers(race):
            for plain, counted in (
                (views.view(race, viewer, race.at), views.view(race, viewer, race.at, watching=3)),
                (views.progress(race, viewer), views.progress(race, viewer, watching=3)),
            ):
                assert counted.watching == (0 if race.closed else 3)
                assert structs.replace(counted, watching=0) == plain
