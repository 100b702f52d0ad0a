"""Values: derived properties are computed once, and persistent lists share their items."""

from random import Random

import pytest

from samedeal.values import PersistentList, Value, derived, replace


class Square(Value, frozen=True):
    side: int
    asked: list[int]

    @derived
    def area(self) -> int:
        self.asked.append(self.side)
        return self.side**2


def test_derived_properties_are_computed_once_per_value() -> None:
    computed: list[int] = []
    square = Square(3, computed)
    assert (square.area, square.area, computed) == (9, 9, [3])
    assert (replace(square, side=4).area, square.area, computed) == (16, 9, [3, 4])


def test_a_value_is_immutable() -> None:
    with pytest.raises(AttributeError):
        setattr(Square(3, []), "side", 4)  # noqa: B010 (an assignment would be a type error)


def test_a_list_keeps_its_items_when_others_share_them() -> None:
    random = Random(1)
    trails: list[tuple[PersistentList[int], tuple[int, ...]]] = [(PersistentList(), ())]
    for number in range(2_000):
        trail, items = random.choice(trails[-20:])
        if items and random.random() < 0.3:
            trails.append((trail.without_last(), items[:-1]))
        else:
            trails.append((trail.appended(number), (*items, number)))
    for trail, items in trails:
        assert (tuple(trail), len(trail)) == (items, len(items))
        assert trail == items
        assert (trail[-1:], trail[2:4]) == (list(items[-1:]), list(items[2:4]))


def test_an_index_out_of_range_is_refused() -> None:
    trail = PersistentList([1, 2]).appended(3).without_last()
    for at in (2, -3):
        with pytest.raises(IndexError):
            trail[at]
    with pytest.raises(IndexError):
        PersistentList[int]().without_last()


def test_a_list_equals_lists_and_tuples_with_the_same_items() -> None:
    trail = PersistentList([1, 2])
    assert trail == PersistentList([1]).appended(2) == (1, 2)
    assert trail != PersistentList([1])
    assert trail != (1, 3)
    assert trail != [1, 2]


def test_the_representation_shows_the_items() -> None:
    assert repr(PersistentList(["a", "b"]).without_last()) == "PersistentList(['a'])"


def test_appending_does_not_copy() -> None:
    trail = PersistentList(range(5))
    longer = trail.appended(5)
    assert longer.appended(6)._items is longer._items is trail._items
    assert trail.appended(7)._items is not trail._items
