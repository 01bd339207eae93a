"""plumbline serve"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import NamedTuple

import click

from . import base, options
from .base import Program

FILE = click.Path(dir_okay=False, path_type=Path)


class Address(NamedTuple):
    """The place where clients find the server, and by which names."""

    host: str
    port: int
    names: tuple[str, ...]


@base.command("serve", gathers={"address": Address}, takes="db")
@click.option("--host", default="127.0.0.1", help="Address to listen on, or path of a Unix socket.")
@click.option("--port", default=9464, type=options.Count(1, 65535), help="Port to listen on.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    help="A further name by which clients call this server (their Host header).",
)
@click.option(
    "--textfile",
    type=FILE,
    help="Write the metrics to this file for node_exporter, and end.",
)
@click.option(
    "--max-series",
    default=5000,
    type=options.Count(100),
    help="Of more metrics than this, those of the oldest places are left out.",
)
@click.option(
    "--include-simulated", "simulated", is_flag=True, help="Metrics of simulated machines too."
)
def command(
    program: Program,
    address: Address,
    textfile: Path | None,
    max_series: int,
    simulated: bool,
) -> None:
    """Answer /metrics and pages for people from the database.

    At most 64 connections are open at a time; more are answered 503. For TLS and passwords put a
    web server in front of it.

    \b
    Example:
      plumbline serve & curl http://127.0.0.1:9464/metrics
      plumbline serve --textfile /var/lib/prometheus/node-exporter/plumbline.prom
    """
    if textfile is not None:
        _write(program.database, textfile, max_series, simulated=simulated)
        return
    from .serving import ServedSite

    site = ServedSite(program.database, *address, max_series, simulated)
    server = site.server(lambda text: click.echo(f"plumbline: {text}", err=True))
    with contextlib.suppress(KeyboardInterrupt):
        server.run()


def _write(database: Path, textfile: Path, most_series: int, *, simulated: bool) -> None:
    """Write it; what cannot be read is told to Prometheus, and said."""
    from plumbline_db.connection import Database
    from plumbline_exporters import web as node_exporter

    from .serving import collectors

    logging.getLogger("plumbline").disabled = True  # what cannot be read is said once, below
    node_exporter.write(database, textfile, collectors(), most_series, simulated=simulated)
    Database.open(database).close()
