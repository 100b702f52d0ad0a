"""Snapshots of a running store: all of its data at one moment, in Redis's RDB format.

The store is asked for the snapshot as a replica would ask (``SYNC``), so nothing is written on its machine, and it
serves races meanwhile. The snapshot holds no half of a write: in it, every log agrees with its head.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from redis.exceptions import RedisError

from samedeal_server.operate.backups.backup_file import BackupError
from samedeal_server.store.connection import Connections

SILENT_S: Final = 60.0
"""How long the store may send nothing. While it prepares a snapshot, it sends a line break every second."""
_CHUNK: Final = 2**18


async def snapshot(url: str) -> AsyncIterator[bytes]:
    """Yield the bytes of a snapshot of the store at a URL. Raises BackupError; then they are incomplete."""
    connection = Connections(url).open()
    try:
        async with asyncio.timeout(SILENT_S):
            await connection.connect()
            for option in (("capa", "eof"), ("rdb-only", "1")):
                await connection.send_command("REPLCONF", *option)
                await connection.read_response()
            await connection.send_command("SYNC")
        async for chunk in _payload(connection._reader):
            yield chunk
    except (RedisError, OSError, EOFError) as error:  # includes timeouts
        why = f"{error}".rstrip(".") or "it sent nothing in time"
        raise BackupError(f"The store gives no snapshot: {why}.") from error
    finally:
        await connection.disconnect(nowait=True)


async def _payload(reader: Any) -> AsyncIterator[bytes]:
    """Yield the content of the reply to SYNC: of a stated length, or up to a stated mark of 40 bytes."""
    while (line := (await asyncio.wait_for(reader.readline(), SILENT_S))) == b"\n":
        pass
    kind, text = line[:1], line[1:].strip()
    if kind != b"$" or not line.endswith(b"\n"):
        raise BackupError(
            f"The store gives no snapshot: {text.decode(errors='replace') or 'it closed the connection'}."
        )
    mark = text.removeprefix(b"EOF:") if text.startswith(b"EOF:") else b""
    left, held = 0 if mark else int(text), b""
    while left > 0 or (mark and held != mark):
        chunk = await asyncio.wait_for(reader.read(min(_CHUNK, left) if not mark else _CHUNK), SILENT_S)
        if not chunk:
            raise EOFError("the connection was lost")
        left -= len(chunk)
        held += chunk
        cut = max(0, len(held) - len(mark))
        yield held[:cut]
        held = held[cut:]
