"""Fetches what a server publishes about itself."""

import http.client
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from msgspec import DecodeError, Struct, ValidationError, json

TIMEOUT_S: Final = 5.0
_MOST: Final = 10**6  # bytes


class ProblemError(Exception):
    """A server cannot be reached, or is not one of this program; the text says why."""


class PublicKey(Struct):
    key: str


class Info(Struct):
    """What a server publishes at ``/.well-known/samedeal``, in part."""

    server: str
    keys: tuple[PublicKey, ...]


def fetch(url: str) -> Info:
    """Return what the server at a URL publishes. Raises ProblemError."""
    try:
        with build_opener(ProxyHandler({})).open(
            f"{url.rstrip('/')}/.well-known/samedeal", timeout=TIMEOUT_S
        ) as answer:
            return json.decode(answer.read(_MOST), type=Info)
    except (DecodeError, ValidationError) as error:
        raise ProblemError(f"{url} is served by another program") from error
    except URLError as error:
        raise ProblemError(
            f"{url} cannot be reached: {getattr(error.reason, 'strerror', None) or error.reason or error}"
        ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ProblemError(f"{url} cannot be reached: {error}") from error
