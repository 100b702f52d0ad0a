"""Alterations of the header, the standings, the signature, and of any field."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final

from support.alterations import NotPossible, kind, untimed
from support.replay_writing import DAY_MS, Content, commitment, sign

GAMES: Final = ("corner-stones", "the-edge", "corners", "kings-in-the-corners", "gallery")
FILTERS_2: Final = ("certified/1", "easy/1", "medium/1", "hard/1", "brutal/1")
"""The filters that came with the second format."""
OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "limit_ms": (0, 999, 1000, 1001, 60_000, 7_200_000, 7_200_001, "1000"),
    "max_racers": (0, 1, 2, 3, 8, 9, 32, 33, -1),
    "start_delay_ms": (-1, 0, 1, 4999, 5000, 60_000, 60_001),
    "undo": (False, True, 0, "false"),
    "attempts": (-1, 0, 1, 2, 1000, 1001),
    "spectators": ("progress", "after", "open", "nobody", True),
    "filter": ("any", "friendly/1", *FILTERS_2, "friendly/2", ""),
    "unlisted": (True, False, 1),
    "finishers": ("won", "none", "all", "some", True),
    "best_of": (0, 1, 2, 3, 5, 7, 9, "3"),
}
VARIANTS: Final[tuple[Any, ...]] = (
    *({}, {"cap": False}, {"cap": True}, {"cap": "false"}, {"cap": 0}, {"refill": "waste"}, {"refill": "stock"}),
    *({"refill": "moon"}, {"b": True, "a": "x"}, {"": True}, {"1": True}, {"é": True}, {"__proto__": "x"}, []),
    {"cap": False, "refill": "waste"},
)
GHOSTS: Final[tuple[Any, ...]] = (["a"], ["a", "a"], ["a"] * 8, ["a"] * 9, [], ["A"], "a", {"a": 1}, [1])
OUTCOMES: Final = ("won", "lost", "stuck", "over", "resigned", "timeout", "scratched", "ready", "waiting", "x", "")
SEEDS: Final = ("1", "béla 7", "a|b", "", "x" * 128, "🂡" * 128, "x" * 129, "\x7f", "a\n")
STANDING: Final = ("place", "seat", "home", "goal", "attempts", "ms")
NUMBERS: Final = (0, 1, -1, 2, 48, 52, 2**53 - 1, 2**53, 1 - 2**53)
SHARES: Final = (0.0, 1.0, -0.0, 0.5, 1.5, -0.25, 1 / 3, 1e-5, 1.5e-6, 1e15, 1e16, 1e22, 5e-324, 1.7e308, 0, 1, True)

# The header.


@kind
def the_race_has_another_id(content: Content, random: Random) -> None:
    """The commitment may be one to the secret for this id, but those of seats are not."""
    ids = ("calm-otter-43", "A", "a b", "", "x" * 64, "x" * 65, "x\n", "par-x", "par-")
    content["header"]["race"] = random.choice(ids)
    if random.randrange(2):
        content["header"]["commitment"] = commitment(content["header"], content["entries"][-1][2]["secret"])


@kind
def the_game_is_another(content: Content, random: Random) -> None:
    content["header"]["game"] = game = random.choice((*GAMES, "poker", ""))
    if random.randrange(2):
        content["header"]["rules"] = f"{game}/1"
    if "daily" in content["header"]:
        content["header"]["commitment"] = commitment(content["header"], content["entries"][-1][2]["secret"])


@kind
def the_rules_are_others(content: Content, random: Random) -> None:
    content["header"]["rules"] = random.choice((f"{content['header']['game']}/2", *(f"{game}/1" for game in GAMES), ""))


@kind
def the_variant_is_another(content: Content, random: Random) -> None:
    if content["header"].pop("variant", None) is None or random.randrange(3):
        content["header"]["variant"] = deepcopy(random.choice(VARIANTS))


@kind
def the_seed_is_another(content: Content, random: Random) -> None:
    if content["header"].pop("seed", None) is None or random.randrange(3):
        content["header"]["seed"] = random.choice(SEEDS)


@kind
def the_race_becomes_daily_or_not(content: Content, random: Random) -> None:
    header = content["header"]
    if header.pop("daily", None) is None:
        header["daily"] = random.choice((True, True, True, False))
        if random.randrange(2):
            header.pop("seed", None)
    if random.randrange(3):
        header["commitment"] = commitment(header, content["entries"][-1][2]["secret"])


@kind
def the_salt_is_another(content: Content, random: Random) -> None:
    if content["header"].pop("salt", None) is None or random.randrange(3):
        content["header"]["salt"] = random.choice(("1" * 32, "1" * 31, "", "A" * 32, random.randbytes(16).hex()))


@kind
def the_commitment_is_another(content: Content, random: Random) -> None:
    content["header"]["commitment"] = random.choice((random.randbytes(32).hex(), "0" * 64, "A" * 64, "0" * 63))


@untimed
def the_race_was_opened_at_another_time(content: Content, random: Random) -> None:
    header = content["header"]
    changed = (header["opened_at"] + wait for wait in (-1, 1, 1000, 5000, DAY_MS, -DAY_MS))
    header["opened_at"] = random.choice((*changed, 0, -1, 253_402_300_799_999, 253_402_300_800_000))
    if random.randrange(2) and 0 <= header["opened_at"] < 253_402_300_800_000:
        header["commitment"] = commitment(header, content["entries"][-1][2]["secret"])


@kind
def an_option_is_another(content: Content, random: Random) -> None:
    """Also out of range, unknown, or a default that is spelled out."""
    options, name = content["header"]["options"], random.choice(list(OPTIONS))
    if options.pop(name, None) is None or random.randrange(3):
        options[name] = random.choice(OPTIONS[name])
    _format_fits(content, random)


@kind
def the_race_follows_another_or_none(content: Content, random: Random) -> None:
    """With the format that it needs, or the one before."""
    header = content["header"]
    if header.pop("follows", None) is None or random.randrange(2):
        header["follows"] = random.choice(("first-race", header["race"], "", "A", "x" * 64, "x" * 65, None, 1))
    _format_fits(content, random)


@kind
def there_are_ghosts_or_none(content: Content, random: Random) -> None:
    header = content["header"]
    if header.pop("ghosts", None) is None or random.randrange(2):
        header["ghosts"] = random.choice(GHOSTS)
    _format_fits(content, random)


def _format_fits(content: Content, random: Random) -> None:
    if random.randrange(4):
        header = content["header"]
        options = header["options"]
        new_fields = {"follows", "ghosts"} & set(header) or {"finishers", "best_of"} & set(options)
        uses_2 = bool(new_fields) or options.get("filter") in FILTERS_2
        content["format"] = f"samedeal.replay/{2 if uses_2 else 1}"


@kind
def there_is_a_deal_filter_or_none(content: Content, random: Random) -> None:
    if content["header"]["options"].pop("filter", None) is None:
        content["header"]["options"]["filter"] = random.choice(("friendly/1", *FILTERS_2))
    _format_fits(content, random)


# The standings.


def standing(content: Content, random: Random) -> dict[str, Any]:
    if not content["standings"]:
        raise NotPossible
    one: dict[str, Any] = random.choice(content["standings"])
    return one


@kind
def standings_are_swapped(content: Content, random: Random) -> None:
    random.shuffle(content["standings"])
    if random.randrange(2):
        for place, each in enumerate(content["standings"], start=1):
            each["place"] = place


@kind
def standings_are_missing(content: Content, random: Random) -> None:
    standing(content, random)
    del content["standings"][random.randrange(len(content["standings"])) :]


@kind
def a_standing_is_repeated(content: Content, random: Random) -> None:
    content["standings"].append(dict(standing(content, random)))


@kind
def a_standing_has_another_number(content: Content, random: Random) -> None:
    one, field = standing(content, random), random.choice(STANDING)
    one[field] = random.choice((one[field] + 1, one[field] - 1, *NUMBERS))


@kind
def a_standing_has_another_outcome(content: Content, random: Random) -> None:
    standing(content, random)["outcome"] = random.choice(OUTCOMES)


@kind
def a_standing_has_another_progress(content: Content, random: Random) -> None:
    standing(content, random)["progress"] = random.choice(SHARES)


@kind
def a_standing_has_another_name(content: Content, random: Random) -> None:
    one = standing(content, random)
    one["name"] = random.choice(("", "x" * 49, one["name"] + " ", "🂡"))


@kind
def a_standing_is_not_done_or_of_a_bot(content: Content, random: Random) -> None:
    one, field = standing(content, random), random.choice(("done", "bot"))
    one[field] = not one[field]


# The digest and the signature. Repairing would undo most of these.


@untimed
def the_digest_is_another(content: Content, random: Random) -> None:
    others = (random.randbytes(32).hex(), content["header"]["commitment"], content["digest"].upper(), "0" * 63)
    content["digest"] = random.choice(others)


@kind
def the_value_of_the_signature_is_another(content: Content, random: Random) -> None:
    value = bytearray.fromhex(content["signature"]["value"])
    value[random.randrange(64)] ^= 1 << random.randrange(8)
    content["signature"]["value"] = random.choice((value.hex(), value.hex(), "0" * 128, "0" * 126, "G" * 128))


@kind
def the_key_of_the_signature_is_another(content: Content, random: Random) -> None:
    no_point = (2).to_bytes(32, "little").hex()
    content["signature"]["key"] = random.choice((random.randbytes(32).hex(), no_point, "A" * 64, "0" * 62))


@kind
def another_key_signs(content: Content, random: Random) -> None:
    sign(content, random.randbytes(32))


@kind
def the_signature_is_of_something_else(content: Content, random: Random) -> None:
    """Of another race, of another digest, or of one of the computer's plays."""
    other = {"header": {"race": "other"}, "digest": content["digest"]}
    tag = random.choice(("replay", "play"))
    if random.randrange(2):
        other = {"header": content["header"], "digest": "0" * 64 if tag == "replay" else content["digest"]}
    sign(other, random.randbytes(32), tag)
    content["signature"] = other["signature"]


@kind
def the_format_is_another(content: Content, random: Random) -> None:
    content["format"] = random.choice(
        (
            "samedeal.replay/1",
            "samedeal.replay/2",
            "samedeal.replay/3",
            "samedeal.replay/",
            "samedeal.replay",
            "other",
            "",
            1,
        )
    )


# Any field.


def containers(value: Any) -> Iterator[Any]:
    """Yield all objects and arrays in a content."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from containers(each)


def a_place(content: Content, random: Random) -> tuple[Any, Any]:
    """Return a container and one of its keys."""
    container = random.choice([each for each in containers(content) if each])
    key = random.choice(list(container)) if isinstance(container, dict) else random.randrange(len(container))
    return container, key


@kind
def a_field_is_missing(content: Content, random: Random) -> None:
    container, key = a_place(content, random)
    del container[key]


@kind
def a_field_is_unknown(content: Content, random: Random) -> None:
    container = random.choice(list(containers(content)))
    value: Any = random.choice((None, 0, "", False, {}))
    if isinstance(container, list):
        container.append(value)
    else:
        container[random.choice(("more", "", "by", "k", "bot", "seed", "commitment", "toString", "é"))] = value


@kind
def a_field_has_the_wrong_type(content: Content, random: Random) -> None:
    container, key = a_place(content, random)
    container[key] = random.choice((None, True, 0, 1, -1, 1.5, 2**64, "", "1", [], {}, [1], {"t": "counting"}))


@kind
def fields_have_their_defaults(content: Content, random: Random) -> None:
    header = content["header"]
    entries = [entry[2] for entry in content["entries"]]
    places: list[tuple[dict[str, Any], str, Any]] = [
        (header, "variant", {}),
        (header, "seed", None),
        (header, "daily", False),
        (header, "salt", ""),
    ]
    places += [(event, "k", 0) for event in entries if event["t"] == "dealt"]
    places += [(event, "bot", False) for event in entries if event["t"] == "joined"]
    places += [(event, "by", None) for event in entries if event["t"] in ("joined", "taken")]
    places = [(container, name, value) for container, name, value in places if name not in container]
    container, name, value = random.choice(places)
    container[name] = value
