"""The store's health: why commands fail, logged once per cause and reported by `/readyz`."""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from redis import exceptions
from redis.exceptions import AskError, NoScriptError, RedisError, ResponseError

logger = logging.getLogger("samedeal_server.store.connection")

AWAY = (RedisError, OSError, RuntimeError)
"""The errors without a reply. uvloop raises RuntimeError for a connection that the other side has just reset."""
FRESH_S: Final = 30.0
"""How long a failed command counts as failing if it is not sent again."""

NO_PERMISSION: Final = "the store's user lacks a permission"
BROKEN_SCRIPT: Final = "a script fails in the store"
OTHER_ERROR: Final = "the store answers with an error"
OF_COMMANDS: Final = {NO_PERMISSION, BROKEN_SCRIPT, OTHER_ERROR}
"""Causes that can affect one command while others succeed."""
_CAUSES: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    # Classes come before their bases.
    (exceptions.BusyLoadingError, "", "the store is loading its data"),
    (exceptions.AuthenticationError, "", "the store refuses the user name or the password"),
    (exceptions.AuthenticationWrongNumberOfArgsError, "", "the store refuses the user name or the password"),
    (exceptions.NoPermissionError, "", NO_PERMISSION),
    (exceptions.OutOfMemoryError, "", "the store has reached its maxmemory"),
    (exceptions.ReadOnlyError, "", "the store is a read-only replica"),
    (exceptions.MasterDownError, "", "the store is a replica that has lost its primary"),
    (exceptions.ClusterDownError, "", "the store's cluster has no node for some slots"),
    (ResponseError, "MISCONF", "the store cannot write to its disk"),
    (ResponseError, "NOREPLICAS", "the store has too few replicas"),
    (ResponseError, "BUSY ", "a script keeps the store busy"),
    (ResponseError, "script", BROKEN_SCRIPT),
    (ResponseError, "", OTHER_ERROR),
    (exceptions.ConnectionError, "No connection available", "all connections to the store are in use"),
    (exceptions.ConnectionError, "max number of clients", "the store has reached its maxclients"),
    (exceptions.TimeoutError, "", "the store does not answer in time"),
    (TimeoutError, "", "the store does not answer in time"),
    (exceptions.InvalidResponse, "", "the store does not speak the Redis protocol"),
)
"""Exception class, part of its text, and the cause."""


class Health:
    """Failing commands, by node and command. For an unreachable node, all commands count as failing."""

    def __init__(self, diagnose: Callable[[], str | None] | None = None) -> None:
        """`diagnose` returns why the store cannot be reached, or None if it does not know."""
        self._diagnose = diagnose
        self._failing: dict[tuple[str, str], str] = {}
        self._logged: set[tuple[str, str]] = set()
        self._failed_at = 0.0
        self._tracing: Any = sys.modules.get("opentelemetry.trace")  # loaded by OpenTelemetry's launcher

    async def watch(self, answer: Awaitable[Any], command: str, node: str = "") -> Any:
        """Await the reply to a command and record the outcome, with a span in traces. Raises one of AWAY."""
        command = "EVALSHA" if command == "EVAL" else command
        try:
            with self._span(command):
                reply = await answer
        except (NoScriptError, AskError):  # includes MovedError; handled by the caller
            raise
        except AWAY as error:
            self.record_failure(error, command, node)
            raise
        if self._failing:
            self.record_success(command, node)
        return reply

    def _span(self, command: str) -> AbstractContextManager[object]:
        if self._tracing is None:
            return nullcontext()
        span: AbstractContextManager[object] = self._tracing.get_tracer("samedeal").start_as_current_span(
            command, kind=self._tracing.SpanKind.CLIENT
        )
        return span

    def record_failure(self, error: Exception, command: str, node: str = "") -> None:
        """Record that a command failed, and log the cause once."""
        cause, refused = cause_of(error), isinstance(error, ResponseError)
        self._failed_at = asyncio.get_running_loop().time()
        self._failing[node, command if refused else ""] = cause
        if (node, cause) in self._logged:
            return
        shown = cause if refused else self._diagnosed(cause)
        if (node, shown) not in self._logged:
            # The text after "with args" can contain a password or a token.
            text = f" ({str(error).partition(', with args')[0]})" if refused else ""
            logger.warning("%s%s%s", shown, f" at {node}" if node else "", text)
        self._logged |= {(node, cause), (node, shown)}

    def record_success(self, command: str, node: str = "") -> None:
        """Record that a command succeeded."""
        self._failing.pop((node, ""), None)
        self._failing.pop((node, command), None)
        self._log_recovery()

    def record_write(self) -> None:
        """Record that the store accepts writes."""
        self._failing = {source: cause for source, cause in self._failing.items() if cause in OF_COMMANDS}
        self._log_recovery()

    def retain(self, nodes: Collection[str]) -> None:
        """Forget the failures of all other nodes."""
        self._failing = {source: cause for source, cause in self._failing.items() if source[0] in nodes}
        self._log_recovery()

    @property
    def cause(self) -> str | None:
        """Why commands fail, without addresses or secrets; None if they succeed."""
        for (_, command), cause in self._failing.items():
            if not command:
                return self._diagnosed(cause)
        fresh = self._failing and asyncio.get_running_loop().time() < self._failed_at + FRESH_S
        return next(iter(self._failing.values())) if fresh else None

    def _diagnosed(self, cause: str) -> str:
        return (self._diagnose() if self._diagnose else None) or cause

    def _log_recovery(self) -> None:
        if self._logged and not self._failing:
            self._logged.clear()
            logger.warning("the store answers again")


def cause_of(error: Exception) -> str:
    """Return why a command failed, without addresses or secrets."""
    reason = ""
    for link in _chain(error):
        for kind, part, cause in _CAUSES:
            if isinstance(link, kind) and part in str(link):
                return cause
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"the store's certificate is not trusted: {link.verify_message}"
        if isinstance(link, ssl.SSLError):
            return f"TLS with the store fails: {link.reason or 'unknown reason'}"
        if isinstance(link, socket.gaierror):
            return "the store's host name cannot be resolved"
        if isinstance(link, OSError) and link.errno:
            reason = f": {os.strerror(link.errno)}"
    return f"the store cannot be reached{reason}"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes. Stops at NoScriptError, which is handled by sending the script's source."""
    while error and not isinstance(error, NoScriptError):
        yield error
        error = error.__cause__ or error.__context__
