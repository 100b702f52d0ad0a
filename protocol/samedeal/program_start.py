"""What programs need from the process that starts them. In the library, only this and ``version`` do I/O."""

import os
import sys
from typing import Final

NOTICE: Final = "_SAMEDEAL_NOTICE"
"""The environment variable with the text that a server writes to stderr once it accepts connections."""


def prepare_process() -> None:
    """Open the null device as every standard stream that is closed, and set HOME to ``/`` if the home directory is
    unknown, also for the processes that this one starts.

    Call this before anything else: the next file or socket gets the number of a closed stream, and then what is written
    to the stream.
    """
    if os.path.expanduser("~") == "~":
        os.environ["HOME"] = "/"
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest number that is free
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
