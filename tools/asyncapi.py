"""The AsyncAPI document of the WebSocket API, generated from the message types."""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, get_args

from samedeal.errors import CODES
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.decoding import SUBPROTOCOLS
from samedeal_server.net.responses import MEDIA, PROBLEM
from tools.json_schemas import indented, plain, schemas
from tools.openapi import INFO

DESCRIPTION: Final = (
    "The WebSocket API. The subprotocol selects the encoding of messages: `samedeal.v1.json` (text, the default) or "
    "`samedeal.v1.msgpack` (binary). Their content is the same, except that the keys of `boards` and `levels` are "
    "numbers in MessagePack. A client sends requests, first of all `hello`. The server replies to each request in "
    "order, with one message that has the request's `id` in `re`: the reply listed here, or a `problem`. Messages "
    "without `re` are not replies. Fields with default values may be omitted. Clients must ignore unknown fields. For"
    " the HTTP API, see /openapi.json."
)
HANDSHAKE_REFUSALS: Final = ("bad-request", "draining", "foreign-page", "too-large", "too-many", "unsupported-version")
"""The codes of refused handshakes."""
CHANNEL: Final = "socket"
ON_CHANNEL: Final = {"channel": {"$ref": f"#/channels/{CHANNEL}"}}


@cache
def asyncapi_json() -> str:
    """Return the document, without servers."""
    requests, replies = get_args(m.ToServer), get_args(m.FromServer)
    by_kind, components = schemas([*requests, *replies])
    codes = sorted({*m.ANY_REFUSED_WITH, *(code for codes in m.REFUSED_WITH.values() for code in codes)})
    problem = components[by_kind[m.Problem]["$ref"].rpartition("/")[2]]
    problem["properties"]["code"]["enum"] = codes
    messages = {
        _name(kind): {
            "name": _name(kind),
            "title": kind.__name__,
            "summary": plain(kind.__doc__ or ""),
            "correlationId": {"location": f"$message.payload#/{'id' if kind in requests else 're'}"},
            "payload": schema,
        }
        for kind, schema in by_kind.items()
    }
    operations: dict[str, Any] = {
        f"ask{kind.__name__}": {
            "action": "receive",
            **ON_CHANNEL,
            "summary": messages[_name(kind)]["summary"],
            "messages": _references([kind]),
            "reply": {**ON_CHANNEL, "messages": _references([*m.ANSWERED_BY[kind], m.Problem])},
            "x-refused-with": sorted({*m.REFUSED_WITH[kind], *m.ANY_REFUSED_WITH}),
        }
        for kind in requests
    }
    operations["tell"] = {
        "action": "send",
        **ON_CHANNEL,
        "summary": "Messages without a request: updates, and problems with invalid messages.",
        "messages": _references(m.PUSHED),
    }
    handshake = {
        "Sec-WebSocket-Protocol": {"type": "string", "enum": list(SUBPROTOCOLS)},
        "Authorization": {"type": "string", "description": "`Bearer` and the token to use in `hello`."},
    }
    channel = {
        "address": "/ws",
        "description": "A connection of a guest, who can be in one race at a time. Connect to `/ws/{race}` to be "
        "served by the same process as everyone in the race, if there are several.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "bindings": {
            "ws": {
                "method": "GET",
                "headers": {"type": "object", "properties": handshake},
                "bindingVersion": "0.1.0",
            }
        },
        "x-subprotocols": {name: MEDIA[form] for name, form in SUBPROTOCOLS.items()},
        "x-close-codes": {
            f"{code:d}": {"meaning": code.meaning, "try-again": code.retry} for code in sorted(CloseCode)
        },
        "x-refused-handshake": {
            "content-type": PROBLEM,
            "codes": {code: CODES[code][0] for code in HANDSHAKE_REFUSALS},
        },
    }
    document = {
        "asyncapi": "3.0.0",
        "info": {**INFO, "license": {"name": "MIT"}, "description": DESCRIPTION},
        "defaultContentType": MEDIA["json"],
        "channels": {CHANNEL: channel},
        "operations": operations,
        "components": {"messages": messages, "schemas": components},
    }
    return indented(document)


def _name(kind: type) -> str:
    """Return the message's `t`."""
    return kind.__name__.lower()


def _references(kinds: Iterable[type]) -> list[dict[str, str]]:
    """Return references to messages on the channel."""
    return [{"$ref": f"#/channels/{CHANNEL}/messages/{_name(kind)}"} for kind in kinds]
