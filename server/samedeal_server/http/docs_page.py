"""The documents as a page to read, without a script: every endpoint, message and type, and how they hang together."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

Document = Mapping[str, Any]
KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
"""The plain types of JSON Schema in words."""
LAST = r"$(?!\n)"
"""How a pattern says that nothing follows, so that Python and JavaScript agree."""


def docs_page(http: Document, socket: Document, channel: str) -> str:
    """The page that tells of an OpenAPI and an AsyncAPI document."""
    told = socket["channels"][channel]
    asked = {name: operation for name, operation in socket["operations"].items() if operation["action"] == "receive"}
    sent = [name for name in socket["components"]["messages"] if name not in {_asked(each) for each in asked.values()}]
    sections = [
        *(_section(tag["name"], _text(tag["description"]), _endpoints(http, tag["name"])) for tag in http["tags"]),
        _section("socket", _text(socket["info"]["description"]), _socket(told)),
        _section("client", "Messages from the client to the server.", _requests(socket, asked)),
        _section("server", "Messages from the server to the client.", (_reply(socket, name) for name in sent)),
        _section("types", "What bodies and messages are made of.", _types(http, socket)),
    ]
    names = [*(tag["name"] for tag in http["tags"]), "socket", "client", "server", "types"]
    links = "".join(f'<a href="#{name}">{name}</a> ' for name in names)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Interfaces · Same Deal</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
<link rel="stylesheet" href="/page/docs.css">
</head>
<body>
<a class="skip" href="#main">To the text</a>
<header id="top"><a class="brand" href="/">Same Deal</a></header>
<main id="main" class="docs" tabindex="-1">
<h1>Interfaces of Same Deal</h1>
<p>{_text(http["info"]["description"])}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>, <a href="/asyncapi.json">asyncapi.json</a>.</p>
<nav aria-label="Sections">{links}</nav>
{"".join(sections)}</main>
</body>
</html>
"""


def _section(name: str, told: str, articles: Iterable[str]) -> str:
    return f'<section id="{name}">\n<h2>{name.capitalize()}</h2>\n<p>{told}</p>\n{"".join(articles)}</section>\n'


def _article(anchor: str, title: str, told: str, *parts: str) -> str:
    return f'<article id="{anchor}">\n<h3>{title}</h3>\n<p>{told}</p>\n{"".join(parts)}</article>\n'


def _list(title: str, items: Iterable[tuple[str, str]]) -> str:
    """A list of terms with what is said of each; nothing if it is empty."""
    listed = "".join(f"<dt>{term}</dt><dd>{said}</dd>\n" for term, said in items)
    return f"<h4>{title}</h4>\n<dl>{listed}</dl>\n" if listed else ""


# Over HTTP.


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
        _list("Answers", (_answer(*each) for each in responses if each[0] < "4")),
        _list("Refusals", (_refusal(*each) for each in responses if each[0] >= "4")),
    )


def _parameters(parameters: Iterable[Document]) -> Iterable[tuple[str, str]]:
    for parameter in parameters:
        needed = "" if parameter.get("required") else ", may be left out"
        if "properties" in parameter["schema"]:  # of which the query has at most one
            for name, schema in parameter["schema"]["properties"].items():
                yield _parameter(name, f"query, at most one of these{needed}", schema.get("description", ""), schema)
        else:
            where = f"{parameter['in']}{needed}"
            yield _parameter(parameter["name"], where, parameter.get("description", ""), parameter["schema"])


def _parameter(name: str, where: str, description: str, schema: Document) -> tuple[str, str]:
    return f'<code>{escape(name)}</code> <span class="where">{where}</span>', _meant(description, schema)


def _bodies(content: Document) -> Iterable[tuple[str, str]]:
    for media, body in content.items():
        yield f"<code>{escape(media)}</code>", _type(body["schema"]) if body.get("schema") else "a body of this form"


def _answer(status: str, response: Document) -> tuple[str, str]:
    bodies = [f"{kind}, as {media}" for media, kind in _bodies(response.get("content", {}))]
    headers = [
        f"<code>{name}</code>: {_text(header['description'])}" for name, header in response.get("headers", {}).items()
    ]
    said = [_text(response["description"]), *bodies, *headers]
    return f"<code>{status}</code>", "<br>".join(said)


def _refusal(status: str, response: Document) -> tuple[str, str]:
    return f"<code>{status}</code>", _text(response["description"])


# Over the socket.


def _socket(told: Document) -> Iterable[str]:
    yield _article(
        "handshake",
        f"<code>{told['address']}</code>",
        _text(told["description"]),
        _list("Subprotocols", ((f"<code>{name}</code>", media) for name, media in told["x-subprotocols"].items())),
        _list(
            "A handshake that is refused",
            ((f"<code>{code}</code>", f"{status}") for code, status in told["x-refused-handshake"]["codes"].items()),
        ),
        _list(
            "Close codes",
            (
                (f"<code>{code}</code>", f"{_text(each['meaning'])}; try again: {each['try-again']}")
                for code, each in told["x-close-codes"].items()
            ),
        ),
    )


def _requests(socket: Document, asked: Mapping[str, Document]) -> Iterable[str]:
    for operation in asked.values():
        answers = (f'<a href="#message-{name}">{name}</a>' for name in map(_last, operation["reply"]["messages"]))
        refusals = (f"<code>{code}</code>" for code in operation["x-refused-with"])
        told = f"<h4>Answered by</h4><p>{', '.join(answers)}</p><h4>Refused with</h4><p>{', '.join(refusals)}</p>"
        yield _message(socket, _asked(operation), told)


def _reply(socket: Document, name: str) -> str:
    news = name in map(_last, socket["operations"]["tell"]["messages"])
    return _message(socket, name, "<p>Also comes unasked.</p>" if news else "")


def _message(socket: Document, name: str, *parts: str) -> str:
    message = socket["components"]["messages"][name]
    schema = socket["components"]["schemas"][_last(message["payload"])]
    title = f"<code>{name}</code>"
    return _article(f"message-{name}", title, _text(message["summary"]), _list("Fields", _fields(schema)), *parts)


def _asked(operation: Document) -> str:
    return _last(operation["messages"][0])


# Types.


def _types(http: Document, socket: Document) -> Iterable[str]:
    messages = {_last(message["payload"]) for message in socket["components"]["messages"].values()}
    of_socket = {name: schema for name, schema in socket["components"]["schemas"].items() if name not in messages}
    for name, schema in sorted({**of_socket, **http["components"]["schemas"]}.items()):
        yield _article(
            f"type-{name}", f"<code>{name}</code>", _text(schema["description"]), _list("Fields", _fields(schema))
        )


def _fields(schema: Document) -> Iterable[tuple[str, str]]:
    for number, item in enumerate(schema.get("prefixItems", ()), start=1):
        yield f"{number}.", _meant(item.get("description", ""), item)
    for name, field in schema.get("properties", {}).items():
        needed = "" if name in schema["required"] else ' <span class="where">may be left out</span>'
        yield f"<code>{name}</code>{needed}", _meant(field.get("description", ""), field)


def _meant(description: str, schema: Document) -> str:
    default = schema.get("default")
    usual = f"; <code>{escape(f'{default}')}</code> by default" if default not in (None, "", [], {}) else ""
    return f'<span class="type">{_type(schema)}{usual}</span> {_text(description)}'


def _type(schema: Document) -> str:
    """A type in words, with links to those that are described here."""
    match schema:
        case {"$ref": ref}:
            name = _last(schema)
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
        case {"minimum": least, "maximum": most}:
            return f", {least} to {most}"
        case {"minimum": least}:
            return f", {least} or more"
        case {"pattern": pattern}:
            return f" like <code>{escape(pattern.replace(LAST, '$'))}</code>"
        case {"maxLength": most}:
            return f", {schema.get('minLength', 0)} to {most} characters"
        case {"format": form}:
            return f", a {form}"
    return ""


def _last(ref: Document) -> str:
    """The name of what is referred to."""
    name: str = ref["$ref"].rpartition("/")[2]
    return name


def _text(text: str) -> str:
    """Plain text with code between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
