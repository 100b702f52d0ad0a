"""JSON Schemas of the types that are read and written, with descriptions from their docstrings."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

import msgspec

Schema = dict[str, Any]
PREFIX = "#/components/schemas/"


def schemas(kinds: Iterable[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """Return the schemas of types, and by name the schemas of all structs that they refer to.

    Types with the same name are prefixed with the names of their modules.
    """
    kinds = list(kinds)
    structs = list(_structs(kinds))
    all_schemas, components = msgspec.json.schema_components([*kinds, *structs], ref_template=PREFIX + "{name}")
    for struct, schema in zip(structs, all_schemas[len(kinds) :], strict=True):
        component, docs = components[schema["$ref"].removeprefix(PREFIX)], field_docs(struct)
        component["description"] = plain(component.get("description", ""))
        fields = msgspec.structs.fields(struct)
        items = component.get("prefixItems") or [component["properties"][field.encode_name] for field in fields]
        for field, item in zip(fields, items, strict=True):
            if field.name in docs:
                item.setdefault("description", docs[field.name])
    return list(all_schemas[: len(kinds)]), components


def _structs(kinds: Iterable[Any]) -> Iterator[type[msgspec.Struct]]:
    """Yield each struct that the types are or contain, once."""
    pending: list[Any] = list(msgspec.inspect.multi_type_info(kinds))
    seen = set[type]()
    while pending:
        info = pending.pop()
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in seen:
                continue
            seen.add(info.cls)
            yield info.cls
        for part in ("type", "types", "item_type", "item_types", "key_type", "value_type", "fields"):
            inner = getattr(info, part, ())
            pending += inner if isinstance(inner, tuple) else [inner]


@cache
def field_docs(struct: type) -> dict[str, str]:
    """Return the docstrings below the fields of a struct, inherited ones included."""
    docs: dict[str, str] = {}
    for kind in reversed([kind for kind in struct.__mro__ if issubclass(kind, msgspec.Struct)]):
        try:
            source = dedent(inspect.getsource(kind))
        except (OSError, TypeError):  # created by defstruct, or part of msgspec
            continue
        (body,) = (node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                docs[field.target.id] = plain(str(text.value.value))
    return docs


def plain(text: str) -> str:
    """Return a docstring as one paragraph, with code in Markdown's backticks."""
    return " ".join(text.split()).replace("``", "`")
