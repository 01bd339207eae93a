"""plumbline serve"""

from __future__ import annotations

import contextlib

import click

from . import base
from .base import Program


@base.command("serve", takes="db")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=9464, type=click.IntRange(1, 65535), help="Port to listen on.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    help="A further name by which clients call this server (their Host header).",
)
def command(program: Program, host: str, port: int, names: tuple[str, ...]) -> None:
    """Answer /metrics, a start page and maps of overlap from the database.

    \b
    Example:
      plumbline serve & curl http://127.0.0.1:9464/metrics
    """
    from plumbline.overlap import pages
    from plumbline_db.connection import Database
    from plumbline_exporters import web

    path = program.database
    Database.open(path).close()  # a missing or foreign file is said before anything listens
    click.echo(f"plumbline: {web.url(host, port)} serves {path}", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        web.serve(path, host=host, port=port, more=[pages.pages(path)], names=names)
