"""The API documents as a static page: every endpoint, message and type, with links between them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

Document = Mapping[str, Any]
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
"""The basic types of JSON Schema in words."""
END_OF_TEXT = r"$(?!\n)"
"""The end of patterns, with the same meaning in Python and JavaScript. The page shows ``$``."""


def docs_page(http: Document, socket: Document, channel: str) -> str:
    """Return the page for an OpenAPI document and a channel of an AsyncAPI document."""
    messages, operations = socket["components"]["messages"], socket["operations"]
    requests = {_name(each["messages"][0]): each for each in operations.values() if each["action"] == "receive"}
    pushed = set(map(_name, operations["tell"]["messages"]))
    payloads = set(map(_name, (message["payload"] for message in messages.values())))
    schemas = socket["components"]["schemas"]
    types = {name: schema for name, schema in schemas.items() if name not in payloads} | http["components"]["schemas"]

    def message(name: str) -> str:
        suffix = "<p>Also sent without a request.</p>" if name in pushed else ""
        schema = {**schemas[_name(messages[name]["payload"])], "description": messages[name]["summary"]}
        return _schema(f"message-{name}", name, schema, _replies(requests[name]) if name in requests else suffix)

    sections: dict[str, tuple[str, Iterable[str]]] = {
        **{tag["name"]: (tag["description"], _endpoints(http, tag["name"])) for tag in http["tags"]},
        "socket": (socket["info"]["description"], [_handshake(socket["channels"][channel])]),
        "client": ("Messages from the client to the server.", (message(name) for name in requests)),
        "server": (
            "Messages from the server to the client.",
            (message(name) for name in messages if name not in requests),
        ),
        "types": (
            "The types in bodies and messages.",
            (_schema(f"type-{name}", name, types[name]) for name in sorted(types)),
        ),
    }
    links = "".join(f'<a href="#{name}">{name}</a> ' for name in sections)
    main = "".join(
        f'<section id="{name}">\n<h2>{name.capitalize()}</h2>\n<p>{_text(text)}</p>\n{"".join(articles)}</section>\n'
        for name, (text, articles) in sections.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API · Same Deal</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
<link rel="stylesheet" href="/page/docs.css">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header id="top"><a class="brand" href="/">Same Deal</a></header>
<main id="main" class="docs" tabindex="-1">
<h1>Same Deal API</h1>
<p>{_text(http["info"]["description"])}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>, <a href="/asyncapi.json">asyncapi.json</a>.</p>
<nav aria-label="Sections">{links}</nav>
{main}</main>
</body>
</html>
"""


def _article(anchor: str, title: str, description: str, *parts: str) -> str:
    return f'<article id="{anchor}">\n<h3>{title}</h3>\n<p>{_text(description)}</p>\n{"".join(parts)}</article>\n'


def _schema(anchor: str, name: str, schema: Document, *parts: str) -> str:
    return _article(anchor, _code(name), schema["description"], _list("Fields", _fields(schema)), *parts)


def _list(title: str, items: Iterable[tuple[str, str]], term: Callable[[str], str] = str) -> str:
    """Return a list of terms and descriptions, or nothing if it is empty."""
    entries = "".join(f"<dt>{term(name)}</dt><dd>{description}</dd>\n" for name, description in items)
    return f"<h4>{title}</h4>\n<dl>{entries}</dl>\n" if entries else ""


def _endpoints(http: Document, tag: str) -> Iterator[str]:
    for path, methods in http["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                answers = operation["responses"].items()
                responses = ((status, _response(each)) for status, each in answers if status < "4")
                refusals = ((status, _text(each["description"])) for status, each in answers if status >= "4")
                yield _article(
                    operation["operationId"],
                    f'<span class="method">{method.upper()}</span> {_code(path)}',
                    operation["description"],
                    _list("Parameters", _parameters(operation["parameters"])),
                    _list("Body", _bodies(operation.get("requestBody", {})), _code),
                    _list("Responses", responses, _code),
                    _list("Refusals", refusals, _code),
                )


def _parameters(parameters: Iterable[Document]) -> Iterator[tuple[str, str]]:
    for parameter in parameters:
        schema = parameter["schema"]
        where = f"{parameter['in']}{', at most one of these' if 'properties' in schema else ''}"
        where = where if parameter.get("required") else f"{where}, optional"
        described = {**schema, "description": parameter.get("description", "")}
        for name, each in schema.get("properties", {parameter["name"]: described}).items():
            yield _term(name, where), _typed(each)


def _response(response: Document) -> str:
    headers = response.get("headers", {}).items()
    return "<br>".join(
        [
            _text(response["description"]),
            *(f"{kind}, as {_code(media)}" for media, kind in _bodies(response)),
            *(f"{_code(name)}: {_text(header['description'])}" for name, header in headers),
        ]
    )


def _bodies(message: Document) -> Iterator[tuple[str, str]]:
    for media, body in message.get("content", {}).items():
        yield media, _type(body["schema"]) if body.get("schema") else "a body of this type"


def _handshake(channel: Document) -> str:
    closes = channel["x-close-codes"].items()
    return _article(
        "handshake",
        _code(channel["address"]),
        channel["description"],
        _list("Subprotocols", channel["x-subprotocols"].items(), _code),
        _list("Refused handshakes", channel["x-refused-handshake"]["codes"].items(), _code),
        _list(
            "Close codes",
            ((code, f"{_text(each['meaning'])}; reconnect: {each['try-again']}") for code, each in closes),
            _code,
        ),
    )


def _replies(request: Document) -> str:
    replies = (f'<a href="#message-{name}">{name}</a>' for name in map(_name, request["reply"]["messages"]))
    refusals = map(_code, request["x-refused-with"])
    return f"<h4>Replies</h4><p>{', '.join(replies)}</p><h4>Refusals</h4><p>{', '.join(refusals)}</p>"


def _fields(schema: Document) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(schema.get("prefixItems", ()), start=1):
        yield f"{number}.", _typed(item)
    for name, field in schema.get("properties", {}).items():
        yield _term(name, "" if name in schema["required"] else "optional"), _typed(field)


def _term(name: str, where: str) -> str:
    return _code(name) + (f' <span class="where">{where}</span>' if where else "")


def _typed(schema: Document) -> str:
    default = schema.get("default")
    suffix = "" if default in (None, "", [], {}) else f", default {_code(default)}"
    return f'<span class="type">{_type(schema)}{suffix}</span> {_text(schema.get("description", ""))}'


def _type(schema: Document) -> str:
    """Describe a type, with links to the types on this page."""
    match schema:
        case {"$ref": _}:
            return f'<a href="#type-{_name(schema)}">{_name(schema)}</a>'
        case {"anyOf": kinds}:
            return " or ".join(map(_type, kinds))
        case {"enum": choices}:
            return ("one of " if len(choices) > 1 else "") + ", ".join(map(_code, choices))
        case {"type": "array", "prefixItems": kinds}:
            return "list of " + ", ".join(map(_type, kinds))
        case {"type": "array"}:
            return f"list of {_type(schema.get('items', {}))}"
        case {"type": "object", "additionalProperties": dict(kind)}:
            return f"object of {_type(kind)} by name"
        case {"type": kind}:
            return KINDS.get(f"{kind}", f"{kind}") + _bounds(schema)
    return "anything"


def _bounds(schema: Document) -> str:
    match schema:
        case {"minimum": low, "maximum": high}:
            return f", {low} to {high}"
        case {"minimum": low}:
            return f", {low} or more"
        case {"pattern": pattern}:
            return f" matching {_code(pattern.replace(END_OF_TEXT, '$'))}"
        case {"maxLength": high}:
            return f", {schema.get('minLength', 0)} to {high} characters"
        case {"format": form}:
            return f", a {form}"
    return ""


def _name(ref: Document) -> str:
    """Return the name of the target of a reference."""
    name: str = ref["$ref"].rpartition("/")[2]
    return name


def _code(text: object) -> str:
    return f"<code>{escape(f'{text}')}</code>"


def _text(text: str) -> str:
    """Convert plain text with code in backticks to HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
