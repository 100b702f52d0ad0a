"""Runs the JavaScript verifier."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from samedeal import codec
from samedeal.proof.verification import UNCHECKED, verify
from samedeal.replays.replay import read
from support.finished_races import finished
from support.node import NODE
from support.waiting import LIMIT_S

WITHOUT_SIGNATURES = "--import=data:text/javascript,Object.defineProperty(globalThis,'crypto',{value:{}})"
"""The value of NODE_OPTIONS with which Node.js cannot check signatures."""
FOLDER = Path(__file__).parents[2] / "examples" / "verify"


def run(*arguments: str | Path, program: str = "verify.mjs") -> tuple[int, str]:
    """The exit code and the output of a program, by default the verifier."""
    done = subprocess.run(
        [NODE, FOLDER / program, *arguments], capture_output=True, encoding="utf-8", timeout=LIMIT_S, check=False
    )
    return done.returncode, done.stdout + done.stderr


@cache
def encoded(slug: str) -> bytes:
    return codec.encode(finished(slug), "json")


def run_on(content: Any, folder: Path, *keys: str) -> tuple[int, str]:
    """The exit code and the output for a replay, as text or to be encoded, with these known keys."""
    file = folder / "replay.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return run(*(word for key in keys for word in ("--key", key)), file)


def verified(content: Any, folder: Path, *keys: str) -> tuple[int, dict[str, str]]:
    """The exit code, and each failed fact with its entry or explanation."""
    code, output = run_on(content, folder, *keys)
    failed = (line.split(maxsplit=2) for line in output.splitlines() if line.startswith("FAILS"))
    return code, {fact: explanation.split(": ")[0] for _, fact, explanation in failed}


def refused(replay: Any, folder: Path) -> dict[str, int | None]:
    """The facts that fail, with their entries. The library says the same, and the exit code and the outcome fit."""
    code, output = run_on(replay, folder)
    lines = [line.split(maxsplit=2) for line in output.splitlines()[:-1]]
    found = {fact: _entry(" ".join(rest)) for mark, fact, *rest in lines if mark == "FAILS"}
    facts = verify(read(json.dumps(replay).encode()))
    assert found == {fact.name: fact.entry for fact in facts if not fact.holds and fact.note != UNCHECKED}
    assert [fact for mark, fact, *_ in lines if mark == "-----"] == [f.name for f in facts if f.note == UNCHECKED]
    fact, entry = next(iter(found.items()))
    where = fact if entry is None else f"{fact}, entry {entry}"
    assert (code, output.splitlines()[-1]) == (5, f"refused ({where})")
    return found


def _entry(explanation: str) -> int | None:
    words = explanation.replace(":", "").split()
    return int(words[2]) if words[:2] == ["at", "entry"] else None
