"""The worked example of docs/replay-format.md, reckoned with nothing but SHA-256, HMAC and JSON as the page says.

``python tests/test_replay_format.py`` writes the example anew.
"""

import hmac
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from finished import SECRET, nonce, opened
from samedeal import wire
from samedeal.catalogue import GAMES
from samedeal.log import Closed, Counting, Dealt, Joined, Moved, Nonce, Readied, Resigned
from samedeal.replay import read
from samedeal.seal import nonce_commitment
from samedeal.verification import FACTS, verify

PAGE = Path(__file__).parent.parent / "docs" / "replay-format.md"
BEGIN, END = "<!-- example -->\n", "<!-- end of example -->\n"


def example() -> bytes:
    """A short race: two racers, three moves."""
    log = opened("corners", race="calm-otter-42")
    for seat, name in ((1, "ada"), (2, "bo")):
        promise = nonce_commitment(log.race.id, nonce(seat))
        log.say(Joined(seat=seat, player=f"p{seat}", name=name, bot=seat == 2, commitment=promise), 1_000)
    for seat in (1, 2):
        log.say(Readied(seat=seat), 500)
    log.say(Counting())
    for seat in (1, 2):
        log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 20)
    log.say(Dealt(), 5_000)
    for seat, move in ((1, "draw"), (2, "draw"), (1, "undo")):
        run = log.race.seat(seat).run
        assert run
        log.say(Moved(seat=seat, move=move if move in run.game.moves() else run.game.moves()[0]), 700)
    for seat in (1, 2):
        log.say(Resigned(seat=seat), 900)
    log.say(Closed(secret=SECRET.hex()))
    return wire.encode(log.replay(), "json")


def canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def section(data: bytes) -> str:
    """The example as it stands in the page."""
    replay = json.loads(data)
    header, entries = replay["header"], replay["entries"]
    race, secret = header["race"], entries[-1][2]["secret"]
    nonces = [event["nonce"] for _, _, event, _ in entries if event["t"] == "nonce"]
    commit, root_text = f"samedeal/1/commit|{race}|{secret}", f"samedeal/1/root|{secret}|{','.join(nonces)}"
    lines = ["The replay, in canonical JSON:", "", "```json", data.decode(), "```", ""]

    def step(title: str, *texts: str) -> None:
        lines.extend([title, "", "```text", *texts, "```", ""])

    step("The commitment is the SHA-256 of this text, and stands in the header:", commit, f"= {hashed(commit)}")
    for seat, opened_nonce in enumerate(nonces, start=1):
        text = f"samedeal/1/nonce|{race}|{opened_nonce}"
        step(f"The commitment of seat {seat}, which stands in its `joined`:", text, f"= {hashed(text)}")
    step("The root, and the seed that is dealt:", root_text, f"= {hashed(root_text)}", f"seed {hashed(root_text)}.0")
    label = f"{header['game']}|{hashed(root_text)}.0"
    block = sha256(f"{label}|0".encode()).digest()
    words = [int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4)]
    step(
        "Block 0 of the words of that deal, the SHA-256 of this text, and its eight words:",
        f"{label}|0",
        *map(str, words),
    )
    deck = GAMES[header["game"]].from_seed(label.partition("|")[2]).table
    laid = " ".join(deck[place][0] for place in ("f1", "f2", "f3", "f4", "r1", "r2", "r3", "r4", "r5"))
    step("The cards on f1 to f4 and r1 to r5 in the deal:", laid)
    key = bytes.fromhex(secret)
    digest = hmac.digest(key, b"samedeal/1/log|" + canonical(header), "sha256").hex()
    step(
        "The digest before the first entry, HMAC-SHA256 with the 32 secret bytes as the key, of this text:",
        "samedeal/1/log|" + canonical(header).decode(),
        f"= {digest}",
    )
    for n, at, event, _ in entries[:2]:
        covered = digest.encode() + b"|" + canonical([n, at, event])
        digest = hmac.digest(key, covered, "sha256").hex()
        step(f"The digest of entry {n}, of this text with the same key:", covered.decode(), f"= {digest}")
    return "\n".join(lines)


def test_the_page_shows_what_follows_from_its_own_rules() -> None:
    _, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, _ = rest.partition(END)
    assert shown == "\n" + section(example())


def test_the_example_holds() -> None:
    assert all(fact.holds for fact in verify(read(example())))


def test_the_whole_chain_follows_from_the_page() -> None:
    replay = json.loads(example())
    assert canonical(replay) == example()
    key = bytes.fromhex(replay["entries"][-1][2]["secret"])
    digest = hmac.digest(key, b"samedeal/1/log|" + canonical(replay["header"]), "sha256").hex()
    for n, at, event, stated in replay["entries"]:
        digest = hmac.digest(key, digest.encode() + b"|" + canonical([n, at, event]), "sha256").hex()
        assert digest == stated
    assert digest == replay["digest"]


def test_the_page_names_every_fact_and_every_field() -> None:
    text = PAGE.read_text()
    replay = json.loads(example())
    fields = {*replay, *replay["header"], *replay["header"]["options"], *replay["standings"][0], *FACTS}
    assert [field for field in sorted(fields) if f"`{field}`" not in text] == []


if __name__ == "__main__":
    head, _, tail = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{section(example())}{END}{tail.partition(END)[2]}")
