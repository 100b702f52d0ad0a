"""The AsyncAPI document: everything over the socket, from the messages that are really read and written."""

from collections.abc import Iterable
from typing import Any, Final, get_args

from samedeal.errors import CODES
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.codec import SUBPROTOCOLS
from samedeal_server.http.openapi import INFO
from samedeal_server.http.responses import MEDIA, PROBLEM
from samedeal_server.http.schemas import plain, schemas

DESCRIPTION: Final = (
    "Everything over the socket. The subprotocol says the form of the messages: `samedeal.v1.json` (text, also spoken "
    "without one) or `samedeal.v1.msgpack` (binary); their content is the same, but that in MessagePack the keys of "
    "`boards` are numbers. A client asks, first of all with `hello`; each request is answered in order by one message "
    "with its `id` in `re`: what its reply says, or a `problem`. Messages without `re` come unasked. A field that has "
    "its default may be left out. A client has to ignore fields that it does not know. Everything else: see "
    "/openapi.json."
)
CLOSE_CODES: Final = {int(code): (code.meaning, code.retry) for code in CloseCode}
"""The codes that the server closes a connection with: what each means, and whether to try again."""
AT_THE_DOOR: Final = ("bad-request", "draining", "foreign-page", "too-large", "too-many", "unsupported-version")
"""The codes of problems that answer a handshake that is refused."""
UNASKED: Final = (m.View, m.Progress, m.Problem)
"""What the server may say without being asked; a problem only of what was no message."""
CHANNEL: Final = "socket"


def asyncapi() -> dict[str, Any]:
    """The document, without the servers."""
    requests, replies = get_args(m.ToServer), get_args(m.FromServer)
    found, components = schemas([*requests, *replies])
    codes = sorted({*m.ANY_REFUSED_WITH, *(code for codes in m.REFUSED_WITH.values() for code in codes)})
    problem = components[found[len(requests) + replies.index(m.Problem)]["$ref"].rpartition("/")[2]]
    problem["properties"]["code"]["enum"] = codes
    messages = {
        _name(kind): {
            "name": _name(kind),
            "title": kind.__name__,
            "summary": plain(kind.__doc__ or ""),
            "correlationId": {"location": f"$message.payload#/{'id' if kind in requests else 're'}"},
            "payload": schema,
        }
        for kind, schema in zip((*requests, *replies), found, strict=True)
    }
    return {
        "asyncapi": "3.0.0",
        "info": {**INFO, "license": {"name": "MIT"}, "description": DESCRIPTION},
        "defaultContentType": MEDIA["json"],
        "channels": {
            CHANNEL: {
                "address": "/ws",
                "description": "One connection of one guest, who is in one race at a time.",
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
                "bindings": {
                    "ws": {
                        "method": "GET",
                        "headers": {
                            "type": "object",
                            "properties": {
                                "Sec-WebSocket-Protocol": {"type": "string", "enum": list(SUBPROTOCOLS)},
                                "Authorization": {"type": "string", "description": "Bearer and a token, for hello."},
                            },
                        },
                        "bindingVersion": "0.1.0",
                    }
                },
                "x-subprotocols": {name: MEDIA[form] for name, form in SUBPROTOCOLS.items()},
                "x-close-codes": {
                    f"{code}": {"meaning": meaning, "try-again": again}
                    for code, (meaning, again) in sorted(CLOSE_CODES.items())
                },
                "x-refused-handshake": {
                    "content-type": PROBLEM,
                    "codes": {code: CODES[code][0] for code in AT_THE_DOOR},
                },
            }
        },
        "operations": {
            **{
                f"ask{kind.__name__}": {
                    "action": "receive",
                    "channel": {"$ref": f"#/channels/{CHANNEL}"},
                    "summary": messages[_name(kind)]["summary"],
                    "messages": _on_channel([kind]),
                    "reply": {
                        "channel": {"$ref": f"#/channels/{CHANNEL}"},
                        "messages": _on_channel([m.ANSWERED_BY[kind], m.Problem]),
                    },
                    "x-refused-with": sorted({*m.REFUSED_WITH[kind], *m.ANY_REFUSED_WITH}),
                }
                for kind in requests
            },
            "tell": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{CHANNEL}"},
                "summary": "What the server says without being asked: news, and that what came was no message.",
                "messages": _on_channel(UNASKED),
            },
        },
        "components": {"messages": messages, "schemas": components},
    }


def _name(kind: type) -> str:
    """A message's kind as its `t` says it."""
    return kind.__name__.lower()


def _on_channel(kinds: Iterable[type]) -> list[dict[str, str]]:
    return [{"$ref": f"#/channels/{CHANNEL}/messages/{_name(kind)}"} for kind in kinds]
