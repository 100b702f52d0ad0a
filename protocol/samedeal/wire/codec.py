"""Encoding and decoding of messages and records in MessagePack and JSON, with the same content in both."""

import re
from functools import cache
from typing import Any, Final, Literal, TypeVar, cast, get_args

import msgspec

from samedeal.errors import Malformed, Refused
from samedeal.wire.lenient import lenient
from samedeal.wire.messages import FromServer, Id, ToServer

Form = Literal["msgpack", "json"]
"""The encoding of messages. The content is the same in both."""

SUBPROTOCOLS: dict[str, Form] = {"samedeal.v1.msgpack": "msgpack", "samedeal.v1.json": "json"}
"""The WebSocket subprotocols and the encoding of their messages. The default is JSON."""

T = TypeVar("T")

_FIELD_OR_NUMBER = re.compile(
    rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+|(?<![0-9])(?=-?[0-9]++[.eE]|-0))'
    rb"(:|-?[0-9][0-9.eE+-]*+|)"
)
"""Matches a JSON string, or a number that is not simply an integer. The group is the number, or a colon after the name
of a field."""

_ENCODERS: dict[Form, Any] = {"msgpack": msgspec.msgpack.Encoder(), "json": msgspec.json.Encoder(order="sorted")}
_TO_SERVER: dict[Form, Any] = {"msgpack": msgspec.msgpack.Decoder(ToServer), "json": msgspec.json.Decoder(ToServer)}


class _Numbered(msgspec.Struct):
    id: Id


class _Typed(msgspec.Struct):
    t: str


class _Headed(msgspec.Struct):
    header: dict[str, Any]


_TYPES: Final = frozenset(kind.__struct_config__.tag for kind in get_args(FromServer))


def encode(message: object, form: Form) -> bytes:
    """Encode a message or a record. JSON has no whitespace and sorted keys, as in RFC 8785.

    Floats are an exception: they keep the decimal point, as in ``1.0``. Log entries contain no floats.
    In MessagePack, an object of a type with more than 15 fields has the longer header of a map of 16 or more, however
    many of them are omitted. No digest is computed from MessagePack.
    """
    try:
        data: bytes = _ENCODERS[form].encode(message)
    except TypeError:  # integer keys, such as seats: the sorting encoder supports only strings
        data = _ENCODERS[form].encode(msgspec.to_builtins(message, str_keys=True))
    return data


def decode_to_server(data: bytes, form: Form) -> ToServer:
    """Decode a client's message. Raises Malformed for invalid bytes, Refused("bad-message") for an invalid message."""
    message: ToServer = _decode(data, _TO_SERVER[form])
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
        message: FromServer = _decode(data, _decoder(form, FromServer))
    except Refused:
        type_ = decode(data, form, _Typed).t
        if type_ not in _TYPES:
            raise UnknownMessage(type_) from None
        message = decode_from_newer(data, form, FromServer)
    return message


def decode_from_newer(data: bytes, form: Form, kind: Any) -> Any:
    """Decode a record from a server that may be newer than this version. Raises the errors of ``decode_to_server``.

    Unknown fields are ignored. A record with an unknown enumeration value is an instance of a subclass of ``kind``.
    """
    try:
        return decode(data, form, kind)
    except Refused:
        record = decode(data, form, lenient(kind))
    try:
        return decode(encode(record, form), form, kind)
    except Refused:
        return record


def header_sent(data: bytes, form: Form) -> dict[str, Any]:
    """Return the header in a message with all fields, even unknown ones, as JSON can express it.

    Raises the errors of ``decode_to_server``.
    """
    try:
        header: dict[str, Any] = msgspec.to_builtins(decode(data, form, _Headed).header, str_keys=True)
    except TypeError as error:  # MessagePack has more types of keys and values
        raise Refused("bad-message", f"{error}.") from error
    return header


def is_same_json(data: bytes, canonical: bytes) -> bool:
    """Return whether a decoded JSON text differs from its canonical form only in whitespace, escapes and order.

    The canonical text has every field that was decoded, once. If the original text does not have more fields, none of
    them is unknown, duplicate or at its default value. Integers have only one form. If it has the same other numbers,
    all are in canonical form.
    """
    return data == canonical or _fields_and_numbers(data) == _fields_and_numbers(canonical)


def _fields_and_numbers(data: bytes) -> tuple[int, list[bytes]]:
    """Return the total number of fields of all objects in a JSON text, and its numbers that are not simply integers."""
    found = _FIELD_OR_NUMBER.findall(data)
    return found.count(b":"), sorted(part for part in found if len(part) > 1)


def decode(data: bytes, form: Form, kind: type[T]) -> T:
    """Decode a record. Raises the errors of ``decode_to_server``."""
    record: T = _decode(data, _decoder(form, cast(Any, kind)))
    return record


def _decode(data: bytes, decoder: Any) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise Refused("bad-message", f"{error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from error


@cache
def _decoder(form: Form, kind: Any) -> Any:
    return (msgspec.msgpack if form == "msgpack" else msgspec.json).Decoder(kind)
