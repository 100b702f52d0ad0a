"""Conformance of the limited WebSocket connection to RFC 6455."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support import autobahn

pytestmark = pytest.mark.tier(2)

ECHO = ("-m", "support.echo_server")
CASES = 301
"""All except compression (12 and 13), which is not offered."""


@pytest.mark.timeout(300)
def test_limited_connection_passes_the_autobahn_test_suite(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, *ECHO], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            spec = {
                "outdir": str(tmp_path / "report"),
                "servers": [{"agent": "samedeal", "url": f"ws://127.0.0.1:{server.stdout.readline().strip()}"}],
                "cases": ["*"],
                "exclude-cases": ["12.*", "13.*"],
                "exclude-agent-cases": {},
            }
            (tmp_path / "spec.json").write_text(json.dumps(spec))
            command = [str(autobahn.PROGRAM), "-m", "fuzzingclient", "-s", "spec.json"]
            subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, timeout=280)
        finally:
            server.terminate()
    cases = json.loads((tmp_path / "report" / "index.json").read_text())["samedeal"]
    verdicts = Counter(case["behavior"] for case in cases.values())
    closings = Counter(case["behaviorClose"] for case in cases.values())
    print(verdicts, closings)
    good = {"OK", "NON-STRICT", "INFORMATIONAL"}
    assert not {name: case for name, case in cases.items() if {case["behavior"], case["behaviorClose"]} - good}
    assert len(cases) == CASES
