"""Verification of replays over HTTP."""

import gzip
import json
from contextlib import ExitStack

import pytest
from msgspec import structs

from samedeal import codec
from samedeal.errors import MAX_TEXT
from samedeal.proof.verification import verify
from samedeal.replays.replay import MAX_BYTES, read
from samedeal.replays.signature import public_key
from samedeal_server.api.verification import MAX_VERIFICATIONS
from support.finished_races import SECRET, finished
from support.hostile_client import Hostile
from support.http_api import FORMS, NDJSON, chunked, encode_replay, finish_race, problem
from support.logged_server import LoggedServer, request
from support.servers import SIGNING_KEY


@pytest.mark.parametrize("form", FORMS)
def test_valid_replay_is_verified_in_every_form(server: LoggedServer, form: str) -> None:
    replay = finished("corners")
    for kind in (
        "application/json",
        "application/octet-stream",
        NDJSON,
    ):  # the form is detected from the body
        answer = request(server, "POST", "/api/v1/verify", encode_replay(replay, form), Content_Type=kind)
        assert answer.status == 200
        assert answer.json == {
            "ok": True,
            "outcome": "key-unknown",
            "key": replay.signature.key,
            "known_key": False,
            "facts": [json.loads(codec.encode(fact, "json")) for fact in verify(replay)],
        }


@pytest.mark.parametrize("form", FORMS)
async def test_key_parameter_requires_a_signature_by_that_key(server: LoggedServer, form: str) -> None:
    race_id, _ = await finish_race(server)
    body = request(server, "GET", f"/api/v1/replays/{race_id}.{form}").body
    ours, other = public_key(bytes.fromhex(SIGNING_KEY)), public_key(SECRET)
    for query, holds in ((f"key={ours}", True), (f"key={other}&key={ours}", True), (f"key={other}", False), ("", True)):
        result = request(server, "POST", f"/api/v1/verify?{query}", body).json
        assert (result["ok"], result["key"], result["known_key"]) == (holds, ours, True)
        assert result["outcome"] == ("verified" if holds else "refused")
        assert [fact["name"] for fact in result["facts"] if not fact["holds"]] == ([] if holds else ["signature"])
    forged = structs.replace(
        finished("corners"), signature=read(encode_replay(await server.replay(race_id), "json")).signature
    )
    result = request(server, "POST", f"/api/v1/verify?key={ours}", encode_replay(forged, form)).json
    assert (result["ok"], result["key"], result["known_key"]) == (False, ours, True)


@pytest.mark.parametrize(
    "query",
    [
        *("key=", "key=00", f"key={'0F' * 32}", f"key={'00' * 33}", f"key={'00' * 32}&key=x", f"key={'0g' * 32}"),
        *(f"keys={'00' * 32}", f"key={'00' * 32}&colour=red", f"key={'00' * 32}%0a", f"key=%20{'00' * 32}"),
        "key=--help",
    ],
)
def test_invalid_key_parameter_is_refused(server: LoggedServer, query: str) -> None:
    assert problem(
        request(server, "POST", f"/api/v1/verify?{query}", encode_replay(finished("corners"), "json")), "bad-request"
    )


def test_tampered_replay_fails_verification(server: LoggedServer) -> None:
    for form in ("json", "ndjson"):
        text = encode_replay(finished("corners"), form).replace(b'"name":"ada"', b'"name":"eve"')
        answer = request(server, "POST", "/api/v1/verify", text)
        assert answer.status == 200
        assert answer.json["ok"] is False
        failed = [fact for fact in answer.json["facts"] if not fact["holds"]]
        assert failed[0] == {"name": "chain", "holds": False, "entry": 1, "note": failed[0]["note"]}


HEAD = next(finished("corners").lines())


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"hello", b"{}", b"null", b"\xc1", b"[" * 100_000, b'{"a":' * 50_000, b"\x91" * 100_000, b"\0" * 100),
        *(HEAD, HEAD + HEAD, HEAD + b"[" * 100_000 + b"\n" + HEAD, HEAD + b" " * 100_000, HEAD + b"\n" * 600_000),
    ],
    ids=lambda body: body[:8].decode(errors="replace") + f" {len(body)}",
)
def test_body_that_is_not_a_replay_is_refused(server: LoggedServer, body: bytes) -> None:
    assert problem(request(server, "POST", "/api/v1/verify", body), "bad-replay")


def test_a_refusal_does_not_repeat_a_long_body(server: LoggedServer) -> None:
    answer = request(server, "POST", "/api/v1/verify", b'{"format":"%s"}' % (b"A" * 100_000))
    assert problem(answer, "bad-replay")
    assert len(answer.json["detail"]) <= MAX_TEXT


def test_a_compressed_body_is_refused_as_such(server: LoggedServer) -> None:
    answer = request(server, "POST", "/api/v1/verify", gzip.compress(HEAD), Content_Encoding="gzip")
    assert problem(answer, "unsupported-encoding", "without Content-Encoding")
    assert problem(request(server, "POST", "/api/v1/races", b"{}", Content_Encoding="br"), "unsupported-encoding")
    assert request(server, "POST", "/api/v1/races", b'{"game": "corners"}', Content_Encoding="identity").status == 201


def test_oversized_replay_is_refused_before_it_is_read(server: LoggedServer) -> None:
    for length in (MAX_BYTES + 1, 10**18):
        answer = request(server, "POST", "/api/v1/verify", b"", Content_Length=str(length))
        assert problem(answer, "too-large", str(MAX_BYTES))
    answer = request(server, "POST", "/api/v1/verify", chunked(MAX_BYTES + 1), Transfer_Encoding="chunked")
    assert problem(answer, "too-large", str(MAX_BYTES))


def test_slow_uploads_do_not_block_other_verifications(server: LoggedServer) -> None:
    body = encode_replay(finished("corners"), "ndjson")
    with ExitStack() as stack:
        for _ in range(2 * MAX_VERIFICATIONS + 1):
            slow = stack.enter_context(Hostile(server))
            slow.send(b"POST /api/v1/verify HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n")
            slow.send(b"Content-Length: %d\r\n\r\n" % len(body))
            assert b" 100 " in slow.until(b"\r\n\r\n")  # the server is waiting for the body
        assert request(server, "POST", "/api/v1/verify", body).json["ok"] is True
        slow.send(body)
        assert b" 200 " in slow.until(b"\r\n\r\n")
