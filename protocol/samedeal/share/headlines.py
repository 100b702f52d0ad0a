"""Headlines of finished races and matches. clients/web/headlines.js has the same functions with the same results.

Racers *win* races and *solve* deals: the headline is about the race, and the line below it about the deal.
"""

from collections.abc import Sequence

from samedeal.race.standings import Standing
from samedeal.scores.evening import Evening, EveningRow
from samedeal.share.phrases import achieved, duration, ordinal, played_for_score, points


def result_headline(standings: Sequence[Standing], seat: int | None, game: str = "") -> str:
    """Return the result of a finished race in a sentence, for the racer in a seat or, with None, for a spectator.

    For example ``You beat Ben and 2 others!``, ``2nd of 3, behind Ada`` or ``Ada won, ahead of Ben``; for a racer
    without rivals, the result on the deal. `standings` have unique names and are the best first; `game` is the slug.
    """
    racers = [each for each in standings if each.attempts]
    own = next((each for each in standings if each.seat == seat), None)
    if own and not own.attempts:
        return "You did not take part in this race"
    if not racers:
        return "The race is over"
    if len(racers) == 1:
        return _solo_headline(racers[0], game, own=own is not None)
    place = (own or racers[0]).place
    level = [each.name for each in racers if each.place == place and each is not own]
    ahead = [each.name for each in racers if each.place < place]
    behind = [each.name for each in racers if each.place > place]
    if len(level) > (own is None):
        return f"{_named(['You', *level] if own else level)} tied for {ordinal(place)} of {len(racers)}"
    if own is None:
        return f"{level[0]} won, ahead of {_named(behind)}"
    return f"{ordinal(place)} of {len(racers)}, behind {_named(ahead)}" if ahead else f"You beat {_named(behind)}!"


def deal_line(standing: Standing, game: str) -> str:
    """Return a racer's result on the deal, for below the headline: ``Deal: not solved, 15 of 52``."""
    if standing.outcome == "won":
        return f"Deal: solved in {duration(standing.ms)}"
    result = achieved(game, standing.home, standing.goal)
    return f"Deal: {result}" if played_for_score(game) else f"Deal: not solved, {result}"


def match_headline(evening: Evening, best_of: int, race: str, standings: Sequence[Standing], seat: int | None) -> str:
    """Return how a match stands after a race: ``You win the match 2 : 1``, ``Match: Ada leads 1 : 0``.

    It is empty without a match, once the match was won by an earlier race, and while `evening` lacks this race.
    """
    if best_of == 1 or evening.races[-1:] != (race,) or len(evening.table) < 2:
        return ""
    winner = evening.best_of.get(f"{best_of}")
    leader, *others = sorted(evening.table, key=lambda row: (row.player != winner, -row.wins))
    racer = _racer_of(leader, standings)
    reader = racer is not None and racer.seat == seat
    name = racer.name if racer else leader.name
    score = f" {points(leader.points)} : {points(others[0].points)}" if len(others) == 1 else ""
    if winner:
        has_won_now = leader.wins == best_of // 2 + 1 and [each for each in standings if each.place == 1] == [racer]
        return f"{'You win' if reader else f'{name} wins'} the match{score}" if has_won_now else ""
    if leader.wins == others[0].wins:
        return f"Match: tied{score}"
    return f"Match: {'you lead' if reader else f'{name} leads'}{score}"


def _solo_headline(racer: Standing, game: str, *, own: bool) -> str:
    if racer.outcome == "won":
        return f"{'You' if own else racer.name} solved it in {duration(racer.ms)}{'!' if own else ''}"
    result = achieved(game, racer.home, racer.goal)
    if played_for_score(game):
        return result.capitalize() if own else f"{racer.name}: {result}"
    return f"Not solved: {result}" if own else f"{racer.name}: not solved, {result}"


def _named(names: Sequence[str]) -> str:
    """Return names in a sentence: ``Ben``, ``Ben and Cy``, or ``Ben and 2 others``."""
    first, *others = names
    if not others:
        return first
    return f"{first} and {others[0] if len(others) == 1 else f'{len(others)} others'}"


def _racer_of(row: EveningRow, standings: Sequence[Standing]) -> Standing | None:
    """Return the standing of a player of an evening in its newest race, or None if the player was not in it."""
    in_seat = (each for each in standings if each.seat == row.seat)
    return next((each for each in in_seat if each.name.removesuffix(f" #{each.seat}") == row.name), None)
