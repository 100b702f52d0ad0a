"""The race view: what every screen of every game shows."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from msgspec import structs

from samedeal.games.catalogue import GAMES
from samedeal_cli.render.canvas import Canvas
from samedeal_cli.render.text_width import cells
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.state.race_commands import play
from samedeal_cli.state.race_keys import on_key
from samedeal_cli.state.race_state import Check, RaceState
from samedeal_cli.state.race_update import move_refused, update
from support.example_states import finished, lobby, now, racing, standing

SIZES = [(80, 24), (60, 20), (100, 32)]
PAR = ("solved",) * 3 + ("better",) * 8 + ("equal",) * 2 + ("worse",) * 20
FINDINGS = (Check("rules", True, "the rules are known here"), Check("moves", True, "every move was legal"))

every_game = pytest.mark.parametrize("slug", GAMES)


def screens(slug: str, width: int, height: int) -> Iterator[tuple[str, RaceState]]:
    """Yield the screens of a game with their names."""
    yield "lobby", lobby(slug, width, height)
    yield "countdown", update(lobby(slug, width, height), *now(slug, "countdown", "ready", left_ms=2400))
    race = racing(slug, width, height)
    yield "race", race
    for place in race.selection.choices[:1]:  # none if the stock has to be turned over
        yield "race, picked up", on_key(race, race.selection.keys[place])[0]
    yield (
        "race, a refusal",
        move_refused(race, "6H is next on u2, but l4 stands in another row: only a corner helps."),
    )
    yield "race, rivals hidden", on_key(race, "ctrl+b")[0]
    yield "race, connection lost", replace(race, connection_error="the connection broke")
    yield "results", replace(finished(slug, width, height), checks=FINDINGS, key_known=True, par=PAR)


def text(state: RaceState) -> str:
    return "\n".join(draw_screen(state, state.width, state.height).text())


@every_game
@pytest.mark.parametrize(("width", "height"), [*SIZES, (71, 21), (72, 24), (120, 50), (200, 60)])
def test_every_screen_fills_exactly_its_size_and_can_be_ascii(slug: str, width: int, height: int) -> None:
    for _, state in screens(slug, width, height):
        canvas = draw_screen(state, width, height)
        rows = ["".join(span.text for span in row) for row in canvas.rows()]
        assert len(rows) == height
        assert {cells(row) for row in rows} == {width}
        assert all(0 <= spot.row < height for spot in canvas.spots.values())
        plain = "".join(draw_screen(replace(state, ascii=True), width, height).text())
        assert plain.isascii(), sorted({letter for letter in plain if not letter.isascii()})


@every_game
def test_hidden_rivals_are_not_on_the_screen(slug: str) -> None:
    for width, height in SIZES:
        state = on_key(racing(slug, width, height), "ctrl+b")[0]
        assert "ada" not in text(state)
        assert "cy" not in text(state)


@every_game
@pytest.mark.parametrize(("width", "height"), [(59, 20), (60, 19), (52, 18), (20, 5), (6, 1), (1, 1)])
def test_a_small_screen_shows_the_required_size(slug: str, width: int, height: int) -> None:
    canvas = draw_screen(racing(slug, width, height), width, height)
    if width > 30 and height > 1:
        assert [line.strip() for line in canvas.text() if line] == [f"needs 60×20, has {width}×{height}", "q quit"]
    assert list(canvas.spots) == ["key:q"]


def test_the_selection_is_visible_without_colours() -> None:
    for width, height in SIZES:
        race = racing("corner-stones", width, height)
        held, _ = on_key(race, race.selection.keys[race.selection.choices[0]])
        assert held.picks
        assert _reversed(draw_screen(held, width, height), held.picks[0])
        assert not _reversed(draw_screen(race, width, height), held.picks[0])


def test_a_pending_move_is_predicted_and_dimmed() -> None:
    race = racing("corner-stones", 100, 32)
    source, target = next(
        choice.places for choice in map(race.selection.parse, race.selection.moves) if choice.is_transfer
    )
    assert race.board
    card = race.board.table[source][-1]
    pending, _ = play(race, source + target)
    table, faint = pending.predicted
    assert table[target][-1] == card
    assert len(table[source]) == len(race.board.table[source]) - 1
    assert faint == {source, target}
    refused = move_refused(pending, "No.")
    assert refused.predicted == (race.board.table, frozenset())


def test_the_clock_is_red_in_the_last_minute() -> None:
    calm = draw_screen(racing("corners"), 80, 24)
    late = draw_screen(racing("corners", left_ms=9_000), 80, 24)
    assert any(span.style.ink == "bad" for span in next(late.rows()))
    assert not any(span.style.ink == "bad" for span in next(calm.rows()))


def test_standings_that_do_not_fit_are_counted_and_include_your_own() -> None:
    state = racing("corners")
    crowd = tuple(standing(seat, f"r{seat}", "playing", 30 - seat) for seat in range(1, 31))
    assert state.view
    drawn = text(replace(state, standings=crowd, view=structs.replace(state.view, seat=25)))
    assert "of 30 racers" in drawn
    assert "25 you" in drawn


def test_boxed_cards_take_the_width_of_the_standings_column() -> None:
    race = racing("the-edge", 72, 24)
    assert "┌" not in text(race)[100:]
    boxed = replace(race, cards="boxed")
    assert text(boxed).count("┌") >= len(race.selection.places) - 2
    assert "▸2 you" in text(boxed)
    assert "┌" not in text(replace(race, cards="compact"))


def _reversed(canvas: Canvas, place: str) -> bool:
    """Return whether a card of a place is in reverse video; keys that can be pressed are, too."""
    spot = canvas.spots[place]
    for at, row in enumerate(canvas.rows()):
        column = 0
        for span in row:
            if span.style.reverse and cells(span.text) > 1 and spot.contains(at, column):
                return True
            column += cells(span.text)
    return False
