"""Background loops that continue after errors."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from samedeal.errors import Refused

logger = logging.getLogger(__name__)


async def supervised(name: str, step: Callable[[], Awaitable[None]], every_s: float) -> None:
    """Run ``step`` every ``every_s`` seconds until cancelled. It logs errors, and repeated refusals once."""
    refusal = ""
    while True:
        try:
            await step()
            refusal = ""
        except Refused as refused:
            if refused.text != refusal:
                logger.warning("%s: %s", name, refused.text)
            refusal = refused.text
        except Exception:
            logger.exception("%s failed; it runs again in %s s", name, every_s)
        await asyncio.sleep(every_s)


async def cancelled(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Cancel tasks until they have ended; the store's client sometimes swallows a cancellation."""
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=0.1)
