"""Clients read messages of newer servers leniently; stored records are read strictly."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from msgspec import Struct, ValidationError, convert, msgpack, to_builtins
from msgspec.msgpack import Ext

from samedeal import codec
from samedeal.codec import lenient
from samedeal.errors import Refused
from samedeal.race.events import Header, Options
from samedeal.race.standings import Standing
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.finished_races import finished
from support.logged_server import written

pytestmark = pytest.mark.tier(2)

every_form = pytest.mark.parametrize("form", ["json", "msgpack"])
REPLAY = finished("corners", moves=12)
BOARD = m.Board(table={"stock": ("??",)}, outcome="playing", home=0, attempt=1, ply=0)
VIEW = m.View(
    race=REPLAY.header.race,
    n=1,
    h="0" * 64,
    stage="running",
    header=REPLAY.header,
    board=BOARD,
    standings=REPLAY.standings,
    levels={2: "expert"},
    boards={2: BOARD},
)
KNOWN = (
    VIEW,
    m.Welcome(re=1, player="p1", name="ada", token="t", server="test"),
    m.Progress(race="calm-otter-42", n=1, standings=REPLAY.standings),
    m.Changes(re=3, n=2, h="0" * 64, board=BOARD),
    m.Problem.of(Refused("race-full"), 7),
    m.Pong(re=2),
)


def with_unknown_fields(content: Any) -> Any:
    """Add a field to each object, except to tables, whose keys are data."""
    if isinstance(content, list | tuple):
        return [with_unknown_fields(inner) for inner in content]
    if not isinstance(content, dict):
        return content
    extended = {
        name: inner if name in ("table", "notes", "variant") else with_unknown_fields(inner)
        for name, inner in content.items()
    }
    return (
        extended
        if all(isinstance(name, int) or name.isdigit() for name in extended)
        else extended | {"newer": {"deep": [1]}}
    )


def content_of(message: object, form: codec.Form) -> Any:
    return to_builtins(message, str_keys=form == "json")


def edited(form: codec.Form, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """An edited view with a header, encoded."""
    content = content_of(VIEW, form)
    edit(content)
    return written(content, form)


@every_form
@pytest.mark.parametrize("message", KNOWN, ids=lambda message: type(message).__name__)
def test_a_client_ignores_unknown_fields_everywhere(message: m.FromServer, form: codec.Form) -> None:
    data = written(with_unknown_fields(content_of(message, form)), form)
    assert b"newer" in data
    decoded = decoding.decode_from_server(data, form)
    assert decoded == message
    assert type(decoded) is type(message)


@every_form
@pytest.mark.parametrize(
    ("option", "value"), [("filter", "certified/9"), ("spectators", "friends")], ids=lambda word: word
)
def test_a_client_reads_unknown_choices_of_an_option(option: str, value: str, form: codec.Form) -> None:
    decoded = decoding.decode_from_server(
        edited(form, lambda view: view["header"]["options"].update({option: value})), form
    )
    assert isinstance(decoded, m.View)
    assert isinstance(decoded.header, Header)
    assert isinstance(decoded.header.options, Options)
    assert getattr(decoded.header.options, option) == value
    assert decoded.header.sealed
    assert (decoded.board, decoded.standings, decoded.n) == (VIEW.board, VIEW.standings, VIEW.n)
    assert decoding.decode_from_server(codec.encode(decoded, form), form) == decoded


@every_form
def test_a_client_reads_unknown_stages_outcomes_and_levels(form: codec.Form) -> None:
    def edit(view: dict[str, Any]) -> None:
        view["stage"] = view["board"]["outcome"] = view["standings"][0]["outcome"] = "paused"
        view["levels"] = dict.fromkeys(view["levels"], "master")

    decoded = decoding.decode_from_server(edited(form, edit), form)
    assert isinstance(decoded, m.View)
    assert decoded.board
    assert {str(decoded.stage), decoded.board.outcome, decoded.standings[0].outcome} == {"paused"}
    assert [*map(str, decoded.levels.values())] == ["master"]


@every_form
def test_a_message_of_an_unknown_type_differs_from_an_invalid_one(form: codec.Form) -> None:
    with pytest.raises(decoding.UnknownMessage, match="'chat'"):
        decoding.decode_from_server(written({"t": "chat", "text": "hello"}, form), form)
    wrong: list[object] = [{"t": "view"}, {"t": 1}, {"re": 1}, [], "chat"]
    for content in wrong:
        with pytest.raises(Refused) as refused:
            decoding.decode_from_server(written(content, form), form)
        assert refused.type is Refused


@every_form
def test_known_fields_are_still_validated(form: codec.Form) -> None:
    edits: list[Callable[[dict[str, Any]], object]] = [
        lambda view: view.update(h="short", newer=1),
        lambda view: view["header"].update(commitment=7, newer=1),
        lambda view: view["header"]["options"].update(filter=1, newer=1),
        lambda view: view["header"].pop("rules"),
    ]
    for edit in edits:
        with pytest.raises(Refused, match=r"\$\.h"):
            decoding.decode_from_server(edited(form, edit), form)


@every_form
def test_a_header_keeps_its_unknown_fields(form: codec.Form) -> None:
    data = written(with_unknown_fields(content_of(VIEW, form)), form)
    assert decoding.header_sent(data, form) == with_unknown_fields(to_builtins(REPLAY.header))
    with pytest.raises(Refused):
        decoding.header_sent(codec.encode(m.Pong(), form), form)


def test_unknown_fields_of_a_header_are_written_as_in_json() -> None:
    sent = edited("msgpack", lambda view: view["header"].update(teams={1: ["ada"], 2: ["bo"]}))
    assert decoding.header_sent(sent, "msgpack") == to_builtins(REPLAY.header) | {"teams": {"1": ["ada"], "2": ["bo"]}}


@pytest.mark.parametrize("value", [Ext(5, b""), {None: 1}, [{True: 1}]], ids=["extension", "null key", "boolean key"])
def test_a_header_that_json_cannot_express_is_refused(value: object) -> None:
    data = msgpack.encode(content_of(VIEW, "msgpack") | {"header": to_builtins(REPLAY.header) | {"newer": value}})
    with pytest.raises(Refused, match=r"Only dicts|Ext") as refused:
        decoding.header_sent(data, "msgpack")
    assert refused.value.code == "bad-message"


@every_form
def test_stored_records_and_requests_are_read_strictly(form: codec.Form) -> None:
    for kind, record in ((Header, REPLAY.header), (Options, REPLAY.header.options)):
        content = to_builtins(record)
        assert codec.decode(written(content, form), form, kind) == record
        with pytest.raises(Refused, match="newer"):
            codec.decode(written(content | {"newer": 1}, form), form, kind)
    with pytest.raises(Refused, match="filter"):
        codec.decode(written(to_builtins(REPLAY.header.options) | {"filter": "certified/9"}, form), form, Options)
    with pytest.raises(Refused, match="newer"):
        decoding.decode_to_server(written({"t": "ping", "id": 1, "newer": 1}, form), form)


class Settings(Struct, frozen=True, kw_only=True):
    colour: Literal["red", "black"]
    back: Literal["blue", "green"] = "blue"
    sizes: list[Literal["small", "large"]] = []


def test_lenient_fields_are_required_or_have_the_same_defaults() -> None:
    settings = convert({"colour": "white"}, lenient(Settings))
    assert to_builtins(settings) == {"colour": "white", "back": "blue", "sizes": []}
    with pytest.raises(ValidationError, match="colour"):
        convert({}, lenient(Settings))
    other = convert({"colour": "red"}, lenient(Settings))
    assert settings.sizes is not other.sizes


def test_a_type_that_is_lenient_already_is_its_own_lenient_type() -> None:
    assert lenient(Standing) is Standing
    assert lenient(m.Pong) is m.Pong
    assert lenient(m.View) is lenient(m.View) is not m.View
    assert issubclass(lenient(m.View), m.View)
