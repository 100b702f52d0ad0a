"""The check values of tests/vectors.json."""

import json
from pathlib import Path
from typing import Any, Final

VECTORS: Final[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text(encoding="utf-8"))
WINS: Final[dict[str, Any]] = VECTORS["wins"]
"""A deal of each game, with moves that win it."""
