"""A random player for ``samedeal bot RACE --exec 'python3 random_bot.py'``."""

import json
import random
import sys

ATTEMPTS = 3

for line in sys.stdin:
    state = json.loads(line)
    if state["t"] != "state":
        continue  # a refusal or the end of the race
    if state["moves"] and state["ply"] < 400:
        move = random.choice(state["moves"])
    else:
        move = "restart" if state["restart"] and state["attempt"] < ATTEMPTS else "resign"
    print(move, flush=True)
