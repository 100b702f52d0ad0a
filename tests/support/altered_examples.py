"""One altered replay for each fact that can fail: the replay of ``finished("corners")`` with one change."""

from collections.abc import Callable
from typing import Any, Final

from support.replay_writing import Content


def _put(*path: Any) -> Callable[[Content], None]:
    """Return a function that sets the value at a path to the last argument."""

    def change(content: Any) -> None:
        *way, field, value = path
        for step in way:
            content = content[step]
        content[field] = value

    return change


def _cut(content: Content) -> None:
    del content["entries"][-1]


def _close_twice(content: Content) -> None:
    content["entries"].insert(20, content["entries"][-1])


def _earlier(content: Content) -> None:
    content["entries"][20][1] = content["entries"][19][1] - 1


EXAMPLES: Final[dict[str, tuple[Callable[[Content], None], dict[str, int | None]]]] = {
    "rules": (_put("header", "rules", "corners/2"), {"rules": None}),
    "complete": (_cut, {"complete": 55}),
    "closed twice": (_close_twice, {"complete": 21, "numbers": 21, "times": 22, "order": 21}),
    "commitment": (_put("entries", -1, 2, "secret", "0" * 64), {"commitment": 56}),
    "numbers": (_put("entries", 20, 0, 99), {"numbers": 21, "chain": 21}),
    "times": (_earlier, {"times": 21, "chain": 21}),
    "order": (_put("entries", 1, 2, "seat", 5), {"order": 2}),
    "nonces": (_put("entries", 9, 2, "nonce", "0" * 64), {"nonces": 10}),
    "filter": (_put("entries", 11, 2, "k", 7), {"filter": 12, "moves": 15, "chain": 12}),
    "moves": (_put("entries", 20, 2, "move", "z9z9"), {"moves": 21}),
    "chain": (_put("entries", 20, 3, "0" * 64), {"chain": 21}),
    "standings": (_put("standings", 0, "home", 52), {"standings": None}),
    "signature": (_put("signature", "value", "0" * 128), {"signature": None}),
}
"""By fact, or with another name: the change, and everything that fails, with the entries."""
