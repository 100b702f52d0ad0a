"""Limits by client network: token buckets, counts of connections and requests, fair queues, and their refusals."""

import asyncio
import logging
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Final, Literal, Self, get_args

from samedeal.errors import Refused
from samedeal_server.addresses import network
from samedeal_server.net import metrics
from samedeal_server.net.logs import about_request
from samedeal_server.settings import Settings

logger = logging.getLogger(__name__)

MAX_REMEMBERED = 10_000
"""How many networks or players each rate limit tracks."""
PROMPT = 60.0
"""How many request tokens an address gets without delay: enough for several people to load the page and join a race."""
MAX_DELAY_S: Final = 4.0
"""The delay for the last token of a full bucket: less than a handshake may take."""
FILES: Final = 2
"""How many files of the page an address gets for each request token. Files take none but have their own buckets."""
MESSAGE_BYTES: Final = 4096
"""The maximum size of a WebSocket message."""
BURST_S: Final = 3.0
"""The burst of messages on a connection, in seconds at the maximum rate."""
REQUEST_S: Final = 5.0
"""The time limit for an HTTP request, the WebSocket handshake and the first message."""
REFUSAL_DELAY_S: Final = (0.5, 1.5)
"""The range of the random delay of refusals that clients can repeat. Slows down clients that retry in a loop, and
spreads the requests of many connections over time."""
CEILING_S: Final = 5
"""The burst for all players at an address, in seconds at the maximum rate."""
TAKE: Final = "samedeal.take"
"""The ASGI scope's key for the function that takes request tokens from the client; see ``RequestLimit.take``."""

Queue = Literal["analysis", "bots", "deals", "other", "par", "renderings", "requests", "verify"]
"""The bounded queues of a server."""
Threshold = Literal[
    "bots_here",
    "clubs",
    "connections",
    "connections_per_address",
    "control_frames",
    "fragments_per_message",
    "guests_per_minute",
    "header_bytes",
    "heats",
    "http_connections_per_address",
    "message_bytes",
    "open_challenges",
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


class Bucket:
    """A token bucket."""

    __slots__ = ("_at_s", "_burst", "_clock", "_left", "_per_s")

    def __init__(
        self, per_s: float, burst: float, clock: Callable[[], float] = time.monotonic, *, full: bool = True
    ) -> None:
        """`burst` is the size of the bucket, and `full` whether it is full at first. `clock` returns seconds."""
        self._per_s, self._burst, self._clock = per_s, float(burst), clock
        self._left, self._at_s = self._burst if full else 0.0, clock()

    @property
    def left(self) -> float:
        """The tokens left; negative after ``borrow``."""
        now_s = self._clock()
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        return self._left

    def take(self, count: float = 1.0) -> bool:
        """Take tokens if there are enough, and return whether they were taken."""
        if self.left < count:
            return False
        self._left -= count
        return True

    def borrow(self) -> float:
        """Take a token even if there is none. Return the seconds until it is paid back; at most 0 if none is owed."""
        self._left = self.left - 1
        return -self._left / self._per_s

    def wait_s(self, count: float) -> float:
        """Return in how many seconds there will be this many tokens."""
        return (count - self.left) / self._per_s


class RateLimit:
    """A token bucket for each client network."""

    def __init__(
        self,
        limit: Limit,
        what: str,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        burst: float | None = None,
        prompt: float = math.inf,
    ) -> None:
        """`what` names the tokens in refusals; 0 per minute disables the limit. `burst` is the capacity of the bucket.

        `prompt` is how many tokens are granted without delay. Beyond that the delay grows, up to MAX_DELAY_S for the
        last token of a full bucket. `limit` is the name in the metrics.
        """
        self._limit, self._what, self._per_s, self._clock, self._prompt = limit, what, per_minute / 60, clock, prompt
        self._full = float(per_minute if burst is None else burst)
        self._buckets: dict[str, Bucket] = {}  # by network, the least recently used first

    def take(self, address: str, count: float = 1) -> float:
        """Take tokens and return by how many seconds to delay the request.

        Raises Refused("too-many") if there are too few tokens, without taking any.
        """
        if not self._per_s:
            return 0.0
        bucket = self._bucket(address)
        if not bucket.take(count):
            wait_s = math.ceil(bucket.wait_s(count))
            text = f"Too many {self._what} from this address; try again in {wait_s} s."
            raise too_many(self._limit, text, address, retry_after_s=wait_s)
        late = self._full - bucket.left - self._prompt
        return MAX_DELAY_S * late / (self._full - self._prompt) if late > 0 else 0.0

    def has(self, address: str, count: float) -> bool:
        """Return whether ``take`` would succeed."""
        return not self._per_s or self._bucket(address).left >= count

    def _bucket(self, address: str) -> Bucket:
        key = network(address)
        bucket = self._buckets.pop(key, None) or Bucket(self._per_s, self._full, self._clock)
        _remember(self._buckets, key, bucket)
        return bucket


class RequestLimit:
    """The request tokens of addresses, and of players under a ceiling for their address."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = settings.requests_per_second, settings.request_burst, clock

        def limit(per_s: float, burst: float) -> RateLimit:
            return RateLimit("requests_per_second", "requests", per_s * 60, clock, burst=burst, prompt=PROMPT)

        self._addresses = limit(settings.requests_per_second, self._burst)
        self._ceiling = limit(settings.requests_per_address, CEILING_S * settings.requests_per_address)
        self._players: dict[str, Bucket] = {}  # by the digest of a valid token, the least recently used first

    def remember(self, player: str) -> None:
        """From now on, count requests with a valid token in a bucket of their own. `player` is the token's digest.

        The bucket starts empty, so that many new guests get no more request tokens than one.
        """
        bucket = self._players.pop(player, None) or Bucket(self._per_s, self._burst, self._clock, full=False)
        _remember(self._players, player, bucket)

    def forget(self, players: Collection[str]) -> None:
        """Count requests with revoked tokens by address again."""
        for player in players:
            self._players.pop(player, None)

    def take(self, address: str, player: str, count: float = 1) -> float:
        """Take request tokens from the player if there are enough, otherwise from the address.

        `player` is the digest of the request's token, valid or not, or empty. Returns and raises as ``RateLimit.take``.
        """
        own = self._players.get(player)
        if own and self._ceiling.has(address, count) and own.take(count):
            return self._ceiling.take(address, count)
        return self._addresses.take(address, count)


def _remember(buckets: dict[str, Bucket], key: str, bucket: Bucket) -> None:
    buckets[key] = bucket
    if len(buckets) > MAX_REMEMBERED:
        del buckets[next(iter(buckets))]


class RateLimits:
    """The rate limits of the server."""

    def __init__(self, settings: Settings) -> None:
        self.requests = RequestLimit(settings)
        self.files = RateLimit(
            "requests_per_second",
            "files",
            FILES * settings.requests_per_second * 60,
            burst=FILES * settings.request_burst,
            prompt=FILES * PROMPT,
        )
        self.races = RateLimit("races_per_minute", "new races", settings.races_per_minute)
        self.guests = RateLimit("guests_per_minute", "new guests", settings.guests_per_minute)
        self.wrong_tokens = RateLimit(
            "wrong_tokens_per_minute", "unknown tokens and codes", settings.wrong_tokens_per_minute
        )


class Count:
    """Counts and limits what each client network has open."""

    def __init__(self, limit: Limit, most: int, full: str) -> None:
        """`most` is the limit for one network; 0 for no limit. `full` is the text of the refusal beyond it, and `limit`
        the name in the metrics.
        """
        self._limit, self._most, self._full = limit, most or math.inf, full
        self._open = Counter[str]()

    def check(self, address: str) -> None:
        """Raise Refused("too-many") if an address cannot open another one."""
        if self._open[network(address)] >= self._most:
            raise too_many(self._limit, self._full, address)

    def add(self, address: str) -> Callable[[], None]:
        """Count one more, and return the function to call once when it is closed. Raises as ``check``."""
        self.check(address)
        client = network(address)
        self._open[client] += 1

        def remove() -> None:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

        return remove


class Turns:
    """A lock with a bounded waiting list: round robin between addresses, first come first served within one."""

    def __init__(
        self, limit: float = math.inf, limit_per_address: float = math.inf, full: str = "", *, queue: Queue = "other"
    ) -> None:
        """`full` is the text of the refusal when no place is left. `queue` is its name in the metrics."""
        self._queue = queue
        self._queued = metrics.QUEUED.labels(queue)
        self._limit, self._limit_per_address, self._full = limit, limit_per_address, full
        self._places = Counter[str]()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the next address to serve comes first
        self._busy = False

    @property
    def places(self) -> int:
        """The number of places in use."""
        return self._places.total()

    def check(self, address: str) -> None:
        """Raise Refused("too-many") if an address cannot get a place.

        The overall limit is doubled for addresses without a place, so that a few clients cannot lock out all others. An
        empty address is unknown: only the overall limit applies to it.
        """
        held = self._places[address] if address else 0
        limit = self._limit if held or not address else 2 * self._limit
        if held >= self._limit_per_address or self.places >= limit:
            raise too_many(self._queue, self._full, address)

    def place(self, address: str, *, always: bool = False) -> "Place":
        """Return a place in the queue, held until it is released. Raises as ``check`` unless `always` is true."""
        if not always:
            self.check(address)
        return Place(self, address)

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncIterator[None]:
        await self._wait(address)
        try:
            yield
        finally:
            self._start_next()

    async def _wait(self, address: str) -> None:
        if not self._busy:
            self._busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the turn came at the same moment
                self._start_next()
            raise

    def _start_next(self) -> None:
        while self._waiting:
            address = next(iter(self._waiting))
            queue = self._waiting.pop(address)
            turn = queue.popleft()
            if queue:
                self._waiting[address] = queue  # after all other addresses
            if not turn.done():  # the caller may have been cancelled
                turn.set_result(None)
                return
        self._busy = False


class Place:
    """A place in the queue of one address. As a context manager, it is released at the end."""

    def __init__(self, turns: Turns, address: str) -> None:
        self._turns, self._address = turns, address
        self._held = True
        turns._places[address] += 1
        turns._queued.inc()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait for this address's next turn and hold it: ``async with place.turn(): …``. Reusable."""
        return self._turns._turn(self._address)

    def release(self) -> None:
        """Give up the place. Further calls have no effect."""
        if self._held:
            self._held = False
            self._turns._places[self._address] -= 1
            self._turns._queued.dec()
            if not self._turns._places[self._address]:
                del self._turns._places[self._address]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
