"""Values: derived properties are computed once."""

import pytest

from samedeal.values import Value, derived, replace


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
