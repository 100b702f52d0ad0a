"""Attributes and methods of types that change while compiled modules have them cached; without them, Python itself."""

from typing import Any

import pytest

from samedeal.table import Table


class Piles:
    """Has the one attribute that the methods of a table need."""

    __slots__ = ("piles",)

    def top(self, place: str) -> object:
        return Table.top(self, place)  # type: ignore[arg-type]


class Dictionary:
    """Stands in for the piles of a table. Its instances can have an attribute ``copy`` of their own."""

    def copy(self) -> dict[str, tuple[str, ...]]:
        return {"a": ("2S",), "b": ()}


@pytest.fixture
def kind() -> Any:
    return type("Own", (Piles,), {"__slots__": ()})


def test_a_slot_has_its_newest_value(kind: Any) -> None:
    table = kind()
    for card in ("2S", "3S"):
        table.piles = {"a": (card,)}
        assert table.top("a") == card


def test_a_slot_that_is_not_set_is_missing(kind: Any) -> None:
    table = kind()
    for _ in range(2):
        table.piles = {"a": ("2S",)}
        assert table.top("a") == "2S"
        del table.piles
        with pytest.raises(AttributeError, match="piles"):
            table.top("a")


def test_a_property_replaces_a_slot_and_the_other_way_round(kind: Any) -> None:
    table = kind()
    table.piles = {"a": ("2S",)}
    assert table.top("a") == "2S"
    kind.piles = property(lambda self: {"a": ("3S",)})
    assert table.top("a") == "3S"
    kind.piles = property(lambda self: {"a": ("4S",)})
    assert table.top("a") == "4S"
    del kind.piles
    assert table.top("a") == "2S"


def test_an_error_of_a_property_is_raised_every_time(kind: Any) -> None:
    def fail(self: object) -> None:
        raise LookupError("no piles")

    table = kind()
    kind.piles = property(fail)
    for _ in range(2):
        with pytest.raises(LookupError, match="no piles"):
            table.top("a")


def test_an_attribute_replaces_a_method_of_one_instance() -> None:
    class Own:
        """A type with attributes."""

    first, second, other = Own(), Own(), Dictionary()
    first.piles, second.piles = other, Dictionary()  # type: ignore[attr-defined]
    moved: Any = Table.moved
    for value in (first, second):
        with pytest.raises(TypeError):  # the copy is made; Own takes no arguments
            moved(value, "a", "b")
    other.copy = dict  # type: ignore[method-assign]
    with pytest.raises(KeyError):
        moved(first, "a", "b")
    with pytest.raises(TypeError):
        moved(second, "a", "b")


def test_a_method_is_replaced_in_its_type() -> None:
    class Copies:
        """Piles that can be copied."""

        __slots__ = ()

        def copy(self) -> dict[str, tuple[str, ...]]:
            return {"a": ("2S",), "b": ()}

    class Own:
        """A type with piles."""

        piles = Copies()

    moved: Any = Table.moved
    with pytest.raises(TypeError):
        moved(Own(), "a", "b")
    Copies.copy = lambda self: {}  # type: ignore[method-assign]
    with pytest.raises(KeyError):
        moved(Own(), "a", "b")


def test_a_type_that_computes_attributes_is_asked_every_time(kind: Any) -> None:
    cards = iter(("2S", "3S"))
    kind.__getattribute__ = lambda self, name: (
        {"a": (next(cards),)} if name == "piles" else object.__getattribute__(self, name)
    )
    assert [kind().top("a"), kind().top("a")] == ["2S", "3S"]
