"""The full screen in tests: the app with a race, and the text on its screen."""

from io import StringIO
from typing import Any

from rich.console import Console
from textual.app import App
from textual.widgets import OptionList

from samedeal_cli.screen.app import FullScreen
from samedeal_cli.screen.canvas_widget import CanvasWidget
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.state.race_state import RaceState


class RaceApp(FullScreen):
    """The app with a race."""

    def __init__(self, race: RaceScreen) -> None:
        super().__init__(race)
        self.race = race

    @property
    def state(self) -> RaceState:
        return self.race.state

    @property
    def widget(self) -> CanvasWidget:
        return self.race.widget

    @property
    def failure(self) -> BaseException | None:
        return self.race.failure

    @property
    def dialog(self) -> str:
        """The name of the open dialog's class; empty without one."""
        return "" if self.screen is self.race else type(self.screen).__name__

    def choose(self, text: str) -> None:
        """Choose an option of the open dialog."""
        options = self.screen.query_one(OptionList)
        options.highlighted = next(at for at, each in enumerate(options.options) if text in str(each.prompt))
        options.action_select()


def shown(app: App[Any]) -> str:
    """Return the text on the screen, with dialogs and the footer."""
    width, height = app.size
    console = Console(width=width, height=height, file=StringIO(), force_terminal=True, record=True)
    console.print(app.screen._compositor.render_update(full=True, screen_stack=app._background_screens))
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())
