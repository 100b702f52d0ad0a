"""Locates and installs the Autobahn WebSocket test suite in the user's cache.

The suite needs Python 2.7, which is outdated: run it only against your own machine. ``make conformance`` runs this file
to install it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

RELEASE = "25.10.1"
FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "samedeal" / f"autobahntestsuite-{RELEASE}"
PROGRAM = FOLDER / "bin" / "wstest"
_DONE = FOLDER / "installed"


def installed() -> bool:
    """Return whether the suite is completely installed."""
    return _DONE.exists() and PROGRAM.exists()


def install() -> None:
    """Install the suite, which takes minutes. Raises LookupError without Python 2.7, or CalledProcessError."""
    python = _python()
    shutil.rmtree(FOLDER, ignore_errors=True)
    tools = FOLDER / "tools"
    tools.mkdir(parents=True)
    pip = ("install", "--quiet", "--disable-pip-version-check")
    subprocess.run([python, "-m", "pip", *pip, "virtualenv<20.22", "--target", tools], check=True)
    subprocess.run([python, "-m", "virtualenv", FOLDER], check=True, env=os.environ | {"PYTHONPATH": str(tools)})
    subprocess.run([FOLDER / "bin" / "pip", *pip, f"autobahntestsuite=={RELEASE}"], check=True)
    _DONE.touch()


def _python() -> str:
    """Return a working Python 2.7, including unselected pyenv versions."""
    candidates = [shutil.which("python2.7")]
    if pyenv := shutil.which("pyenv"):
        others = subprocess.run([pyenv, "whence", "--path", "python2.7"], capture_output=True, text=True)
        candidates += others.stdout.split()
    for python in candidates:
        if python and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return python
    raise LookupError("no Python 2.7 with pip")


if __name__ == "__main__":
    try:
        if not installed():
            install()
    except (LookupError, subprocess.CalledProcessError) as error:
        sys.exit(f"The Autobahn test suite cannot be installed: {error}.")
