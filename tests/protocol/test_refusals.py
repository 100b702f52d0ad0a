"""Refusals explain the rule and never reveal a legal move, in every game and from many positions."""

import re
from itertools import product
from random import Random

import pytest

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from support.positions import places, refusal

WORDS = ("draw", "deal", "redeal", "w")
NONSENSE = ("", "x", "hint", "z9", "a1+", "L4U4", "?")

every_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


def positions(game: type[Game], seeds: int = 4, most: int = 60) -> list[Game]:
    """Early and late positions of a few random plays."""
    games = []
    for seed in map(str, range(seeds)):
        luck, at = Random(seed), game.from_seed(seed)
        for ply in range(most):
            if at.over:
                break
            if ply % 12 == 0:
                games.append(at)
            at = at.after(luck.choice(at.moves()))
    return games


def written(game: type[Game]) -> set[str]:
    """Texts that might be typed as a move, built from the places of the game."""
    named = [place for place in places(game) if re.fullmatch(r"[a-z]\d", place)]
    pairs = list(product(named, repeat=2))
    return {*named, *WORDS, *(f"{a}-" for a in named), *(a + b for a, b in pairs), *(f"{a}+{b}" for a, b in pairs)}


def told(text: str) -> set[str]:
    """Return the words of a refusal that could be moves or places."""
    return set(re.findall(r"(?<![\w+])(?:[a-z]\d[+-]?)+|\b(?:draw|deal|redeal|w)\b", text))


def test_the_check_finds_moves_in_a_refusal() -> None:
    text = "QD may not lie on b2 but c3, l4u4 would do, a1+b2 too, and c2- or draw; it is drawn."
    assert told(text) == {"b2", "c3", "l4u4", "a1+b2", "c2-", "draw"}


@every_game
def test_a_refusal_does_not_hint_at_other_places_or_moves(game: type[Game]) -> None:
    """Nor does it recommend the place that was typed."""
    looked_at = 0
    for position in positions(game):
        legal = set(position.moves())
        for move in sorted(written(game) - legal):
            text = refusal(position, move)
            if " is not a move in " in text:
                continue
            looked_at += 1
            typed = {move, *re.findall(r"[a-z]\d", move), *re.findall(r"^[a-z]+$", move)}
            assert told(text) <= typed, (move, text)
            assert not told(text) & legal - typed, (move, text)
            assert not re.search(r"\b(try|instead|could|should|would|legal|possible|rather)\b", text)
    assert looked_at > 50


@every_game
def test_the_notation_hint_does_not_depend_on_the_position(game: type[Game]) -> None:
    for move in NONSENSE:
        texts = {refusal(position, move) for position in positions(game)}
        assert len(texts) == 1
        assert " is not a move in " in texts.pop()
