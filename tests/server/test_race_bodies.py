"""The server accepts exactly the bodies of new races that the OpenAPI document allows."""

import re
import sys
import unicodedata
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from samedeal_server.live.opening import VISIBLE
from support.logged_server import LoggedServer, request

pytestmark = pytest.mark.tier(2)


def test_visible_seed_pattern_excludes_invisible_characters() -> None:
    for character in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(character)
        if category == "Cs":  # surrogates cannot occur in JSON text
            continue
        invisible = category in ("Cc", "Cf", "Co", "Zl", "Zp", "Zs") and character != " "
        if category != "Cn":  # a later version of Unicode may assign it
            assert (re.fullmatch(VISIBLE, character) is None) == (invisible or character == "|"), f"{character!a}"


OPENING_BODIES = [
    ({"game": "gallery"}, "SealedCapOpening"),
    ({"game": "the-edge", "seed": None, "options": {"filter": "friendly/1", "limit_ms": 1_000}}, "SealedOpening"),
    ({"game": "corners", "variant": {"refill": "waste"}}, "SealedRefillOpening"),
    ({"game": "corners", "seed": "7", "options": {"filter": "any"}}, "OpenRefillOpening"),
    ({"game": "gallery", "seed": "7", "variant": {"cap": False}}, "OpenCapOpening"),
    ({"game": "gallery", "daily": True, "options": {"max_racers": 2}}, "DailyOpening"),
    ({"game": "corners", "variant": {"cap": True}}, None),
    ({"game": "gallery", "variant": {"cap": "false"}}, None),
    ({"game": "corners", "options": {"colour": "red"}}, None),
    ({"game": "corners", "seed": "7", "options": {"filter": "friendly/1"}}, None),
    ({"game": "corners", "seed": "7\u200b"}, None),
    ({"game": "corners", "seed": "7", "daily": True}, None),
    ({"game": "corners", "daily": True, "options": {"undo": False}}, None),
    ({"game": "corners", "daily": True, "variant": {"refill": "stock"}}, None),
]


@pytest.mark.parametrize(("body", "kind"), OPENING_BODIES)
def test_server_accepts_exactly_the_documented_bodies(
    server: LoggedServer, body: dict[str, Any], kind: str | None
) -> None:
    document = request(server, "GET", "/openapi.json").json
    content = document["paths"]["/api/v1/races"]["post"]["requestBody"]["content"]
    matching = {
        reference["$ref"].rpartition("/")[2]
        for reference in content["application/json"]["schema"]["anyOf"]
        if jsonschema_rs.Draft202012Validator({**reference, "components": document["components"]}).is_valid(body)
    }
    answer = request(server, "POST", "/api/v1/races", msgspec.json.encode(body))
    assert matching == ({kind} if kind else set())
    assert answer.status == (201 if kind else 400)


def test_integer_with_a_decimal_point_is_accepted(server: LoggedServer) -> None:
    for limit_ms, status in (("5000.0", 201), ("5e3", 201), ("5000.5", 400), ("1e300", 400)):
        body = f'{{"game": "corners", "options": {{"limit_ms": {limit_ms}}}}}'.encode()
        answer = request(server, "POST", "/api/v1/races", body)
        assert answer.status == status
        if status == 201:
            assert answer.json["header"]["options"]["limit_ms"] == 5_000
