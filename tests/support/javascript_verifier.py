"""Runs the JavaScript verifier."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from samedeal.wire import codec
from support.finished_races import finished

NODE = shutil.which("node")
FOLDER = Path(__file__).parents[2] / "examples" / "verify"


def run(*arguments: str | Path) -> tuple[int, str]:
    """The exit code and the output of the verifier."""
    done = subprocess.run(
        [str(NODE), FOLDER / "verify.mjs", *arguments], capture_output=True, encoding="utf-8", timeout=240, check=False
    )
    return done.returncode, done.stdout + done.stderr


@cache
def encoded(slug: str, seed: str | None = None, daily: bool = False) -> bytes:
    return codec.encode(finished(slug, seed=seed, daily=daily), "json")


@cache
def in_lines(slug: str) -> bytes:
    return b"".join(finished(slug, moves=6).lines())


def verified(content: Any, folder: Path, *keys: str) -> tuple[int, dict[str, str]]:
    """The exit code, and each failed fact with its explanation."""
    file = folder / "replay.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    code, output = run(*(word for key in keys for word in ("--key", key)), file)
    failed = (line.split(maxsplit=2) for line in output.splitlines() if line.startswith("FAILS"))
    return code, {fact: explanation for _, fact, explanation in failed}
