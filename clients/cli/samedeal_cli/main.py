"""The entry point ``samedeal``: loads commands lazily and maps errors to messages and exit codes."""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from io import TextIOWrapper
from typing import Final, NoReturn

import click
from click.shell_completion import CompletionItem

from samedeal.program_start import prepare_process
from samedeal_cli.addresses import is_local
from samedeal_cli.failure import (
    EXIT_CODES,
    INTERRUPTED,
    READER_GONE,
    TERMINATED,
    Declined,
    Failure,
    Misused,
    NotRunning,
)
from samedeal_cli.matching import named
from samedeal_cli.settings import INVALID, check_environment, global_options

GROUPS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Play": {
        "play": ("samedeal_cli.commands.play:play", "Race at once: join an open race, or race a bot."),
        "demo": ("samedeal_cli.commands.demo:demo", "Try everything on a temporary server."),
        "new": ("samedeal_cli.commands.races:new", "Open a race and print the link to share."),
        "join": ("samedeal_cli.commands.play:join", "Join a race and play."),
        "resume": ("samedeal_cli.commands.play:resume", "Return to your running race."),
        "again": ("samedeal_cli.commands.play:again", "Join the rematch of a race, or ask for it."),
        "solo": ("samedeal_cli.commands.play:solo", "Play alone against the clock."),
        "practice": ("samedeal_cli.commands.practice:practice", "Play alone with advice."),
        "race": ("samedeal_cli.commands.play:race", "Race the recorded players of a finished race."),
        "challenge": ("samedeal_cli.commands.challenge:challenge", "Open a challenge, or show one."),
        "club": ("samedeal_cli.commands.club:club", "Race in a club, with tables and ratings."),
        "daily": ("samedeal_cli.commands.daily:daily", "Show a day's deals and their results."),
        "games": ("samedeal_cli.commands.games:games", "List the games."),
        "rules": ("samedeal_cli.commands.games:rules", "Print the rules of a game."),
    },
    "Watch and prove": {
        "watch": ("samedeal_cli.commands.play:watch", "Watch a race."),
        "ls": ("samedeal_cli.commands.races:ls", "List races or replays."),
        "replay": ("samedeal_cli.commands.replays:replay", "Play back a finished race."),
        "verify": ("samedeal_cli.commands.verify:verify", "Check a replay, move by move."),
        "receipts": ("samedeal_cli.commands.verify:receipts", "List or print stored receipts."),
        "table": ("samedeal_cli.commands.table:table", "Print the standings over several races."),
        "par": ("samedeal_cli.commands.par:par", "Compare your results with the computer's on the same deal."),
        "solve": ("samedeal_cli.commands.solve:solve", "Say whether a deal can be solved."),
        "share": ("samedeal_cli.commands.par:share", "Print a race as a line of text and its link."),
        "report": ("samedeal_cli.commands.report:report", "Report a player to the administrators."),
        "export": ("samedeal_cli.commands.replays:export", "Convert a replay to another format."),
        "deal": ("samedeal_cli.commands.replays:deal", "Show the cards of a deal code."),
    },
    "You and your settings": {
        "me": ("samedeal_cli.commands.me:me", "Show your races, best results and streaks."),
        "versus": ("samedeal_cli.commands.me:versus", "Show how you did against another player."),
        "whoami": ("samedeal_cli.commands.devices:whoami", "Show the names you play under."),
        "pass": ("samedeal_cli.commands.devices:pass_code", "Print a code to play on another device."),
        "login": ("samedeal_cli.commands.devices:log_in", "Log in with a code from another device."),
        "logout": ("samedeal_cli.commands.devices:log_out", "Log out and forget a name."),
        "config": ("samedeal_cli.commands.config:config", "Show or change the configuration."),
        "completion": ("samedeal_cli.commands.config:completion", "Print a shell completion script."),
        "doctor": ("samedeal_cli.commands.doctor:doctor", "Check that everything works."),
    },
    "For bots": {
        "bot": ("samedeal_cli.bots.bot:bot", "Let a program play a seat."),
        "arena": ("samedeal_cli.bots.arena:arena", "Race bots against each other without a server."),
    },
    "For operators": {
        "serve": ("samedeal_server.operate.serve:serve", "Run a server."),
        "backup": (
            "samedeal_server.operate.backup_commands:backup",
            "Back up a server's store, and verify the backup.",
        ),
        "restore": ("samedeal_server.operate.backup_commands:restore", "Restore a backup into an empty store."),
        "admin": ("samedeal_server.operate.admin:admin", "Administer a server."),
    },
}
"""The import path and the description of each command, in the groups of ``samedeal --help``."""
OFFLINE: Final = ("demo", "deal", "receipts", "completion", "arena", "serve", "backup", "restore")
"""The commands that use no server, or only one that they start, and whose help leaves out ``--server``."""
ARGUMENTS: Final = f"{__name__}.arguments"
"""The key of the arguments of the program in the context's ``meta``."""
COMMANDS: Final = {name: entry for group in GROUPS.values() for name, entry in group.items()}

EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())


class Main(click.Group):
    """A group that imports commands lazily and never shows tracebacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        taken = {text for option in command.params for text in option.opts}
        options = global_options(hidden=("server",) if cmd_name in OFFLINE else ())
        command.params += [option for option in options if not taken & set(option.opts)]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and not args[0].startswith("-"):
            if "://" in args[0]:
                args = ["join", *args]
            try:
                args = [named(args[0], COMMANDS, "command"), *args[1:]]
            except Misused as misused:
                ctx.fail(misused.message)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from samedeal_cli.config_file import configured, environment_values

        ctx.obj = configured(warns=not ctx.resilient_parsing)  # flags override it
        ctx.meta[ARGUMENTS] = tuple(args)
        if not ctx.resilient_parsing:
            ctx.meta[INVALID] = next(iter(environment_values()[1].values()), None)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items()]
        matching = [command for command in commands if command.value.startswith(incomplete)]
        return matching + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, (_, text) in group.items()])

    def __call__(self, args: Sequence[str] | None = None) -> NoReturn:
        prepare_process()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # some names cannot be encoded
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
        sys.exit(self.exit_code(args))

    def exit_code(self, args: Sequence[str] | None = None) -> int:
        """Run a command, by default with the arguments of the process, and return its exit code."""
        stdout = sys.stdout
        try:
            code = self.main(args, prog_name="samedeal", standalone_mode=False)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except SystemExit as end:
            # click exits like this after a broken pipe, and replaces standard output.
            if sys.stdout is not stdout:
                return _reader_gone()
            return end.code if isinstance(end.code, int) else 1
        except BrokenPipeError:
            return _reader_gone()
        except Exception as error:
            if sys.flags.dev_mode and not isinstance(error, click.ClickException):
                raise
            failure = _failure(error)
            failure.show()
            return failure.exit_code


def _reader_gone() -> int:
    """Discard the remaining output silently."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return READER_GONE


def _failure(error: Exception) -> Failure:
    """Return the failure to show for an error, with advice if it has a usual remedy."""
    if isinstance(error, click.UsageError):
        hint = f" (try: {error.ctx.command_path} --help)" if error.ctx else ""
        return Misused(" ".join(error.format_message().split()).rstrip(".") + hint)
    if isinstance(error, click.ClickException):
        text = error.format_message()
        server, _, why = text.partition(" cannot be reached: ")
        if why == "Connection refused" and is_local(server):
            return NotRunning(server)
        return error if isinstance(error, Failure) else Failure(text)
    from samedeal.errors import Refused

    if isinstance(error, Refused):
        return Declined(error.code, error.text)
    if isinstance(error, OSError):
        return Failure(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    return Failure(f"unexpected {type(error).__name__}: {error} (for a traceback, set PYTHONDEVMODE=1)")


def _show_version(context: click.Context, parameter: click.Parameter, shows_version: bool) -> None:
    if shows_version and not context.resilient_parsing:
        from samedeal.version import VERSION

        click.echo(f"samedeal {VERSION}")
        context.exit()


@click.pass_context
def _without_command(context: click.Context) -> None:
    """Show the home screen, or the help where there is no full screen."""
    if context.invoked_subcommand is not None:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(context.get_help())
        return
    check_environment(context)
    from samedeal_cli.commands.mode import choose_mode

    if choose_mode(None, replace(context.obj, quiet=True)) == "tui":
        from samedeal_cli.commands.start import start

        context.exit(start(context.obj, lambda words: main.exit_code([*context.meta[ARGUMENTS], *words])))
    click.echo(context.get_help())
    choose_mode(None, context.obj)  # says why not


main = Main(
    name="samedeal",
    callback=_without_command,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    help="Race your friends at patience on the same shuffled deck.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    params=[*global_options()],
)
click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)(main)

if __name__ == "__main__":
    main()
