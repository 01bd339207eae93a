"""plumbline serve"""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from . import common


@click.command("serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=9464, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    help="A further name by which clients call this server (their Host header).",
)
@common.db_option
def command(host: str, port: int, names: tuple[str, ...], db_path: Path | None) -> None:
    """Answer /metrics, a start page and maps of overlap from the database.

    \b
    Example:
      plumbline serve & curl http://127.0.0.1:9464/metrics
    """
    from plumbline.overlap import pages
    from plumbline_db.connection import Database
    from plumbline_exporters import web

    path = common.database(db_path)
    Database.open(path).close()  # a missing or foreign file is said before anything listens
    click.echo(f"plumbline: {web.url(host, port)} serves {path}", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        web.serve(path, host=host, port=port, more=[pages.pages(path)], names=names)
