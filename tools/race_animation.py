"""The animated picture in the README: docs/race.json, exported as SVG every two seconds and played as a loop."""

import re
from collections import defaultdict
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final

from samedeal.replays.replay import read
from samedeal_cli.screen.picture import picture_svg
from samedeal_cli.state.replay_state import outcome, player_of
from samedeal_cli.timecode import Moment

RACE: Final = Path(__file__).parents[1] / "docs/race.json"
STEP_S: Final = 2
LENGTH_S: Final = 69
FRAME_S: Final = 0.5
LAST_FRAMES: Final = 5
"""How many frames the final position stays on screen."""
LAYERS: Final = ("<rect", "<path", "<text")
"""The elements of a picture, from back to front."""


def animation() -> str:
    """Return the animated picture: each element is visible in the frames that contain it."""
    race = read(RACE.read_bytes())
    player = replace(player_of(race), outcome=outcome(race, [race.signature.key]))
    moments = range(0, 1000 * (LENGTH_S + STEP_S), 1000 * STEP_S)
    pictures = [picture_svg(player.go_to(Moment(ms=ms))).splitlines() for ms in moments]
    frames: defaultdict[str, set[int]] = defaultdict(set)
    for number, picture in enumerate(pictures):
        for element in _elements(picture):
            frames[element].add(number)
    by_layer = sorted(frames, key=lambda element: LAYERS.index(element[:5]))
    head = pictures[0][: pictures[0].index(next(line for line in pictures[0] if line.startswith("<g "))) + 1]
    total = len(pictures) - 1 + LAST_FRAMES
    names: dict[tuple[int, ...], str] = {}
    body: list[str] = []
    for visible, elements in groupby(by_layer, key=lambda element: tuple(sorted(frames[element]))):
        if len(visible) == len(pictures):
            body += elements
        else:
            name = names.setdefault(visible, f"f{len(names)}")
            hidden = "" if visible[-1] == len(pictures) - 1 else ' opacity="0"'
            body += (f'<g class="{name}"{hidden}>', *elements, "</g>")
    style = "".join(_keyframes(name, visible, len(pictures), total) for visible, name in names.items())
    title = head.index(next(line for line in head if line.startswith("<style>")))
    motion = f"<style>@media(prefers-reduced-motion:no-preference){{{style}}}</style>"
    return "\n".join([*_titles(head[:title]), head[title], motion, *head[title + 1 :], *body, "</g>", "</svg>", ""])


def _elements(picture: list[str]) -> list[str]:
    start = next(number for number, line in enumerate(picture) if line.startswith("<g "))
    return picture[start + 1 : picture.index("</g>")]


def _titles(lines: list[str]) -> list[str]:
    description = "A race of two bots at The Edge, from the deal to the last card: two tables side by side."
    return [re.sub(r"(<desc [^>]*>).*(</desc>)", rf"\g<1>{description}\g<2>", line) for line in lines]


def _keyframes(name: str, visible: tuple[int, ...], frames: int, total: int) -> str:
    """Return the style of elements that are visible in some frames."""
    changes: list[str] = []
    shown: bool | None = None
    for number in range(frames):
        if (number in visible) != shown:
            shown = number in visible
            changes.append(f"{100 * number / total:.4g}%{{opacity:{shown:d}}}")
    return (
        f".{name}{{animation:{name} {total * FRAME_S:g}s step-end infinite}}"
        f"@keyframes {name}{{{''.join(changes)}100%{{opacity:{frames - 1 in visible:d}}}}}"
    )
