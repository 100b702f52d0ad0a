"""Real proxies: Caddy, HAProxy and nginx, run with the configurations that operators use."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from support.waiting import LIMIT_S


class Proxy:
    """A proxy in front of servers."""

    def __init__(self, url: str) -> None:
        self.url = url

    def answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/readyz", timeout=LIMIT_S) as response:
                return bool(response.status == 200)
        except URLError:
            return False


@contextmanager
def run_proxy(name: str, text: str, folder: Path) -> Iterator[None]:
    """Run a proxy with a configuration. Its files are in the folder."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    command = PREPARE[name](text, folder)
    with subprocess.Popen(command, env=os.environ | {"HOME": f"{folder}", "XDG_DATA_HOME": f"{folder}"}) as process:
        try:
            yield
        finally:
            process.kill()


def _caddy(text: str, folder: Path) -> list[str]:
    """Write the configuration for a proxy, and return the command that runs it."""
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (2, 7):
        text = re.sub(r"(?m)^\s*stream_close_delay .*$", "", text)  # only matters when reloading
    (folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + text)
    return ["caddy", "run", "--config", f"{folder / 'Caddyfile'}"]


def _haproxy(text: str, folder: Path) -> list[str]:
    (folder / "haproxy.cfg").write_text(text)
    return ["haproxy", "-db", "-f", f"{folder / 'haproxy.cfg'}"]


def _nginx(text: str, folder: Path) -> list[str]:
    (folder / "site.conf").write_text(text)
    temporary = "".join(f"{name}_temp_path {name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr warn;\nevents {}\n"
        f"http {{\naccess_log off;\n{temporary}include {folder / 'site.conf'};\n}}\n"
    )
    return ["nginx", "-p", f"{folder}", "-c", f"{folder / 'nginx.conf'}", "-e", "stderr"]


PREPARE: Final[dict[str, Callable[[str, Path], list[str]]]] = {"caddy": _caddy, "haproxy": _haproxy, "nginx": _nginx}
