"""Runs a server program with other values of some constants, such as shorter time limits.

The first argument is the module of the program; the environment variable ALTERED has the values, in JSON.
"""

import json
import os
import runpy
import sys
from importlib import import_module
from typing import Final

ALTERED: Final = "ALTERED_CONSTANTS"
CONSTANTS: Final = {
    "version": "samedeal.version.VERSION",
    "soon": "samedeal_server.work.process.SOON",
    "later": "samedeal_server.work.process.LATER",
    "message_bytes": "samedeal_server.net.limits.MESSAGE_BYTES",
    "burst_s": "samedeal_server.net.limits.BURST_S",
    "request_s": "samedeal_server.net.limits.REQUEST_S",
    "unread_s": "samedeal_server.net.connections.UNREAD_S",
    "fragments_per_message": "samedeal_server.net.websocket_connection.MAX_FRAGMENTS",
    "control_frames": "samedeal_server.net.websocket_connection.MAX_CONTROL_FRAMES",
    "ping_s": "samedeal_server.net.connections.PING_S",
    "log_records_per_minute": "samedeal_server.net.logs.PER_MINUTE",
    "store_wait_s": "samedeal_server.store.checks.WAIT_S",
    "away_s": "samedeal_server.live.presence.AWAY_S",
    "count_s": "samedeal_server.live.attendance.INTERVAL_S",
    "rematches_s": "samedeal_server.live.rematch_lobbies.INTERVAL_S",
    "queue_messages": "samedeal_server.socket.outbox.QUEUE_MESSAGES",
    "queue_bytes": "samedeal_server.socket.outbox.QUEUE_BYTES",
}
"""The constants by their names in tests. Modules come after those that they import."""


def alter(values: dict[str, str]) -> None:
    """Set constants, by their names in tests, before other modules import them."""
    for name, constant in CONSTANTS.items():
        if name in values:
            module, _, variable = constant.rpartition(".")
            variables = vars(import_module(module))
            variables[variable] = type(variables[variable])(values[name])


if __name__ == "__main__":
    program = sys.argv.pop(1)
    alter(json.loads(os.environ[ALTERED]))
    runpy.run_module(program, run_name="__main__", alter_sys=True)
