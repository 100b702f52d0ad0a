"""Invitations: links, also as QR codes."""

import click

from samedeal_cli.addresses import is_local
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.settings import Settings

qr_option = click.option("--qr", is_flag=True, help="Also show the link as a QR code.")


def explain_link(settings: Settings, link: str, others: str, *, qr: bool) -> None:
    """Say if only this machine can open a link. `others` is what else it would be for. With `qr`, draw it."""
    if is_local(link):
        settings.say(f"Only this machine can open that link; {others}, use samedeal serve --lan")
    if qr:
        click.echo("\n".join(qr_lines(link, ascii=settings.plain, color=settings.colored)), err=True)
