"""Skipped tests pass on a developer's machine and fail on CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "test_functions.py": """
import pytest

@pytest.mark.skipif(True, reason="{reason}")
def test_marked(): ...

def test_called():
    pytest.skip("{reason}")

@pytest.mark.xfail(reason="{reason}")
def test_expected_to_fail():
    assert False
""",
    "test_module.py": """
import pytest

pytest.skip("{reason}", allow_module_level=True)
""",
}


@pytest.mark.parametrize(
    ("reason", "ci", "summary"),
    [
        ("Node.js is not installed", "true", "1 failed, 1 xfailed, 2 errors"),
        ("Node.js is not installed", "", "3 skipped, 1 xfailed"),
        ("platform: no network", "true", "3 skipped, 1 xfailed"),
    ],
)
def test_skips_fail_on_ci_unless_the_platform_is_the_reason(reason: str, ci: str, summary: str, tmp_path: Path) -> None:
    for name, source in FILES.items():
        (tmp_path / name).write_text(source.format(reason=reason))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    paths = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    env = os.environ | {
        "CI": ci,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", "-p", "conftest"]
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240)
    assert run.stdout.splitlines()[-1].partition(" in ")[0] == summary
    assert run.returncode == (1 if "error" in summary else 0)
