"""Refusals by limits, counted by the limit, so that operators see which one to change."""

import logging
from typing import Final, Literal, get_args

from samedeal.errors import Refused
from samedeal_server.ops import metrics
from samedeal_server.ops.logging_setup import about_request

logger = logging.getLogger(__name__)

Queue = Literal["analysis", "bots", "deals", "other", "par", "renderings", "requests", "verify"]
"""The bounded queues of a server."""
Threshold = Literal[
    "bots_here",
    "connections",
    "connections_per_address",
    "control_frames",
    "fragments_per_message",
    "guests_per_minute",
    "header_bytes",
    "http_connections_per_address",
    "message_bytes",
    "open_races",
    "open_races_per_address",
    "open_races_per_guest",
    "pipelined_requests",
    "races_per_minute",
    "reactions",
    "reports",
    "requests_per_second",
    "wrong_tokens_per_minute",
]
"""The other limits, most named after their settings."""
Limit = Queue | Threshold
LIMITS: Final[frozenset[str]] = frozenset((*get_args(Queue), *get_args(Threshold)))
for _limit in LIMITS:
    metrics.REFUSALS.labels(_limit)  # alerts notice only counters that start at 0


def too_many(limit: Limit, text: str, client: str | None = None, *, retry_after_s: int | None = None) -> Refused:
    """Count and log a refusal of a client by a limit, and return it for the caller to raise.

    `client` is the client's address or network, if it is known.
    """
    count_refusal(limit, client)
    return Refused("too-many", text, retry_after_s=retry_after_s)


def count_refusal(limit: Limit, client: str | None = None) -> None:
    """Count and log a refusal by a limit."""
    metrics.REFUSALS.labels(limit).inc()
    logger.info("the limit %s refused a client", limit, extra=about_request(None, client))
