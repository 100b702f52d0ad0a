"""The wire: messages and records to bytes and back, in MessagePack and in JSON, the same content in either."""

from typing import Any, Final, Literal, TypeVar, get_args

import msgspec

from samedeal.errors import Malformed, Refused
from samedeal.wire.lenient import lenient
from samedeal.wire.messages import FromServer, Id, ToServer

Form = Literal["msgpack", "json"]
"""How messages are written in bytes; their content is the same."""

SUBPROTOCOLS: dict[str, Form] = {"samedeal.v1.msgpack": "msgpack", "samedeal.v1.json": "json"}
"""The WebSocket subprotocols and the form of their messages; JSON is spoken if none is asked for."""

T = TypeVar("T")

_ENCODERS: dict[Form, Any] = {"msgpack": msgspec.msgpack.Encoder(), "json": msgspec.json.Encoder(order="sorted")}
_TO_SERVER: dict[Form, Any] = {"msgpack": msgspec.msgpack.Decoder(ToServer), "json": msgspec.json.Decoder(ToServer)}
_FROM_SERVER: dict[Form, Any] = {
    "msgpack": msgspec.msgpack.Decoder(FromServer),
    "json": msgspec.json.Decoder(FromServer),
}


class _Numbered(msgspec.Struct):
    id: Id


class _Typed(msgspec.Struct):
    t: str


class _Headed(msgspec.Struct):
    header: dict[str, Any]


_TYPES: Final = frozenset(kind.__struct_config__.tag for kind in get_args(FromServer))
_NUMBERED: dict[Form, Any] = {"msgpack": msgspec.msgpack.Decoder(_Numbered), "json": msgspec.json.Decoder(_Numbered)}


def encode(message: object, form: Form) -> bytes:
    """The bytes of a message or a record. JSON has no white space and its keys sorted, as in RFC 8785.

    Only a float, which no entry of a log has, is not written as there: it keeps its point, as in ``1.0``.
    """
    try:
        data: bytes = _ENCODERS[form].encode(message)
    except TypeError:  # a number as a key, such as a seat: the sorting encoder takes texts only
        data = _ENCODERS[form].encode(msgspec.to_builtins(message, str_keys=True))
    return data


def decode_to_server(data: bytes, form: Form) -> ToServer:
    """A client's message. Raises Malformed for bytes that are none, Refused("bad-message") for one that is not ours."""
    message: ToServer = _decode(_TO_SERVER[form], data)
    return message


def number(data: bytes, form: Form) -> int | None:
    """The number that the client gave to a message, however wrong the rest of it is, if it can be told."""
    try:
        numbered: _Numbered = _NUMBERED[form].decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return numbered.id


class UnknownMessage(Refused):
    """A message from the server of a type that this version does not know. Clients skip it."""

    def __init__(self, type_: str) -> None:
        super().__init__("bad-message", f"Messages of type {type_!r} are unknown to this version.")


def decode_from_server(data: bytes, form: Form) -> FromServer:
    """The server's message, read as ``decode_from_newer`` reads.

    Raises as ``decode_to_server``, and UnknownMessage for a message of an unknown type.
    """
    try:
        message: FromServer = _decode(_FROM_SERVER[form], data)
    except Refused:
        type_ = decode(data, form, _Typed).t
        if type_ not in _TYPES:
            raise UnknownMessage(type_) from None
        message = decode_from_newer(data, form, FromServer)
    return message


def decode_from_newer(data: bytes, form: Form, kind: Any) -> Any:
    """A record of a kind from a server that may be newer than this version. Raises as ``decode_to_server``.

    Unknown fields are ignored. An enumeration may have an unknown value; then the record is of a subclass of its kind.
    """
    try:
        return decode(data, form, kind)
    except Refused:
        known = decode(data, form, lenient(kind))
    try:
        return decode(encode(known, form), form, kind)
    except Refused:
        return known


def header_sent(data: bytes, form: Form) -> dict[str, Any]:
    """The header in a message or an answer, with every field that it came with. Raises as ``decode_to_server``."""
    return decode(data, form, _Headed).header


def decode(data: bytes, form: Form, kind: type[T]) -> T:
    """A record of a kind. Raises as ``decode_to_server``."""
    decoder: Any = msgspec.msgpack.Decoder if form == "msgpack" else msgspec.json.Decoder
    record: T = _decode(decoder(kind), data)
    return record


def _decode(decoder: Any, data: bytes) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise Refused("bad-message", f"{error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
