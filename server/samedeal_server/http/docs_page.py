"""The API documents as a static page: every endpoint, message and type, with links between them."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

Document = Mapping[str, Any]
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
"""The basic types of JSON Schema in words."""
END_OF_TEXT = r"$(?!\n)"
"""The end of patterns, with the same meaning in Python and JavaScript. The page shows ``$``."""


def docs_page(http: Document, socket: Document, channel: str) -> str:
    """Return the page for an OpenAPI document and a channel of an AsyncAPI document."""
    requests = {name: operation for name, operation in socket["operations"].items() if operation["action"] == "receive"}
    received = {_request_name(operation) for operation in requests.values()}
    sent = [name for name in socket["components"]["messages"] if name not in received]
    sections = [
        *(_section(tag["name"], _text(tag["description"]), _endpoints(http, tag["name"])) for tag in http["tags"]),
        _section("socket", _text(socket["info"]["description"]), _socket(socket["channels"][channel])),
        _section("client", "Messages from the client to the server.", _requests(socket, requests)),
        _section("server", "Messages from the server to the client.", (_reply(socket, name) for name in sent)),
        _section("types", "The types in bodies and messages.", _types(http, socket)),
    ]
    names = [*(tag["name"] for tag in http["tags"]), "socket", "client", "server", "types"]
    links = "".join(f'<a href="#{name}">{name}</a> ' for name in names)
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
{"".join(sections)}</main>
</body>
</html>
"""


def _section(name: str, description: str, articles: Iterable[str]) -> str:
    return f'<section id="{name}">\n<h2>{name.capitalize()}</h2>\n<p>{description}</p>\n{"".join(articles)}</section>\n'


def _article(anchor: str, title: str, description: str, *parts: str) -> str:
    return f'<article id="{anchor}">\n<h3>{title}</h3>\n<p>{description}</p>\n{"".join(parts)}</article>\n'


def _list(title: str, items: Iterable[tuple[str, str]]) -> str:
    """Return a list of terms and descriptions, or nothing if it is empty."""
    entries = "".join(f"<dt>{term}</dt><dd>{description}</dd>\n" for term, description in items)
    return f"<h4>{title}</h4>\n<dl>{entries}</dl>\n" if entries else ""


# The HTTP API.


def _endpoints(http: Document, tag: str) -> Iterable[str]:
    for path, methods in http["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield _endpoint(path, method, operation)


def _endpoint(path: str, method: str, operation: Document) -> str:
    responses = operation["responses"].items()
    body = operation.get("requestBody", {"content": {}})["content"]
    return _article(
        operation["operationId"],
        f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code>',
        _text(operation["description"]),
        _list("Parameters", _parameters(operation["parameters"])),
        _list("Body", _bodies(body)),
        _list("Responses", (_response(*each) for each in responses if each[0] < "4")),
        _list("Refusals", (_refusal(*each) for each in responses if each[0] >= "4")),
    )


def _parameters(parameters: Iterable[Document]) -> Iterable[tuple[str, str]]:
    for parameter in parameters:
        suffix = "" if parameter.get("required") else ", optional"
        if "properties" in parameter["schema"]:  # mutually exclusive
            for name, schema in parameter["schema"]["properties"].items():
                yield _parameter(name, f"query, at most one of these{suffix}", schema.get("description", ""), schema)
        else:
            where = f"{parameter['in']}{suffix}"
            yield _parameter(parameter["name"], where, parameter.get("description", ""), parameter["schema"])


def _parameter(name: str, where: str, description: str, schema: Document) -> tuple[str, str]:
    return f'<code>{escape(name)}</code> <span class="where">{where}</span>', _typed(description, schema)


def _bodies(content: Document) -> Iterable[tuple[str, str]]:
    for media, body in content.items():
        yield f"<code>{escape(media)}</code>", _type(body["schema"]) if body.get("schema") else "a body of this type"


def _response(status: str, response: Document) -> tuple[str, str]:
    bodies = [f"{kind}, as {media}" for media, kind in _bodies(response.get("content", {}))]
    headers = [
        f"<code>{name}</code>: {_text(header['description'])}" for name, header in response.get("headers", {}).items()
    ]
    return f"<code>{status}</code>", "<br>".join([_text(response["description"]), *bodies, *headers])


def _refusal(status: str, response: Document) -> tuple[str, str]:
    return f"<code>{status}</code>", _text(response["description"])


# The WebSocket API.


def _socket(channel: Document) -> Iterable[str]:
    yield _article(
        "handshake",
        f"<code>{channel['address']}</code>",
        _text(channel["description"]),
        _list("Subprotocols", ((f"<code>{name}</code>", media) for name, media in channel["x-subprotocols"].items())),
        _list(
            "Refused handshakes",
            ((f"<code>{code}</code>", f"{status}") for code, status in channel["x-refused-handshake"]["codes"].items()),
        ),
        _list(
            "Close codes",
            (
                (f"<code>{code}</code>", f"{_text(each['meaning'])}; reconnect: {each['try-again']}")
                for code, each in channel["x-close-codes"].items()
            ),
        ),
    )


def _requests(socket: Document, operations: Mapping[str, Document]) -> Iterable[str]:
    for operation in operations.values():
        replies = (f'<a href="#message-{name}">{name}</a>' for name in map(_ref_name, operation["reply"]["messages"]))
        refusals = (f"<code>{code}</code>" for code in operation["x-refused-with"])
        links = f"<h4>Replies</h4><p>{', '.join(replies)}</p><h4>Refusals</h4><p>{', '.join(refusals)}</p>"
        yield _message(socket, _request_name(operation), links)


def _reply(socket: Document, name: str) -> str:
    pushed = name in map(_ref_name, socket["operations"]["tell"]["messages"])
    return _message(socket, name, "<p>Also sent without a request.</p>" if pushed else "")


def _message(socket: Document, name: str, *parts: str) -> str:
    message = socket["components"]["messages"][name]
    schema = socket["components"]["schemas"][_ref_name(message["payload"])]
    title = f"<code>{name}</code>"
    return _article(f"message-{name}", title, _text(message["summary"]), _list("Fields", _fields(schema)), *parts)


def _request_name(operation: Document) -> str:
    return _ref_name(operation["messages"][0])


# Types.


def _types(http: Document, socket: Document) -> Iterable[str]:
    messages = {_ref_name(message["payload"]) for message in socket["components"]["messages"].values()}
    of_messages = {name: schema for name, schema in socket["components"]["schemas"].items() if name not in messages}
    for name, schema in sorted({**of_messages, **http["components"]["schemas"]}.items()):
        yield _article(
            f"type-{name}", f"<code>{name}</code>", _text(schema["description"]), _list("Fields", _fields(schema))
        )


def _fields(schema: Document) -> Iterable[tuple[str, str]]:
    for number, item in enumerate(schema.get("prefixItems", ()), start=1):
        yield f"{number}.", _typed(item.get("description", ""), item)
    for name, field in schema.get("properties", {}).items():
        suffix = "" if name in schema["required"] else ' <span class="where">optional</span>'
        yield f"<code>{name}</code>{suffix}", _typed(field.get("description", ""), field)


def _typed(description: str, schema: Document) -> str:
    default = schema.get("default")
    suffix = f", default <code>{escape(f'{default}')}</code>" if default not in (None, "", [], {}) else ""
    return f'<span class="type">{_type(schema)}{suffix}</span> {_text(description)}'


def _type(schema: Document) -> str:
    """Describe a type, with links to the types on this page."""
    match schema:
        case {"$ref": ref}:
            name = _ref_name(schema)
            return f'<a href="#type-{name}">{name}</a>' if ref else ""
        case {"anyOf": kinds}:
            return " or ".join(map(_type, kinds))
        case {"enum": [only]}:
            return f"<code>{escape(f'{only}')}</code>"
        case {"enum": choices}:
            return "one of " + ", ".join(f"<code>{escape(f'{choice}')}</code>" for choice in choices)
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
            return f" matching <code>{escape(pattern.replace(END_OF_TEXT, '$'))}</code>"
        case {"maxLength": high}:
            return f", {schema.get('minLength', 0)} to {high} characters"
        case {"format": form}:
            return f", a {form}"
    return ""


def _ref_name(ref: Document) -> str:
    """Return the name of the target of a reference."""
    name: str = ref["$ref"].rpartition("/")[2]
    return name


def _text(text: str) -> str:
    """Convert plain text with code in backticks to HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
