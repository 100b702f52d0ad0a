"""Cards and share texts over HTTP, and the tags with which previews find the card."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import segno

from conftest import kept_store
from samedeal.replays.timeline import steps
from samedeal.share.svg_text import escaped
from samedeal.share.text import pace
from samedeal.wire import messages as m
from samedeal_server.work.png import png
from support.http_api import UNKNOWN, create, problem
from support.logged_server import Answer, LoggedServer, request
from support.par_requests import computed, finished_race
from support.servers import racers, resign_all
from support.timed_server import TimedServer

pytestmark = pytest.mark.tier(2)

PNG = b"\x89PNG\r\n\x1a\n"
PREVIEW = {"User_Agent": "WhatsApp/2.25", "Accept": "*/*"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    folder = tmp_path_factory.mktemp("sharing")
    for url in kept_store(folder / "store"):
        with TimedServer(url, folder, connections_per_address="0").start() as running:
            yield running
            assert running.failures() == []


def card(server: LoggedServer, race_id: str, form: str, **headers: str) -> Answer:
    return request(server, "GET", f"/api/v1/races/{race_id}/card.{form}", None, **headers)


def line(server: LoggedServer, race_id: str, query: str = "") -> str:
    """Return the first line of a share text, whose second line is the link."""
    answer = card(server, race_id, f"txt{query}")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    first, link = answer.body.decode().splitlines()
    assert link == f"{server.url}/r/{race_id}"
    return first


def tags(page: bytes) -> dict[str, str]:
    return dict(re.findall(r'<meta property="([^"]+)" content="([^"]*)">', page.decode()))


async def test_card_follows_the_race(server: TimedServer) -> None:
    server.noon("2027-04-02")
    race_id = server.create("corners", seed="1", start_delay_ms=0)
    for form, media in (("svg", "image/svg+xml"), ("png", "image/png")):
        answer = card(server, race_id, form)
        assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=30")
        assert answer.headers["content-type"].startswith(media)
        assert answer.headers["content-security-policy"] == "default-src 'none'"
    assert b"Race me at Corners" in card(server, race_id, "svg").body
    async with racers(server, "</text>&", "bo") as (ada, bo):
        await ada.join(race_id)
        await bo.join(race_id)
        waiting = card(server, race_id, "svg")
        assert "2 of 8 seats taken" in waiting.body.decode()
        assert [element.text for element in ElementTree.fromstring(waiting.body).iter()].count("</text>&") == 1
        await ada.ask(m.Ready)
        await bo.ask(m.Ready)
        await bo.until(lambda view: view.stage == "running")
        running = card(server, race_id, "svg")
        assert "The race is running" in running.body.decode()
        assert line(server, race_id) == "Same Deal · Corners · the race is running, </text>& and bo"
        await resign_all((ada, bo))
    over = card(server, race_id, "svg")
    assert "The race is over" in over.body.decode()
    picture = card(server, race_id, "png")
    assert picture.body.startswith(PNG)
    assert picture.body[16:24] == (1200).to_bytes(4) + (630).to_bytes(4)
    assert picture.body == png(over.body.decode()), "the picture is drawn from the same card"
    for answer, form in ((over, "svg"), (picture, "png")):
        assert answer.headers["cache-control"] == "public, max-age=30", "until the race is analysed"
        again = card(server, race_id, form, If_None_Match=answer.headers["etag"])
        assert (again.status, again.body) == (304, b"")
    await computed(server, f"/api/v1/races/{race_id}/analysis")
    analysed = card(server, race_id, "svg")
    assert analysed.headers["cache-control"] == "public, max-age=3600"
    texts = [element.text for element in ElementTree.fromstring(analysed.body).iter()]
    assert texts.count("could still have solved it at the end") == 2
    assert len({each.headers["etag"] for each in (waiting, running, over, picture, analysed)}) == 5


@pytest.mark.parametrize(
    "name",
    ["</svg>&<", "مرحبا", "😀👍🏽日本語"],
)
async def test_picture_can_be_drawn_with_any_name(server: TimedServer, name: str) -> None:
    race_id = server.create("corners")
    async with racers(server, name) as (racer,):
        await racer.join(race_id)
        picture = card(server, race_id, "png")
    assert (picture.status, picture.body[:8]) == (200, PNG)


@pytest.mark.parametrize(
    "letters",
    [
        "".join(map(chr, range(0x21, 0x7F))) + "·♠♥♦♣ßŐłșƏảỹ’—…€→★♪",
        "ΑΩαςώᾷАЯаяЁёіїґқ",
        "ԱՖաֆאתשـءيپگაჰ",
    ],
)
def test_fonts_have_the_letters_of_names(letters: str) -> None:
    def drawn(letter: str) -> bytes:
        attributes = 'xmlns="http://www.w3.org/2000/svg" width="40" height="40" font-weight="bold"'
        return png(f'<svg {attributes}><text y="32" font-size="32">{escaped(letter)}</text></svg>')

    box = drawn("日")
    assert [letter for letter in letters if drawn(letter) == box] == []


async def test_hidden_standings_are_not_shared(server: TimedServer) -> None:
    race_id = server.create("corners", seed="2", start_delay_ms=0, max_racers=1, spectators="after")
    async with racers(server, "zerlina") as (racer,):
        await racer.begin(race_id)
        for form in ("svg", "txt"):
            assert b"zerlina" not in card(server, race_id, form).body
        assert b"zerlina" not in request(server, "GET", f"/r/{race_id}", None, **PREVIEW).body
        await racer.ask(m.Resign)
    for form in ("svg", "txt"):
        assert b"zerlina" in card(server, race_id, form).body


@pytest.mark.parametrize("path", ["/r/", "/w/", "/replay/"])
def test_previews_find_the_card(server: TimedServer, path: str) -> None:
    race_id = create(server, game="corners").json["race"]
    page = request(server, "GET", path + race_id, None, **PREVIEW)
    found = tags(page.body)
    image = f"{server.url}/api/v1/races/{race_id}/card.png"
    assert found["og:url"] == f"{server.url}/r/{race_id}"
    assert found["og:image"] == image
    assert (found["og:image:width"], found["og:image:height"]) == ("1200", "630")
    assert found["og:image:alt"] == found["og:description"] == "Corners: 0 of 8 seats taken."
    assert found["twitter:card"] == "summary_large_image"
    assert request(server, "GET", image.removeprefix(server.url)).body.startswith(PNG)
    assert "og:image" not in tags(request(server, "GET", f"/r/{UNKNOWN}", None, **PREVIEW).body)


def test_links_use_the_public_url(tmp_path: Path, redis_url: str) -> None:
    with LoggedServer(redis_url, tmp_path / "log", public_url="https://race.example").start() as public:
        race_id = create(public, game="corners").json["race"]
        found = tags(request(public, "GET", f"/r/{race_id}", None, **PREVIEW).body)
        assert found["og:image"] == f"https://race.example/api/v1/races/{race_id}/card.png"
        assert card(public, race_id, "txt").body.decode().endswith(f"\nhttps://race.example/r/{race_id}\n")


async def test_text_has_pace_and_par_once_the_deal_is_public(server: TimedServer) -> None:
    race_id = await finished_race(server, "corners", "share 1")
    replay = await server.replay(race_id)
    par, _ = await computed(server, f"/api/v1/races/{race_id}/par")
    timeline = steps(replay)
    for standing, racer in zip(replay.standings, par.json["racers"], strict=True):
        assert racer["seat"] == standing.seat
        place = {1: "1st", 2: "2nd"}[standing.place]
        compared = f" · {racer['boast']}" if racer["boast"] else ""
        assert line(server, race_id, f"?seat={standing.seat}") == (
            f"Same Deal · Corners · {place} of 2 · {standing.home} of 48{compared} {pace(timeline, standing.seat)}"
        )
    assert line(server, race_id).startswith(f"Same Deal · Corners · {replay.standings[0].name} ")


async def test_text_says_nothing_about_a_deal_that_is_raced_again(server: TimedServer) -> None:
    """The replay is public, and so is the pace, but par is sealed while a race on the open deal is live."""
    race_id = await finished_race(server, "corners", "share 2")
    server.create("corners", seed="share 2")
    assert "computer" not in line(server, race_id, "?seat=1")


def test_invalid_requests_are_refused(server: TimedServer) -> None:
    race_id = create(server, game="corners").json["race"]
    for form in ("svg", "png", "txt"):
        assert problem(card(server, UNKNOWN, form), "not-found")
    assert problem(card(server, race_id, "txt?seat=1"), "not-found", "seat 1")
    for query in ("seat=0", "seat=x", "sea=1"):
        assert problem(card(server, race_id, f"txt?{query}"), "bad-request")
    assert problem(card(server, race_id, "gif"), "not-found")


def test_the_link_is_a_qr_code_that_a_phone_can_read(server: TimedServer) -> None:
    race_id = create(server, game="corners").json["race"]
    answer = request(server, "GET", f"/api/v1/races/{race_id}/qr.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "public, max-age=86400"
    _, path = ElementTree.fromstring(answer.body)
    modules = {(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", path.attrib["d"])}
    link = segno.make(f"{server.url}/r/{race_id}", error="l", micro=False)
    expected = {(x, y) for y, row in enumerate(link.matrix_iter(border=4)) for x, module in enumerate(row) if module}
    assert modules == expected
    assert problem(request(server, "GET", f"/api/v1/races/{UNKNOWN}/qr.svg"), "not-found")
