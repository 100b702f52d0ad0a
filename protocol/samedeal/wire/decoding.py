"""Decoding of messages, each side what the other one sends. Clients read messages of newer servers, too."""

from typing import Any, Final, cast, get_args

import msgspec

from samedeal.codec import Form, decode, decode_from_newer, decode_with, decoder
from samedeal.errors import Malformed, Refused
from samedeal.wire.messages import FromServer, Id, ToServer

SUBPROTOCOLS: dict[str, Form] = {"samedeal.v1.msgpack": "msgpack", "samedeal.v1.json": "json"}
"""The WebSocket subprotocols and the encoding of their messages. The default is JSON."""

_TO_SERVER: Final = {form: decoder(form, cast(Any, ToServer)) for form in get_args(Form)}
_TYPES: Final = frozenset(kind.__struct_config__.tag for kind in get_args(FromServer))


class _Numbered(msgspec.Struct):
    id: Id


class _Typed(msgspec.Struct):
    t: str


class _Headed(msgspec.Struct):
    header: dict[str, Any]


def decode_to_server(data: bytes, form: Form) -> ToServer:
    """Decode a client's message. Raises Malformed for invalid bytes, Refused("bad-message") for an invalid message."""
    message: ToServer = decode_with(_TO_SERVER[form], data)
    return message


def number(data: bytes, form: Form) -> int | None:
    """Return the id of a request, even if the rest of it is invalid, or None if it cannot be decoded."""
    try:
        return decode(data, form, _Numbered).id
    except (Malformed, Refused):
        return None


class UnknownMessage(Refused):
    """A server message of a type that this version does not know. Clients ignore it."""

    def __init__(self, type_: str) -> None:
        super().__init__("bad-message", f"This version does not know messages of type {type_!r}.")


def decode_from_server(data: bytes, form: Form) -> FromServer:
    """Decode a server's message as leniently as ``decode_from_newer``.

    Raises the errors of ``decode_to_server``, and UnknownMessage for an unknown type.
    """
    try:
        message: FromServer = decode(data, form, cast(Any, FromServer))
    except Refused:
        type_ = decode(data, form, _Typed).t
        if type_ not in _TYPES:
            raise UnknownMessage(type_) from None
        message = decode_from_newer(data, form, FromServer)
    return message


def header_sent(data: bytes, form: Form) -> dict[str, Any]:
    """Return the header in a message with all fields, even unknown ones, as JSON can express it.

    Raises the errors of ``decode_to_server``.
    """
    try:
        header: dict[str, Any] = msgspec.to_builtins(decode(data, form, _Headed).header, str_keys=True)
    except TypeError as error:  # MessagePack has more types of keys and values
        raise Refused("bad-message", f"{error}.") from error
    return header
