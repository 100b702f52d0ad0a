"""Node.js, which runs modules of the page that need no browser."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

WEB = Path(__file__).parents[2] / "clients" / "web"
NODE = shutil.which("node") or "node"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")


def run(script: str, module: str, content: object) -> Any:
    """Run a script with the URL of a module of the page as its argument, and JSON as its input and output."""
    command = [NODE, "--input-type=module", "--eval", script, (WEB / module).as_uri()]
    done = subprocess.run(
        command, input=msgspec.json.encode(content).decode(), capture_output=True, encoding="utf-8", check=True
    )
    return json.loads(done.stdout)
