"""The OpenAPI document of the HTTP API, generated from the endpoints."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from samedeal.errors import CODES
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Entry, Options
from samedeal.replays.replay import Foot, Head, Replay
from samedeal.version import VERSION
from samedeal.wire.messages import Progress, View
from samedeal_server.api.endpoint import COMMON_REFUSALS, HEADERS, UNCHANGED, BodySpec, Endpoint, ResponseSpec
from samedeal_server.api.races import CreateRace
from samedeal_server.app import create_app
from samedeal_server.live.dailies import DAYS_AHEAD
from samedeal_server.net.responses import MEDIA, PAGE, PROBLEM, Problem
from samedeal_server.settings import Keys, Settings
from tools.json_schemas import Schema, indented, schemas
from tools.openapi_links import LINKS
from tools.race_bodies import SEED, add_race_bodies, text_option

INFO: Final = {
    "title": "Same Deal",
    "version": VERSION.partition("+")[0],
    "license": {"name": "MIT", "identifier": "MIT"},
}
"""Servers replace the version with theirs."""
DESCRIPTION: Final = (
    "The HTTP API. Endpoints for GET also support HEAD. Other methods are refused with 405 `wrong-method` and the "
    "header Allow, unknown paths with 404 `not-found`. Every refusal is a problem object (RFC 9457). GET requests are "
    "permitted from any origin. Races are played over WebSocket: see /asyncapi.json."
)
SUFFIX: Final = r"(\.(json|msgpack|ndjson))?$"
PATH: Final[Mapping[str, tuple[str, Schema]]] = {
    "game": ("The slug of a game.", {"enum": list(GAMES)}),
    "race": ("The ID of a race.", {"pattern": "^[a-z0-9-]{1,64}$"}),
    "replay": (
        "The ID of a race, optionally with the suffix `.json`, `.msgpack` or `.ndjson`.",
        {"pattern": "^[a-z0-9-]{1,64}" + SUFFIX},
    ),
    "challenge": ("The ID of a challenge.", {"pattern": "^[a-z0-9-]{1,64}$"}),
    "club": ("The ID of a club.", {"pattern": "^[a-z0-9-]{1,64}$"}),
    "player": ("The public ID of a player.", {"pattern": "^[0-9a-f]{16}$"}),
    "other": ("The public ID of another player.", {"pattern": "^[0-9a-f]{16}$"}),
    "seed": ("The seed of a deal, percent-encoded.", SEED),
    "play": (
        "The number of a play, from 0, optionally with the suffix `.json`, `.msgpack` or `.ndjson`.",
        {"pattern": "^(0|[1-9][0-9]{0,8})" + SUFFIX},
    ),
    "date": (
        f"A date in UTC, such as 2026-11-21: from 1970-01-01 to {DAYS_AHEAD} days from today.",
        {"format": "date"},
    ),
    "problem": ("The code of a problem.", {"enum": sorted(CODES)}),
}
"""The descriptions and schemas of all path parameters."""
LINES: Final[Mapping[Any, tuple[type, ...]]] = {Replay: (Head, Entry, Foot), View: (View, Progress)}
"""The types of the lines of a type in newline-delimited JSON."""
CONDITION: Final = "The ETags of the client's copies."
DEAL: Final = "{deal:path}"
GUEST: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A guest's token, from `welcome`, `/guests` or `/guests/login`.",
}


@cache
def openapi_json() -> str:
    """Return the document, without servers."""
    app = create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32)))
    return indented(_openapi(app.state.documented))


def _openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    bodies = (body for each in endpoints for body in (*each.responses, each.body) if body and body.kind)
    kinds = dict.fromkeys(body.kind for body in bodies if body.kind is not CreateRace)
    queries = dict.fromkeys(each.query for each in endpoints if each.query)
    lines = [line for lines in LINES.values() for line in lines]
    by_kind, components = schemas(dict.fromkeys([Problem, Options, *lines, *kinds, *queries]))
    by_kind[CreateRace] = {"anyOf": add_race_bodies(components)}
    query_schemas = {query: components.pop(query.__name__) for query in queries}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        query = endpoint.query
        parameters = [*_query(query_schemas[query], getattr(query, "at_most_one", ()))] if query else []
        for slug in GAMES if DEAL in endpoint.path else [""]:
            deal = f"{slug}:{{seed}}"
            options = GAMES[slug].options if slug else {}
            of_game = [_parameter(option, "query", "", text_option(choices)) for option, choices in options.items()]
            operation = _operation(endpoint, deal, [*parameters, *of_game], by_kind)
            paths.setdefault(endpoint.path.replace(DEAL, deal), {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {**INFO, "description": DESCRIPTION},
        "tags": [{"name": name, "description": text} for name, text in dict(map(_tag, endpoints)).items()],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"guest": GUEST}},
    }


def _tag(endpoint: Endpoint) -> tuple[str, str]:
    """Return the name of the module of an endpoint, and the first line of its docstring."""
    module = endpoint.handler.__module__
    return module.rpartition(".")[2], (sys.modules[module].__doc__ or "").partition("\n")[0]


def _operation(endpoint: Endpoint, deal: str, query: Iterable[Schema], by_kind: Mapping[Any, Schema]) -> dict[str, Any]:
    """Return the operation of an endpoint. `deal` replaces the deal in paths."""
    path = endpoint.path.replace(DEAL, deal)
    description = " ".join((endpoint.handler.__doc__ or "").split())
    in_path = [
        _parameter(name, "path", PATH[name][0], {"type": "string", **PATH[name][1]}, required=True)
        for name in re.findall(r"{(\w+)}", path)
    ]
    is_conditional = UNCHANGED in endpoint.responses
    in_headers = [_parameter("If-None-Match", "header", CONDITION, {"type": "string"})] if is_conditional else []
    links = _links(endpoint.name, deal)
    operation: dict[str, Any] = {
        "operationId": _id(f"{endpoint.method} {path}"),
        "tags": [_tag(endpoint)[0]],
        "summary": re.split(r"(?<=\.) ", description)[0],
        "description": description,
        "parameters": [*in_path, *query, *in_headers],
        "responses": {
            **{f"{response.status}": _response(response, links, by_kind) for response in endpoint.responses},
            **_refusals(endpoint),
        },
    }
    if "bad-token" in endpoint.refuses:
        operation["security"] = [{}, {"guest": []}]
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body, by_kind)}
    return operation


def _id(name: str) -> str:
    """Return the ID of the operation with a method and a path."""
    return "_".join(re.findall(r"\w+", name.lower()))


def _parameter(name: str, where: str, description: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name, "in": where, "required": required, "description": description, "schema": schema}


def _query(query: Schema, at_most_one: Collection[str]) -> Iterator[Schema]:
    """Yield the parameters of a query; mutually exclusive ones are properties of one parameter."""
    fields = {name: _field(schema) for name, schema in query["properties"].items()}
    if at_most_one:
        exclusive = {
            "type": "object",
            "properties": {name: {**fields[name][1], "description": fields[name][0]} for name in at_most_one},
            "required": [],
            "maxProperties": 1,
            "additionalProperties": False,
        }
        by = _parameter("by", "query", "At most one of these.", exclusive)
        yield {**by, "style": "form", "explode": True}
    for name, (description, schema) in fields.items():
        if name not in at_most_one:
            yield _parameter(name, "query", description, schema, required=name in query["required"])


def _field(schema: Schema) -> tuple[str, Schema]:
    """Return the description and the schema of a query parameter. Nullable ones may be omitted."""
    schema = {name: value for name, value in schema.items() if not (name == "default" and value is None)}
    if len(others := [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]) == 1:
        schema = {**{name: value for name, value in schema.items() if name != "anyOf"}, **others[0]}
    return schema.pop("description", ""), schema


def _response(spec: ResponseSpec, links: Mapping[str, Any], by_kind: Mapping[Any, Schema]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": spec.description or HTTPStatus(spec.status).phrase}
    if spec.headers:
        response["headers"] = {
            name: {"description": HEADERS[name], "required": True, "schema": {"type": "string"}}
            for name in spec.headers
        }
    if spec.media:
        response["content"] = _content(spec, by_kind)
    if links and spec.status in (HTTPStatus.OK, HTTPStatus.CREATED):
        response["links"] = links
    return response


def _links(operation: str, deal: str) -> dict[str, Any]:
    """Return the links of the response of an operation."""
    links: dict[str, Any] = {}
    for target, values in LINKS.get(operation, {}).items():
        name = _id(target.replace("{deal}", deal))
        sent = {"parameters": {}, "requestBody": values} if target.startswith("POST") else {"parameters": values}
        links[name] = {"operationId": name, **sent}
    return links


def _refusals(endpoint: Endpoint) -> dict[str, Any]:
    """Return the responses for refusals, by status."""
    codes = {*COMMON_REFUSALS, *endpoint.refuses, *(("unsupported-encoding",) if endpoint.body else ())}
    page = {PAGE: {"schema": {"type": "string"}}} if endpoint.html_refusals else {}
    responses: dict[str, Any] = {}
    for status in sorted({CODES[code][0] for code in codes}):
        same = sorted(code for code in codes if CODES[code][0] == status)
        schema = {"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": same}}}
        responses[f"{status}"] = {
            "description": " ".join(f"`{code}`: {CODES[code][1]}." for code in same),
            "content": {PROBLEM: {"schema": schema}, **page},
        }
    return responses


def _content(body: ResponseSpec | BodySpec, by_kind: Mapping[Any, Schema]) -> dict[str, Any]:
    """Return the schemas of a body by media type: MessagePack has the schema of JSON, and lines are an array."""
    content: dict[str, Any] = {}
    for media in body.media:
        if body.kind and media in (MEDIA["json"], MEDIA["msgpack"]):
            content[media] = {"schema": by_kind[body.kind]}
        elif media == MEDIA["ndjson"] and body.kind in LINES:
            lines = [by_kind[kind] for kind in LINES[body.kind]]
            content[media] = {"schema": {"type": "array", "items": {"anyOf": lines}, "minItems": 1}}
        else:
            content[media] = {"schema": {"type": "string"}} if media.startswith("text/") else {}
    return content
