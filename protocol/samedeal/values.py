"""Immutable values, of which positions and races are made, with derived attributes that are computed once."""

from abc import ABCMeta
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, StructMeta
from msgspec.structs import force_setattr, replace


class AbstractMeta(StructMeta, ABCMeta):
    """The metaclass of frozen values with abstract methods."""


class Value(Struct, frozen=True, dict=True):
    """A value whose properties can be ``derived``."""


__all__ = ("AbstractMeta", "Value", "derived", "replace")

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
