"""The replay player: which moment of a recording is looked at, and where each key leads from there.

It is pure. Time is told to it (`ticked`), keys are told to it (`pressed`), and each answers with the next state.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from samedeal_cli.commands.timecode import Moment, parse_moment
from samedeal_cli.state.recording import Recording, Step, Track, gap, neighbours

SPEEDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
USUAL_SPEED: Final = 4.0
PAUSE_MS: Final = 2_000
"""How long a pause lasts at most while thinking is skipped, in milliseconds of the onlooker's time."""
LONGEST_TYPED: Final = 12

KEYS: Final[dict[str, str]] = {
    "Space": "play, or pause",
    "← →": "the move before, the next one",
    "↑ ↓": "the next card that came home, the one before",
    "[ ]": "the mark before, the next one",
    "< >": "slower, faster",
    "t": "shorten long pauses, or do not",
    "0-9": "so many tenths of the race",
    "Home End": "the deal, the end of the race",
    "/": "a time or a move: /1:48, /m35",
    "Tab": "the next racer",
    "c": "several racers side by side, or one",
    "?": "these keys",
    "q": "leave",
}
"""What each key does, as the player's help and the manual have it."""


@dataclass(frozen=True)
class Player:
    """A moment of a recording, who is looked at, and how the time goes on."""

    recording: Recording
    n: int
    """How far the log is taken into account. It says more than the time where several things happened at once."""
    at: float = 0.0
    """Milliseconds since the deal."""
    watched: int = 0
    """Which of the recording's tracks is looked at."""
    speed: float = USUAL_SPEED
    pause_ms: int = PAUSE_MS
    playing: bool = False
    skipping: bool = True
    comparing: bool = False
    helping: bool = False
    typed: str | None = None
    """What has been typed after ``/`` so far."""
    note: str = ""
    """What there is to say about the last key."""
    verified: bool | None = None
    """What a verification of the replay has found, as soon as it is known."""
    plain: bool = False
    """Whether only ASCII may be shown."""
    keyed: bool = True
    """Whether there are keys to be pressed; in a picture there are none."""
    left: bool = False

    @classmethod
    def of(cls, recording: Recording, *, watched: int | None = None, plain: bool = False) -> Self:
        """A player at the deal; the best racer is looked at unless it is said who."""
        return cls(recording, recording.dealt_n, watched=recording.first if watched is None else watched, plain=plain)

    # What is looked at.

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
        """Which tracks stand side by side where there is room for so many: the one looked at and its neighbours."""
        count = min(max(1, most), len(self.recording.tracks)) if self.comparing else 1
        start = min(self.watched, len(self.recording.tracks) - count)
        return range(start, start + count)

    # Time.

    def ticked(self, ms: float) -> Self:
        """The player when so many milliseconds have passed for the onlooker."""
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
        """In how many of the onlooker's milliseconds something changes on the table; None if nothing ever will."""
        if not self.playing or self.ended:
            return None
        return (self._gap(self.at)[1] - self.at) / self._rate(self.at)

    def _gap(self, at: float) -> tuple[int, int]:
        times = self.recording.times if self.comparing else self.track.times
        return gap(times, at, self.recording.length)

    def _rate(self, at: float) -> float:
        """How many milliseconds of the race pass in one of the onlooker's."""
        start, end = self._gap(at)
        return max(self.speed, (end - start) / self.pause_ms) if self.skipping and self.pause_ms else self.speed

    # Going somewhere.

    def sought(self, ms: float) -> Self:
        """At a time of the race, or as near to it as there is one."""
        return self._to(min(max(0.0, ms), float(self.recording.length)))

    def went(self, moment: Moment) -> Self:
        """At a moment. Raises ValueError for a move that the racer never made."""
        if moment.move is None:
            return self.sought(moment.ms or 0)
        made = len(self.track.steps) - 1
        if moment.move > made:
            raise ValueError(f"{self.track.standing.name} made {made} moves")
        return self._at(self.track.steps[moment.move].n)

    def stepped(self, by: int) -> Self:
        """So many moves of the racer on, or back."""
        index = self.track.index(self.n) + by
        if index < 0 or index >= len(self.track.steps):
            return self if index < 0 else replace(self, note="that was the last move")
        return self._at(self.track.steps[index].n)

    def _to(self, at: float) -> Self:
        """At a time with all that has come by then."""
        playing = self.playing and at < self.recording.length
        return replace(self, at=at, n=self.recording.number(at), playing=playing)

    def _at(self, n: int) -> Self:
        """Right after an entry of the log."""
        return replace(self, n=n, at=float(self.recording.time(n)))

    def _marked(self, *, home: bool, forward: bool) -> Self:
        """At the next mark of a kind, or the one before."""
        marks = [mark for mark in self.track.marks if (mark.kind == "home") == home]
        now = self.n if forward else max(self.step.n, self.track.ended.n if self.n >= self.track.ended.n else 0)
        before, after = neighbours(marks, now)
        mark = after if forward else before
        if mark is None:
            return replace(self, note="there is none after it" if forward else "there is none before it")
        return self._at(mark.n)

    # Keys.

    def pressed(self, key: str) -> Self:
        """The player after a key: the character that it types, or a name such as ``left``, ``tab`` or ``escape``."""
        if self.typed is not None:
            return self._typed(key)
        quiet = replace(self, note="")
        if self.helping:
            return replace(quiet, helping=False)
        still = replace(quiet, playing=False)
        match key:
            case "space":
                return quiet.sought(0)._playing() if self.ended else replace(quiet, playing=not self.playing)
            case "left":
                return still.stepped(-1)
            case "right":
                return still.stepped(1)
            case "up" | "down":
                return quiet._marked(home=True, forward=key == "up")
            case "[" | "]":
                return quiet._marked(home=False, forward=key == "]")
            case "<" | ">":
                return quiet._paced(key == ">")
            case "t":
                return replace(quiet, skipping=not self.skipping)
            case "home":
                return quiet._at(self.recording.dealt_n)
            case "end":
                return quiet.sought(self.recording.length)
            case "tab" | "shift+tab":
                return replace(quiet, watched=self._next(1 if key == "tab" else -1))
            case "c":
                alone = len(self.recording.tracks) == 1
                return (
                    replace(quiet, note="nobody else raced") if alone else replace(quiet, comparing=not self.comparing)
                )
            case "/":
                return replace(quiet, typed="")
            case "?":
                return replace(quiet, helping=True)
            case "q":
                return replace(quiet, left=True)
            case _ if len(key) == 1 and key in "0123456789":
                return quiet.sought(self.recording.length * int(key) / 10)
            case _:
                return quiet

    def watching(self, seat: int) -> Self:
        """The player that looks at the racer of a seat. Raises ValueError if nobody was dealt to there."""
        index = self.recording.racer(seat)
        if index is None:
            raise ValueError(f"nobody played from seat {seat}")
        return replace(self, watched=index)

    def _playing(self) -> Self:
        return replace(self, playing=True)

    def _paced(self, faster: bool) -> Self:
        speeds = [speed for speed in SPEEDS if (speed > self.speed if faster else speed < self.speed)]
        if not speeds:
            return self
        return replace(self, speed=speeds[0] if faster else speeds[-1])

    def _next(self, by: int) -> int:
        return (self.watched + by) % len(self.recording.tracks)

    def _typed(self, key: str) -> Self:
        typed = self.typed or ""
        if key == "enter":
            closed = replace(self, typed=None, note="")
            if not typed:
                return closed
            try:
                return replace(closed, playing=False).went(parse_moment(typed))
            except ValueError as error:
                return replace(closed, note=str(error))
        if key == "escape" or (key == "backspace" and not typed):
            return replace(self, typed=None)
        if key == "backspace":
            return replace(self, typed=typed[:-1])
        if len(key) == 1 and key.isprintable() and len(typed) < LONGEST_TYPED:
            return replace(self, typed=typed + key)
        return self


def pace(speed: float) -> str:
    """A speed as it is shown: ``½×``, ``4×``."""
    return "½×" if speed == 0.5 else f"{speed:g}×"
