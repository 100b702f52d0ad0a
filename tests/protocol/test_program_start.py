"""What the process that starts a program leaves out, such as standard streams, is completed."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from samedeal.program_start import prepare_process
prepare_process()
assert all(stream.fileno() == number for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)))
assert sys.__stdout__ is sys.stdout
assert os.open(os.devnull, os.O_RDONLY) > 2
print("to standard output", file=sys.stdout, flush=True)
print("to standard error", file=sys.stderr, flush=True)
sys.exit(len(sys.stdin.read()) + os.system("exec 3<&0 4>&1 5>&2"))
"""


@pytest.mark.parametrize("closed", [(), (0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_streams_are_opened_for_the_program_and_its_children(closed: tuple[int, ...]) -> None:
    redirections = " ".join(f"{number}>&-" for number in closed)
    command = ["sh", "-c", f'exec "$0" -c "$1" {redirections}', sys.executable, PROGRAM]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("" if 1 in closed else "to standard output\n")
    assert done.stderr == ("" if 2 in closed else "to standard error\n")


def test_an_unknown_home_directory_is_the_root() -> None:
    """As for a user id without an account, in a container that sets no HOME."""
    program = """
import os, pwd
os.environ.pop("HOME", None)
def unknown(_):
    raise KeyError
pwd.getpwuid = unknown
from samedeal.program_start import prepare_process
prepare_process()
assert os.environ["HOME"] == os.path.expanduser("~") == "/"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_known_home_directory_is_kept() -> None:
    program = "import os; from samedeal.program_start import prepare_process as p; p(); print(os.environ['HOME'])"
    environment = os.environ | {"HOME": "/somewhere"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "/somewhere\n"
