"""The OpenAPI and AsyncAPI documents match the server.

FUZZ_EXAMPLES is the number of generated messages of each type (``make fuzz``).
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis.generation import GenerationMode
from starlette.routing import Route

from samedeal import codec, commitments
from samedeal.errors import CODES
from samedeal.games.catalogue import GAMES
from samedeal.version import VERSION
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.views import apply
from samedeal_server.api.administration import ADMIN
from samedeal_server.app import create_app
from samedeal_server.settings import Keys, Settings
from support.logged_server import Line, LoggedServer, request, written
from support.sessions import next_view

pytestmark = pytest.mark.tier(2)

SETTINGS = {"metrics": "on"}

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "10"))
FORMS: tuple[codec.Form, ...] = ("json", "msgpack")
NONCE = bytes(range(32))
few = settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def http(server: LoggedServer) -> dict[str, Any]:
    document: dict[str, Any] = request(server, "GET", "/openapi.json").json
    return document


@pytest.fixture(scope="module")
def socket(server: LoggedServer) -> dict[str, Any]:
    document: dict[str, Any] = request(server, "GET", "/asyncapi.json").json
    return document


def references(document: Any) -> Iterator[str]:
    """Yield all references in a document."""
    if isinstance(document, dict):
        yield from (value for name, value in document.items() if name == "$ref")
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from references(part)


def resolve(document: Any, reference: str) -> Any:
    for name in reference.removeprefix("#/").split("/"):
        document = document[name]
    return document


def test_openapi_document_lists_exactly_the_endpoints(http: dict[str, Any]) -> None:
    app = create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32)))
    routed = {
        (re.sub(":path}", "}", route.path), method.lower())
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD" and not route.path.startswith(ADMIN)  # moderation.md lists those
    }
    documented = {(path, method) for path, methods in http["paths"].items() for method in methods}
    by_game = {(path.replace("{deal}", f"{slug}:{{seed}}"), method) for path, method in routed for slug in GAMES}
    assert documented == {(path, method) for path, method in by_game if "{deal}" not in path}
    assert len(routed) > 25


def test_references_in_the_documents_resolve(http: dict[str, Any], socket: dict[str, Any]) -> None:
    for document in (http, socket):
        all_references = list(references(document))
        assert len(all_references) > 40
        for reference in all_references:
            assert resolve(document, reference)


def test_schemas_are_valid_and_described(http: dict[str, Any], socket: dict[str, Any]) -> None:
    for document in (http, socket):
        for schema in document["components"]["schemas"].values():
            assert jsonschema_rs.meta.is_valid(schema)
            assert schema["description"]


def test_asyncapi_document_lists_every_message_with_its_replies(socket: dict[str, Any]) -> None:
    kinds = [*get_args(m.ToServer), *get_args(m.FromServer)]
    assert list(socket["components"]["messages"]) == [kind.__name__.lower() for kind in kinds]
    requests = [each for each in socket["operations"].values() if each["action"] == "receive"]
    assert len(requests) == len(get_args(m.ToServer))
    for operation in requests:
        assert set(operation["x-refused-with"]) <= set(CODES)
        assert operation["reply"]["messages"][-1]["$ref"].endswith("/problem")


def test_close_codes_match_the_protocol_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "bots" / "protocol.md").read_text()
    rows = re.findall(r"^\| ([\d, ]+) \| (.*) \| (yes|no|with a name) \|$", page, re.MULTILINE)
    assert {int(code): again for codes, _, again in rows for code in codes.split(",")} == {
        int(code): code.retry for code in CloseCode
    }


def test_asyncapi_server_url_follows_the_request(server: LoggedServer) -> None:
    document = request(server, "GET", "/asyncapi.json", Host="cards.example:8640").json
    assert document["servers"]["here"] == {"host": "cards.example:8640", "pathname": "", "protocol": "ws"}


def test_documents_have_the_version_of_the_program(http: dict[str, Any], socket: dict[str, Any]) -> None:
    assert (http["info"]["version"], socket["info"]["version"]) == (VERSION, VERSION)


@pytest.fixture(scope="module")
def race_id(server: LoggedServer) -> str:
    """An open race."""
    return server.create("gallery")


def test_links_map_response_fields_to_parameters(http: dict[str, Any]) -> None:
    operations = [operation for methods in http["paths"].values() for operation in methods.values()]
    by_id = {operation["operationId"]: operation for operation in operations}
    links = [
        (answer, link)
        for operation in operations
        for answer in operation["responses"].values()
        for link in answer.get("links", {}).values()
    ]
    for answer, link in links:
        target = by_id[link["operationId"]]
        assert link["parameters"].keys() <= {parameter["name"] for parameter in target["parameters"]}
        assert ("requestBody" in link) <= ("requestBody" in target)
        for expression in link["parameters"].values():
            schema = answer["content"]["application/json"]["schema"]
            for name in expression.partition("#/")[2].split("/") if "#" in expression else ():
                schema = resolve(http, schema["$ref"]) if "$ref" in schema else schema
                schema = schema["items"] if name == "0" else schema["properties"][name]
    assert len(links) > 30


@pytest.fixture(scope="module")
def valid(socket: dict[str, Any]) -> Callable[[object], None]:
    """Return a function that validates a message against the document."""
    schemas = socket["components"]["schemas"]
    names = {
        schema["properties"]["t"]["enum"][0]: name for name, schema in schemas.items() if "t" in schema["properties"]
    }
    validators = {
        t: jsonschema_rs.Draft202012Validator(
            {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
        )
        for t, name in names.items()
    }

    def check(message: Any) -> None:
        validators[message["t"]].validate(message)

    return check


class Documented(Line):
    """A connection that validates every sent and received message against the document."""

    check: Callable[[object], None]
    refused: set[str]

    async def ask(self, t: str, **fields: Any) -> m.FromServer:
        self.check({"t": t, "id": 1, **fields})
        answer = await super().ask(t, **fields)
        self.accept(t, answer)
        return answer

    def accept(self, t: str, answer: m.FromServer) -> None:
        """Assert that an answer is documented for a type of request."""
        kind = next(kind for kind in get_args(m.ToServer) if kind.__name__.lower() == t)
        if isinstance(answer, m.Problem):
            assert answer.code in {*m.REFUSED_WITH[kind], *m.ANY_REFUSED_WITH}
            self.refused.add(answer.code)
        else:
            assert type(answer) in m.ANSWERED_BY[kind]

    async def hear(self) -> m.FromServer:
        message = await super().hear()
        packet = self.packets[-1]
        plain = json.loads(packet) if self.form == "json" else msgspec.msgpack.decode(packet, strict=False)
        self.check(msgspec.to_builtins(plain, str_keys=True))
        return message


async def line(server: LoggedServer, form: codec.Form, valid: Callable[[object], None], name: str) -> Documented:
    connection = await Documented.open(server, form)
    connection.check, connection.refused = valid, set()
    assert isinstance(await connection.ask("hello", name=name), m.Welcome)
    return connection


@pytest.mark.parametrize("form", FORMS)
async def test_messages_of_a_race_match_the_document(
    server: LoggedServer, form: codec.Form, valid: Callable[[object], None]
) -> None:
    race_id = server.create("corners", spectators="open", max_racers=2, start_delay_ms=500, attempts=1)
    ada, bo, eve = [await line(server, form, valid, name) for name in ("ada", "bo", "eve")]
    try:
        commitment = commitments.nonce_commitment(race_id, NONCE)
        await eve.ask("watch", race="no-such-race")
        await eve.ask("watch", race=race_id)
        await ada.ask("move", move="draw", ply=0)
        await ada.ask("join", race=race_id)  # without a commitment
        for racer in (ada, bo):
            assert isinstance(await racer.ask("join", race=race_id, commitment=commitment), m.View)
        await eve.ask("join", race=race_id, commitment=commitment)
        await ada.ask("leave")
        await ada.ask("join", race=race_id, commitment=commitment)
        await ada.ask("nonce", nonce=NONCE.hex())
        for racer in (ada, bo):
            await racer.ask("ready")
        while not isinstance(await ada.ask("nonce", nonce=NONCE.hex()), m.View):
            continue
        await bo.ask("nonce", nonce="00" * 32)
        await bo.ask("nonce", nonce=NONCE.hex())
        view = await ada.ask("join", race=race_id, views="changes")
        while not (isinstance(view, m.View) and view.board):
            view = await ada.hear()
        ply = 0
        for _ in range(12):
            assert view.board
            if not view.board.moves:
                break
            moved = await ada.ask("move", move=view.board.moves[0], ply=ply)
            assert isinstance(moved, m.Changes)
            view, ply = apply(view, moved), ply + 1
        await ada.ask("move", move="a1a1", ply=ply)
        await ada.ask("move", move="draw", ply=max(0, ply - 2))
        await ada.ask("move", move="restart", ply=ply)
        assert isinstance(await ada.ask("ping"), m.Pong)
        assert isinstance(await ada.ask("resign"), m.View)
        await ada.ask("move", move="draw", ply=ply)
        assert isinstance(await bo.ask("resign"), m.View)
        await bo.ask("move", move="draw", ply=0)
        await next_view(eve, lambda view: view.stage == "over")
        assert ada.refused >= {"not-seated", "nonce-mismatch", "untimely", "illegal-move", "not-allowed"}
        assert eve.refused == {"not-found", "race-full"}
        assert any(json_of(packet, form).get("boards") for packet in eve.packets)
    finally:
        for each in (ada, bo, eve):
            await each.socket.close()


def json_of(packet: bytes, form: codec.Form) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(packet) if form == "json" else msgspec.msgpack.decode(packet, strict=False)
    return content


@pytest.mark.parametrize(("form", "mode"), list(zip(FORMS, GenerationMode, strict=True)))
async def test_generated_messages_get_documented_replies(
    server: LoggedServer,
    socket: dict[str, Any],
    form: codec.Form,
    mode: GenerationMode,
    valid: Callable[[object], None],
    race_id: str,
) -> None:
    """Messages that match the schemas, and others: each is answered, and no connection fails."""
    for message in generate_messages(socket, mode):
        joins = mode is GenerationMode.POSITIVE and "race" in message
        for content in (message, {**message, "race": race_id}) if joins else (message,):
            try:
                packet = written(content, form)
            except OverflowError:  # too large for MessagePack
                continue
            async with await Line.open(server, form) as each:
                await each.send(written({"t": "hello", "id": 0, "name": "eve"}, form))
                assert isinstance(await each.answer(0), m.Welcome)
                await each.send(packet)
                answer = await each.answer(decoding.number(packet, form))
                valid(msgspec.to_builtins(answer, str_keys=True))
                if isinstance(answer, m.Problem):
                    kind = next(
                        (
                            k
                            for k in m.ANSWERED_BY
                            if isinstance(content, dict) and k.__name__.lower() == content.get("t")
                        ),
                        None,
                    )
                    assert answer.code in {*m.REFUSED_WITH.get(kind or m.Ping, ()), *m.ANY_REFUSED_WITH}
                else:
                    assert mode is GenerationMode.POSITIVE
                if not (isinstance(answer, m.Problem) and answer.code in ("malformed", "bad-token")):
                    assert isinstance(await each.ask("ping"), m.Pong)


def generate_messages(document: dict[str, Any], mode: GenerationMode) -> list[Any]:
    """Return messages to the server that match the document, or do not."""
    schemas, messages = document["components"]["schemas"], []
    for kind in get_args(m.ToServer):
        body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}}
        known = schemathesis.openapi.from_dict(
            {
                "openapi": "3.1.0",
                "info": document["info"],
                "paths": {"/ws": {"post": {"requestBody": {**body, "required": True}, "responses": {}}}},
                "components": {"schemas": schemas},
            }
        )

        @seed(1)
        @few
        @given(known["/ws"]["POST"].as_strategy(generation_mode=mode))
        def collect(case: Any) -> None:
            messages.append(case.body)

        collect()
    return messages
