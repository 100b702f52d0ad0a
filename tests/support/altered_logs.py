"""Alterations of the logs of challenges and clubs in JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from samedeal.replays.signature import public_key
from support.agreement_of_logs import Case
from support.finished_races import SIGNING_KEY
from support.replay_writing import chain

KEY, OTHER_KEY = public_key(SIGNING_KEY), bytes(32)
Make = Callable[[Random], Case]
Alter = Callable[[Any, Random], None]


def known(random: Random) -> tuple[str, ...]:
    """Return the known keys: none, or the right one."""
    return random.choice(((), (KEY,)))


def in_json(made: Make, change: Alter, secret: str = "") -> Make:
    """Return what changes the first document of a case; with the secret of its digests, they fit again."""

    def changed(random: Random) -> Case:
        case = made(random)
        content = json.loads(case.documents[0])
        for _ in range(random.choice((1, 1, 2)) if secret else 1):
            if content["entries"]:
                change(content, random)
        if secret:
            for number, entry in enumerate(content["entries"], start=1):
                entry[0] = number
            if content["entries"]:
                chain(content, secret)
            kind = content["format"].split(".")[1].split("/")[0]
            text = f"samedeal/1/replay|{kind}/{content['header'][kind]}|{content['digest']}".encode()
            value = Ed25519PrivateKey.from_private_bytes(SIGNING_KEY).sign(text).hex()
            content["signature"] = {"key": KEY, "value": value}
        document = json.dumps(content, indent=random.choice((None, 1))).encode()
        return case._replace(documents=[document, *case.documents[1:]])

    return changed


def altered(header: Mapping[str, str]) -> Alter:
    """Return what changes something without making the digests fit, such as a field of the header."""

    def change(content: Any, random: Random) -> None:
        entries, digits = content["entries"], random.randbytes(32).hex()
        at = random.randrange(len(entries))
        changes: Sequence[Callable[[], Any]] = (
            lambda: entries[at].__setitem__(0, entries[at][0] + 1),
            lambda: entries[at].__setitem__(3, digits),
            lambda: entries.insert(random.randrange(len(entries)), entries.pop(at)),
            lambda: content.update(digest=digits),
            *[partial(content["header"].update, {name: value}) for name, value in header.items()],
            lambda: content["signature"].update(value=2 * digits),
            lambda: content["signature"].update(key=random.choice((digits, "0" * 64))),
            lambda: content.update(entries=[]),
        )
        random.choice(changes)()

    return change
