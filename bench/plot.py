"""The plot: figures as bars in SVG, with minimum and maximum as whiskers."""

from collections.abc import Sequence
from html import escape

from bench.figures import Figure

_WIDTH, _ROW, _LEFT, _TOP, _RIGHT = 760, 30, 210, 44, 90


def bars(title: str, rows: Sequence[tuple[str, Figure]]) -> str:
    """Draw one bar per row, scaled to the maximum of all figures."""
    scale = (_WIDTH - _LEFT - _RIGHT) / max((figure.greatest for _, figure in rows), default=1.0)
    height = _TOP + _ROW * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"',
        f' aria-label="{escape(title)}">',
        "<style>text{font:14px sans-serif;fill:#222}.bar{fill:#4a7aa5}.first{fill:#999}",
        ".line{stroke:#222;stroke-width:2}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="10" y="24" font-weight="bold">{escape(title)}</text>',
    ]
    for row, (name, figure) in enumerate(rows):
        y = _TOP + _ROW * row
        least, middle, greatest = (_LEFT + value * scale for value in (figure.least, figure.median, figure.greatest))
        kind = "first" if row == 0 else "bar"
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{middle - _LEFT:.1f}" height="22"/>',
            f'<line class="line" x1="{least:.1f}" y1="{y + 11}" x2="{greatest:.1f}" y2="{y + 11}"/>',
            f'<text x="{greatest + 6:.1f}" y="{y + 16}">{figure.median:,.0f}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
