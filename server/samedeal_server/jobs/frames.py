"""Frames between the server and a process that computes for it: a kind, a length and so many bytes."""

from struct import Struct
from typing import Final

HEADER: Final = Struct(">cI")
"""The kind of a frame and the number of bytes that follow."""
JOB: Final = b"J"
"""To the process: MessagePack of the task's name, the seconds of processor time it may use, and its question."""
PROGRESS: Final = b"P"
"""From the process: how far it has come, in decimal digits."""
ANSWER: Final = b"A"
REFUSED: Final = b"R"
"""From the process: MessagePack of the code and the text of a refusal."""
FAILED: Final = b"F"
"""From the process: why the job failed, in UTF-8. The process can take the next job."""


def frame(kind: bytes, data: bytes) -> bytes:
    """A frame as it is sent."""
    return HEADER.pack(kind, len(data)) + data
