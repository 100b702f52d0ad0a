"""Immutable values, of which positions and races are made, with derived attributes that are computed once."""

from abc import ABCMeta
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from msgspec import Struct, StructMeta
from msgspec.structs import replace

T = TypeVar("T")


class AbstractMeta(StructMeta, ABCMeta):
    """For a frozen value that leaves something to its kinds."""


class Value(Struct, frozen=True, dict=True):
    """A value whose properties may be ``derived``."""


__all__ = ("AbstractMeta", "PersistentList", "Value", "derived", "replace")

if TYPE_CHECKING:
    from functools import cached_property as derived
else:

    class derived:  # noqa: N801 it is written as a property is
        """A property of a frozen value that is worked out when first asked for, and kept.

        ``functools.cached_property`` does the same with a lock, which takes longer than most of what is worked out.
        """

        def __init__(self, work_out: Callable[[Any], Any]) -> None:
            self._work_out, self.__doc__ = work_out, work_out.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, value: Any, owner: type | None = None) -> Any:
            if value is None:
                return self
            found = value.__dict__[self._name] = self._work_out(value)
            return found


class PersistentList(Sequence[T], Generic[T]):
    """A sequence that never changes, and of which a longer one is made in no time, however long it is.

    The longer one shares the items of the shorter. Only where two different ones continue the same are they copied.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def appended(self, item: T) -> "PersistentList[T]":
        """The trail with one more item at its end."""
        items, length = self._items, self._length
        if not 0 < length == len(items):  # somebody has gone on from here already
            items = items[:length]
        items.append(item)
        return _trail(items, length + 1)

    def without_last(self) -> "PersistentList[T]":
        """The trail without its last item. Raises IndexError if there is none."""
        if not self._length:
            raise IndexError("the trail is empty")
        return _trail(self._items, self._length - 1)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return self._items[: self._length][at]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        return self._items[at + self._length if at < 0 else at]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PersistentList | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __repr__(self) -> str:
        return f"PersistentList({self._items[: self._length]})"


def _trail(items: list[T], length: int) -> PersistentList[T]:
    trail: PersistentList[T] = _new(PersistentList)
    trail._items, trail._length = items, length
    return trail


_new = object.__new__
