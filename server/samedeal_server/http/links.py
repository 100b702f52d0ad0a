"""OpenAPI links that several endpoints share."""

from samedeal_server.http.endpoint import V1, Link


def race_links(pointer: str) -> tuple[Link, ...]:
    """Return the operations on a race, for responses with the race's ID at a JSON pointer."""
    of_race = {"race": f"$response.body#{pointer}"}
    return (
        Link(f"{V1}/replays/{{replay}}", {"replay": of_race["race"]}),
        *(Link(f"{V1}/{path}", of_race) for path in ("races/{race}", "races/{race}/par", "races/{race}/par.svg")),
        *(Link(path, of_race) for path in (f"{V1}/replays/{{race}}/steps", "/r/{race}", "/w/{race}", "/replay/{race}")),
    )
