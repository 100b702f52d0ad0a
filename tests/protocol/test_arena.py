"""The arena: offline races, built-in players, and tables of results."""

from collections.abc import Sequence
from math import sqrt

import pytest
from msgspec import structs

from samedeal.arena import players
from samedeal.arena.arena_results import ArenaRace, RacerScore, Z, pair, table, wilson
from samedeal.arena.offline_race import OfflineRace
from samedeal.arena.players import PLAYERS, WORLDS, SolverPlayer, plays
from samedeal.arena.playouts import PLAYOUTS, playouts, unseen_cards
from samedeal.cards import BACK
from samedeal.computer.bot import MAX_ATTEMPTS, Seen
from samedeal.computer.bots import LEVELS
from samedeal.computer.deal_filters import first
from samedeal.deck import Words
from samedeal.errors import IllegalMove, Refused
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.games.corner_stones import CornerStones
from samedeal.games.gallery import Gallery
from samedeal.games.kings_in_the_corners import KingsInTheCorners
from samedeal.games.the_edge import TheEdge
from samedeal.race.run import RESTART, UNDO
from samedeal.race.standings import Standing
from samedeal.race.synthetic_race import TICK_MS
from samedeal.wire.bot_player import RESIGN
from samedeal.wire.views import view
from support.aces_up import AcesUp
from support.positions import on_grid, position


def played(game: str, seed: str, names: Sequence[str], moves: int = 400) -> tuple[OfflineRace, tuple[Standing, ...]]:
    """Play a race between built-in players."""
    race = OfflineRace(GAMES[game], seed, names, moves)
    seated = {seat: PLAYERS[name](name) for seat, name in enumerate(names, start=1)}
    while views := race.next_tick():
        for seat, seen in views.items():
            race.make(seat, seated[seat].choose(seen, race.run(seat)))
    return race, race.close()


# Races.


def test_every_racer_makes_one_move_per_tick() -> None:
    race = OfflineRace(GAMES["corners"], "225", ["ada", "bo"], 5)
    for tick in range(1, 6):
        views = race.next_tick()
        assert [seen.clock_ms for seen in views.values()] == [(6 - tick) * TICK_MS] * 2
        assert {len(race.run(seat).moves) for seat in (1, 2)} == {tick - 1}
        for seat in views:
            race.make(seat, "draw")
    assert race.next_tick() == {}
    standings = race.close()
    assert [(each.name, each.outcome, each.place) for each in standings] == [
        ("ada", "timeout", 1),
        ("bo", "timeout", 1),
    ]
    assert race.race.closed


def test_fewer_moves_place_ahead() -> None:
    race = OfflineRace(GAMES["corners"], "225", ["ada", "bo"], 5)
    for moves in (("draw", "r2"), ("r2", "draw")):
        for seat, move in zip(race.next_tick(), moves, strict=True):
            race.make(seat, move)
    for seat in race.next_tick():
        race.make(seat, RESIGN)
    assert race.next_tick() == {}
    assert [(each.name, each.home, each.ms) for each in race.close()] == [("bo", 1, TICK_MS), ("ada", 1, 2 * TICK_MS)]


def test_rules_undo_and_restart_are_those_of_a_race() -> None:
    race = OfflineRace(GAMES["corners"], "225", ["ada"], 9)
    race.next_tick()
    with pytest.raises(IllegalMove, match="does not follow"):
        race.make(1, "r1")
    with pytest.raises(Refused, match="nothing to undo"):
        race.make(1, UNDO)
    race.make(1, "draw")
    race.next_tick()
    race.make(1, RESTART)
    assert race.run(1).attempts == 2
    assert race.run(1).game == race.run(1).deal


def test_rivals_do_not_change_a_play() -> None:
    alone, _ = played("the-edge", "7", ["greedy"])
    together, _ = played("the-edge", "7", ["greedy", "random"])
    assert list(alone.run(1).moves) == list(together.run(1).moves)


# Players.


@pytest.mark.parametrize("game", GAMES)
def test_plays_are_legal_and_reproducible(game: str) -> None:
    names = ["random", "first", "greedy", LEVELS["regular"][game].name, LEVELS["beginner"][game].name]
    (one, standings), (other, again) = played(game, "3", names), played(game, "3", names)
    assert standings == again
    for seat in range(1, len(names) + 1):
        assert list(one.run(seat).moves) == list(other.run(seat).moves)
        assert one.run(seat).done or len(one.run(seat).moves) == 400
    assert list(one.run(1).moves) != list(one.run(2).moves)


@pytest.mark.parametrize("name", ["playouts", "solver"])
@pytest.mark.parametrize("game", GAMES)
def test_searching_players_make_legal_and_reproducible_moves(
    game: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players, "BUDGETS", dict.fromkeys(players.BUDGETS, 500))
    (one, _), (other, _) = (played(game, "3", [name], 4) for _ in range(2))
    assert list(one.run(1).moves) == list(other.run(1).moves)
    assert len(one.run(1).moves) == 4


def test_players_restart_and_then_resign() -> None:
    race, standings = played("the-edge", "1", ["random"])
    assert [(each.outcome, each.attempts) for each in standings] == [("lost", MAX_ATTEMPTS)]
    assert list(race.run(1).moves).count(RESTART) == MAX_ATTEMPTS - 1


def test_attempts_with_cycles_end() -> None:
    race, _ = played("corner-stones", "3", ["first"], 700)
    assert race.run(1).resigned
    assert len(race.run(1).moves) <= 600


@pytest.mark.parametrize("name", ["random", "first", "greedy", "playouts", "solver"])
@pytest.mark.parametrize("game", [slug for slug, game in GAMES.items() if game.stock])
def test_choices_do_not_depend_on_the_order_of_unseen_cards(game: str, name: str) -> None:
    race = OfflineRace(GAMES[game], "5", ["ada"], 3)
    chosen = []
    for reverse in (False, True):
        run = race.run(1)
        table = run.game.table
        shuffled = structs.replace(run.game, table=table.put({"stock": tuple(sorted(table["stock"], reverse=reverse))}))
        seen = view(race.race, 1, 0, legal=True, header=True)
        chosen.append(PLAYERS[name](name).choose(seen, structs.replace(run, game=shuffled)))
    assert chosen[0] == chosen[1]


def test_solver_remembers_the_cards_of_earlier_attempts() -> None:
    race = OfflineRace(GAMES["corners"], "225", ["ada"], 200)
    player = SolverPlayer("solver")
    for moves in (["draw"] * 10, [RESTART]):
        for move in moves:
            seen = race.next_tick()[1]
            player.choose(seen, race.run(1))
            race.make(1, move)
    dealt = race.run(1).game
    stock = player.remembered(dealt).table["stock"]
    assert stock[-10:] == dealt.table["stock"][-10:]
    assert set(stock[:-10]) == {BACK}
    assert len(stock) == len(dealt.table["stock"])


@pytest.mark.parametrize("slug", ["corners", "the-edge", "kings-in-the-corners", "gallery"])
def test_unseen_cards_are_those_of_the_stock(slug: str) -> None:
    start = GAMES[slug].from_seed("3")
    seen = Seen.of(start, {})
    assert list(unseen_cards(type(start), seen)) == sorted(start.table["stock"])
    assert set(playouts(type(start), seen, "", Words("a"))) <= set(start.moves())


def test_gallery_playouts_play_whatever_can_be_played() -> None:
    """Where no two cards compete for a place, a playout brings home what the rules allow."""
    places = "a1: 2S\nb1: 5S\nb2: 3H\nc1: 8S\nc2: 4D\nt1: 6H\nt2: AS 9H AD\nt3: JS\nstock: KD TD 7D"
    start = position(Gallery, places)
    ends = {PLAYOUTS["gallery"](Seen.of(start, {}))(move, start.table["stock"], Words("a")) for move in start.moves()}
    end: Game = start
    while moves := end.moves():
        end = end.after(moves[0])
    assert ends == {end.home - start.home}


GRID = "KS QS QH KH  JS {} 8S JH  JC 4H 3C JD  KC QC {} {}"
"""Ten face cards in their cells. The cards in b2, c4 and d4 are to be set."""


def test_grid_playouts_end_like_the_game() -> None:
    for c4, d4, hand, stock, edge, kings in (
        ("9S", "9D", "3S", "8D 8C 9H 9C", 3, 0),  # 3S, 3C and 4H can be removed together in The Edge
        ("QD", ".", "9C", "8C 8D KD", 3, 1),  # with all face cards, The Edge is won
    ):
        for game, expected in ((TheEdge, edge), (KingsInTheCorners, kings)):
            assert placed(on_grid(game, GRID.format(".", c4, d4), hand=hand, stock=stock), "b2") == expected


def test_grid_playouts_continue_after_a_removal_and_after_a_draw() -> None:
    full = on_grid(TheEdge, GRID.format("3S", "AS", "9D"), stock="8H 8C 8D KD")
    removed = full.after("b2+b3+c3")
    assert [placed(full, "b2+b3+c3"), placed(removed, "c4+d4"), placed(removed, "draw")] == [4, 4, 0]


def placed(start: Game, move: Move) -> int:
    return PLAYOUTS[start.slug](Seen.of(start, {}))(move, start.table["stock"], Words("a"))


def test_corner_stones_playouts_end_where_no_card_can_be_moved() -> None:
    foundations = "u1: AS\nu2: AH\nu3: AC\nu4: AD\nd1: KS\nd2: KH\nd3: KC\nd4: KD\n"
    start = position(CornerStones, foundations + "l1: 2S 7D\nc1: 6S\nc2: 9S\nc3: JS\nc4: KS")
    assert PLAYOUTS["corner-stones"](Seen.of(start, {}))("l1c1", (), Words("a")) == start.home + 1


def test_solver_searches_a_deal_that_it_knows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[Move, ...]] = [()]
    monkeypatch.setattr(players, "_line", lambda game: lines.pop())  # fails the second time
    race, player = OfflineRace(GAMES["corner-stones"], "7", ["ada"], 4), SolverPlayer("solver")
    for _ in range(2):
        race.make(1, player.choose(race.next_tick()[1], race.run(1)))
        race.next_tick()
        race.make(1, RESTART)
    assert lines == []


def test_solver_plays_a_line_that_it_finds_for_one_order_of_the_unseen_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    race, player = OfflineRace(GAMES["corners"], "225", ["ada"], 9), SolverPlayer("solver")
    for move in ("draw", "draw", "draw", RESTART):
        player.choose(race.next_tick()[1], race.run(1))
        race.make(1, move)
    lines = [(), ("r2", "draw"), *[()] * (WORLDS - 2)]
    monkeypatch.setattr(players, "_line", lambda game: lines.pop(0))
    for expected in ("r2", "draw"):
        assert player.choose(race.next_tick()[1], race.run(1)) == expected
        race.make(1, expected)
    assert lines == []


def test_solver_plays_a_win_once_it_has_seen_all_cards() -> None:
    game = GAMES["corners"]
    seed = f"a.{first(game, 'a', {}, 'friendly/1')}"
    race, standings = played("corners", seed, ["solver"])
    assert standings[0].outcome == "won"
    race = OfflineRace(game, seed, ["ada"], 500)
    player = PLAYERS["solver"]("solver")
    while race.run(1).game.table["stock"]:
        seen = race.next_tick()[1]
        player.choose(seen, race.run(1))
        race.make(1, "draw")
    race.next_tick()
    race.make(1, RESTART)
    while views := race.next_tick():
        race.make(1, player.choose(views[1], race.run(1)))
    assert race.run(1).game.won
    assert race.run(1).attempts == 2


def test_solver_wins_a_game_without_hidden_cards_in_its_first_attempt() -> None:
    race, standings = played("corner-stones", "7", ["solver"])
    assert standings[0].outcome == "won"
    assert race.run(1).attempts == 1


def test_games_that_players_play() -> None:
    for name in PLAYERS:
        games = [game for game in GAMES if plays(name, game)]
        own = [game for game in GAMES if name.startswith((f"{game}-bot/", f"{game}-beginner/", f"{game}-expert/"))]
        assert games == (own or list(GAMES))
    assert [name for name in PLAYERS if plays(name, AcesUp.slug)] == ["random", "first"]
    with pytest.raises(KeyError):
        plays("nobody", "corners")


# Results.


def scores(*places: int) -> ArenaRace:
    racers = (RacerScore(place=place, won=place == 1, home=10 * place, moves=5) for place in places)
    return ArenaRace(deal="corners:1", racers=tuple(racers))


def test_table_of_races() -> None:
    result = table([scores(2, 1, 3), scores(3, 1, 2), scores(1, 1, 3)])
    assert [(row.racer, row.wins, row.solved, round(row.home, 2)) for row in result.rows] == [
        (1, 2, 3, 10),
        (0, 0, 1, 20),
        (2, 0, 0, 26.67),
    ]
    assert [row.matchpoints for row in result.rows] == pytest.approx([5.5 / 6, 2.5 / 6, 1 / 6])
    assert [(each.stronger, each.weaker, each.ahead, each.tied, each.behind) for each in result.pairs] == [
        (1, 0, 2, 1, 0),
        (0, 2, 2, 0, 1),
    ]
    assert result.pairs[0].share == pytest.approx(2.5 / 3)
    assert result.pairs[0].low < 2.5 / 3 < result.pairs[0].high


def test_table_of_one_racer_has_no_pairs() -> None:
    result = table([scores(1)])
    assert [(row.matchpoints, row.wins, row.solved) for row in result.rows] == [(0, 0, 1)]
    assert result.pairs == ()


def test_failed_racers_share_the_last_place() -> None:
    race = OfflineRace(GAMES["corners"], "225", ["ada", "bo", "cy"], 5)
    for seat, move in zip(race.next_tick(), ("r2", "draw", "r2"), strict=True):
        race.make(seat, move)
    for seat in race.next_tick():
        race.make(seat, RESIGN)
    result = ArenaRace.of("corners:225", race.close(), {1: "ended", 3: "ended"}, TICK_MS)
    assert [(racer.place, racer.home, racer.moves, racer.failure) for racer in result.racers] == [
        (2, 1, 1, "ended"),
        (1, 0, 0, None),
        (2, 1, 1, "ended"),
    ]
    assert [row.failures for row in table([result]).rows] == [0, 1, 1]


@pytest.mark.parametrize(("successes", "count"), [(15, 20), (10.5, 20), (0, 10), (10, 10), (1, 1)])
def test_ends_of_wilson_interval_are_z_deviations_from_the_share(successes: float, count: int) -> None:
    share = successes / count
    low, high = wilson(share, count)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= share <= high + 1e-9
    for end in (low, high):
        if end != pytest.approx(share):
            assert abs(share - end) == pytest.approx(Z * sqrt(end * (1 - end) / count))
    assert low < high


def test_pair_of_racers() -> None:
    compared = pair([scores(1, 2), scores(1, 1)], 0, 1)
    assert (compared.ahead, compared.tied, compared.behind, compared.share) == (1, 1, 0, 0.75)
