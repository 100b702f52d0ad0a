"""A server without the delays of limits and refusals, whose players have all their request tokens."""

import math
from collections.abc import Callable

from samedeal_server.__main__ import main
from samedeal_server.net import http_connection, limits


class FullBucket(limits.Bucket):
    """A bucket that is full at first."""

    __slots__ = ()

    def __init__(self, per_s: float, burst: float, clock: Callable[[], float], *, full: bool = True) -> None:
        super().__init__(per_s, burst, clock)


if __name__ == "__main__":
    limits.PROMPT = math.inf
    vars(http_connection)["REFUSAL_DELAY_S"] = 0.0, 0.0
    limits.Bucket = FullBucket  # type: ignore[assignment, misc]
    main()
