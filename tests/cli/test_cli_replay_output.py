"""Pictures and casts of a replay: valid, self-contained, deterministic, and equal to what the player shows."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyte
import pytest
from msgspec import structs

from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Moved
from samedeal.replays.replay import Replay
from samedeal.share.phrases import achieved, outcome_phrase
from samedeal_cli.render.canvas import BOLD, Canvas, Style
from samedeal_cli.render.svg import canvas_svg
from samedeal_cli.screen.cast import FRAME_MS, HEIGHT, WIDTH, cast
from samedeal_cli.screen.picture import draw_picture, picture_svg
from samedeal_cli.screen.replay_view import draw_screen
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import Player
from support import races_by_hand
from support.finished_races import finished
from support.offline_cli import run, written

pytestmark = [pytest.mark.usefixtures("offline"), pytest.mark.tier(2)]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["\x1b[2J\u202eeve", "</text><script>alert(1)</script>", '"]]> & <!--', "名前\x00", "\ufffe\U000e0001"]


def player(slug: str = "corners", moves: int = 40) -> Player:
    return replace(Player.of(Recording.of(finished(slug, moves))), outcome="verified")


# Casts.


def events(lines: list[str]) -> list[tuple[float, str, str]]:
    """Parse a cast strictly."""
    header = json.loads(lines[0])
    assert header["version"] == 2
    assert (header["width"], header["height"]) == (WIDTH, HEIGHT)
    assert isinstance(header["timestamp"], int)
    assert isinstance(header["title"], str)
    assert all(isinstance(value, str) for value in header["env"].values())
    assert set(header) <= {"version", "width", "height", "timestamp", "title", "env"}
    read, last = [], 0.0
    for line in lines[1:]:
        assert "\n" not in line
        at, kind, data = json.loads(line)
        assert isinstance(at, float | int)
        assert at >= last
        assert kind in ("o", "m")
        assert isinstance(data, str)
        assert kind == "o" or (data and data.isprintable())
        read.append((at, kind, data))
        last = at
    return read


def shown(recorded: list[tuple[float, str, str]]) -> pyte.Screen:
    """Return what a terminal shows after these events."""
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    for _, kind, data in recorded:
        if kind == "o":
            stream.feed(data)
    return screen


@pytest.mark.parametrize("slug", ["corners", "gallery", "the-edge"])
def test_a_played_cast_ends_with_the_last_screen(slug: str) -> None:
    state = player(slug)
    recorded = events(list(cast(state)))
    last = draw_screen(replace(state, interactive=False).on_key("end"), WIDTH, HEIGHT)
    assert [line.rstrip() for line in shown(recorded).display] == last.text()
    assert (shown(recorded[:-1]).cursor.hidden, shown(recorded).cursor.hidden) == (True, False)
    assert "\x1b[?25l" in recorded[0][2]
    assert recorded[-1][2].endswith("\x1b[?25h")


def test_every_frame_of_a_cast_matches_the_player() -> None:
    state = replace(player("the-edge", 60), playing=True, interactive=False)
    recorded = events(list(cast(state)))
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    outputs = [(at, data) for at, kind, data in recorded if kind == "o"][:-1]
    at = 0.0
    stream.feed(outputs[0][1])
    for when, data in outputs[1:]:
        while round(at / 1000, 3) < when:
            wait = min(state.due or 0, FRAME_MS)
            at, state = at + wait, state.advance(wait)
        stream.feed(data)
        assert [line.rstrip() for line in screen.display] == draw_screen(state, WIDTH, HEIGHT).text()


def test_a_cast_is_deterministic() -> None:
    assert list(cast(player("gallery"))) == list(cast(player("gallery")))


def test_a_cast_marks_cards_home_and_the_end() -> None:
    state = player("the-edge", 60)
    marks = [data for _, kind, data in events(list(cast(state))) if kind == "m"]
    home = [mark for mark in state.track.marks if mark.kind == "home"]
    assert len(marks) == len(home) + 1
    assert marks[0] == "1 of 52"
    assert marks[-1].startswith("resigned ")


def test_speed_and_idle_limit_set_the_length_of_a_cast() -> None:
    log = races_by_hand.running(1, max_racers=1, seed="42")
    for wait in (1_000, 60_000, 1_000):
        log.say(Moved(seat=1, move="draw"), wait)
    state = replace(Player.of(Recording.of(races_by_hand.closed(log).replay())), speed=1.0, pause_ms=2_000)
    assert events(list(cast(state)))[-1][0] == pytest.approx(4.0, abs=0.01)
    assert events(list(cast(replace(state, speed=2.0))))[-1][0] == pytest.approx(3.0, abs=0.01)
    assert events(list(cast(replace(state, skipping=False))))[-1][0] == pytest.approx(62.0, abs=0.01)


def test_a_cast_writes_only_what_changes() -> None:
    first, *others = [data for _, kind, data in events(list(cast(player("corners")))) if kind == "o"]
    assert all("\x1b[2J" not in data for data in others)
    assert sum(map(len, others)) / len(others) < len(first) / 4


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_cannot_move_the_cursor_in_a_cast(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.finished_races.NAMES", (name, "bo", "cy"))
    lines = list(cast(player("corners")))
    for _, _, data in events(lines):
        bare = re.sub(r"\x1b\[[0-9;]*[mHJ]|\x1b\[\?25[hl]", "", data)
        assert bare.isprintable()
    assert json.loads(lines[0])["title"].isprintable()


def test_asciinema_plays_a_cast(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "race.cast"
    assert run("export", file, "-o", path).exit_code == 0
    played = subprocess.run([Path(sys.executable).with_name("asciinema"), "cat", path], capture_output=True, check=True)
    output = "".join(data for _, kind, data in events(path.read_text().splitlines()) if kind == "o")
    assert played.stdout.decode() == output


# Pictures.


def parsed(text: str) -> ET.Element:
    """Parse a picture, and check that it is self-contained."""
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    names = {element.get("id") for element in root.iter()}
    assert set((root.get("aria-labelledby") or "").split()) <= names
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "desc", "style", "g", "rect", "path", "text")
    }
    for element in root.iter():
        for attribute in element.attrib:
            assert not attribute.startswith("on")
            assert "href" not in attribute
    style = "".join(element.text or "" for element in root.iter(f"{SVG}style"))
    assert not re.search(r"url|@import|@font-face|https?:", style)
    return root


@pytest.mark.parametrize("slug", ["corners", "gallery", "the-edge"])
def test_a_picture_is_self_contained_and_describes_the_standings(slug: str) -> None:
    state = player(slug).on_key("end")
    root = parsed(picture_svg(state))
    description = root.findtext(f"{SVG}desc") or ""
    for track in state.recording.tracks:
        result = achieved(slug, track.standing.home, track.standing.goal, track.standing.outcome)
        assert f"{result}, {outcome_phrase(track.standing.outcome)}" in description
    assert (root.findtext(f"{SVG}title") or "").startswith(GAMES[slug].title)
    assert picture_svg(state) == picture_svg(player(slug).on_key("end"))


@pytest.mark.parametrize("slug", ["corners", "gallery", "the-edge"])
def test_a_picture_has_every_text_at_its_position(slug: str) -> None:
    canvas = draw_picture(player(slug).on_key("end"))
    root = parsed(canvas_svg(canvas, "t", "d"))
    grid = [[" "] * canvas.width for _ in range(canvas.height)]
    for element in root.iter(f"{SVG}text"):
        row = round(float(element.get("y") or 0) / 20 - 0.75)
        column = round(float(element.get("x") or 0) / 9)
        text = element.text or ""
        assert float(element.get("textLength") or 0) == 9 * len(text)
        grid[row][column : column + len(text)] = text
    drawn = str.maketrans(dict.fromkeys("─━│┌┐└┘├┤█▒░", " "))
    assert ["".join(row).rstrip() for row in grid] == [line.translate(drawn).rstrip() for line in canvas.text()]


def test_a_picture_of_a_canvas_shows_styles_as_classes() -> None:
    canvas = Canvas(20, 3)
    canvas.write(0, 0, "bold", BOLD)
    canvas.cards(1, 0, "10♥")
    canvas.write(2, 0, "now", Style("bar", reverse=True))
    canvas.write(2, 10, "█░")
    text = canvas_svg(canvas, "t", "d")
    root = parsed(text)
    texts = {element.text: element.get("class") for element in root.iter(f"{SVG}text")}
    assert texts == {"bold": "iplain b", "10": "iheart", "♥": "iheart", "now": "ibar on"}
    assert "prefers-color-scheme:dark" in text
    bars = [element for element in root.iter(f"{SVG}rect") if element.get("x") in ("90", "99")]
    assert [bar.get("fill-opacity") for bar in bars] == [None, "0.2"]


def test_wide_characters_keep_their_width_in_a_picture() -> None:
    canvas = Canvas(20, 1)
    canvas.write(0, canvas.write(0, 0, "名前"), "x")
    texts = {element.text: element for element in parsed(canvas_svg(canvas, "t", "d")).iter(f"{SVG}text")}
    assert texts["名前"].get("textLength") == "36"
    assert texts["x"].get("x") == "36"


def test_a_card_with_a_border_has_a_background() -> None:
    canvas = Canvas(20, 4)
    for row, line in enumerate(("┌a1─┐", "│ 9♥│", "└───┘")):
        canvas.write(row, 2, line)
    cards = [element for element in parsed(canvas_svg(canvas, "t", "d")).iter(f"{SVG}rect") if element.get("rx") == "4"]
    assert [(card.get("x"), card.get("y"), card.get("width"), card.get("height")) for card in cards] == [
        ("22.5", "10", "36", "40")
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_in_a_picture(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.finished_races.NAMES", (name, "bo", "cy"))
    parsed(picture_svg(player().on_key("end")))
    canvas = Canvas(60, 1)
    canvas.write(0, 0, name)
    parsed(canvas_svg(canvas, name, name))


# The command.


def test_export_writes_pictures_and_casts(file: Path, tmp_path: Path) -> None:
    for name in ("race.svg", "race.cast"):
        path = tmp_path / name
        assert run("export", file, "-o", path).exit_code == 0
        assert run("export", file, "--format", path.suffix[1:]).stdout_bytes == path.read_bytes()
    assert "VERIFIED" in (tmp_path / "race.svg").read_text()
    assert "REFUSED" not in (tmp_path / "race.svg").read_text()
    parsed((tmp_path / "race.svg").read_text())
    events((tmp_path / "race.cast").read_text().splitlines())


def test_the_documented_command_makes_the_picture_of_the_readme() -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert "samedeal export docs/race.json --at 0:55 -o docs/race.svg" in (docs / "play" / "replays.md").read_text()
    result = run("export", docs / "race.json", "--at", "0:55", "--format", "svg")
    assert result.stdout == (docs / "race.svg").read_text()
    assert run("verify", docs / "race.json").exit_code == 0


def test_export_shows_the_given_moment_and_racer(file: Path) -> None:
    full = run("export", file, "--format", "svg").stdout
    one = run("export", file, "--format", "svg", "--seat", 2, "--at", "m3").stdout
    assert "The race at 0:" in (parsed(one).findtext(f"{SVG}desc") or "")
    assert len(one) < len(full)
    state = Player.of(Recording.of(finished("corners"))).watch_seat(2)
    assert one == picture_svg(replace(state.step_by(3), outcome="key-unknown"), 1)
    late = run("export", file, "--format", "cast", "--at", "m30").stdout.splitlines()
    assert len(late) < len(run("export", file, "--format", "cast").stdout.splitlines())


def test_a_picture_of_an_invalid_replay_says_refused(tmp_path: Path) -> None:
    replay = finished("corners")
    standings = tuple(structs.replace(standing, home=40) for standing in replay.standings)
    file = written(tmp_path / "race.json", structs.replace(replay, standings=standings))
    assert "REFUSED" in run("export", file, "--format", "svg").stdout


@pytest.mark.parametrize("form", ["svg", "cast"])
def test_a_damaged_replay_cannot_be_drawn(form: str, tmp_path: Path) -> None:
    replay = finished("corners")
    damaged = structs.replace(replay, entries=replay.entries[:-1])
    result = run("export", written(tmp_path / "race.json", damaged), "--format", form)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (5, "", 1)
    log = races_by_hand.opened()
    log.say(Closed(secret=log.race.secret.hex()), 25 * 3_600_000)
    result = run("export", written(tmp_path / "race.json", log.replay()), "--format", form)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--format", "json", "--at", "1:00"], "--at is for cast and svg, not for json"),
        (["--format", "txt", "--seat", "1"], "--seat is for cast and svg, not for txt"),
        (["--format", "svg", "--speed", "2"], "--speed is for cast, not for svg"),
        (["--format", "svg", "--idle-limit", "1s"], "--idle-limit is for cast, not for svg"),
        (["--format", "svg", "--seat", "9"], "nobody played from seat 9"),
        (["--format", "cast", "--at", "m999"], "made 30 moves"),
        (["--format", "cast", "--at", "soon"], "'soon' is not a valid moment"),
    ],
)
def test_export_refuses_options_of_other_formats(words: list[Any], why: str, file: Path) -> None:
    result = run("export", file, *words)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert why in result.stderr


def test_a_long_race_can_be_exported(tmp_path: Path) -> None:
    log = races_by_hand.running(1, max_racers=1, slug="kings-in-the-corners", seed="42")
    for _ in range(120):
        moves = races_by_hand.run_of(log.race).game.moves()
        log.say(Moved(seat=1, move=moves[0] if moves else "restart"), 100)
    replay: Replay = races_by_hand.closed(log).replay()
    file = tmp_path / "race.msgpack"
    file.write_bytes(codec.encode(replay, "msgpack"))
    assert len(events(run("export", file, "--format", "cast").stdout.splitlines())) > 120
