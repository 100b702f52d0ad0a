"""Links that several answers of the HTTP interface have."""

from samedeal_server.http.endpoint import V1, Link


def race_links(name: str) -> tuple[Link, ...]:
    """The operations on a race, for an answer that has the race's name at a JSON pointer."""
    of_race = {"race": f"$response.body#{name}"}
    return (
        Link(f"{V1}/replays/{{replay}}", {"replay": of_race["race"]}),
        *(Link(f"{V1}/{path}", of_race) for path in ("races/{race}", "races/{race}/par", "races/{race}/par.svg")),
        *(Link(path, of_race) for path in (f"{V1}/replays/{{race}}/steps", "/r/{race}", "/w/{race}", "/replay/{race}")),
    )
