"""A gate before every job of this process and of the servers that it starts."""

import os
from pathlib import Path

import pytest

from gated_worker import Gate
from samedeal_server import jobs


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A gate before every job of this process."""
    monkeypatch.setattr(jobs, "WORKER", "gated_worker")
    monkeypatch.setenv("GATE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    return Gate(tmp_path)
