"""The public API: ``import samedeal`` offers these names, loads them on first use, and its examples work."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import samedeal
from samedeal import api

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]


def test_the_examples_in_the_docstring_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, attempted = doctest.testmod(samedeal)
    assert failed == 0
    assert attempted >= 12


@pytest.mark.parametrize("name", samedeal.__all__)
def test_every_public_name_is_available(name: str) -> None:
    assert getattr(samedeal, name) is getattr(api, name)


def test_the_package_and_its_api_module_list_the_same_names() -> None:
    assert samedeal.__all__ == api.__all__


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'samedeal' has no attribute 'shuffle'"):
        getattr(samedeal, "shuffle")  # noqa: B009 (mypy knows that it does not exist)


def test_importing_the_package_loads_no_other_module() -> None:
    code = "import sys, samedeal; print([name for name in sys.modules if name.startswith(('samedeal.', 'msgspec'))])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize("code", ["corners", "corners:", "whist:1", ""])
def test_deal_refuses_an_invalid_code(code: str) -> None:
    with pytest.raises(ValueError, match="is not a valid deal"):
        samedeal.deal(code)


def test_deal_takes_a_variant() -> None:
    assert samedeal.deal("gallery:31", cap=False) == samedeal.GAMES["gallery"].from_seed("31", cap=False)
