"""Schemathesis tests the server against its OpenAPI document, with all checks and phases.

FUZZ_EXAMPLES is the number of generated requests for each operation (``make fuzz``).
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from samedeal.wire import messages as m
from support.club_servers import found
from support.contests import guest, open_contest
from support.logged_server import LoggedServer, request
from support.servers import racers
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(3)

SETTINGS = {"metrics": "on"}

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "10"))
CONFIG = """
request-timeout = {limit_s}

[checks]  # A list of 65 invalid values is too large.
max_response_time = {limit_s}
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]

[dictionaries]
races.values = {races}
replays.values = {replays}
players.values = {players}
challenges.values = {challenges}
clubs.values = {clubs}
others.values = {others}
seeds.values = ["7", "a/b"]

[parameters]
"path.race" = {{ dictionary = "races", probability = 0.8 }}
"path.player" = {{ dictionary = "players", probability = 0.8 }}
"path.other" = {{ dictionary = "others", probability = 0.8 }}
"path.challenge" = {{ dictionary = "challenges", probability = 0.8 }}
"path.club" = {{ dictionary = "clubs", probability = 0.8 }}
"path.replay" = {{ dictionary = "replays", probability = 0.8 }}
"path.seed" = {{ dictionary = "seeds", probability = 0.8 }}

[phases.stateful.inference]  # Only the links of the document: a challenge does not exist before its creator's nonce.
algorithms = []

[warnings]
fail-on = ["missing_deserializer"]

[[operations]]  # A replay may match its schema but not be canonical. Each verification starts a process.
include-name = "POST /api/v1/verify"
checks.positive_data_acceptance.expected-statuses = [200, 422]
phases.coverage.enabled = {full}
generation.max-examples = {few}

[[operations]]  # A name may match its schema and contain characters that deceive readers, or be refused by the server.
include-name = "POST /api/v1/guests"
checks.positive_data_acceptance.expected-statuses = [201, 400, 403]
checks.negative_data_rejection.expected-statuses = [400, 413]

[[operations]]
include-name = "POST /api/v1/guests/pass"
headers = {{ Authorization = "Bearer {token}" }}

[[operations]]  # A report has either a seat or a player.
include-name = "POST /api/v1/reports"
checks.positive_data_acceptance.expected-statuses = [201, 400, 401, 404]

[[operations]]
include-name = "POST /api/v1/challenges"
headers = {{ Authorization = "Bearer {token}" }}

[[operations]]  # A server may refuse a name, and a club what its guests are not allowed to do or do too often.
include-path-regex = "/api/v1/clubs"
headers = {{ Authorization = "Bearer {token}" }}
checks.positive_data_acceptance.expected-statuses = [200, 201, 204, 400, 401, 403, 404, 409, 429]

[[operations]]
include-name = "POST /api/v1/guests/logout"
headers = {{ Authorization = "Bearer sd_unknown" }}

[[operations]]  # It ends with the race, and most races here never start. test_events.py tests it.
include-name = "{events}"
enabled = false
"""
"""The configuration of schemathesis. Most races and players in its requests exist; most deals for par are the same.
Login codes are created with the token of a guest."""
EVENTS = "GET /api/v1/races/{race}/events"


@pytest.fixture(scope="module")
def http(server: LoggedServer) -> dict[str, Any]:
    document: dict[str, Any] = request(server, "GET", "/openapi.json").json
    return document


class Known(NamedTuple):
    """What most requests are about."""

    races: list[str]
    """The IDs of an open race and a finished race."""
    challenges: list[str]
    """The ID of an open challenge."""
    clubs: list[str]
    """The ID of a club."""
    players: list[str]
    """The public ID of a player."""
    others: list[str]
    """The public ID of a player who raced against that one."""


@pytest.fixture(scope="module")
def known(server: LoggedServer, token: str) -> Known:
    async def finish() -> Known:
        challenge = open_contest(server, ["gallery"], guest(server, "cy")[0], unlisted=False)
        race_id = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
        async with racers(server, "ada", "bo") as both:
            for racer in both:
                await racer.join(race_id)
                await racer.ask(m.Ready)
            for racer in both:
                await racer.until(lambda view: view.stage == "running")
                await racer.ask(m.Resign)
            await server.replay(race_id)
            ada, bo = both
            clubs = [found(server, token).club]
            return Known([server.create("gallery"), race_id], [challenge.id], clubs, [ada.player], [bo.player])

    return asyncio.run(finish())


@pytest.fixture(scope="module")
def token(server: LoggedServer) -> str:
    """The token of a guest."""

    async def token() -> str:
        async with racers(server, "bo") as (bo,):
            return bo.token or ""

    return asyncio.run(token())


class Schemathesis:
    """Runs schemathesis with all its checks against a server."""

    def __init__(self, server: LoggedServer, known: Known, token: str, directory: Path) -> None:
        self._url, self._directory = server.url, directory
        replays = [f"{known.races[1]}{suffix}" for suffix in ("", ".msgpack", ".ndjson")]
        full = "true" if EXAMPLES > 100 else "false"
        (directory / "config.toml").write_text(
            CONFIG.format(
                **known._asdict(),
                replays=replays,
                token=token,
                events=EVENTS,
                full=full,
                few=EXAMPLES // 5,
                limit_s=LIMIT_S,
            )
        )

    def run(self, document: dict[str, Any], *options: str) -> dict[str, Any]:
        """Run it with a document and return its report. Runs are deterministic."""
        (self._directory / "openapi.json").write_text(json.dumps(document))
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "config.toml", "run", "openapi.json"]
        command += ["--url", self._url, "--checks", "all", "--generation-deterministic", "--continue-on-failure"]
        command += ["--report", "json", "--report-json-path", "report.json", *options]
        path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(Path(__file__).parents[1])])
        environment = os.environ | {"PYTHONPATH": path, "SCHEMATHESIS_HOOKS": "support.media_types"}
        done = subprocess.run(command, cwd=self._directory, env=environment, capture_output=True, text=True)
        report: dict[str, Any] = json.loads((self._directory / "report.json").read_text())
        return report | {"output": done.stdout + done.stderr}


@pytest.fixture
def tool(server: LoggedServer, known: Known, token: str, tmp_path: Path) -> Schemathesis:
    return Schemathesis(server, known, token, tmp_path)


@pytest.mark.timeout(1800 if EXAMPLES <= 10 else 0)
def test_schemathesis_passes_for_the_document(tool: Schemathesis, http: dict[str, Any]) -> None:
    report = tool.run(http, "--mode", "all", "--max-examples", f"{EXAMPLES}")
    assert report["exit_code"] == 0, report["output"]
    operations = {f"{method.upper()} {path}" for path, methods in http["paths"].items() for method in methods}
    assert report["operations"]["tested"] == len(operations - {EVENTS})
    assert {name: phase["status"] for name, phase in report["phases"].items()} == {
        "examples": "skip",  # the document has none
        "coverage": "success",
        "fuzzing": "success",
        "stateful": "success",
    }
    accepted = {name for name, phases in report["valid_rates"].items() if any(p["accepted"] for p in phases.values())}
    operations = {f"{method.upper()} {path}" for path, methods in http["paths"].items() for method in methods}
    # Par and analysis are refused if too many deals are waiting, and no other login codes are valid than those of the
    # stateful phase. A report needs a race and somebody else's seat in it, challenges their creator or their end, and a
    # club another member.
    needy = {"PUT /api/v1/challenges/{challenge}/nonce", "GET /api/v1/challenges/{challenge}/log"}
    needy |= {"POST /api/v1/guests/login", "POST /api/v1/reports", "DELETE /api/v1/clubs/{club}/members/{player}"}
    operations -= {EVENTS, *needy}
    queued = ("/deals/", "/analysis", "/solutions/")
    assert {name for name in operations if not any(part in name for part in queued)} <= accepted
