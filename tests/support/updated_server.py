"""A server of a later version, with another version of the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from samedeal_server.__main__ import main
from samedeal_server.api import page_files
from support.servers import Server

page_paths = page_files.page_paths


VERSION = "1.1.0"


class UpdatedServer(Server):
    program = ("-m", "support.updated_server")

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, version=VERSION, **settings)


def with_another_file() -> Iterator[tuple[str, Path]]:
    yield from page_paths()
    yield "another.txt", Path(__file__)


if __name__ == "__main__":
    page_files.page_paths = with_another_file
    main()
