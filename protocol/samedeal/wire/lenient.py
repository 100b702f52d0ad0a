"""Lenient types, with which clients read messages of newer servers that the strict types reject."""

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Struct, defstruct, field, structs


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
