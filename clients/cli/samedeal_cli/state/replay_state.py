"""The state of the replay player: the position in a recording, what time and keys change, and how a replay is opened.

It is immutable: `advance` and `on_key` return the next state.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Self

from samedeal.analysis.analysis import Analysis
from samedeal.analysis.turning_point import TurningPoint, last_line
from samedeal.errors import Refused
from samedeal.game import Move
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import outcome_of, verify
from samedeal.replays.replay import Replay
from samedeal_cli.failure import Misused, Unverified
from samedeal_cli.render.transcript import printable
from samedeal_cli.searches import PublicDeal
from samedeal_cli.state import actions
from samedeal_cli.state.recording import Mark, Recording, Step, Track
from samedeal_cli.timecode import Moment, parse_moment

SPEEDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
USUAL_SPEED: Final = 4.0
PAUSE_MS: Final = 2_000
"""The longest pause while pauses are shortened, in milliseconds of real time."""


@dataclass(frozen=True)
class Player:
    """A position in a recording, the watched racer, and the playback settings."""

    recording: Recording
    n: int
    """The number of the last log entry shown; more precise than the time, as entries can share one."""
    at: float = 0.0
    """Milliseconds since the deal."""
    watched: int = 0
    """The index of the watched track."""
    speed: float = USUAL_SPEED
    pause_ms: int = PAUSE_MS
    playing: bool = False
    skipping: bool = True
    comparing: bool = False
    note: str = ""
    """A message about the last key."""
    outcome: Outcome | None = None
    """The outcome of the verification, or None while that is unknown."""
    analysis: Analysis | None = None
    """The turning points of the race, if they are known."""
    plain: bool = False
    """Whether to show only ASCII."""
    interactive: bool = True
    """Whether there is a footer with keys; pictures and casts have none."""

    @classmethod
    def of(cls, recording: Recording, *, plain: bool = False) -> Self:
        """Return a player at the deal that watches the best racer."""
        return cls(recording, recording.dealt_n, watched=recording.first, plain=plain)

    # Queries.

    @property
    def track(self) -> Track:
        return self.recording.tracks[self.watched]

    @property
    def step(self) -> Step:
        return self.track.step(self.n)

    def turning_point(self, track: Track) -> TurningPoint | None:
        """Return until when a racer could have won, if that is known and the racer did not win."""
        racers = self.analysis.racers if self.analysis else ()
        return next((point for point in racers if point.seat == track.standing.seat), None)

    @property
    def marks(self) -> Sequence[Mark]:
        """The marks of the watched racer, in order."""
        point, steps = self.turning_point(self.track), self.track.steps
        if point is None or point.step is None:
            return self.track.marks
        turn = steps[min(point.step, len(steps) - 1)]
        return sorted([*self.track.marks, Mark(turn.n, turn.at, "turn")], key=lambda mark: mark.n)

    @property
    def ended(self) -> bool:
        return self.at >= self.recording.length

    def shown(self, most: int) -> Sequence[int]:
        """Return the indices of the tracks to show, at most `most`: the watched one and its neighbours."""
        count = min(max(1, most), len(self.recording.tracks)) if self.comparing else 1
        start = min(self.watched, len(self.recording.tracks) - count)
        return range(start, start + count)

    # Time.

    def advance(self, ms: float) -> Self:
        """Return the player after some real time, in milliseconds."""
        if not self.playing:
            return self
        at = self.at
        while ms > 0 and at < self.recording.length:
            end, rate = self._gap(at)[1], self._rate(at)
            due = (end - at) / rate
            at, ms = (float(end), ms - due) if due <= ms else (at + ms * rate, 0)
        return self._to(at)

    @property
    def due(self) -> float | None:
        """The real time until the next move (ms); None while paused and at the end."""
        if not self.playing or self.ended:
            return None
        return (self._gap(self.at)[1] - self.at) / self._rate(self.at)

    def _gap(self, at: float) -> tuple[int, int]:
        """Return the interval around a moment: the last move up to it, and the first after it or the end."""
        times = self.recording.times if self.comparing else self.track.times
        before = bisect_right(times, at)
        return times[max(0, before - 1)], times[before] if before < len(times) else self.recording.length

    def _rate(self, at: float) -> float:
        """Return how many milliseconds of the race pass in one of real time."""
        start, end = self._gap(at)
        return max(self.speed, (end - start) / self.pause_ms) if self.skipping and self.pause_ms else self.speed

    # Seeking.

    def seek(self, ms: float) -> Self:
        """Go to a time since the deal (ms), limited to the race."""
        return self._to(min(max(0.0, ms), float(self.recording.length)))

    def go_to(self, moment: Moment) -> Self:
        """Go to a moment. Raises ValueError if the racer made fewer moves."""
        if moment.move is None:
            return self.seek(moment.ms or 0)
        moves = len(self.track.steps) - 1
        if moment.move > moves:
            raise ValueError(f"{self.track.standing.name} made {moves} moves")
        return self.go_to_entry(self.track.steps[moment.move].n)

    def step_by(self, by: int) -> Self:
        """Pause, and go some moves of the racer forward or back."""
        paused, index = replace(self, playing=False), self.track.index(self.n) + by
        if index < 0 or index >= len(self.track.steps):
            return paused if index < 0 else replace(paused, note="this is the last move")
        return paused.go_to_entry(self.track.steps[index].n)

    def _to(self, at: float) -> Self:
        """Go to a time, after its entries."""
        playing = self.playing and at < self.recording.length
        return replace(self, at=at, n=self.recording.number(at), playing=playing)

    def go_to_entry(self, n: int) -> Self:
        """Go to a log entry."""
        return replace(self, n=n, at=float(self.recording.time(n)))

    def next_mark(self, *, home: bool) -> Self:
        """Go to the next card that goes home, or to the next other mark."""
        later = [mark.n for mark in self.marks if (mark.kind == "home") == home and mark.n > self.n]
        return self.go_to_entry(later[0]) if later else replace(self, note="no next mark")

    def previous_mark(self, *, home: bool) -> Self:
        """Go to the previous card that went home, or to the previous other mark."""
        now = self.track.ended.n if self.n >= self.track.ended.n else self.step.n
        earlier = [mark.n for mark in self.marks if (mark.kind == "home") == home and mark.n < now]
        return self.go_to_entry(earlier[-1]) if earlier else replace(self, note="no previous mark")

    # Keys.

    def on_key(self, key: str) -> "Player":
        """Handle a key: the character that it types, or a name such as ``left``, ``tab`` or ``escape``."""
        quiet = replace(self, note="")
        if key.isdecimal():
            return quiet.seek(self.recording.length * int(key) / 10)
        action = next((action for action in ACTIONS if key in action.keys.split()), None)
        return action.run(quiet) if action else quiet

    def play_or_pause(self) -> Self:
        """Play, from the start if the race has ended, or pause."""
        return replace(self.seek(0), playing=True) if self.ended else replace(self, playing=not self.playing)

    def watch_next(self, by: int) -> Self:
        """Watch the next racer, or with -1 the previous one."""
        return replace(self, watched=(self.watched + by) % len(self.recording.tracks))

    def compare(self) -> Self:
        """Show racers side by side, or one."""
        if len(self.recording.tracks) == 1:
            return replace(self, note="there are no other racers")
        return replace(self, comparing=not self.comparing)

    def watch_seat(self, seat: int) -> Self:
        """Watch the racer of a seat. Raises ValueError if the seat has no table."""
        seats = [track.standing.seat for track in self.recording.tracks]
        if seat not in seats:
            raise ValueError(f"nobody played from seat {seat}")
        return replace(self, watched=seats.index(seat))

    def change_speed(self, by: int) -> Self:
        """Play at the next speed, or with -1 the previous one, if there is one."""
        index = bisect_left(SPEEDS, self.speed) if by < 0 else bisect_right(SPEEDS, self.speed) - 1
        return replace(self, speed=SPEEDS[min(len(SPEEDS) - 1, max(0, index + by))])

    def go_to_text(self, text: str) -> Self:
        """Go to a typed moment, or say why that is impossible."""
        try:
            return replace(self, playing=False, note="").go_to(parse_moment(text))
        except ValueError as error:
            return replace(self, note=str(error))


def _is_race(player: Player) -> bool:
    """Return whether several racers have a table."""
    return len(player.recording.tracks) > 1


Action = actions.Action[Player, Player]
ACTIONS: Final = (
    Action("space", lambda player: "pause" if player.playing else "play", "play, pause", Player.play_or_pause),
    Action("right", "move", "next move", lambda player: player.step_by(1)),
    Action("left", "", "previous move", lambda player: player.step_by(-1)),
    Action("up", "home", "next card home", lambda player: player.next_mark(home=True)),
    Action("down", "", "previous card home", lambda player: player.previous_mark(home=True)),
    Action("tab", "racer", "next racer", lambda player: player.watch_next(1), _is_race),
    Action("shift+tab", "", "previous racer", lambda player: player.watch_next(-1), _is_race),
    Action("c", "all", "show racers side by side, or one", Player.compare, _is_race, minor=True),
    Action("]", "mark", "next mark", lambda player: player.next_mark(home=False), minor=True),
    Action("[", "", "previous mark", lambda player: player.previous_mark(home=False)),
    Action(">", "speed", "faster", lambda player: player.change_speed(1), minor=True),
    Action("<", "", "slower", lambda player: player.change_speed(-1)),
    Action("t", "", "shorten long pauses, or not", lambda player: replace(player, skipping=not player.skipping)),
    Action("home", "", "go to the start", lambda player: player.go_to_entry(player.recording.dealt_n)),
    Action("end", "", "go to the end", lambda player: player.seek(player.recording.length)),
    Action("p", "play on", "play on from here, with undo and advice", lambda player: player, minor=True),
    Action("/", "go to", "go to a time or a move: 1:48, m35", lambda player: player, minor=True),
    Action("?", "help", "help", lambda player: player),
    Action("q escape", "quit", "quit, or return to the results", lambda player: player),
)
"""All keys except digits. The screen itself handles the last four."""


def player_of(
    replay: Replay,
    *,
    seat: int | None = None,
    at: Moment | None = None,
    speed: float | None = None,
    pause_ms: int = PAUSE_MS,
    plain: bool = False,
) -> Player:
    """Return a player of a replay at a moment, by default at the deal or, with speed 0, at the end.

    Raises Unverified if the log is invalid, and Misused if the seat or the move does not exist.
    """
    try:
        with unverified_if_refused():
            recording = Recording.of(replay)
        player = replace(Player.of(recording, plain=plain), speed=speed or USUAL_SPEED, pause_ms=pause_ms)
        player = player if seat is None else player.watch_seat(seat)
        if at is not None:
            return player.go_to(at)
        return player.on_key("end") if speed == 0 else player
    except (LookupError, ValueError) as error:
        raise Misused(printable(str(error))) from error


@contextmanager
def unverified_if_refused() -> Iterator[None]:
    """Raise Unverified instead of Refused, for an invalid log."""
    try:
        yield
    except Refused as refused:
        raise Unverified(f"{printable(refused.text).rstrip('.')} (samedeal verify shows details)") from refused


def outcome(replay: Replay, keys: Collection[str]) -> Outcome:
    """Verify a replay; if there are known keys, it must be signed with one of them."""
    return outcome_of(verify(replay, keys), key_known=bool(keys))


def position_of(player: Player) -> tuple[PublicDeal, tuple[Move, ...]]:
    """Return the deal of a recording, and the moves to the watched racer's table, without those that were undone."""
    header, steps = player.recording.header, player.track.steps[: player.track.index(player.n) + 1]
    deal = PublicDeal(header.game, player.recording.deal.partition(":")[2], dict(header.variant))
    return deal, last_line(steps[0].game, [step.move for step in steps[1:]])[-1].moves
