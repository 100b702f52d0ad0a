"""Replay formats: each replay states the first format that has its fields, and readers name a newer format."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert, to_builtins

from samedeal import codec
from samedeal.errors import Refused
from samedeal.proof.verification import verify
from samedeal.race.events import RACE_FORMAT, Header
from samedeal.replays.replay import FORMATS, ReplayLines, in_lines, read
from samedeal.replays.signature import public_key
from support.agreement_of_replays import Question, of_javascript
from support.altered_replays import Altered
from support.finished_races import finished
from support.forged_replays import under_header
from support.node import NODE, needs_node
from support.saved_replays import FORMS, replay_bytes, replay_file, replayed_races, saved_replays
from support.servers import SIGNING_KEY, Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

VERIFIER = Path(__file__).parents[2] / "examples" / "verify" / "verify.mjs"
NEW_FIELDS = {
    2: {"follows", "ghosts", "finishers", "best_of"},
    3: {"head_start", "end_when_stuck"},
    4: {"heat", "club"},
}
"""What each format added to headers and options."""
KEY = public_key(bytes.fromhex(SIGNING_KEY))
SAVED = pytest.mark.parametrize(("number", "race"), saved_replays())


@pytest.fixture(scope="module")
def server(store_url: str) -> Iterator[Server]:
    with Server(store_url) as running:
        yield running


def stating(form: str, stated: str) -> bytes:
    """A saved replay that states another format of the same length."""
    data = replay_file(1, "sealed", form).read_bytes()
    assert data.count(b"samedeal.replay/1") == 1
    return data.replace(b"samedeal.replay/1", stated.encode())


def asked(data: bytes, *keys: str) -> Question:
    return Question(Altered(0, "", "", "json", data, None), keys, None)


@SAVED
def test_saved_replays_round_trip_byte_for_byte_and_verify(number: int, race: str) -> None:
    replay = read(replay_file(number, race, "json").read_bytes())
    assert all(fact.holds for fact in verify(replay, [KEY]))
    assert read(replay_file(number, race, "msgpack").read_bytes()) == replay
    assert codec.encode(replay, "json") == replay_file(number, race, "json").read_bytes()
    assert codec.encode(replay, "msgpack") == replay_file(number, race, "msgpack").read_bytes()
    in_lines, saved = replay_bytes(number, race, "ndjson"), replay_file(number, race, "ndjson")
    assert b"".join(replay.lines()) == in_lines
    assert not saved.exists() or saved.read_bytes() == in_lines
    lines = ReplayLines(BytesIO(in_lines))
    assert (lines.header, tuple(lines.entries), lines.signature) == (replay.header, replay.entries, replay.signature)


def test_every_race_format_has_a_replay_format() -> None:
    assert list(FORMATS) == list(range(1, RACE_FORMAT + 1))


@SAVED
def test_saved_replays_state_the_first_format_that_has_their_fields(number: int, race: str) -> None:
    data = replay_file(number, race, "json").read_bytes()
    header = json.loads(data)["header"]
    replay = read(data)
    fields = header.keys() | header["options"].keys()
    assert replay.header.format == max([1, *(number for number, new in NEW_FIELDS.items() if new & fields)])
    assert replay.format == FORMATS[replay.header.format] == json.loads(data)["format"]


@pytest.mark.parametrize("number", NEW_FIELDS)
def test_saved_replays_use_every_new_field(number: int) -> None:
    headers = [json.loads(replay_file(number, race, "json").read_bytes())["header"] for race in replayed_races(number)]
    assert {key for header in headers for key in header.keys() | header["options"].keys()} >= NEW_FIELDS[number]


def test_saved_replays_have_every_value_of_finishers() -> None:
    headers = [json.loads(replay_file(2, race, "json").read_bytes())["header"] for race in replayed_races(2)]
    assert {header["options"].get("finishers") for header in headers} == {None, "all", "none"}


@pytest.mark.parametrize(
    ("number", "fields"),
    [
        (2, {"follows": "calm-otter-41"}),
        (2, {"ghosts": ["calm-otter-41"]}),
        (2, {"options": {"limit_ms": 360_000, "finishers": "none"}}),
        (3, {"options": {"limit_ms": 360_000, "end_when_stuck": True}}),
        (3, {"head_start": {"player": "player-9", "ms": 20_000}, "follows": "calm-otter-41"}),
    ],
    ids=lambda value: value if isinstance(value, int) else " ".join(value.get("options", value)),
)
def test_new_fields_need_the_format_that_has_them(number: int, fields: dict[str, Any]) -> None:
    old = finished("corners")
    header = convert(to_builtins(old.header) | fields, Header)
    replay = under_header(old, header)
    data = codec.encode(replay, "json")
    stated, less, more = (f"samedeal.replay/{each}".encode() for each in (number, number - 1, number % 4 + 1))
    assert replay.format == stated.decode()
    assert read(data) == replay
    assert all(fact.holds for fact in verify(read(data)))
    understated, overstated = data.replace(stated, less), data.replace(stated, more)
    for other in (understated, overstated):
        with pytest.raises(Refused, match="the header needs the format") as refused:
            read(other)
        assert refused.value.code == "bad-replay"
    lines = b"".join(replay.lines())
    assert tuple(ReplayLines(BytesIO(lines)).entries) == replay.entries
    with pytest.raises(Refused, match="the header needs the format"):
        ReplayLines(BytesIO(lines.replace(stated, less)))
    if shutil.which(NODE):
        outcomes = [answer.outcome for answer in of_javascript(map(asked, (data, lines, understated, overstated)))]
        assert outcomes == [outcomes[0]] * 2 + ["unreadable"] * 2
        assert outcomes[0] == "key-unknown"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stated", ["samedeal.replay/5", "samedeal.replay/x"])
def test_a_newer_format_is_refused_with_its_name(form: str, stated: str, server: Server) -> None:
    data = stating(form, stated)
    with pytest.raises(Refused) as refused:
        read(data)
    text = f"in the format {stated}; this version of samedeal reads {', '.join(FORMATS.values())}."
    assert refused.value.code == "unsupported-version"
    assert text in refused.value.text
    assert not in_lines(data)
    if form == "ndjson":
        with pytest.raises(Refused, match=re.escape(stated)) as refused:
            ReplayLines(BytesIO(data))
        assert refused.value.code == "unsupported-version"
    status, body = server.get("/api/v1/verify", data)
    problem = json.loads(body)
    assert (status, problem["code"]) == (426, "unsupported-version")
    assert text in problem["detail"]


@pytest.mark.parametrize("form", FORMS)
def test_a_newer_format_is_named_whatever_else_is_new(form: str) -> None:
    if form == "msgpack":
        data = stating(form, "samedeal.replay/5").replace(b"\xa4game", b"\xa4gang")
    else:
        data = stating(form, "samedeal.replay/5").replace(b'"rules":', b'"teams":[{"seats":[1]}],"rules":')
    with pytest.raises(Refused, match=r"samedeal\.replay/5") as refused:
        read(data)
    assert refused.value.code == "unsupported-version"


@pytest.mark.parametrize("form", ["json", "ndjson"])
@pytest.mark.parametrize("place", ['"header":{', '"options":{', '"head_start":{'])
def test_an_unknown_field_of_the_third_format_is_refused_by_name(form: str, place: str, tmp_path: Path) -> None:
    data = replay_file(3, "everything", form).read_bytes().replace(place.encode(), f'{place}"aaa":1,'.encode())
    with pytest.raises(Refused, match="unknown field `aaa`") as refused:
        ReplayLines(BytesIO(data)) if form == "ndjson" else read(data)
    assert refused.value.code == "bad-replay"
    if shutil.which(NODE):
        code, output = verified(data, tmp_path)
        assert (code, "the field aaa is unknown" in output) == (5, True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stated", ["chess_org.replay1", "Samedeal.replay/1", "samedeal.replay_1"])
def test_a_file_without_a_known_format_is_not_a_replay(form: str, stated: str) -> None:
    with pytest.raises(Refused) as refused:
        read(stating(form, stated))
    assert refused.value.code == "bad-replay"


def verified(data: bytes, folder: Path) -> tuple[int, str]:
    """The exit code and the output of the JavaScript verifier."""
    file = folder / "replay"
    file.write_bytes(data)
    done = subprocess.run([NODE, VERIFIER, file], capture_output=True, encoding="utf-8", timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout + done.stderr


@needs_node
@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_the_javascript_verifier_names_a_newer_format(form: str, tmp_path: Path) -> None:
    code, output = verified(stating(form, "samedeal.replay/5"), tmp_path)
    assert code == 5
    assert f"in the format samedeal.replay/5, and this program reads {', '.join(FORMATS.values())}\n" in output


@needs_node
def test_the_javascript_verifier_reads_saved_replays() -> None:
    files = [(number, race, form) for number, race in saved_replays() for form in ("json", "ndjson")]
    questions = (asked(replay_bytes(*file), KEY) for file in files)
    for file, answer in zip(files, of_javascript(questions), strict=True):
        assert (answer.outcome, {*answer.facts.values()}) == ("verified", {"holds"}), file
