"""The codec: both encodings carry the same content, match other libraries, and reject invalid bytes."""

import json
from collections.abc import Callable
from importlib import import_module
from types import UnionType
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, to_builtins
from msgspec.structs import fields

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import AnyEvent, Entry, Header, entry_bytes, header_bytes
from samedeal.replays.replay import Replay
from samedeal.wire import decoding, views
from samedeal.wire import messages as m
from support.finished_races import finished
from support.races_by_hand import closed, opened, running

msgpack: Any = import_module("msgpack")  # untyped
HEX = "ab" * 32
FORMS: tuple[codec.Form, ...] = ("msgpack", "json")
BIG = 2**53 - 1

REQUESTS: list[m.ToServer] = [
    m.Hello(id=0),
    m.Hello(id=BIG, token="sd_x", name="Zoë 🐙\u2028\x7f", client='cli/"1"\\'),
    m.Join(id=1, race="calm-otter-42"),
    m.Join(id=2, race="calm-otter-42", commitment=HEX, bot=True, legal=False),
    m.Join(id=2, race="calm-otter-42", views="changes"),
    m.Watch(id=3, race="calm-otter-42"),
    m.Ready(id=4),
    m.Ready(id=5, ready=False),
    m.Nonce(id=6, nonce=HEX),
    m.Move(id=70_000, move="a2+b3+d1", ply=2**31),
    m.Resign(id=8),
    m.Leave(id=9),
    m.Ping(id=10),
    m.Again(id=11),
    m.Again(id=12, game="the-edge"),
    m.Again(id=13, options={"limit_ms": 60_000, "undo": False}, head_start=m.HeadStartFor(2, 10_000)),
    m.Start(id=13),
    m.Remove(id=14, seat=2),
    m.React(id=15, reaction="well-played"),
    m.Bot(id=16),
]
OPEN = running(11, slug="gallery", seed="31", spectators="open", max_racers=12).race
REMATCH = m.Rematch(
    race="calm-otter-43",
    game="corners",
    by="Zoë",
    stage="running",
    players=("Zoë", "Bo"),
    awaited=("Cy",),
    starts_at=BIG,
)
REPLIES: list[m.FromServer] = [
    m.Welcome(re=1, player="player-1", name="Zoë", token="sd_x", server="samedeal/1"),
    m.Welcome(player="player-1", name="Zoë", server="samedeal/1"),
    m.Problem.of(Refused("race-full"), 7),
    m.Reaction(race="calm-otter-42", seat=2, reaction="laugh"),
    m.Pong(re=3),
    m.Pong(),
    views.progress(running().race, 1),
    views.progress(running().race, 1, watching=3),
    m.Changes(n=0, h=HEX, board=views.board_after(GAMES["gallery"].from_seed("31"), ())),
    m.Changes(re=1, n=BIG, h=HEX, board=m.Board(table={}, outcome="playing", home=0, attempt=2, ply=70_000, undo=True)),
    views.view(opened().race, None, 0, header=True),
    views.view(opened().race, None, 0, watching=BIG),
    views.view(OPEN, None, OPEN.at, re=2, header=True),
    views.view(opened().race, None, 0, host=m.Host(name="Zoë"), ready_by=60_000),
    views.view(opened().race, None, 0, host=m.Host(name="Zoë", seat=1), ready_by=-1),
    views.view(closed(running()).race, 2, 0),
    views.view(closed(running()).race, 2, 0, rematch=m.Rematch(race="calm-otter-43", game="the-edge", by="Zoë")),
    views.view(opened().race, None, 0, awaited=("Zoë", "Bo")),
    views.view(closed(running()).race, 2, 0, rematch=REMATCH),
    *(views.view(running(slug=slug).race, 1, 0, legal=True) for slug in GAMES),
]

every_form = pytest.mark.parametrize("form", FORMS)


def written(content: object, form: codec.Form) -> bytes:
    """Content encoded by other libraries."""
    if form == "msgpack":
        data: bytes = msgpack.packb(content)
        return data
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def short_header(data: bytes) -> bytes:
    """Return bytes that start with the long header of a small MessagePack map with the short one, others as they are.

    Types with more than 15 fields have the long header even if most fields are omitted.
    """
    is_small = data[:2] == b"\xde\0" and data[2] < 16
    return bytes([0x80 | data[2]]) + data[3:] if is_small else data


def content_of(message: object, form: codec.Form) -> object:
    """A message as plain lists, dictionaries, strings and numbers."""
    text_keys = form == "json"
    return _listed(to_builtins(message, str_keys=text_keys))


def _listed(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _listed(value) for key, value in content.items()}
    return [_listed(value) for value in content] if isinstance(content, list | tuple) else content


def kinds(union: object) -> set[type]:
    assert isinstance(union, UnionType)
    return set(get_args(union))


# Round trips in both encodings.


def test_every_message_is_among_the_examples() -> None:
    assert {type(message) for message in REQUESTS} == kinds(m.ToServer), "REQUESTS needs one of each type"
    assert {type(message) for message in REPLIES} == kinds(m.FromServer), "REPLIES needs one of each type"
    boards = [message.boards for message in REPLIES if isinstance(message, m.View) and message.boards]
    assert [set(board) for board in boards] == [set(range(1, 12))]


@every_form
def test_messages_round_trip(form: codec.Form) -> None:
    for request in REQUESTS:
        assert decoding.decode_to_server(codec.encode(request, form), form) == request
    for reply in REPLIES:
        assert decoding.decode_from_server(codec.encode(reply, form), form) == reply


@every_form
def test_other_libraries_write_and_read_the_same_bytes(form: codec.Form) -> None:
    for message in (*REQUESTS, *REPLIES):
        content, data = content_of(message, form), codec.encode(message, form)
        assert short_header(data) == written(content, form)
        assert (msgpack.unpackb(data, strict_map_key=False) if form == "msgpack" else json.loads(data)) == content


@every_form
def test_records_round_trip(form: codec.Form) -> None:
    replay = finished("corners", moves=12)
    data = codec.encode(replay, form)
    assert data == written(content_of(replay, form), form)
    assert codec.decode(data, form, Replay) == replay
    assert {type(entry.event) for entry in replay.entries} == kinds(AnyEvent)


def test_log_entries_are_canonical_json() -> None:
    replay = finished("gallery", moves=12)
    assert header_bytes(replay.header) == written(to_builtins(replay.header), "json")
    for entry in replay.entries:
        data = entry_bytes(entry.n, entry.at, entry.event)
        assert data == written([entry.n, entry.at, to_builtins(entry.event)], "json")


@every_form
def test_the_id_of_a_request_is_read_even_if_the_rest_is_invalid(form: codec.Form) -> None:
    for request in REQUESTS:
        assert decoding.number(codec.encode(request, form), form) == request.id
    for rest in ({}, {"t": "chat"}, {"t": "move", "move": 1}):
        assert decoding.number(written({"id": 7} | rest, form), form) == 7
    without: list[object] = [{}, {"id": -1}, {"id": "7"}, {"id": BIG + 1}, [7], 7]
    assert [decoding.number(written(content, form), form) for content in without] == [None] * len(without)
    assert decoding.number(b'{"id":', form) is None


def test_default_values_are_omitted_from_replies_and_the_log() -> None:
    assert codec.encode(m.Pong(), "json") == b'{"t":"pong"}'
    assert entry_bytes(1, 2, finished("corners", moves=0).entries[3].event) == b'[1,2,{"seat":1,"t":"readied"}]'


def test_every_subprotocol_has_an_encoding() -> None:
    assert decoding.SUBPROTOCOLS == {"samedeal.v1.msgpack": "msgpack", "samedeal.v1.json": "json"}


# Invalid messages.


def bad_message(content: object, path: str) -> None:
    """Assert that content is refused in both encodings with the path of the error."""
    for form in FORMS:
        with pytest.raises(Refused) as refusal:
            decoding.decode_to_server(written(content, form), form)
        assert refusal.value.code == "bad-message"
        assert path in refusal.value.text


WRONG: dict[str, list[object]] = {
    "id": [-1, 2**53, 2**63, 1.0, 1.5, True, "1", None, [1], {}],
    "move": ["", "a b", "a\n", "é", "x" * 65, 7, None, ["a"], "\x7f"],
    "ply": [-1, 2**31 + 1, 0.0, False, "0"],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in WRONG for value in WRONG[field]])
def test_a_field_of_the_wrong_type_is_refused_with_its_path(field: str, value: object) -> None:
    bad_message({"t": "move", "id": 1, "move": "draw", "ply": 0} | {field: value}, f"$.{field}")


@pytest.mark.parametrize("value", ["", "AB" * 32, "ab" * 31, "ab" * 33, "zz" * 32, "ab" * 32 + "\n", 1, None])
def test_thirty_two_bytes_have_one_valid_notation(value: object) -> None:
    bad_message({"t": "nonce", "id": 1, "nonce": value}, "$.nonce")


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_an_unknown_field_is_refused_and_a_missing_one_too(request_: m.ToServer) -> None:
    content = to_builtins(request_)
    bad_message(content | {"extra": 1}, "extra")
    for field in fields(type(request_)):
        if field.required:
            bad_message({name: value for name, value in content.items() if name != field.name}, field.name)
    bad_message({name: value for name, value in content.items() if name != "t"}, "`t`")


@pytest.mark.parametrize("tag", ["", "Ping", "view", "welcome", "joined", 1, None, ["ping"]])
def test_an_unknown_message_type_is_refused(tag: object) -> None:
    bad_message({"t": tag, "id": 1}, "$.t")


@pytest.mark.parametrize("content", [None, True, 0, 1.5, "ping", [], ["ping", 1], {}])
def test_a_message_without_a_type_is_refused(content: object) -> None:
    bad_message(content, "bject")


@pytest.mark.parametrize("field", ["race", "seed", "commitment", "salt"])
def test_a_trailing_line_feed_is_refused_in_header_fields(field: str) -> None:
    content = to_builtins(opened(seed="42").race.header)
    content[field] += "\n"
    with pytest.raises(Refused, match=field):
        codec.decode(written(content, "json"), "json", Header)


def test_messages_in_the_wrong_direction_are_refused() -> None:
    for form in FORMS:
        with pytest.raises(Refused):
            decoding.decode_to_server(codec.encode(REPLIES[0], form), form)
        with pytest.raises(Refused):
            decoding.decode_from_server(codec.encode(REQUESTS[0], form), form)


def test_binary_keys_and_strings_are_refused() -> None:
    for content in ({b"t": "ping", "id": 1}, {"t": b"ping", "id": 1}, {"t": "ping", "id": b"1"}, {1: 2}):
        with pytest.raises(Refused) as refusal:
            decoding.decode_to_server(msgpack.packb(content), "msgpack")
        assert refusal.value.code == "bad-message"


# Malformed bytes.


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b" ", b"{", b"}", b'{"t":"ping"', b'{"t":"ping","id":1}x', b'{"t":"ping","id":1}{}', b"ping", b"'"),
        *(b'{"t":"ping","id":NaN}', b'{"t":"ping","id":Infinity}', b'{"t":"ping","id":01}', b'{"t":"ping","id":1,}'),
        *(b'\xef\xbb\xbf{"t":"ping","id":1}', b'{"t":"ping","id":+1}', b'{"t":"hello","id":1,"name":"\xff"}'),
        *(b'{"t":"hello","id":1,"name":"\\ud800"}', b'{"t":"hello","id":1,"name":"\xed\xa0\x80"}'),
        *(b'{"t":"hello","id":1,"name":"a\nb"}', b'{"t":"hello","id":1,"name":"\\x"}', b"\x00"),
        '{"t":"ping","id":1}'.encode("utf-16"),
    ],
)
def test_invalid_json_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decoding.decode_to_server(data, "json")


PING = msgpack.packb({"t": "ping", "id": 1})


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\xc1", PING[:-1], PING + b"\xc0", PING + PING),
        *(b"\xdf\xff\xff\xff\xff", b"\xde\xff\xff", b"\x81\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"),
        b"\x83\xa1t\xa5hello\xa2id\x01\xa4name\xa1\xff",
        b"\x83\xa1t\xa5hello\xa2id\x01\xa4name\xa3\xed\xa0\x80",
    ],
)
def test_invalid_messagepack_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decoding.decode_to_server(data, "msgpack")


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"[" * 1_000_000, "json"),
        (b'{"t":' * 200_000, "json"),
        (b'{"id":1,"t":' + b"[" * 1_000_000, "json"),
        (b'{"x":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b',"t":"ping","id":1}', "json"),
        (b'{"t":"ping","id":' + b"9" * 100_000 + b"}", "json"),
        (b'{"t":"ping","id":1e' + b"9" * 100_000 + b"}", "json"),
        (b"\x91" * 1_000_000, "msgpack"),
        (b"\x81\xa1t" * 200_000, "msgpack"),
        (b"\x83\xa1x" + b"\x91" * 1_000_000 + b"\xc0\xa1t\xa4ping\xa2id\x01", "msgpack"),
        (b"\x82\xa1t\xa4ping\xa2id\xdd\xff\xff\xff\xff", "msgpack"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value[:8]!r}",
)
def test_deep_nesting_and_long_input_are_handled(data: bytes, form: codec.Form) -> None:
    for decode in (decoding.decode_to_server, decoding.decode_from_server):
        with pytest.raises((Malformed, Refused)):
            decode(data, form)
    for kind in (Replay, Header, Entry):
        with pytest.raises((Malformed, Refused)):
            codec.decode(data, form, kind)


def _mangled(data: bytes, at: int, what: bytes, cut: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + what + data[at + cut :]


SEEDS = [(codec.encode(message, form), form) for message in (*REQUESTS, *REPLIES[:6]) for form in FORMS]
near_messages = st.builds(
    lambda seed, at, what, cut: (_mangled(seed[0], at, what, cut), seed[1]),
    st.sampled_from(SEEDS),
    st.integers(0, 4_000),
    st.binary(max_size=3),
    st.integers(0, 3),
)
any_bytes = st.tuples(st.binary(max_size=60), st.sampled_from(FORMS))
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["t", "id", "move", "x"]), inner),
    max_leaves=6,
)
any_content = st.builds(
    lambda tag, content, form: (written({"t": tag, "id": 1} | content, form), form),
    st.sampled_from([kind.__name__.lower() for kind in sorted(kinds(m.ToServer), key=lambda kind: kind.__name__)]),
    st.dictionaries(
        st.sampled_from(["id", "name", "race", "move", "ply", "nonce", "ready", "x"]), anything, max_size=4
    ),
    st.sampled_from(FORMS),
)


@settings(derandomize=True, max_examples=300)
@given(any_bytes | near_messages | any_content)
def test_no_input_raises_any_other_exception(given: tuple[bytes, codec.Form]) -> None:
    data, form = given
    decoders: list[Callable[[bytes, codec.Form], Struct]] = [decoding.decode_to_server, decoding.decode_from_server]
    for decode in decoders:
        try:
            message: Any = decode(data, form)
        except Malformed:
            continue
        except Refused as refused:
            message = refused
        if isinstance(message, Refused):
            assert message.code == "bad-message"
            continue
        assert decode(codec.encode(message, form), form) == message
