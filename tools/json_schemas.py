"""JSON Schemas of the types in requests and responses, with descriptions from their docstrings."""

import ast
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

Schema = dict[str, Any]
PREFIX: Final = "#/components/schemas/"


def schemas(kinds: Iterable[Any]) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """Return the schemas of types, and by name the schemas of all structs that they refer to.

    Types with the same name are prefixed with the names of their modules.
    """
    kinds = list(kinds)
    structs = list(_structs(kinds))
    all_schemas, components = msgspec.json.schema_components([*kinds, *structs], ref_template=PREFIX + "{name}")
    for struct, schema in zip(structs, all_schemas[len(kinds) :], strict=True):
        component, docs = components[schema["$ref"].removeprefix(PREFIX)], _field_docs(struct)
        component["description"] = plain(component.get("description", ""))
        fields = msgspec.structs.fields(struct)
        items = component.get("prefixItems") or [component["properties"][field.encode_name] for field in fields]
        for field, item in zip(fields, items, strict=True):
            if field.name in docs:
                item.setdefault("description", docs[field.name])
    return dict(zip(kinds, all_schemas, strict=False)), components


def plain(text: str) -> str:
    """Return a docstring as one paragraph, with code in Markdown's backticks."""
    return " ".join(text.split()).replace("``", "`")


def indented(document: Schema) -> str:
    """Return a document as JSON with one value per line."""
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _structs(kinds: Iterable[Any]) -> Iterator[type[Struct]]:
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


def _field_docs(struct: type) -> dict[str, str]:
    """Return the docstrings below the fields of a struct, inherited ones included."""
    docs: dict[str, str] = {}
    for kind in reversed([kind for kind in struct.__mro__ if issubclass(kind, Struct) and kind is not Struct]):
        for field, text in pairwise(_classes(kind.__module__)[kind.__name__].body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                    docs[name] = plain(doc)
    return docs


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Return the syntax trees of a module's classes by name."""
    source = Path(sys.modules[module].__file__ or "").read_text(encoding="utf-8")
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
