"""plumbline serve"""

from __future__ import annotations

import contextlib
from ipaddress import ip_address
from pathlib import Path

import click

from . import base
from .base import Program

FILE = click.Path(dir_okay=False, path_type=Path)


@base.command("serve", takes="db")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=9464, type=click.IntRange(1, 65535), help="Port to listen on.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    help="A further name by which clients call this server (their Host header).",
)
@click.option(
    "--web-config",
    type=FILE,
    help="TLS, client certificates, passwords and tokens, as Prometheus' exporters have them.",
)
@click.option(
    "--textfile",
    type=FILE,
    help="Write the metrics to this file for node_exporter, and end.",
)
@click.option(
    "--max-series",
    default=5000,
    type=click.IntRange(100),
    help="Of more metrics than this, those of the oldest places are left out.",
)
def command(
    program: Program,
    host: str,
    port: int,
    names: tuple[str, ...],
    web_config: Path | None,
    textfile: Path | None,
    max_series: int,
) -> None:
    """Answer /metrics and pages for people from the database.

    \b
    Example:
      plumbline serve & curl http://127.0.0.1:9464/metrics
      plumbline serve --textfile /var/lib/prometheus/node-exporter/plumbline.prom
    """
    from plumbline.applied.told import applied
    from plumbline.pages import rooms
    from plumbline_db.connection import Database
    from plumbline_exporters import textfile as node_exporter
    from plumbline_exporters import web
    from plumbline_exporters.access import Access

    path = program.database
    told = web.Metrics({"applied": applied()}, max_series)
    if textfile is not None:
        node_exporter.write(path, textfile, told.more, told.most)
        Database.open(path).close()  # what cannot be read is told to Prometheus, and said
        return
    Database.open(path).close()  # a missing or foreign file is said before anything listens
    access = None if web_config is None else Access(web_config)
    address = web.Address(host, port, names, access)
    click.echo(f"plumbline: {address.url} serves {path}", err=True)
    if not _is_loopback(host) and not (access and access.asks_who):
        click.echo("plumbline: whoever reaches it may read it: --web-config asks who", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        web.serve(path, address, rooms.every(path), told)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
