"""The OpenAPI document of the HTTP API, generated from the endpoints."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Final

from msgspec import Meta

from samedeal.errors import CODES
from samedeal.race.events import Entry
from samedeal.replays.replay import Foot, Head, Replay
from samedeal.version import VERSION
from samedeal.wire.documents import Slug
from samedeal.wire.messages import Progress, View
from samedeal_server.api.endpoint import COMMON_REFUSALS, BodySpec, Endpoint, Link, ResponseSpec
from samedeal_server.api.race_bodies import VisibleSeed
from samedeal_server.api.schemas import Schema, schemas
from samedeal_server.live.dailies import DAYS_AHEAD
from samedeal_server.net.responses import MEDIA, PAGE, PROBLEM, Problem

INFO: Final = {
    "title": "Same Deal",
    "version": VERSION,
    "license": {"name": "MIT", "identifier": "MIT"},
}
DESCRIPTION: Final = (
    "The HTTP API. Endpoints for GET also support HEAD. Other methods are refused with 405 `wrong-method` and the "
    "header Allow, unknown paths with 404 `not-found`. Every refusal is a problem object (RFC 9457). GET requests are "
    "permitted from any origin. Races are played over WebSocket: see /asyncapi.json."
)
PATH: Final[Mapping[str, Any]] = {
    "game": Slug,
    "race": Annotated[str, Meta(description="The ID of a race.", pattern="^[a-z0-9-]{1,64}$")],
    "replay": Annotated[
        str,
        Meta(
            description="The ID of a race, optionally with the suffix `.json`, `.msgpack` or `.ndjson`.",
            pattern=r"^[a-z0-9-]{1,64}(\.(json|msgpack|ndjson))?$",
        ),
    ],
    "player": Annotated[str, Meta(description="The public ID of a player.", pattern="^[0-9a-f]{16}$")],
    "other": Annotated[str, Meta(description="The public ID of another player.", pattern="^[0-9a-f]{16}$")],
    "seed": Annotated[VisibleSeed, Meta(description="The seed of a deal, percent-encoded.")],
    "play": Annotated[
        str,
        Meta(
            description="The number of a play, from 0, optionally with the suffix `.json`, `.msgpack` or `.ndjson`.",
            pattern=r"^(0|[1-9][0-9]{0,8})(\.(json|msgpack|ndjson))?$",
        ),
    ],
    "date": Annotated[
        str,
        Meta(
            description=f"A date in UTC, such as 2026-11-21: from 1970-01-01 to {DAYS_AHEAD} days from today.",
            extra_json_schema={"format": "date"},
        ),
    ],
    "problem": Annotated[str, Meta(description="The code of a problem.", extra_json_schema={"enum": sorted(CODES)})],
}
"""The types of all path parameters."""
LINES: Final[Mapping[Any, tuple[type, ...]]] = {Replay: (Head, Entry, Foot), View: (View, Progress)}
"""The types of the lines of a type in newline-delimited JSON."""
DEAL: Final = "{deal:path}"
GUEST: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A guest's token, from `welcome`, `/guests` or `/guests/login`.",
}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document of all endpoints."""
    endpoints = [each for endpoint in endpoints for each in _expand_games(endpoint)]
    kinds = [Problem, *PATH.values(), *(line for lines in LINES.values() for line in lines)]
    for endpoint in endpoints:
        kinds += [endpoint.query] if endpoint.query else []
        kinds += [kind for response in endpoint.responses for kind in _kinds(response.kind)]
        kinds += _kinds(endpoint.body and endpoint.body.kind)
    all_schemas, components = schemas(kinds)
    by_kind = dict(zip(map(repr, kinds), all_schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r":path}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, path, by_kind, components)
    for endpoint in endpoints:  # listed as parameters
        if isinstance(endpoint.query, type):
            components.pop(endpoint.query.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {**INFO, "description": DESCRIPTION},
        "tags": [
            {"name": name, "description": text} for name, text in {e.tag: e.tag_description for e in endpoints}.items()
        ],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"guest": GUEST}},
    }


def _expand_games(endpoint: Endpoint) -> Iterator[Endpoint]:
    """Yield the endpoint, or one for each game if its query depends on the game."""
    if not isinstance(endpoint.query, Mapping):
        yield endpoint
        return
    for slug, query in endpoint.query.items():
        deal = f"{slug}:{{seed}}"
        responses = [
            replace(response, links=[replace(link, path=link.path.replace(DEAL, deal)) for link in response.links])
            for response in endpoint.responses
        ]
        yield replace(endpoint, path=endpoint.path.replace(DEAL, deal), query=query, responses=responses)


def _operation(
    endpoint: Endpoint, path: str, by_kind: Mapping[str, Schema], components: Mapping[str, Schema]
) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, **_parameter(by_kind[repr(PATH[name])])}
        for name in re.findall(r"{(\w+)}", path)
    ]
    if isinstance(endpoint.query, type):
        parameters += _query(components[endpoint.query.__name__], getattr(endpoint.query, "at_most_one", ()))
    parameters += [
        {"name": name, "in": "header", "description": description, "schema": {"type": "string"}}
        for name, description in endpoint.headers.items()
    ]
    operation: dict[str, Any] = {
        "operationId": _id(endpoint.method, path),
        "tags": [endpoint.tag],
        "summary": re.split(r"(?<=\.) ", endpoint.description)[0],
        "description": endpoint.description,
        "parameters": parameters,
        "responses": {
            **{f"{response.status}": _response(response, by_kind) for response in endpoint.responses},
            **_refusals(
                {*COMMON_REFUSALS, *endpoint.refuses, *(("unsupported-encoding",) if endpoint.body else ())},
                html=endpoint.html_refusals,
            ),
        },
    }
    if "bad-token" in endpoint.refuses:
        operation["security"] = [{}, {"guest": []}]
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body, by_kind)}
    return operation


def _id(method: str, path: str) -> str:
    return "_".join([method.lower(), *re.findall(r"\w+", path)])


def _query(query: Schema, at_most_one: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of a query; mutually exclusive ones are properties of one parameter."""
    fields = {name: _parameter(schema) for name, schema in query["properties"].items()}
    if at_most_one:
        yield {
            "name": "by",
            "in": "query",
            "description": "At most one of these.",
            "style": "form",
            "explode": True,
            "schema": {
                "type": "object",
                "properties": {
                    name: {**fields[name]["schema"], "description": fields[name]["description"]} for name in at_most_one
                },
                "required": [],
                "maxProperties": 1,
                "additionalProperties": False,
            },
        }
    for name, parameter in fields.items():
        if name not in at_most_one:
            yield {"name": name, "in": "query", "required": name in query["required"], **parameter}


def _response(spec: ResponseSpec, by_kind: Mapping[str, Schema]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": spec.description or HTTPStatus(spec.status).phrase}
    if spec.headers:
        response["headers"] = {
            name: {"description": description, "required": True, "schema": {"type": "string"}}
            for name, description in spec.headers.items()
        }
    if spec.media:
        response["content"] = _content(spec, by_kind)
    if spec.links:
        response["links"] = {_id(link.method, link.path): _link(link) for link in spec.links}
    return response


def _link(link: Link) -> dict[str, Any]:
    body = {} if link.body is None else {"requestBody": link.body}
    return {"operationId": _id(link.method, link.path), "parameters": dict(link.parameters), **body}


def _refusals(codes: Iterable[str], *, html: bool) -> dict[str, Any]:
    """Return the responses for refusals, by status."""
    responses: dict[str, Any] = {}
    for status in sorted({CODES[code][0] for code in codes}):
        same = sorted(code for code in codes if CODES[code][0] == status)
        schema = {"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": same}}}
        responses[f"{status}"] = {
            "description": " ".join(f"`{code}`: {CODES[code][1]}." for code in same),
            "content": {PROBLEM: {"schema": schema}, **({PAGE: {"schema": {"type": "string"}}} if html else {})},
        }
    return responses


def _content(body: ResponseSpec | BodySpec, by_kind: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the schemas of a body by media type: MessagePack has the schema of JSON, and lines are an array."""
    content: dict[str, Any] = {}
    alternatives = [by_kind[repr(kind)] for kind in _kinds(body.kind)]
    for media in body.media:
        if alternatives and media in (MEDIA["json"], MEDIA["msgpack"]):
            content[media] = {"schema": alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}}
        elif media == MEDIA["ndjson"] and body.kind in LINES:
            lines = [by_kind[repr(kind)] for kind in LINES[body.kind]]
            content[media] = {"schema": {"type": "array", "items": {"anyOf": lines}, "minItems": 1}}
        else:
            content[media] = {"schema": {"type": "string"}} if media.startswith("text/") else {}
    return content


def _parameter(schema: Schema) -> dict[str, Any]:
    """Return the schema of a parameter with a separate description. Nullable parameters may be omitted."""
    schema = {name: value for name, value in schema.items() if not (name == "default" and value is None)}
    if len(others := [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]) == 1:
        schema = {**{name: value for name, value in schema.items() if name != "anyOf"}, **others[0]}
    description = schema.pop("description", "")
    return {"description": description, "schema": schema}


def _kinds(kind: Any) -> list[Any]:
    """Return the alternative types of a body."""
    return list(kind) if isinstance(kind, tuple) else [kind] if kind else []
