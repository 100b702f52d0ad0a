"""The smallest client: it opens or joins a race, plays it and prints the result, with `websockets` and `msgpack` alone.

    python3 thin_client.py http://127.0.0.1:8640 calm-otter-42
    python3 thin_client.py http://127.0.0.1:8640 new corners

On a terminal it shows your table and asks for your moves; otherwise it plays any legal move. It knows no rules.
"""

import json
import random
import secrets
import sys
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.request import Request, urlopen

import msgpack
from websockets.sync.client import connect
from websockets.typing import Subprotocol

MAX_MOVES = 400


def opened(server: str, game: str) -> str:
    """Open a race, and return its name."""
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{server}/api/v1/races", json.dumps({"game": game}).encode(), headers)) as response:
        race: str = json.load(response)["race"]
    return race


def chosen(board: dict[str, Any]) -> str:
    """Return the next move."""
    moves = [*board["moves"], *(word for word in ("undo", "restart") if board.get(word)), "resign"]
    if not sys.stdin.isatty():
        return random.choice(board["moves"]) if board["moves"] and board["ply"] < MAX_MOVES else "resign"
    print(*(f"{place}:{'.'.join(pile)}" for place, pile in board["table"].items()), sep="  ")
    while (move := input(f"{' '.join(moves)} > ")) not in moves:
        pass
    return move


def play(server: str, race: str) -> None:
    """Take a seat, race, and print the standings."""
    nonce, ids, asked = secrets.token_hex(32), count(1), -1
    url = f"{server.replace('http', 'ws', 1)}/ws/{race}"
    with connect(url, subprotocols=[Subprotocol("samedeal.v1.msgpack")], proxy=None) as socket:

        def send(kind: str, **fields: object) -> None:
            socket.send(msgpack.packb({"t": kind, "id": next(ids), **fields}))

        # The commitment to a random number makes the shuffle fair: nobody can choose the deal.
        commitment = sha256(f"samedeal/1/nonce|{race}|{nonce}".encode()).hexdigest()
        send("hello", name="thin client", format=4)
        send("join", race=race, bot=not sys.stdin.isatty(), commitment=commitment)
        send("ready")
        view = dict[str, Any]()
        while view.get("stage") not in ("over", "cancelled"):
            message = msgpack.unpackb(socket.recv(), strict_map_key=False)
            if message["t"] == "problem":
                sys.exit(ascii(message["detail"]))  # without control characters
            view = message if message["t"] == "view" else view  # else new standings, or something from a newer server
            if view.get("stage") == "countdown" and nonce:
                send("nonce", nonce=nonce)
                nonce = ""
            board = view.get("board", {})
            can_continue = any(map(board.get, ("moves", "undo", "restart")))
            if view.get("stage") == "running" and can_continue and board["ply"] > asked:
                asked = board["ply"]
                move = chosen(board)
                send("resign") if move == "resign" else send("move", move=move, ply=asked)
    for each in view["standings"]:
        print(each["place"], ascii(each["name"]), each["outcome"], f"{each['home']}/{each['goal']}")


if __name__ == "__main__":
    address, name, *game = sys.argv[1:]
    race = opened(address, game[0]) if name == "new" else name
    print(race, flush=True)
    play(address, race)
