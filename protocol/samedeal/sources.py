"""Imports the library and the server from their sources, even where compiled modules are next to them."""

import sys
from collections.abc import Sequence
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType


class SourceFinder:
    """Finds the modules of the library and the server before Python's own finders, which prefer compiled ones."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the source of a module of the library or the server is, or None for any other module."""
        folders = path if path and name.startswith(("samedeal.", "samedeal_server.")) else ()
        finders = (FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)) for folder in folders)
        return next((spec for finder in finders if (spec := finder.find_spec(name))), None)


def prefer_sources(choice: str) -> None:
    """Ignore compiled modules in later imports, if ``SAMEDEAL_PURE`` is ``1``. Raises ImportError for other values."""
    if choice != "1":
        raise ImportError(f"SAMEDEAL_PURE is {choice!r}; expected 1 to ignore compiled modules.", name="samedeal")
    sys.meta_path.insert(0, SourceFinder)
