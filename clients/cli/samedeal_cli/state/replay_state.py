"""The state of the replay player: the position in a recording, and what time and keys change.

It is immutable: `advance` and `on_key` return the next state.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from samedeal.proof.outcomes import Outcome
from samedeal_cli.commands.timecode import Moment, parse_moment
from samedeal_cli.state.recording import Recording, Step, Track

SPEEDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
USUAL_SPEED: Final = 4.0
PAUSE_MS: Final = 2_000
"""The longest pause while pauses are shortened, in milliseconds of real time."""

KEYS: Final[tuple[tuple[str, str, str], ...]] = (
    ("space", "play", "play, pause"),
    ("right", "move", "next move"),
    ("left", "", "previous move"),
    ("up", "home", "next card home"),
    ("down", "", "previous card home"),
    ("tab", "racer", "next racer"),
    ("shift+tab", "", "previous racer"),
    ("c", "all", "show racers side by side, or one"),
    ("]", "mark", "next mark"),
    ("[", "", "previous mark"),
    (">", "speed", "faster"),
    ("<", "", "slower"),
    ("t", "", "shorten long pauses, or not"),
    ("home", "", "go to the start"),
    ("end", "", "go to the end"),
    ("/", "go to", "go to a time or a move: 1:48, m35"),
    ("?", "help", "help"),
    ("q escape", "quit", "quit, or return to the results"),
)
"""All keys except digits, what the footer says of them, and what the help does."""


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
        return self._at(self.track.steps[moment.move].n)

    def step_by(self, by: int) -> Self:
        """Go some moves of the racer forward or back."""
        index = self.track.index(self.n) + by
        if index < 0 or index >= len(self.track.steps):
            return self if index < 0 else replace(self, note="this is the last move")
        return self._at(self.track.steps[index].n)

    def _to(self, at: float) -> Self:
        """Go to a time, after its entries."""
        playing = self.playing and at < self.recording.length
        return replace(self, at=at, n=self.recording.number(at), playing=playing)

    def _at(self, n: int) -> Self:
        """Go to a log entry."""
        return replace(self, n=n, at=float(self.recording.time(n)))

    def _go_to_mark(self, *, home: bool, forward: bool) -> Self:
        """Go to the next or the previous mark of a kind."""
        marks = [mark for mark in self.track.marks if (mark.kind == "home") == home]
        now = self.n if forward else max(self.step.n, self.track.ended.n if self.n >= self.track.ended.n else 0)
        nearest = (
            [mark for mark in marks if mark.n > now][:1] if forward else [mark for mark in marks if mark.n < now][-1:]
        )
        if not nearest:
            return replace(self, note="no next mark" if forward else "no previous mark")
        return self._at(nearest[0].n)

    # Keys.

    def on_key(self, key: str) -> Self:
        """Handle a key: the character that it types, or a name such as ``left``, ``tab`` or ``escape``."""
        quiet = replace(self, note="")
        paused = replace(quiet, playing=False)
        match key:
            case "space":
                return replace(quiet.seek(0), playing=True) if self.ended else replace(quiet, playing=not self.playing)
            case "left":
                return paused.step_by(-1)
            case "right":
                return paused.step_by(1)
            case "up" | "down":
                return quiet._go_to_mark(home=True, forward=key == "up")
            case "[" | "]":
                return quiet._go_to_mark(home=False, forward=key == "]")
            case "<" | ">":
                return quiet._change_speed(key == ">")
            case "t":
                return replace(quiet, skipping=not self.skipping)
            case "home":
                return quiet._at(self.recording.dealt_n)
            case "end":
                return quiet.seek(self.recording.length)
            case "tab" | "shift+tab":
                return replace(quiet, watched=(self.watched + (1 if key == "tab" else -1)) % len(self.recording.tracks))
            case "c":
                if len(self.recording.tracks) == 1:
                    return replace(quiet, note="there are no other racers")
                return replace(quiet, comparing=not self.comparing)
            case _ if len(key) == 1 and key in "0123456789":
                return quiet.seek(self.recording.length * int(key) / 10)
            case _:
                return quiet

    def watch_seat(self, seat: int) -> Self:
        """Watch the racer of a seat. Raises ValueError if the seat has no table."""
        seats = [track.standing.seat for track in self.recording.tracks]
        if seat not in seats:
            raise ValueError(f"nobody played from seat {seat}")
        return replace(self, watched=seats.index(seat))

    def _change_speed(self, faster: bool) -> Self:
        speeds = [speed for speed in SPEEDS if (speed > self.speed if faster else speed < self.speed)]
        if not speeds:
            return self
        return replace(self, speed=speeds[0] if faster else speeds[-1])

    def go_to_text(self, text: str) -> Self:
        """Go to a typed moment, or say why that is impossible."""
        try:
            return replace(self, playing=False, note="").go_to(parse_moment(text))
        except ValueError as error:
            return replace(self, note=str(error))
