"""One server and one browser for all tests of the page that a worker runs.

A module whose tests need another server overrides the fixture `server`.
"""

from support.browser import chromium, page, server, tab

__all__ = ["chromium", "page", "server", "tab"]
