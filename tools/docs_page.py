"""The page that shows the OpenAPI and AsyncAPI documents: every endpoint, message and type, with links between them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from tools.asyncapi import CHANNEL, asyncapi_json
from tools.openapi import openapi_json

Document = Mapping[str, Any]
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
"""The basic types of JSON Schema in words."""
END_OF_TEXT: Final = r"$(?!\n)"
"""The end of patterns, with the same meaning in Python and JavaScript. The page shows ``$``."""


def page() -> str:
    """Return the page in HTML."""
    http, socket = json.loads(openapi_json()), json.loads(asyncapi_json())
    messages, schemas = socket["components"]["messages"], socket["components"]["schemas"]
    payloads = {name: _target(message["payload"]) for name, message in messages.items()}
    types = {name: schema for name, schema in schemas.items() if name not in payloads.values()}
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"text": _text, "type": _type, "target": _target}
    return environment.get_template("docs_page.html").render(
        http=http,
        socket=socket,
        channel=socket["channels"][CHANNEL],
        requests={_target(each["messages"][0]): each for each in socket["operations"].values() if "reply" in each},
        pushed=list(map(_target, socket["operations"]["tell"]["messages"])),
        messages={
            name: {**schemas[payload], "description": messages[name]["summary"]} for name, payload in payloads.items()
        },
        types=types | http["components"]["schemas"],
    )


def _type(schema: Document) -> Markup:
    """Describe a type, with links to the types on the page."""
    match schema:
        case {"$ref": _}:
            return Markup('<a href="#type-{0}">{0}</a>').format(_target(schema))
        case {"anyOf": kinds}:
            return Markup(" or ").join(map(_type, kinds))
        case {"enum": choices}:
            return escape("one of " if len(choices) > 1 else "") + Markup(", ").join(map(_code, choices))
        case {"type": "array", "prefixItems": kinds}:
            return Markup("list of ") + Markup(", ").join(map(_type, kinds))
        case {"type": "array"}:
            return Markup("list of ") + _type(schema.get("items", {}))
        case {"type": "object", "additionalProperties": dict(kind)}:
            return Markup("object of {} by name").format(_type(kind))
        case {"type": kind}:
            return escape(KINDS.get(kind, kind)) + _bounds(schema)
    return Markup("anything")


def _bounds(schema: Document) -> Markup:
    match schema:
        case {"minimum": low, "maximum": high}:
            return escape(f", {low} to {high}")
        case {"minimum": low}:
            return escape(f", {low} or more")
        case {"pattern": pattern}:
            return Markup(" matching ") + _code(pattern.replace(END_OF_TEXT, "$"))
        case {"maxLength": high}:
            return escape(f", {schema.get('minLength', 0)} to {high} characters")
        case {"format": form}:
            return escape(f", a {form}")
    return escape("")


def _target(ref: Document) -> str:
    """Return the name of the target of a reference."""
    name: str = ref["$ref"].rpartition("/")[2]
    return name


def _code(text: object) -> Markup:
    return Markup("<code>{}</code>").format(text)


def _text(text: str) -> Markup:
    """Convert plain text with code in backticks to HTML."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 (escaped)
