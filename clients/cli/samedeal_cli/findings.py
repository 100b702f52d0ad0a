"""Findings: the results of checks by ``samedeal doctor``, of the client and of a server."""

from typing import NamedTuple

Value = str | float | bool | None


class Finding(NamedTuple):
    """One result of a check."""

    part: str
    name: str
    value: Value
    wrong: str = ""
    """The problem, if any."""
