"""Directly written WebSocket frames are those of the websockets library."""

import pytest
from websockets.frames import Frame, Opcode

from samedeal_server.net.websocket_connection import server_frame


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 2**16 - 1, 2**16, 2**16 + 1])
@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.BINARY])
def test_frames_equal_those_of_the_library(opcode: Opcode, length: int) -> None:
    data = b"x" * length
    assert server_frame(opcode, data) == Frame(opcode, data).serialize(mask=False)
