"""A random player that uses the WebSocket with JSON: ``python3 socket_bot.py http://127.0.0.1:8640 calm-otter-42``."""

import json
import random
import sys
from hashlib import sha256
from itertools import count
from secrets import token_hex

from websockets.sync.client import connect

server, race = sys.argv[1:]
nonce, ids, asked = token_hex(32), count(1), -1

with connect(f"{server.replace('http', 'ws', 1)}/ws/{race}", proxy=None) as socket:

    def send(kind: str, **fields: object) -> None:
        socket.send(json.dumps({"t": kind, "id": next(ids), **fields}))

    # Commit to a random number now and reveal it in the countdown, so that nobody can choose the deal.
    send("hello", name="socket bot", format=2)
    send("join", race=race, bot=True, commitment=sha256(f"samedeal/1/nonce|{race}|{nonce}".encode()).hexdigest())
    send("ready")
    while (view := json.loads(socket.recv())).get("stage") not in ("over", "cancelled"):
        if view["t"] == "problem":
            sys.exit(ascii(view["detail"]))  # without control characters
        if view.get("stage") == "countdown" and nonce:
            send("nonce", nonce=nonce)
            nonce = ""
        if view.get("stage") == "running" and view["board"]["ply"] > asked:  # move once per position
            board = view["board"]
            asked = board["ply"]
            if board["moves"] and asked < 400:
                send("move", move=random.choice(board["moves"]), ply=asked)
            elif board["outcome"] != "won":
                send("resign")
