"""Updates of the race state: what answers and broadcasts of the server change."""

from dataclasses import replace
from typing import Final

import msgspec

from samedeal.analysis.advice import Advice
from samedeal.race.ghosts import Ghost
from samedeal.race.run import RESTART, UNDO
from samedeal.race.standings import Standing
from samedeal.wire.messages import Board, Reaction, View
from samedeal_cli.render.phrases import change_sentence, reaction_phrase, with_unique_names
from samedeal_cli.render.text_table import card_text, with_cards
from samedeal_cli.state.race_news import ghost_news, race_news
from samedeal_cli.state.race_state import NewsItem, Notice, RaceState

MAX_NEWS: Final = 200
CONFETTI_FRAMES: Final = 30
"""For three seconds."""
STAGE_NEWS: Final = {
    "countdown": "everyone is ready",
    "running": "go!",
    "over": "the race is over",
    "cancelled": "the race was cancelled",
}


def move_refused(state: RaceState, reason: str) -> RaceState:
    """Return the state after the server has refused a request."""
    notice = None if state.over else Notice(with_cards(reason), "bad")  # the results page shows that the race is over
    return replace(state, pending=None, queued_keys=(), picks=(), played=None, notice=notice)


def reaction_sent(state: RaceState, reaction: Reaction) -> RaceState:
    """Return the state after a racer's reaction, which is news unless reactions are hidden."""
    standing = next((each for each in state.standings if each.seat == reaction.seat), None)
    if not standing or not state.reactions:
        return state
    text = f"{'you' if standing is state.me else standing.name}: {reaction_phrase(reaction.reaction)}"
    after = replace(state, news=(*state.news, NewsItem(state.elapsed_ms, text))[-MAX_NEWS:])
    return replace(after, notice=Notice(text)) if state.over else after  # the results have no other news


def advised(state: RaceState, advice: Advice, *, hint: bool) -> RaceState:
    """Return the state after advice: a hint with its piles marked or, without `hint`, the verdict on the last move."""
    if not hint or advice.hint is None:
        return replace(state, notice=Notice(advice.text))
    move, rule, why = msgspec.structs.astuple(advice.hint)
    places = state.selection.parse(move).places
    text = with_cards(f"{' '.join(places) or move}: {rule} {why}")
    return replace(state, hinted=places or state.selection.stock_places, notice=Notice(text))


def update(
    state: RaceState,
    view: View,
    standings: tuple[Standing, ...],
    left_ms: int | None,
    ghosts: tuple[Ghost, ...] = (),
) -> RaceState:
    """Return the state after an answer or a broadcast, given the current view, standings, remaining time and ghosts."""
    before, standings = state.view, with_unique_names(standings)
    after = replace(state, view=view, standings=standings, left_ms=left_ms, ghosts=ghosts)
    if before:  # the first snapshot is not news
        old = {standing.seat: standing for standing in state.standings}
        new = {standing.seat: standing for standing in standings}
        slug = state.header.game if state.header else ""
        texts = [
            *race_news(old, new, view.seat, view.levels, slug),
            *(() if after.over else ghost_news(state.ghosts, ghosts, slug)),
        ]
        if before.stage != view.stage and view.stage in STAGE_NEWS and len(standings) > 1:
            texts.append(STAGE_NEWS[view.stage])
        news = (*state.news, *(NewsItem(after.elapsed_ms, text) for text in texts))
        after = replace(after, news=news[-MAX_NEWS:])
        if view.stage != before.stage:
            after = replace(after, notice=None)
        if after.stage == "running" and after.leader != state.leader and after.leader and state.leader:
            after = replace(after, flash=after.animation)
        if before.board and view.board:
            after = _apply_board(state, after, before.board, view.board)
    if after.over and not state.over:
        frames = CONFETTI_FRAMES if before and after.has_won and after.animation else 0
        after = replace(after, pending=None, notice=None, confetti=frames)  # the results page shows it all
    return replace(after, picks=after.picks if after.can_play else ())


def _apply_board(state: RaceState, after: RaceState, old: Board, new: Board) -> RaceState:
    if new.ply != old.ply:
        notice = _notice_after_move(state.pending, old, new)
        fanned = after.game.fanned if after.game else ()
        played = after.played and after.played.answered(old.table, new.table, fanned)
        return replace(after, picks=(), hinted=(), pending=None, played=played, notice=notice)
    return replace(after, pending=None, notice=None) if new.outcome != old.outcome else after


def _notice_after_move(move: str | None, old: Board, new: Board) -> Notice | None:
    if new.attempt != old.attempt:
        return Notice(f"Deal restarted: attempt {new.attempt}. Your best attempt counts.")
    if move is None:
        return None
    if move in (UNDO, RESTART):
        return Notice("Move undone." if move == UNDO else "Back to the deal.", "")
    text = change_sentence(old, new, card_text)
    return Notice(text, "good" if new.home > old.home else "")
