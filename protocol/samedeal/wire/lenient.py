"""Lenient types: how a client reads what a newer server may send, where the strict types would refuse it."""

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct, defstruct, field, structs


@cache
def lenient(kind: Any) -> Any:
    """A type that reads whatever `kind` reads, and besides that unknown fields and unknown values of enumerations.

    Unknown fields are dropped and enumerations become texts. A struct's lenient type is a subclass of it.
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
    changed: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for its in structs.fields(kind):
        if (type_ := lenient(its.type)) == its.type:
            continue
        if its.required:
            changed.append((its.name, type_))
        elif its.default is not NODEFAULT:
            changed.append((its.name, type_, its.default))
        else:
            changed.append((its.name, type_, field(default_factory=its.default_factory)))
    if not changed and not kind.__struct_config__.forbid_unknown_fields:
        return kind
    return defstruct(kind.__name__, changed, bases=(kind,), forbid_unknown_fields=False, module=kind.__module__)
