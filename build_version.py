"""The version of a build, for hatchling (``pyproject.toml``): outside of a release, with the commit's date and id."""

import os
import subprocess
from pathlib import Path

RELEASE = "1.0.0"


def version() -> str:
    """Return the version of the release, and the commit unless it has the release's tag or is unknown.

    Without a repository, the commit is that in the environment variable SAMEDEAL_COMMIT, such as `20261121.g0a1b2c3d`.
    """
    git = ["git", f"--git-dir={Path(__file__).with_name('.git')}", "-c", "log.showSignature=false"]
    log = ["log", "-1", "--abbrev=8", "--date=format:%Y%m%d", "--format=%cd.g%h %D"]
    try:
        done = subprocess.run([*git, *log], capture_output=True, text=True, check=True)  # noqa: S603 (no shell)
        commit, _, references = done.stdout.strip().partition(" ")
    except (OSError, subprocess.CalledProcessError):
        commit, references = os.environ.get("SAMEDEAL_COMMIT", ""), ""
    is_release = not commit or f"tag: v{RELEASE}" in references.split(", ")
    return RELEASE if is_release else f"{RELEASE}+{commit}"
