"""A server with another version of the page, as after a deployment."""

from collections.abc import Iterator
from pathlib import Path

from samedeal_server.__main__ import main
from samedeal_server.api import page_files
from support.servers import Server

page_paths = page_files.page_paths


class UpdatedServer(Server):
    program = ("-m", "support.updated_server")


def with_another_file() -> Iterator[tuple[str, Path]]:
    yield from page_paths()
    yield "another.txt", Path(__file__)


if __name__ == "__main__":
    page_files.page_paths = with_another_file
    main()
