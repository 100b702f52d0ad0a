"""The view of a race: draws the state on a canvas. Each stage has its own module; this one draws what they share."""

from functools import partial
from typing import Final

from samedeal_cli.render.canvas import Canvas, Style
from samedeal_cli.render.phrases import seat_phrase
from samedeal_cli.render.text_width import fitted
from samedeal_cli.screen.drawing import draw_frame, draw_heading
from samedeal_cli.screen.lobby_view import draw_countdown, draw_lobby
from samedeal_cli.screen.results_view import draw_results
from samedeal_cli.screen.running_view import draw_running
from samedeal_cli.state.race_state import RaceState

BANNER: Final = Style("bad", bold=True, reverse=True)


def draw_screen(state: RaceState, width: int, height: int) -> Canvas:
    """Draw the whole screen."""
    return draw_frame(width, height, partial(_draw_stage, state), plain=state.ascii)


def _draw_stage(state: RaceState, canvas: Canvas) -> None:
    STAGES.get(state.stage, draw_results)(state, canvas)
    if state.connection_error:
        clock_runs = ", the clock runs" if state.stage != "open" else ""
        seat = f" {seat_phrase(state.stage, state.away_s).capitalize()}{clock_runs}." if state.seat is not None else ""
        text = f" {state.connection_error}: reconnecting.{seat} "
        canvas.write(1, 0, fitted(text, canvas.width, "…").center(canvas.width, "─"), BANNER)


def _draw_connecting(state: RaceState, canvas: Canvas) -> None:
    draw_heading(state, canvas, state.server)
    middle = canvas.height // 2
    action = "Connecting to" if state.watching else "Joining"
    for line, text in enumerate((f"{action} {state.race_id}", f"on {state.server}…"), start=middle - 1):
        canvas.center(line, text)
    canvas.line(canvas.height - 2)


STAGES: Final = {
    "connecting": _draw_connecting,
    "open": draw_lobby,
    "countdown": draw_countdown,
    "running": draw_running,
}
