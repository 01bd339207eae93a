"""The pages and metrics of one database over HTTP: alone (`plumbline serve`) or beside the daemon
(`plumbline watch`), with the same addresses and names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from plumbline.daemon.configuration import Configuration, Serve
    from plumbline_exporters import web
    from plumbline_exporters.metrics.scrape import Collect

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
    """Return those of other rooms than the exporters'."""
    from plumbline.applied.standing import applied_metrics
    from plumbline.results.told import guideline_names

    return {"applied": applied_metrics(), "guideline_names": guideline_names}


class Beside:
    """The daemon's: in a thread that ends with the process."""

    def __init__(self, database: Path, say: Say) -> None:
        self._database = database
        self._say = say
        self._table: Serve | None = None

    def begin(self, configuration: Configuration) -> None:
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

    def renew(self, configuration: Configuration) -> None:
        """Report a change of the table: it waits for the next start."""
        if configuration.serve != self._table:
            self._say("[serve] was changed: restart plumbline watch to apply it")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
