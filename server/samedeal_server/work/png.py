"""PNG pictures, drawn from SVG with fonts of this package, so that they are the same on every machine."""

from importlib.resources import files
from typing import Final

FONTS: Final = files("samedeal_server.work") / "fonts"
FAMILY: Final = "DejaVu Sans"
"""A free font, reduced to the scripts that fonts/LICENSE lists. Other characters are drawn as boxes."""


def png(svg: str) -> bytes:
    """Return an SVG as a PNG of the same size. Raises ValueError for an invalid SVG."""
    import resvg_py  # loads in the worker process only, with the first picture

    return resvg_py.svg_to_bytes(
        svg_string=svg,
        skip_system_fonts=True,
        font_files=[str(FONTS / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")],
        font_family=FAMILY,
        sans_serif_family=FAMILY,
    )
