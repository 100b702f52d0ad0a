"""A gate for all worker jobs of this process and of the servers that it starts."""

import os
from pathlib import Path

import pytest

from samedeal_server.work import pool
from support.gated_worker import Gate


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A gate for all worker jobs of this process."""
    monkeypatch.setattr(pool, "WORKER", "support.gated_worker")
    monkeypatch.setenv("GATE", str(tmp_path))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    )
    return Gate(tmp_path)
