"""A server and a browser for each module with tests of the page."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from support.browser import launch_browser
from support.servers import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(data_dir=tmp_path_factory.mktemp("page")) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with launch_browser() as chromium:
        yield chromium
