"""Matches what a user types with the names of commands, games and settings."""

from collections.abc import Collection, Iterable

from samedeal_cli.failure import Misused

MOST_LISTED = 12
"""How many names an error message lists."""


def named(text: str, names: Collection[str], kind: str) -> str:
    """Return the name that is `text`, or the only one that starts with it, or of which a part does.

    Case does not matter, nor how words are joined: by hyphens, underscores, spaces or nothing. Raises Misused with the
    candidates, the nearest name or, if there are only a few, all names.
    """
    wanted, plain = _plain(text), {name: _plain(name) for name in names}
    found = [name for name in names if wanted and plain[name].replace("-", "") == wanted.replace("-", "")]
    found = found or [name for name in names if plain[name].startswith(wanted)]
    found = found or [name for name in names if f"-{wanted}" in plain[name]]
    if wanted and len(found) == 1:
        return found[0]
    if wanted and found:
        raise Misused(f"ambiguous {kind} {text!r}: {', '.join(found)}")
    from difflib import get_close_matches

    parts = {part: name for name in names for part in name.split("-")} | dict.fromkeys(names, "")
    near = get_close_matches(text.lower(), parts, 1)
    listed = f"; the {kind}s are {', '.join(names)}" if len(names) <= MOST_LISTED else ""
    raise Misused(f"unknown {kind} {text!r}{f'; did you mean {parts[near[0]] or near[0]}?' if near else listed}")


def chosen(text: str, known: Iterable[tuple[str, str]], kind: str) -> str:
    """Return the id of what has this name or id, given the names and ids of all; otherwise, match as ``named`` does."""
    ids = {f"{name} {each}": (name.lower(), each) for name, each in known}
    exact = [each for name, each in ids.values() if text.lower() in (name, each)]
    return exact[0] if len(exact) == 1 else ids[named(text, ids, kind)][1]


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "-").replace("_", "-")
