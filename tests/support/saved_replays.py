"""Saved replays and logs, which every version reads and writes byte for byte. These files never change.

``saved/replays-1`` has the first race format; its ``stated-default`` states an option with its default, as servers then
wrote it. Those of later formats have races with what came with them. In ``saved/replays-4``, they are the heats of the
challenge in ``saved/challenge-1.json``, and a race of the club in ``saved/club-1.json``. The keys of the service are
those of ``servers.Server``.
"""

import json
from pathlib import Path

FORMS = ("json", "ndjson", "msgpack")
NUMBERS = (1, 2, 3, 4)
"""The race formats."""
HERE = Path(__file__).parents[1] / "saved"
CHALLENGE, CLUB = HERE / "challenge-1.json", HERE / "club-1.json"


def replay_file(number: int, race: str, form: str) -> Path:
    """Return the path of the saved replay of a race, which is named by what is special about it."""
    return HERE / f"replays-{number}" / f"{race}.{form}"


def replay_bytes(number: int, race: str, form: str) -> bytes:
    """Return a saved replay in a form. The lines are those of the JSON: only one replay of each format is saved so."""
    if form != "ndjson":
        return replay_file(number, race, form).read_bytes()
    parts = json.loads(replay_file(number, race, "json").read_bytes())
    entries = parts.pop("entries")
    head = {name: parts.pop(name) for name in ("format", "header")}
    lines = [json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in (head, *entries, parts)]
    return "".join(f"{line}\n" for line in lines).encode()


def replayed_races(number: int) -> list[str]:
    """Return the names of all saved replays."""
    return sorted(file.stem for file in (HERE / f"replays-{number}").glob("*.json"))


def saved_replays() -> list[tuple[int, str]]:
    """Return the format and the name of every saved replay."""
    return [(number, race) for number in NUMBERS for race in replayed_races(number)]
