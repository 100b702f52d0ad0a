"""One server and one browser for all tests of the page that a worker runs, and servers for special needs."""

from collections.abc import Iterator

import pytest

from cli.conftest import timed
from support.browser import chromium, page, server, tab
from support.servers import Server

__all__ = ["chromium", "page", "server", "tab", "timed"]


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on which nobody races on the deals that tests practise: the analysis of an open deal is secret."""
    with Server(data_dir=tmp_path_factory.mktemp("quiet"), connections_per_address="0") as running:
        yield running
