"""Immutable values, of which positions and races are made, with derived attributes that are computed once."""

from abc import ABCMeta
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from msgspec import Struct, StructMeta
from msgspec.structs import force_setattr, replace

T = TypeVar("T")


class AbstractMeta(StructMeta, ABCMeta):
    """The metaclass of frozen values with abstract methods."""


class Value(Struct, frozen=True, dict=True):
    """A value whose properties can be ``derived``."""


__all__ = ("AbstractMeta", "PersistentList", "Value", "derived", "replace")

if TYPE_CHECKING:
    from functools import cached_property as derived
else:

    class derived:  # noqa: N801 (a decorator, like property)
        """A property of a frozen value that is computed on first access and cached.

        ``functools.cached_property`` also takes a lock in Python 3.11, which costs more than most of these values.
        """

        __slots__ = ("__dict__", "_compute", "_name")

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, value: Any, owner: type | None = None) -> Any:
            if value is None:
                return self
            result = self._compute(value)
            force_setattr(value, self._name, result)
            return result


class PersistentList(Sequence[T], Generic[T]):
    """An immutable sequence to which an item is appended in constant time.

    The longer sequence shares the items of the shorter one. They are copied only when a sequence is extended twice.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def appended(self, item: T) -> "PersistentList[T]":
        """Return the sequence with one more item."""
        items, length = self._items, self._length
        if not 0 < length == len(items):  # already extended, so another sequence uses the items
            items = items[:length]
        items.append(item)
        return _sharing(items, length + 1)

    def without_last(self) -> "PersistentList[T]":
        """Return the sequence without its last item. Raises IndexError if it is empty."""
        if not self._length:
            raise IndexError("the list is empty")
        return _sharing(self._items, self._length - 1)

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


def _sharing(items: list[T], length: int) -> PersistentList[T]:
    result: PersistentList[T] = _new(PersistentList)
    result._items, result._length = items, length
    return result


_new = object.__new__
