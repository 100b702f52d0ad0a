"""Par charts: an SVG with one square per play of the computer, from each racer's point of view."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from samedeal.computer.par import Compared, Par, Square
from samedeal.games.catalogue import GAMES
from samedeal.share.phrases import listed
from samedeal.share.svg_text import escaped

T = TypeVar("T")
LONGEST_ROW: Final = 50
"""The maximum number of squares per row."""
MEANINGS: Final[dict[Square, str]] = {
    "solved": "the computer solved the deal",
    "better": "it did better than you",
    "equal": "as well",
    "worse": "worse",
}
"""The legend of the squares, in display order."""

_SIDE, _STEP = 12, 14
_MARGIN, _LEAST_WIDTH = 20, 580
_HEADING, _CAPTION, _GAP = 74, 38, 20
_LEGEND = (0, 215, 380, 470)
_LONGEST_SEED = 20

# Besides its colour, each kind has a mark: a tick, an up arrow, two bars, a down arrow.
_FACES: Final[dict[Square, tuple[str, str, str]]] = {
    "solved": ("#1a7f37", "#ffffff", "M3 6.4 5.2 8.6 9.2 3.8"),
    "better": ("#cf222e", "#ffffff", "M6 9V3.4M3.4 5.8 6 3.2 8.6 5.8"),
    "equal": ("#ffffff", "#57606a", "M3.6 4.6H8.4M3.6 7.4H8.4"),
    "worse": ("#b6d4fe", "#0a3d8f", "M6 3V8.6M3.4 6.2 6 8.8 8.6 6.2"),
}
"""The colour of each square, and the colour and shape of its mark."""


def rows(squares: Sequence[T], longest: int = LONGEST_ROW) -> Iterator[Sequence[T]]:
    """Split one or more squares into as few rows as possible, all but the last of equal length."""
    length = -(-len(squares) // -(-len(squares) // longest))
    return (squares[start : start + length] for start in range(0, len(squares), length))


def percent(share: float) -> str:
    """Format a fraction, such as ``62%`` or ``0.5%``."""
    return f"{round(100 * share, 1):g}%"


def verdict(racer: Compared) -> str:
    """Describe a racer's result relative to par, such as ``better than 40% and level with 60%`` of the plays."""
    shares = (("better than", racer.worse), ("level with", racer.equal), ("worse than", racer.better))
    parts = [f"{text} {'all' if share == 1 else percent(share)}" for text, share in shares if share]
    return listed(parts)


def svg(par: Par, racers: Sequence[Compared]) -> str:
    """Return a self-contained SVG with a chart for each racer."""
    game, seed = GAMES[par.game].title, par.deal.partition(":")[2]
    title = f"{game}, deal {_shortened(seed)}"
    spread = f"{par.minimum} to {par.maximum}, median {par.median:g}, mean {par.mean:.1f}"
    results = spread if par.minimum < par.maximum else f"{par.minimum} every time"
    figures = f"{par.plays} plays, cards {par.counted}: {results}; {par.solved} solved"
    description = [
        f"{par.bot} played the deal {par.deal}. {figures}.",
        *(f"{racer.name}, {_result(par, racer)}: {verdict(racer)} of the plays." for racer in racers),
    ]
    columns = max((len(row) for racer in racers for row in rows(racer.squares)), default=0)
    body, y = list[str](), _HEADING
    for racer in racers:
        y += _GAP
        body += _chart(par, racer, y)
        y += _CAPTION + _STEP * len(list(rows(racer.squares)))
    width, height = max(_LEAST_WIDTH, _STEP * columns + 2 * _MARGIN), y + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc"'
            ' font-family="system-ui, sans-serif" font-size="13" fill="#1f2328">',
            f'<title id="title">{escaped(title)}</title>',
            f'<desc id="desc">{escaped(" ".join(description))}</desc>',
            "<defs>",
            *map(_face, _FACES),
            "</defs>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#f6f8fa"/>',
            _text(_MARGIN, 26, title, ' font-size="15" font-weight="600"'),
            _text(_MARGIN, 46, figures, ' fill="#57606a"'),
            *_legend(),
            *body,
            "</svg>\n",
        ]
    )


def _face(square: Square) -> str:
    ground, mark, shape = _FACES[square]
    return (
        f'<g id="{square}"><rect x=".5" y=".5" width="{_SIDE - 1}" height="{_SIDE - 1}" rx="2" fill="{ground}"'
        f' stroke="{mark if ground == "#ffffff" else ground}"/>'
        f'<path d="{shape}" fill="none" stroke="{mark}" stroke-width="1.4"/></g>'
    )


def _legend() -> Iterator[str]:
    for (square, meaning), left in zip(MEANINGS.items(), _LEGEND, strict=True):
        yield f'<use href="#{square}" x="{_MARGIN + left}" y="60"/>'
        yield _text(_MARGIN + left + _STEP + 3, 70, meaning, ' font-size="12"')


def _chart(par: Par, racer: Compared, top: int) -> Iterator[str]:
    name = f'<tspan font-weight="600">{escaped(racer.name)}</tspan>'
    yield f'<text x="{_MARGIN}" y="{top + 13}">{name} · {_result(par, racer)}</text>'
    yield _text(_MARGIN, top + 29, verdict(racer), ' font-size="12"')
    for line, row in enumerate(rows(racer.squares)):
        y = top + _CAPTION + _STEP * line
        yield "".join(f'<use href="#{square}" x="{_MARGIN + _STEP * at}" y="{y}"/>' for at, square in enumerate(row))


def _result(par: Par, racer: Compared) -> str:
    return f"{racer.result} {par.counted}{', solved' if racer.won else ''}"


def _text(x: int, y: int, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}"{more}>{escaped(text)}</text>'


def _shortened(seed: str) -> str:
    return seed if len(seed) <= _LONGEST_SEED else f"{seed[: _LONGEST_SEED - 8]}…{seed[-7:]}"
