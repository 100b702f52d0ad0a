"""Encoding and decoding of records in MessagePack and JSON, with the same content in both."""

import re
from collections.abc import Callable
from functools import cache, reduce
from operator import or_
from threading import Lock
from types import UnionType
from typing import Annotated, Any, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct, defstruct, field, structs

from samedeal.errors import Malformed, Refused

Form = Literal["msgpack", "json"]
"""The encoding of messages and records. The content is the same in both."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_FIELD_OR_NUMBER = re.compile(
    rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+|(?<![0-9])(?=-?[0-9]++[.eE]|-0))'
    rb"(:|-?[0-9][0-9.eE+-]*+|)"
)
"""Matches a JSON string, or a number that is not simply an integer. The group is the number, or a colon after the name
of a field."""

_ENCODERS: dict[Form, Any] = {"msgpack": msgspec.msgpack.Encoder(), "json": msgspec.json.Encoder(order="sorted")}


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


def decode(data: bytes, form: Form, kind: type[T]) -> T:
    """Decode a record. Raises Malformed for invalid bytes, Refused("bad-message") for an invalid record."""
    record: T = decode_with(decoder(form, kind), data)
    return record


def decode_with(decoder: Any, data: bytes) -> Any:
    """Decode with a decoder of msgspec. Raises as ``decode``."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise Refused("bad-message", f"{why(error)}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from error


def why(error: msgspec.ValidationError) -> str:
    """Return why a record is invalid, without the regular expressions of its fields."""
    return re.sub("matching regex '.*'", "in the documented form", str(error))


def decode_from_newer(data: bytes, form: Form, kind: Any) -> Any:
    """Decode a record from a server that may be newer than this version. Raises as ``decode``.

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


@cache
def lenient(kind: Any) -> Any:
    """Return a type that also accepts unknown fields and unknown enumeration values.

    Unknown fields are dropped, and enumerations become strings. The lenient type of a struct is a subclass of it.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _lenient_struct(kind)
    if origin is Literal:
        return str
    if origin is Annotated:
        return Annotated[(lenient(arguments[0]), *kind.__metadata__)]
    if origin in (Union, UnionType):
        return reduce(or_, map(lenient, arguments))
    return origin[tuple(map(lenient, arguments))] if origin and arguments else kind


def _lenient_struct(kind: type[Struct]) -> type[Struct]:
    changed = list[tuple[str, Any, Any]]()
    for old in structs.fields(kind):
        if (type_ := lenient(old.type)) != old.type:
            default = {"default": old.default, "default_factory": old.default_factory}
            changed.append((old.name, type_, field(**default)))
    if not changed and not kind.__struct_config__.forbid_unknown_fields:
        return kind
    return defstruct(kind.__name__, changed, bases=(kind,), forbid_unknown_fields=False, module=kind.__module__)


class Decoder(Protocol[T_co]):
    """A decoder of msgspec."""

    def decode(self, data: bytes | bytearray | str, /) -> T_co:
        """Raises msgspec.ValidationError for an invalid record, its other errors and UnicodeError for invalid bytes."""


def decoder(form: Form, kind: type[T]) -> Decoder[T]:
    """Return the decoder of a type. Every decoder comes from here, because threads can use it.

    For the first decoder of a struct, msgspec computes how it is decoded, and runs Python code while it does. Another
    thread that decodes the struct meanwhile crashes: it finds the unfinished result in the class.
    """
    found: Decoder[T] = _decoder(form, cast(Any, kind))
    return found


def convert(values: object, kind: type[T], *, strict: bool = True, hook: Callable[[Any, Any], Any] | None = None) -> T:
    """Convert simple values to a type as msgspec.convert does, with the care of ``decoder``."""
    decoder("json", kind)
    return msgspec.convert(values, kind, strict=strict, dec_hook=hook)


_COMPUTING = Lock()


@cache
def _decoder(form: Form, kind: Any) -> Any:
    with _COMPUTING:
        return (msgspec.msgpack if form == "msgpack" else msgspec.json).Decoder(kind)
