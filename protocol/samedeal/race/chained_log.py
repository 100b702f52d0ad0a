"""The fold over a log whose entries are chained by their digests: races and challenges are such folds."""

from abc import abstractmethod
from collections.abc import Iterable
from functools import reduce
from typing import Any, ClassVar, Generic, Self, TypeVar

from samedeal.digest_chain import next_digest
from samedeal.errors import Refused
from samedeal.race.events import E, LogEntry, entry_bytes
from samedeal.values import AbstractMeta, Value, replace

L = TypeVar("L", bound=LogEntry[Any])


class ChainedLog(Value, Generic[E, L], frozen=True, metaclass=AbstractMeta):
    """The state after some part of a log. States are immutable: ``after`` returns the next one."""

    entry_type: ClassVar[type]
    """The type of the entries, L."""

    secret: bytes
    """Passed in separately: the log does not contain it before its last entry."""
    digest: str
    """The digest of the last entry."""
    n: int
    """The number of the last entry; 0 before the first one."""
    at: int
    """The time of the last entry, in ms since 1970-01-01 UTC."""

    def after_all(self, entries: Iterable[L]) -> Self:
        return reduce(type(self).after, entries, self)

    def after(self, entry: L) -> Self:
        """Return the state after the next entry of the log. Raises Refused if that is not a valid next entry."""
        state, expected = self.extended(entry.at, entry.event)
        if expected != entry:
            raise Refused("bad-replay", f"Entry {entry.n} does not match the log at entry {expected.n}.")
        return state

    def extended(self, at: int, event: E) -> tuple[Self, L]:
        """Return the state after an event, and the entry to log. Raises Refused if the event is not possible now."""
        if at < self.at:
            raise Refused("untimely", "The event is earlier than the one before it.")
        state, n = self._apply(at, event), self.n + 1
        digest = next_digest(self.secret, self.digest, entry_bytes(n, at, event))
        return replace(state, n=n, at=at, digest=digest), self.entry_type(n, at, event, digest)

    @abstractmethod
    def _apply(self, at: int, event: E) -> Self:
        """Return the state with the change that an event makes, apart from the fields of this class.

        Raises Refused if the event is not possible now.
        """
