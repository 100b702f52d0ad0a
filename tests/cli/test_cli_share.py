"""``samedeal share`` prints the text that the page shares."""

import asyncio
import json

import pytest

from samedeal.wire import messages as m
from samedeal_cli.failure import Declined
from support.offline_cli import printed
from support.par_requests import finished_race
from support.servers import Server, racers

pytestmark = [pytest.mark.usefixtures("on_live"), pytest.mark.tier(2)]


def share(*args: str) -> str:
    out, err = printed("share", *args)
    assert err == ""
    return out


def test_result_of_a_seat_includes_par_at_once(live: Server) -> None:
    race_id = asyncio.run(finished_race(live, "the-edge", "cli share"))
    text = share(race_id, "--seat", "1")
    assert live.get(f"/api/v1/races/{race_id}/par")[0] == 200, "the command waits for par"
    _, body = live.get(f"/api/v1/races/{race_id}/card.txt?seat=1")
    assert text.encode() == body
    assert share(f"{live.url}/r/{race_id}", "--seat", "1", "--json") == (
        json.dumps({"text": text.rstrip("\n")}, ensure_ascii=False, separators=(",", ":")) + "\n"
    )
    everybody = share(race_id).splitlines()
    assert everybody[0].startswith("Same Deal · The Edge · ")
    assert {"ada", "bo"} <= set(everybody[0].replace(",", "").split())
    assert everybody[1:] == [f"{live.url}/r/{race_id}"]
    assert share(race_id, "--ascii").isascii()


def test_names_from_right_to_left_are_printed_without_control_characters(live: Server) -> None:
    assert share(live.create("corners")).startswith("Same Deal · Corners · race me: 0 of 8 seats taken\n")
    race_id = asyncio.run(resigned(live, "שלום"))
    assert share(race_id).startswith("Same Deal · Corners · שלום 0 of 48\n")


async def resigned(live: Server, name: str) -> str:
    race_id = live.create("corners", seed="1", max_racers=1, start_delay_ms=0)
    async with racers(live, name) as (racer,):
        await racer.begin(race_id)
        await racer.ask(m.Resign)
    return race_id


def test_unknown_races_and_seats_are_refused(live: Server) -> None:
    race_id = live.create("corners")
    for args, text in (([race_id, "--seat", "1"], "Nobody has seat 1"), (["calm-otter-42"], "was not found")):
        assert text in printed("share", *args, code=Declined.exit_code)[1]
