"""Threads can use a type for the first time while another thread does."""

import subprocess
import sys

import pytest

FIRST_USES = """
import sys, threading
from msgspec import Struct
from samedeal import codec

class Watched:
    def __enter__(self):
        if not computing.acquire(blocking=False):
            waits.set()
            computing.acquire()
    def __exit__(self, *_):
        computing.release()

def annotation():
    other.start()
    assert waits.wait(50)
    return int

class Inner(Struct):
    a: "annotation()"

class Outer(Struct):
    inner: Inner

def decode():
    found.append(eval(sys.argv[1]))

waits, found, other = threading.Event(), [], threading.Thread(target=decode)
computing, codec._COMPUTING = codec._COMPUTING, Watched()
found.append(codec.decode(b'{"inner":{"a":1}}', "json", Outer))
other.join()
assert found == 2 * [Outer(Inner(1))]
"""
"""Evaluates an annotation while msgspec computes how its struct is decoded. Meanwhile, another thread decodes one."""


@pytest.mark.parametrize(
    "use",
    [
        """codec.decode(b'{"inner":{"a":1}}', "json", Outer)""",
        """codec.decode(bytes.fromhex("81a5696e6e657281a16101"), "msgpack", Outer)""",
        """codec.convert({"inner": {"a": 1}}, Outer)""",
    ],
)
def test_threads_can_use_a_struct_for_the_first_time_at_once(use: str) -> None:
    subprocess.run([sys.executable, "-c", FIRST_USES, use], check=True)
