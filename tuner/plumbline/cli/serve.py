"""plumbline serve, and the same server beside the daemon (`plumbline watch`)."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from . import base, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.daemon.configuration import DaemonConfiguration, Serve
    from plumbline_exporters import web
    from plumbline_exporters.metrics.scrape import Collect

FILE = click.Path(dir_okay=False, path_type=Path)


class ListenOptions(NamedTuple):
    """The place where clients find the server, and by which names."""

    listen: str
    names: tuple[str, ...]


@base.command("serve", gathers={"address": ListenOptions}, takes="db")
@click.option(
    "--listen",
    default="127.0.0.1:9464",
    metavar="HOST:PORT|SOCKET",
    help="Address to listen on, or path of a Unix socket.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    help="A further name by which clients call this server (their Host header).",
)
@click.option(
    "--textfile", type=FILE, help="Write the metrics to this file for node_exporter, and end."
)
@click.option(
    "--max-series",
    default=5000,
    type=options.CountType(100),
    help="Of more metrics than this, those of the oldest places are left out.",
)
@click.option(
    "--include-simulated", "simulated", is_flag=True, help="Metrics of simulated machines too."
)
def command(
    program: ProgramOptions,
    address: ListenOptions,
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
    from plumbline.daemon.configuration import listened

    host, port = listened(address.listen)
    site = ServedSite(program.database, host, port, address.names, max_series, simulated)
    server = site.server(lambda text: click.echo(f"plumbline: {text}", err=True))
    with contextlib.suppress(KeyboardInterrupt):
        server.run()


def _write(database: Path, textfile: Path, most_series: int, *, simulated: bool) -> None:
    """Write it; what cannot be read is told to Prometheus, and said."""
    from plumbline_db.connection import Database
    from plumbline_exporters.metrics.scrape import write_textfile

    logging.getLogger("plumbline").disabled = True  # what cannot be read is said once, below
    write_textfile(database, textfile, collectors(), most_series, simulated=simulated)
    Database.open(database).close()


Say = Callable[[str], None]


class ServedSite(NamedTuple):
    """The site that is served, and where: `host` may be the path of a Unix socket; `names` are
    further ones by which clients call this server. `simulated`: /metrics has simulated machines
    too."""

    database: Path
    host: str
    port: int
    names: tuple[str, ...] = ()
    most_series: int = 5000
    simulated: bool = False

    def server(self, say: Say) -> web.Server:
        """Return a server that listens already. Raises PlumblineError for the database or the
        address."""
        from plumbline.pages import routes
        from plumbline_db.connection import Database
        from plumbline_exporters import web

        Database.open(self.database).close()  # a missing or foreign file is said first
        address = web.Address(self.host, self.port, self.names)
        metrics = web.Metrics(collectors(), self.most_series, self.simulated)
        server = web.Server(self.database, address, routes.all_pages(self.database), metrics)
        say(f"{address.url} serves {self.database}")
        if not address.is_socket and not _is_loopback(self.host):
            say("everybody who can reach it can read it: put a web server with passwords before it")
        return server


def collectors() -> Mapping[str, Collect]:
    """Return the collectors of other packages than the exporters."""
    from plumbline.applied.standing import applied_metrics
    from plumbline.results.guideline_names import guideline_names

    return {"applied": applied_metrics(), "guideline_names": guideline_names}


class ServerThread:
    """The daemon's: in a thread that ends with the process."""

    def __init__(self, database: Path, say: Say) -> None:
        self._database = database
        self._say = say
        self._table: Serve | None = None

    def begin(self, configuration: DaemonConfiguration) -> None:
        """Raises PlumblineError where it cannot listen."""

        from plumbline.daemon.configuration import listened

        self._table = table = configuration.serve
        if not table.listen:
            return
        from plumbline_db.connection import Database

        Database.open(self._database, write=True).close()  # there from the first start on
        host, port = listened(table.listen)
        site = ServedSite(self._database, host, port, table.allow_hosts, table.max_series)
        server = site.server(self._say)
        threading.Thread(target=server.run, name="web", daemon=True).start()

    def renew(self, configuration: DaemonConfiguration) -> None:
        """Report a change of the table: it waits for the next start."""
        if configuration.serve != self._table:
            self._say("[serve] was changed: restart plumbline watch to apply it")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
