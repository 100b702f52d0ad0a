"""Actions: what keys do, and how the footer, the command palette and the help name it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from samedeal_cli.render.text_width import cells

State = TypeVar("State")
Result = TypeVar("Result")

KEY_NAMES: Final = {"escape": "Esc", "backspace": "Bksp", "left": "←", "right": "→", "up": "↑", "down": "↓"}


class Entry(NamedTuple):
    """An action as the footer and the command palette show it."""

    key: str
    label: str
    """The text in the footer; empty to leave it out."""
    help: str = ""
    minor: bool = False
    """Whether the footer leaves it out if there is no room for all."""

    @property
    def text(self) -> str:
        """The key and the label as the footer shows them."""
        return f"{key_name(self.key)} {self.label}"


@dataclass(frozen=True, eq=False)
class Action(Generic[State, Result]):
    """Something that keys and the command palette do."""

    keys: str
    """The characters that the keys type, or their names, separated by spaces."""
    label: str | Callable[[State], str]
    help: str
    run: Callable[[State], Result]
    works: Callable[[State], object] = lambda _: True
    minor: bool = False

    def entry(self, state: State) -> Entry:
        """Return the action as the footer and the command palette show it."""
        label = self.label if isinstance(self.label, str) else self.label(state)
        return Entry(self.keys.split()[0], label, self.help, self.minor)


def footer(entries: Sequence[Entry], width: int) -> Sequence[Entry]:
    """Return the entries with a label, without those of minor importance that do not fit."""
    shown = [entry for entry in entries if entry.label and not entry.minor]
    for entry in (entry for entry in entries if entry.label and entry.minor):
        if sum(cells(each.text) + 1 for each in (*shown, entry)) <= width:
            shown.append(entry)
    return sorted(shown, key=entries.index)


def help_rows(actions: Iterable[Action[State, Result]]) -> list[tuple[str, str]]:
    """Return the keys of actions, and what they do."""
    return [(", ".join(map(key_name, action.keys.split())), action.help) for action in actions if action.help]


def key_name(key: str) -> str:
    """Return a key as the footer and the help name it."""
    if key.startswith("ctrl+"):
        return f"^{key[5:].upper()}"
    return KEY_NAMES.get(key) or (key.title() if len(key) > 1 else key)
