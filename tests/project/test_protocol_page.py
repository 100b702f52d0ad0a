"""docs/bots/protocol.md lists every message, field, endpoint and code, and its examples are valid messages."""

import re
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import fields

from samedeal import codec
from samedeal.errors import CODES
from samedeal.race.race import Stage
from samedeal.race.standings import Standing
from samedeal.wire import decoding
from samedeal.wire.messages import ANSWERED_BY, PUSHED, REFUSED_WITH, Board, FromServer, ToServer
from samedeal_server.api.endpoint import V1
from samedeal_server.app import create_app
from samedeal_server.settings import Keys, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "bots" / "protocol.md").read_text()
MODERATION = (Path(__file__).parents[2] / "docs" / "operate" / "moderation.md").read_text()
EXAMPLES = [line for line in PAGE.splitlines() if line.startswith(("> {", "< {"))]


@pytest.mark.parametrize("kind", [*get_args(ToServer), *get_args(FromServer), Board, Standing])
def test_every_message_and_field_is_described(kind: type) -> None:
    if kind.__name__ not in ("Board", "Standing"):
        assert f"| `{kind.__name__.lower()}` |" in PAGE, "docs/bots/protocol.md needs a row for each message"
    missing = [field.name for field in fields(kind) if f"`{field.name}`" not in PAGE]
    assert missing == [], "docs/bots/protocol.md does not mention these fields"


def test_every_request_has_a_reply_and_refusals() -> None:
    assert {*ANSWERED_BY} == {*REFUSED_WITH} == {*get_args(ToServer)}
    assert {*chain(*ANSWERED_BY.values()), *PUSHED} == {*get_args(FromServer)}, "nothing sends these messages"


def test_every_endpoint_is_listed() -> None:
    page = re.sub(r"\{\w+\}", "{}", PAGE + MODERATION)
    paths = {
        getattr(each, "path", "")
        for each in create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32))).routes
    }
    ours = {re.sub(r"\{[\w:]+\}", "{}", path.removeprefix(V1)) for path in paths if path.startswith(V1)}
    assert len(ours) > 10
    assert {path for path in ours if path not in page} == set(), "each endpoint needs a row in a page"


def test_code_table_matches_the_registry() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (.*) \|$", PAGE, re.MULTILINE)
    listed = [(code, int(status)) for status, codes in rows for code in re.findall(r"`(.*?)`", codes)]
    assert sorted(listed) == [(code, status) for code, (status, _) in sorted(CODES.items())]


def test_every_subprotocol_and_stage_is_mentioned() -> None:
    for name in (*decoding.SUBPROTOCOLS, *get_args(Stage)):
        assert f"`{name}`" in PAGE


@pytest.mark.parametrize("line", EXAMPLES, ids=lambda line: line[:24])
def test_examples_are_valid_messages(line: str) -> None:
    text = line[2:].encode()
    if line[0] == ">":
        decoding.decode_to_server(text, "json")
    else:
        assert codec.encode(decoding.decode_from_server(text, "json"), "json") == text


def test_examples_come_from_client_and_server() -> None:
    assert {line[0] for line in EXAMPLES} == {"<", ">"}
