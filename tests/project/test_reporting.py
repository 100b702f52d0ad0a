"""The tiers of tests, and what a run reports: skipped tests, which fail on CI, and tests that take much CPU time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import LIMIT_S

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
    run = run_pytest(tmp_path, ci=ci)
    assert run.stdout.splitlines()[-1].partition(" in ")[0] == summary
    assert run.returncode == (1 if "error" in summary else 0)
    assert (f"Tests left out: {reason} (3)" in run.stdout) == (ci == "")


TIERS = """
import pytest

pytestmark = pytest.mark.tier(2)

def test_of_the_module(): ...

@pytest.mark.tier(1)
def test_with_a_mark_of_its_own(): ...

@pytest.mark.tier(3)
class TestSlow:
    def test_of_the_class(): ...
"""


@pytest.mark.parametrize(
    ("tier", "name"), [(1, "test_with_a_mark_of_its_own"), (2, "test_of_the_module"), (3, "test_of_the_class")]
)
def test_the_mark_closest_to_a_test_is_its_tier(tier: int, name: str, tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(TIERS)
    run = run_pytest(tmp_path, "--tier", f"{tier}", "--collect-only")
    assert [line for line in run.stdout.splitlines() if "::" in line] == [
        f"test_marked.py::{'TestSlow::' if tier == 3 else ''}{name}"
    ]


def test_tests_of_tier_1_that_take_much_cpu_time_are_reported_on_ci(tmp_path: Path) -> None:
    (tmp_path / "lower_limit.py").write_text("import conftest\nconftest.MAX_CPU_S = -1\n")
    (tmp_path / "test_both.py").write_text(TIERS + "\ndef test_two(): ...\n")
    run = run_pytest(tmp_path, "--tier", "1", "-p", "lower_limit", ci="true")
    warnings = [line for line in run.stdout.splitlines() if line.startswith("WARNING: ")]
    assert [line.split()[1] for line in warnings] == ["test_both.py::test_with_a_mark_of_its_own"]
    assert "WARNING" not in run_pytest(tmp_path, "--tier", "1", "-p", "lower_limit").stdout


def test_slow_files_of_other_tiers_are_named_on_ci(tmp_path: Path) -> None:
    (tmp_path / "test_both.py").write_text(TIERS)
    assert " s of all workers: test_both.py\n" in run_pytest(tmp_path, "--tier", "2", ci="true").stdout
    assert "of all workers" not in run_pytest(tmp_path, "--tier", "2").stdout


def run_pytest(folder: Path, *arguments: str, ci: str = "") -> subprocess.CompletedProcess[str]:
    """Run the tests in a folder, with the hooks of tests/conftest.py."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    paths = [str(Path(__file__).parents[1]), str(folder), *filter(None, sys.path)]
    env = os.environ | {
        "CI": ci,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", "-p", "conftest", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S)
