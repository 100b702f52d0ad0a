"""Quick tests: the test files that start no server, no browser and no other program (``pytest --quick``)."""

import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
STARTS_PROCESS = re.compile(
    r"\bsubprocess\b|\bmultiprocessing\b|\bpty\b|\bchromium\b|redis_url|store_url"
    r"|samedeal_server\.(?:jobs|workers|store\.embedded)\b|commands\.(?:arena|bot|demo|serve)\b"
)
OUR_IMPORT = re.compile(
    r"^from ((?:cli|faults|project|protocol|server|support|system|web)[.\w]*) import (\w+)", re.MULTILINE
)


@cache
def is_quick(file: Path) -> bool:
    """Return whether a test file and the test modules it imports start no process, judging by their text."""
    text = file.read_text(encoding="utf-8")
    if STARTS_PROCESS.search(text):
        return False
    folders = [(TESTS.joinpath(*module.split(".")), name) for module, name in OUR_IMPORT.findall(text)]
    modules = {path for folder, name in folders for path in (folder / f"{name}.py", folder.with_suffix(".py"))}
    return all(is_quick(path) for path in modules - {file} if path.exists())
