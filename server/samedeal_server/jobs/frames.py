"""Frames between the server and its worker process: a kind, a length and that many bytes."""

from struct import Struct
from typing import Final

HEADER: Final = Struct(">cI")
"""The kind of a frame and the number of bytes that follow."""
JOB: Final = b"J"
"""To the worker: MessagePack of the task's name, the CPU seconds that it may use, and its question."""
PROGRESS: Final = b"P"
"""From the worker: the progress, in decimal digits."""
ANSWER: Final = b"A"
REFUSED: Final = b"R"
"""From the worker: MessagePack of the code and text of a refusal."""
FAILED: Final = b"F"
"""From the worker: why the job failed, in UTF-8. The worker can take the next job."""


def frame(kind: bytes, data: bytes) -> bytes:
    """Encode a frame."""
    return HEADER.pack(kind, len(data)) + data
