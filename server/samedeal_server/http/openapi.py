"""The OpenAPI document: everything over HTTP, from the declarations that the routing is made of."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any, Final

from msgspec import Meta

from samedeal.errors import CODES
from samedeal.race.events import Entry, Seed
from samedeal.replays.replay import Foot, Head, Replay
from samedeal_server.http.endpoint import EVERYWHERE, Answer, Body, Endpoint, Link
from samedeal_server.http.games import Slug
from samedeal_server.http.responses import MEDIA, PAGE, PROBLEM, Problem
from samedeal_server.http.schemas import Schema, schemas
from samedeal_server.races.daily import DAYS_AHEAD

INFO: Final = {
    "title": "Same Deal",
    "version": version("samedeal"),
    "license": {"name": "MIT", "identifier": "MIT"},
}
DESCRIPTION: Final = (
    "Everything over HTTP. Whatever answers GET also answers HEAD. Another method is refused with 405 `wrong-method` "
    "and the header Allow, another address with 404 `not-found`. Every refusal is a problem object (RFC 9457). The "
    "pages of any site may read what GET answers. Races are played over the socket: see /asyncapi.json."
)
PATH: Final[Mapping[str, Any]] = {
    "game": Slug,
    "race": Annotated[str, Meta(description="The name of a race.", pattern="^[a-z0-9-]{1,64}$")],
    "replay": Annotated[
        str,
        Meta(
            description="The name of a race, with `.json`, `.msgpack` or `.ndjson` for a form.",
            pattern=r"^[a-z0-9-]{1,64}(\.(json|msgpack|ndjson))?$",
        ),
    ],
    "seed": Annotated[Seed, Meta(description="The seed of a deal. It is percent-encoded.")],
    "play": Annotated[
        str,
        Meta(
            description="The number of a play, from 0 on, with `.json`, `.msgpack` or `.ndjson` for a form.",
            pattern=r"^(0|[1-9][0-9]{0,8})(\.(json|msgpack|ndjson))?$",
        ),
    ],
    "date": Annotated[
        str,
        Meta(
            description=f"A day by UTC, such as 2026-11-21: from 1970-01-01 to {DAYS_AHEAD} days from today.",
            extra_json_schema={"format": "date"},
        ),
    ],
    "problem": Annotated[str, Meta(description="The code of a problem.", extra_json_schema={"enum": sorted(CODES)})],
}
"""What the parameters in addresses are, whatever the address."""
LINES: Final[Mapping[Any, tuple[type, ...]]] = {Replay: (Head, Entry, Foot)}
"""What a type consists of when it is written as newline-delimited JSON."""
DEAL: Final = "{deal:path}"
GUEST: Final = {"type": "http", "scheme": "bearer", "description": "The token of a guest, as in `welcome`."}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document of all endpoints."""
    endpoints = [each for endpoint in endpoints for each in _by_game(endpoint)]
    kinds = [Problem, *PATH.values(), *(line for lines in LINES.values() for line in lines)]
    for endpoint in endpoints:
        kinds += [endpoint.query] if endpoint.query else []
        kinds += [kind for answer in endpoint.answers for kind in _kinds(answer.kind)]
        kinds += _kinds(endpoint.body and endpoint.body.kind)
    found, components = schemas(kinds)
    by_kind = dict(zip(map(_key, kinds), found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r":path}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, path, by_kind, components)
    for endpoint in endpoints:  # a query is parameters, and no body of its own
        if isinstance(endpoint.query, type):
            components.pop(endpoint.query.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {**INFO, "description": DESCRIPTION},
        "tags": [{"name": name, "description": told} for name, told in {e.tag: e.tag_told for e in endpoints}.items()],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"guest": GUEST}},
    }


def _by_game(endpoint: Endpoint) -> Iterator[Endpoint]:
    """An endpoint as it is documented: once for each game, where its query depends on the game of the deal."""
    if not isinstance(endpoint.query, Mapping):
        yield endpoint
        return
    for slug, query in endpoint.query.items():
        deal = f"{slug}:{{seed}}"
        answers = [
            replace(answer, links=[replace(link, path=link.path.replace(DEAL, deal)) for link in answer.links])
            for answer in endpoint.answers
        ]
        yield replace(endpoint, path=endpoint.path.replace(DEAL, deal), query=query, answers=answers)


def _operation(
    endpoint: Endpoint, path: str, by_kind: Mapping[str, Schema], components: Mapping[str, Schema]
) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            **_described(by_kind[_key(PATH[name])]),
        }
        for name in re.findall(r"{(\w+)}", path)
    ]
    if isinstance(endpoint.query, type):
        parameters += _query(components[endpoint.query.__name__], getattr(endpoint.query, "at_most_one", ()))
    parameters += [
        {"name": name, "in": "header", "description": told, "schema": {"type": "string"}}
        for name, told in endpoint.headers.items()
    ]
    operation: dict[str, Any] = {
        "operationId": _id(endpoint.method, path),
        "tags": [endpoint.tag],
        "summary": re.split(r"(?<=\.) ", endpoint.told)[0],
        "description": endpoint.told,
        "parameters": parameters,
        "responses": {
            **{f"{answer.status}": _response(answer, by_kind) for answer in endpoint.answers},
            **_refusals({*EVERYWHERE, *endpoint.refuses}, pages=endpoint.pages),
        },
    }
    if "bad-token" in endpoint.refuses:
        operation["security"] = [{}, {"guest": []}]
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body, by_kind)}
    return operation


def _id(method: str, path: str) -> str:
    return "_".join([method.lower(), *re.findall(r"\w+", path)])


def _query(asked: Schema, at_most_one: Collection[str]) -> Iterator[dict[str, Any]]:
    """The parameters of a query; those that exclude each other are the properties of one parameter."""
    fields = {name: _described(schema) for name, schema in asked["properties"].items()}
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
    for name, described in fields.items():
        if name not in at_most_one:
            yield {"name": name, "in": "query", "required": name in asked["required"], **described}


def _response(answer: Answer, by_kind: Mapping[str, Schema]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": answer.told or HTTPStatus(answer.status).phrase}
    if answer.headers:
        response["headers"] = {
            name: {"description": told, "required": True, "schema": {"type": "string"}}
            for name, told in answer.headers.items()
        }
    if answer.media:
        response["content"] = _content(answer, by_kind)
    if answer.links:
        response["links"] = {_id(link.method, link.path): _link(link) for link in answer.links}
    return response


def _link(link: Link) -> dict[str, Any]:
    body = {} if link.body is None else {"requestBody": link.body}
    return {"operationId": _id(link.method, link.path), "parameters": dict(link.parameters), **body}


def _refusals(codes: Iterable[str], *, pages: bool) -> dict[str, Any]:
    """The problems that there may be, by their statuses."""
    responses: dict[str, Any] = {}
    for status in sorted({CODES[code][0] for code in codes}):
        there = sorted(code for code in codes if CODES[code][0] == status)
        schema = {"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": there}}}
        responses[f"{status}"] = {
            "description": " ".join(f"`{code}`: {CODES[code][1]}." for code in there),
            "content": {PROBLEM: {"schema": schema}, **({PAGE: {"schema": {"type": "string"}}} if pages else {})},
        }
    return responses


def _content(said: Answer | Body, by_kind: Mapping[str, Schema]) -> dict[str, Any]:
    """What a body is, by its media types; MessagePack has the same content as JSON, and lines are an array."""
    content: dict[str, Any] = {}
    found = [by_kind[_key(kind)] for kind in _kinds(said.kind)]
    for media in said.media:
        if found and media in (MEDIA["json"], MEDIA["msgpack"]):
            content[media] = {"schema": found[0] if len(found) == 1 else {"anyOf": found}}
        elif media == MEDIA["ndjson"] and said.kind in LINES:
            lines = [by_kind[_key(kind)] for kind in LINES[said.kind]]
            content[media] = {"schema": {"type": "array", "items": {"anyOf": lines}, "minItems": 2}}
        else:
            content[media] = {"schema": {"type": "string"}} if media.startswith("text/") else {}
    return content


def _described(schema: Schema) -> dict[str, Any]:
    """The schema of a parameter with its description outside. What may be null may be left out."""
    schema = {name: value for name, value in schema.items() if not (name == "default" and value is None)}
    if len(there := [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]) == 1:
        schema = {**{name: value for name, value in schema.items() if name != "anyOf"}, **there[0]}
    description = schema.pop("description", "")
    return {"description": description, "schema": schema}


def _kinds(kind: Any) -> list[Any]:
    """The alternative types of a body."""
    return list(kind) if isinstance(kind, tuple) else [kind] if kind else []


def _key(kind: Any) -> str:
    return repr(kind)
