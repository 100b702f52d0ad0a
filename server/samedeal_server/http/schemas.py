"""JSON Schema of the types that are really read and written, with what their docstrings tell of each field."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

import msgspec

Schema = dict[str, Any]
WHERE = "#/components/schemas/"


def schemas(kinds: Iterable[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """The schema of each of some types, and the schemas of all structs that these refer to, by name.

    Names are those of the types; two types of one name have their modules' names before them.
    """
    kinds = list(kinds)
    structs = list(_structs(kinds))
    found, components = msgspec.json.schema_components([*kinds, *structs], ref_template=WHERE + "{name}")
    for struct, schema in zip(structs, found[len(kinds) :], strict=True):
        component, told = components[schema["$ref"].removeprefix(WHERE)], field_docs(struct)
        component["description"] = plain(component.get("description", ""))
        fields = msgspec.structs.fields(struct)
        items = component.get("prefixItems") or [component["properties"][field.encode_name] for field in fields]
        for field, item in zip(fields, items, strict=True):
            if field.name in told:
                item.setdefault("description", told[field.name])
    return list(found[: len(kinds)]), components


def _structs(kinds: Iterable[Any]) -> Iterator[type[msgspec.Struct]]:
    """The structs among some types and all that they hold, each once."""
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(kinds))
    seen = set[type]()
    while waiting:
        info = waiting.pop()
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in seen:
                continue
            seen.add(info.cls)
            yield info.cls
        for part in ("type", "types", "item_type", "item_types", "key_type", "value_type", "fields"):
            inner = getattr(info, part, ())
            waiting += inner if isinstance(inner, tuple) else [inner]


@cache
def field_docs(struct: type) -> dict[str, str]:
    """What is said of each field of a struct, in the text below it, there or where it is inherited from."""
    told: dict[str, str] = {}
    for kind in reversed([kind for kind in struct.__mro__ if issubclass(kind, msgspec.Struct)]):
        try:
            source = dedent(inspect.getsource(kind))
        except (OSError, TypeError):  # it is made by a program, or belongs to msgspec
            continue
        (body,) = (node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                told[field.target.id] = plain(str(text.value.value))
    return told


def plain(text: str) -> str:
    """A docstring as one paragraph, with code marked as in Markdown."""
    return " ".join(text.split()).replace("``", "`")
