"""Standard streams that are closed when a program starts are opened on the null device."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from samedeal.standard_streams import open_closed_streams
open_closed_streams()
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
