"""A finding of the doctor. The client has the same type for what it checks itself."""

from msgspec import Struct

Value = str | float | bool | None


class Finding(Struct, frozen=True, array_like=True):
    """One result of a check, without secrets."""

    part: str
    name: str
    value: Value
    wrong: str = ""
    """The problem, if any."""
