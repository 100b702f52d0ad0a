"""A private store: an embedded store of its own for the data of a snapshot, in a temporary folder."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from samedeal_server.store.connection import Store
from samedeal_server.store.embedded import EmbeddedStore

_BASE = "appendonly.aof.1.base.rdb"


@asynccontextmanager
async def private_store(data: Path, folder: Path, database: int, say: Callable[[str], object]) -> AsyncIterator[Store]:
    """Run a store in a new folder with the data of a snapshot, which is moved there. Raises StoreError."""
    _place(data, folder / "appendonlydir")
    async with EmbeddedStore(folder, say=say) as embedded:
        store = Store(f"{embedded.url}?db={database}")
        try:
            yield store
        finally:
            await store.close()


def _place(data: Path, files: Path) -> None:
    """Make a snapshot the base of an append-only file."""
    files.parent.mkdir(mode=0o700)
    files.mkdir(mode=0o700)
    data.replace(files / _BASE)
    (files / "appendonly.aof.manifest").write_text(f"file {_BASE} seq 1 type b\n")
