"""Klondike: its rules by position and along random plays, its solver, and its bots' view of the table."""

from collections import Counter
from random import Random

import pytest

from samedeal.cards import BACK, RANKS, SUITS
from samedeal.computer import klondike_bot
from samedeal.computer.bot import Seen
from samedeal.deck import Words
from samedeal.games.klondike import COLUMNS, Klondike
from samedeal.solver.solve import solve
from samedeal.values import replace
from support.positions import position, refusal
from support.random_games import VARIANTS

FOUNDATIONS = ("f1", "f2", "f3", "f4")
variants = pytest.mark.parametrize("variant", [each.values[1] for each in VARIANTS if each.values[0] is Klondike])


def table(text: str, down: str = "0000000", **fields: object) -> Klondike:
    """A position with so many face-down cards in each column."""
    return replace(position(Klondike, text), down=tuple(map(int, down)), **fields)


def up_to(rank: str, foundation: str) -> str:
    suit = SUITS[FOUNDATIONS.index(foundation)]
    return f"{foundation}: {' '.join(each + suit for each in RANKS[: RANKS.index(rank) + 1])}\n"


def test_the_deal_turns_up_the_last_card_of_each_column() -> None:
    deal = Klondike.from_seed("1")
    assert [len(deal.table[column]) for column in COLUMNS] == [1, 2, 3, 4, 5, 6, 7]
    assert all(deal.view()[column].count(BACK) == at for at, column in enumerate(COLUMNS))
    assert deal.view()["stock"] == (BACK,) * 24
    assert (deal.home, deal.notes, deal.hidden["c7"]) == (0, {}, 6)


@pytest.mark.parametrize(
    ("text", "down", "moves"),
    [
        ("c1: 9S 8H 7S\nc2: 9C\nc3: 8D", "1000000", ["c1c2", "c1c3", "c3c2"]),
        ("c1: 2C KS QH\nc2: KH\nc4: QC", "1000000", ["c1c3", "c1c5", "c1c6", "c1c7", "c4c2"]),
        ("c1: QS\nwaste: 3S KD", "0000000", ["wc2", "wc3", "wc4", "wc5", "wc6", "wc7"]),
        (up_to("2", "f1") + "c1: 4D 3H\nc2: 3D", "1000000", ["f1c1", "f1c2"]),
        (up_to("2", "f1") + "c1: 4D 3S\nc2: JC AH", "0000000", ["c1f1", "c2f2", "home"]),
        (up_to("2", "f1") + "waste: 3S\nstock: 9D", "0000000", ["wf1", "draw"]),
    ],
)
def test_moves(text: str, down: str, moves: list[str]) -> None:
    assert [*table(text, down).moves()] == moves


def test_a_run_moves_as_far_as_it_fits_and_uncovers_a_card() -> None:
    start = table("c1: 2C 9H 8S 7D\nc2: 8C\nc3: TS", "1000000")
    part, whole = start.after("c1c2"), start.after("c1c3")
    assert (part.table["c1"], part.table["c2"], part.down[0]) == (("2C", "9H", "8S"), ("8C", "7D"), 1)
    assert (whole.table["c1"], whole.table["c3"], whole.down[0]) == (("2C",), ("TS", "9H", "8S", "7D"), 0)
    assert start.reveals(whole)
    assert not start.reveals(part)


def test_home_sends_safe_cards_up_and_stops_at_a_card_that_it_turns_up() -> None:
    start = table("c1: 2S AS\nc2: 2H AH\nc3: 3H\nc4: 3S\nwaste: AC", "1000000")
    after = start.after("home")
    assert [len(after.table[place]) for place in FOUNDATIONS] == [1, 2, 0, 0]
    assert (after.table["c1"], after.down[0], after.table["waste"]) == (("2S",), 0, ("AC",))
    assert after.after("home").table["c1"] == ()


def test_a_card_is_safe_if_no_lower_card_needs_it() -> None:
    twos = up_to("2", "f1") + up_to("2", "f3")
    assert "home" not in table(twos + up_to("2", "f2") + "c1: 3H\n").moves(), "the 2D could need a black 3, and so a 4"
    assert "home" in table(twos + up_to("2", "f2") + up_to("A", "f4") + "c1: 3H\n").moves()
    assert "home" not in table(up_to("A", "f1") + up_to("2", "f2") + "c1: 3H\n").moves()


def test_draws_turn_three_cards_and_a_redeal_needs_a_play() -> None:
    start = table("stock: 4S 3C 2H 9D\nc1: KS")
    drawn = start.after("draw").after("draw")
    assert start.after("draw").table["waste"] == ("9D", "2H", "3C")
    assert drawn.table["waste"] == ("9D", "2H", "3C", "4S")
    assert refusal(drawn, "redeal") == "The game is stuck."
    played = replace(drawn, played=True)
    assert [*played.moves()] == ["redeal"]
    again = played.after("redeal")
    assert (again.table["stock"], again.passed, again.played) == (start.table["stock"], 2, False)
    assert (start.recalled(), again.recalled()) == ({}, {"stock": start.table["stock"]})
    assert replace(start, draw="1").after("draw").table["waste"] == ("9D",)


@pytest.mark.parametrize(("passes", "redeals"), [("1", 0), ("3", 2), ("unlimited", 9)])
def test_passes_limit_the_redeals(passes: str, redeals: int) -> None:
    at = table("stock: 9D\nc1: KS", passes=passes)
    for number in range(1, 10):
        assert at.notes == ({} if passes == "unlimited" else {"pass": f"{number} of {passes}"})
        at = replace(at.after("draw"), played=True)
        if number > redeals:
            assert at.over
            assert refusal(replace(at, table=at.table.put({"c2": ("QH",)})), "redeal") == (
                f"This is pass {number} of {passes}: there are no more redeals."
            )
            break
        at = at.after("redeal")


BLOCKED = table(up_to("2", "f1") + "c1: 9S 8H\nc2: KC\nc3: 5D\nc4: 4S\nwaste: 6D", "1000000")


@pytest.mark.parametrize(
    ("at", "move", "reason"),
    [
        (BLOCKED, "draw", "The stock is empty."),
        (BLOCKED, "redeal", "You can redeal only if you have played a card in this pass."),
        (BLOCKED, "home", "No last card of a column can safely go home."),
        (BLOCKED, "c5c1", "c5 is empty."),
        (BLOCKED, "c3c1", "No card of c3 goes onto 8H: columns go down in alternating colours, in order."),
        (BLOCKED, "c2c5", "A whole column does not move to an empty one."),
        (BLOCKED, "wc5", "An empty column takes only a king."),
        (BLOCKED, "c1c5", "An empty column takes only a king."),
        (BLOCKED, "c4f1", "4S does not follow 2S."),
        (BLOCKED, "wf4", "6D does not go home yet: foundations start with the ace."),
        (BLOCKED, "wf1", "6D does not belong on f1: each foundation is of one suit."),
        (table("c1: 2S\nc2: 3H\nstock: 9D"), "redeal", "You can redeal only when the stock is empty."),
        (table("c1: 2S\nc2: 3H"), "redeal", "The waste is empty."),
        (table("c1: 2S\nc2: 3H"), "wc1", "The waste is empty."),
    ],
)
def test_refusals(at: Klondike, move: str, reason: str) -> None:
    assert refusal(at, move) == reason


@pytest.mark.parametrize("move", ["w", "c1c1", "f1f2", "wwaste", "c8f1", "c1c2:2", "stock"])
def test_other_texts_are_no_moves(move: str) -> None:
    assert "is not a move in Klondike: " in refusal(BLOCKED, move)


def test_reasons_and_guidance() -> None:
    at = table(up_to("2", "f1") + "c1: 4D 3S\nc2: 2C 9H 8S\nc3: TS\nstock: KD", "0100000")
    assert at.why("c1f1") == "3S follows in its suit."
    assert at.why("c2c3") == "9H goes onto TS: one lower, in the other colour."
    assert at.why("draw") == "You can draw from the stock at any time."
    assert at.why("home") == "These cards are safe: no lower card of the other colour needs them."
    king = table("waste: KD", played=True)
    assert king.why("wc1") == "An empty column takes only a king."
    assert king.why("redeal").startswith("The stock is empty and a card was played")
    assert king.instruction == "Play a card or turn the waste over"
    assert table("stock: KD").instruction == "Nothing can be played: draw"
    assert table("c1: KD").why_over == "Nothing can be played, and there are no more cards to draw"
    assert table("c1: KD").instruction == ""


@variants
@pytest.mark.tier(2)
def test_the_solver_wins_by_the_rules(variant: dict[str, str]) -> None:
    outcomes = Counter(solve(Klondike.from_seed(f"s{seed}", **variant), 300).outcome for seed in range(12))
    assert outcomes["won"] > 2 or variant["passes"] != "unlimited"  # solve plays the lines again


def small(seed: int) -> Klondike:
    """A position late in a play, lost about once in eight times."""
    random = Random(seed)
    height = random.choice((6, 7, 8))
    cards = random.sample(pack := [rank + suit for rank in RANKS[height:] for suit in SUITS], len(pack))
    text = "".join(up_to(RANKS[height - 1], place) for place in FOUNDATIONS)
    sizes = [random.choice((2, 3, 4, 5)) for _ in COLUMNS]
    for column, size in zip(COLUMNS, sizes, strict=True):
        text += f"{column}: {' '.join(cards[:size])}\n"
        cards[:size] = []
    at = table(
        text + f"stock: {' '.join(cards)}", draw=random.choice("31"), passes=random.choice(("unlimited", "3", "1"))
    )
    return replace(at, down=tuple([max(0, len(at.table[column]) - 1) for column in COLUMNS]))


def can_be_won(start: Klondike, limit: int) -> bool | None:
    """Try all moves. Return None after ``limit`` positions."""
    seen, waiting = {_key(start)}, [start]
    while waiting and len(seen) < limit:
        at = waiting.pop()
        if at.won:
            return True
        for after in map(at.after, at.moves()):
            if (key := _key(after)) not in seen:
                seen.add(key)
                waiting.append(after)
    return None if waiting else False


def _key(at: Klondike) -> int:
    columns = sorted(zip(at.down, map(at.table.__getitem__, COLUMNS), strict=True))
    passed = 0 if at.passes == "unlimited" else at.passed
    return hash((tuple(columns), at.table["stock"], at.table["waste"], passed, at.played))


@pytest.mark.tier(3)
def test_proofs_of_loss_agree_with_a_search_of_all_moves() -> None:
    lost = [at for at in map(small, range(120)) if solve(at, 1_000).outcome == "lost"]
    found = [can_be_won(at, 3_000) for at in lost]
    assert True not in found
    assert found.count(False) > 2


def test_bots_see_only_what_is_face_up_or_was_on_the_waste() -> None:
    at = table("c1: 9S 8H\nc2: KC\nstock: 4D", "1000000", passed=2, passes="3")
    seen = klondike_bot.world(Seen.of(at, {"passes": "3"}))
    assert (seen.table["c1"], seen.table["stock"], seen.down[0], seen.passed) == ((BACK, "8H"), ("4D",), 1, 2)
    assert klondike_bot.world(Seen.of(at, {}), ("9S",)).table == at.table


def test_bots_value_moves_that_cannot_be_taken_back() -> None:
    text = up_to("2", "f1") + "c1: 9S 9H 8S\nc2: 9D\nc3: TS\nc4: 4D 3S\nc5: 3D\nc6: 4C\nwaste: 8C\nstock: KD"
    at = table(text, "1000000")
    gains = {move: klondike_bot.gain(at, move) for move in at.moves()}
    order = sorted(gains, key=lambda move: -gains[move])
    assert order[0] == "c1c3"
    assert gains["c1c2"] == gains["f1c5"] == 0
    assert gains["wc2"] > gains["c4f1"] > gains["draw"] > gains["c5c6"] > 0


def test_bots_end_a_play_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    at = table(up_to("2", "f1") + "c1: 3S\nc2: 4S\nc3: 5S")
    assert klondike_bot.played_out(at, Words("any")) == 5
    monkeypatch.setattr(klondike_bot, "_LONGEST", 1)
    assert klondike_bot.played_out(at, Words("any")) == 3
