"""The wire: messages and records to bytes and back, in MessagePack and in JSON, the same content in either."""

from typing import Any, Literal, TypeVar

import msgspec

from samedeal.errors import Malformed, Refused
from samedeal.messages import FromServer, Id, ToServer

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


def decode_from_server(data: bytes, form: Form) -> FromServer:
    """The server's message. Raises as ``decode_to_server``."""
    message: FromServer = _decode(_FROM_SERVER[form], data)
    return message


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
