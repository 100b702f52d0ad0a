"""Bots: they play by the rules, as docs/bots/bots.md specifies, and reproducibly."""

from hashlib import sha256
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from samedeal.cards import BACK, TEN, pack, rank_of
from samedeal.computer import corners_bot
from samedeal.computer.bot import Bot, Seen
from samedeal.computer.bots import BOTS, LEVELS, play, plays
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from samedeal.solver.corner_stones_search import Outlook
from samedeal.solver.solve import solve
from support.positions import position, with_hidden
from support.random_games import BACK_AND_FORTH
from support.vectors import VECTORS

pytestmark = pytest.mark.tier(2)

PAGE = (Path(__file__).parents[2] / "docs" / "bots" / "bots.md").read_text(encoding="utf-8")
PLAYS: list[dict[str, Any]] = VECTORS["plays"]
EVERY_BOT = {bot.name: bot for bot in (*FIRST_BOTS.values(), *BOTS.values())}

every_game = pytest.mark.parametrize("game", [GAMES[slug] for slug in BOTS], ids=BOTS)


def test_every_bot_has_a_version_and_is_documented() -> None:
    assert BOTS.keys() <= GAMES.keys()
    for slug, bot in BOTS.items():
        assert slug not in FIRST_BOTS or FIRST_BOTS[slug].name == f"{slug}-bot/1"
        assert bot.name in (f"{slug}-bot/1", f"{slug}-bot/2")
    for name in EVERY_BOT:
        assert f"`{name}`" in PAGE, f"docs/bots/bots.md does not describe {name}"
    assert {each["bot"] for each in PLAYS} == EVERY_BOT.keys(), "tests/vectors.json has plays of every bot"


@pytest.mark.parametrize("check", PLAYS, ids=lambda check: f"{check['bot']}-{check['deal']}-{check['k']}")
def test_plays_match_the_check_values(check: dict[str, Any]) -> None:
    slug, _, seed = check["deal"].partition(":")
    run = play(GAMES[slug], seed, check["k"], bot=EVERY_BOT[check["bot"]])
    assert (run.bot, run.k) == (check["bot"], check["k"])
    assert " ".join(run.moves[:8]) == check["begins"]
    assert sha256(" ".join(run.moves).encode()).hexdigest()[:16] == check["digest"]
    assert (len(run.moves), run.home, run.won) == (check["moves"], check["home"], check["won"])


@every_game
def test_a_play_is_legal_finite_and_reproducible(game: type[Game]) -> None:
    variant = BOTS[game.slug].variant
    found = [*plays(game, "a", (0, 1))]
    assert [play(game, "a", k) for k in (0, 1)] == found
    for seed, runs in (("a", found), ("b", plays(game, "b", (0, 1)))):
        for run in runs:
            end = game.from_seed(seed, **variant)
            for move in run.moves:
                end = end.after(move)
            assert (end.home, end.won) == (run.home, run.won)
            assert len(run.moves) <= BOTS[game.slug].max_moves
            assert end.over or (game.slug in BACK_AND_FORTH and len(run.moves) == BOTS[game.slug].max_moves)


@every_game
@pytest.mark.tier(3)
def test_plays_with_different_numbers_differ(game: type[Game]) -> None:
    assert len({run.moves for run in plays(game, "a friend", range(8))}) > 1


def test_plays_are_computed_lazily() -> None:
    endless = plays(TheEdge, "1", iter(range(10**12)))
    assert [run.k for run in islice(endless, 2)] == [0, 1]


def test_a_bot_plays_the_variant_of_the_race_except_in_gallery() -> None:
    corners = GAMES["corners"]
    assert play(corners, "4", 0, {"refill": "waste"}) != play(corners, "4", 0)
    assert play(Gallery, "4", 0, {"cap": True}) == play(Gallery, "4", 0, {"cap": False}) == play(Gallery, "4", 0)
    with pytest.raises(ValueError, match="has no variant"):
        play(corners, "4", 0, {"cap": True})


def homes(slug: str, seeds: range, bot: Bot) -> list[int]:
    """Return the cards home in play 0 of some deals."""
    return [play(GAMES[slug], f"m{seed}", 0, bot=bot).home for seed in seeds]


def preferred(start: Game) -> list[Move]:
    return list(FIRST_BOTS[start.slug].strategy(Seen.of(start, {}), "", Words("test")))


def test_larger_groups_are_removed_only_if_nothing_else_can_be_and_nothing_has_been() -> None:
    faces = "a1: KS\na4: KH\nb1: QS\nb4: QH\nc1: QD\nc4: QC\nd1: KD\nd4: KC\na2: JS\n"
    numbers = "b2: 2H\nb3: 2D\nc2: 5S\nc3: 3C\na3: 3D\nd2: 4S\n"
    assert preferred(position(TheEdge, faces + numbers + "d3: 9D\nstock: AS")) == ["a3+c3+d2"]
    assert preferred(position(TheEdge, faces + numbers + "stock: AS")) == ["draw"]


@every_game
def test_a_strategy_does_not_depend_on_cards_that_the_racer_has_not_seen(game: type[Game]) -> None:
    for seed, level in product(("a", "b"), LEVELS.values()):
        at, last, bot = game.from_seed(seed), "", level[game.slug]
        luck = Random(seed)
        for ply in range(40):
            if at.over:
                break
            seen = Seen.of(at, {})
            unknown = [place for place in at.hidden if BACK in seen.table[place]]
            assert all(place in at.recalled() for place, count in at.hidden.items() if count and place not in unknown)
            candidates = bot.strategy(seen, last, Words(f"{ply}"))
            other = with_hidden(at, lambda cards: cards[::-1], unknown)
            assert candidates == bot.strategy(Seen.of(other, {}), last, Words(f"{ply}"))
            assert set(candidates) <= set(at.moves())
            last = luck.choice(candidates)
            at = at.after(last)


@pytest.mark.parametrize("refill", ["stock", "waste"])
def test_corners_bot_plays_out_by_the_rules(refill: str) -> None:
    at: Game = GAMES["corners"].from_seed("7", refill=refill)
    while at.moves() and at.notes["pass"] == "1 of 3":
        at = at.after(at.moves()[0])
    checked = 0
    while at.moves():
        for move, delayed in product(at.moves(), (0, 1, 3)):
            end, number = at.after(move), 0
            while end.moves():
                following = end.moves()[0]
                if following.startswith("r") and following != "redeal" and end.table["stock"]:
                    number += 1
                    following = "draw" if number == delayed else following
                end = end.after(following)
            outlook = corners_bot.Outlook.of(Seen.of(at, {"refill": refill}))
            assert outlook.played_out(move, delayed) == end.home - at.home
            checked += 1
        at = at.after(at.moves()[0])
    assert checked > 50


def test_corner_stones_values_are_the_same_before_and_after_a_move() -> None:
    at = GAMES["corner-stones"].from_seed("5")
    luck = Random(3)
    for _ in range(60):
        if at.over:
            break
        outlook = Outlook.of(at.table)
        for move in at.moves():
            assert outlook.value_after(move, 12) == Outlook.of(at.after(move).table).value(12)
        at = at.after(luck.choice(at.moves()))


@every_game
def test_the_levels_have_names_and_differ_from_beginner_on(game: type[Game]) -> None:
    beginner, regular, expert = (LEVELS[level][game.slug] for level in ("beginner", "regular", "expert"))
    assert regular is BOTS[game.slug]
    assert beginner.name == f"{game.slug}-beginner/1"
    assert expert is regular or expert.name == f"{game.slug}-expert/1"
    assert play(game, "4", 0, bot=beginner) == play(game, "4", 0, bot=beginner) != play(game, "4", 0)


@every_game
@pytest.mark.tier(3)
def test_beginners_bring_fewer_cards_home(game: type[Game]) -> None:
    deals = range(10 if game.slug == "corner-stones" else 100)
    beginner, regular = (sum(homes(game.slug, deals, LEVELS[level][game.slug])) for level in ("beginner", "regular"))
    assert beginner < regular - 1.5 * len(deals)


@pytest.mark.parametrize(("seed", "refill"), [("8", "stock"), ("14", "waste")])
def test_experts_at_corners_begin_a_winning_line_once_they_know_the_stock(seed: str, refill: str) -> None:
    at, differs = GAMES["corners"].from_seed(seed, refill=refill), set[bool]()
    while at.moves():
        seen = Seen.of(at, {"refill": refill})
        expert, regular = (LEVELS[name]["corners"].strategy(seen, "", Words("a")) for name in ("expert", "regular"))
        has_choice = at.notes["pass"] != "1 of 3" and len(at.moves()) > 1
        line = solve(at, 5_000).line if has_choice else ()
        assert list(expert) == list(line[:1] or regular)
        differs.add(list(expert) != list(regular))
        at = at.after(at.moves()[0])
    assert differs == {True, False}


@pytest.mark.parametrize("discarded", [0, 29])  # with 29, the card in hand is the last number
def test_experts_on_the_grid_place_where_most_orders_of_the_coming_cards_fit(discarded: int) -> None:
    centre = "hand: 3S\nb2: 2H\nb3: 2S\nc2: 2D\nc3: 2C\n"
    edge = "a1: 5S\na4: 6S\nd1: 5H\na2: JS\na3: JH\nd2: JC\nb1: 9S\nb4: 8S\nc1: 9H\n"
    numbers = [card for card in pack() if rank_of(card) <= TEN and card not in centre + edge]
    piles = f"discard: {' '.join(numbers[:discarded])}\nstock: JD QS KS QH KH"
    start = position(KingsInTheCorners, centre + edge + piles)
    expert = LEVELS["expert"]["kings-in-the-corners"]
    assert list(expert.strategy(Seen.of(start, {}), "", Words("test"))) == ["d3"]
