"""Replays as terminal recordings (asciicast v2)."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from samedeal_cli.render.canvas import Palette, Span, ansi
from samedeal_cli.render.themes import look
from samedeal_cli.screen.replay_view import draw_screen, outcome_text, racer_name, score_text
from samedeal_cli.state.replay_state import Player

WIDTH, HEIGHT = 80, 24
FRAME_MS: Final = 1_000
"""The maximum time between two frames, so that the clock keeps running."""
_BEGIN: Final = "\x1b[?25l\x1b[2J"
_END: Final = f"\x1b[0m\x1b[{HEIGHT};{WIDTH}H\x1b[?25h"


def cast(player: Player) -> Iterator[str]:
    """Yield the lines of a cast, without line feeds: a header, then the events from the player's position to the end.

    The player sets the speed and the longest pause. The output is deterministic.
    """
    player = replace(player, playing=True, interactive=False)
    palette, recording = look("terminal"), player.recording
    size: dict[str, object] = {"version": 2, "width": WIDTH, "height": HEIGHT}
    title = f"{recording.game.title} · {racer_name(player, player.track)}"
    about = {"timestamp": recording.dealt_at // 1000, "title": title, "env": {"TERM": "xterm-256color"}}
    yield _line(size | about)
    at, canvas = 0.0, draw_screen(player, WIDTH, HEIGHT)
    yield _event(at, "o", _BEGIN + "".join(_put(row, 0, spans, palette) for row, spans in enumerate(canvas.rows())))
    while (due := player.due) is not None:
        wait = min(due, FRAME_MS)
        before, player = player, player.advance(wait)
        at += wait
        shown, canvas = canvas, draw_screen(player, WIDTH, HEIGHT)
        if changed := "".join(_put(row, column, spans, palette) for row, column, spans in canvas.changes(shown)):
            yield _event(at, "o", changed)
        for mark in player.track.marks:
            if before.n < mark.n <= player.n and mark.kind in ("home", "end"):
                at_mark = player.track, mark.n
                label = outcome_text(*at_mark) if mark.kind == "end" else score_text(*at_mark, short=False)
                yield _event(at, "m", label)
    yield _event(at, "o", _END)


def _put(row: int, column: int, spans: list[Span], palette: Palette) -> str:
    return f"\x1b[{row + 1};{column + 1}H{ansi(spans, palette)}"


def _event(at: float, kind: str, data: str) -> str:
    return _line([round(at / 1000, 3), kind, data])


def _line(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
