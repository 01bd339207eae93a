"""The pages and metrics of one database over HTTP: alone (`plumbline serve`) or beside the daemon
(`plumbline watch`), with the same addresses, names and web configuration."""

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
    """What is served, and to whom: `names` are further ones by which clients call this server;
    `web_config` says who may ask (None: whoever reaches it). `simulated`: /metrics has simulated
    machines too."""

    database: Path
    host: str
    port: int
    names: tuple[str, ...] = ()
    web_config: Path | None = None
    most_series: int = 5000
    simulated: bool = False

    def server(self, say: Say) -> web.Server:
        """It listens already. Raises PlumblineError for the database, the web configuration or the
        address."""
        from plumbline.pages import rooms
        from plumbline_db.connection import Database
        from plumbline_exporters import web
        from plumbline_exporters.access import Access

        Database.open(self.database).close()  # a missing or foreign file is said first
        access = None if self.web_config is None else Access(self.web_config)
        address = web.Address(self.host, self.port, self.names, access)
        told = web.Metrics(collectors(), self.most_series, self.simulated)
        server = web.Server(self.database, address, rooms.every(self.database), told)
        say(f"{address.url} serves {self.database}")
        if not _is_loopback(self.host) and not (access and access.asks_who):
            say("whoever reaches it may read it: a web configuration asks who")
        return server


def collectors() -> Mapping[str, Collect]:
    """Those of other rooms than the exporters'."""
    from plumbline.applied.told import applied
    from plumbline.results.told import guideline_names

    return {"applied": applied(), "guideline_names": guideline_names}


class Beside:
    """The daemon's: in a thread that ends with the process."""

    def __init__(self, database: Path, say: Say) -> None:
        self._database = database
        self._say = say
        self._table: Serve | None = None
        self._server: web.Server | None = None

    def begin(self, configuration: Configuration) -> None:
        """Raises PlumblineError where it cannot listen."""

        from plumbline.daemon.texts import host_port

        self._table = table = configuration.serve
        if not table.listen:
            return
        from plumbline_db.connection import Database

        Database.open(self._database, write=True).close()  # there from the first start on
        host, port = host_port("serve.listen", table.listen)
        file = Path(table.web_config) if table.web_config else None
        site = ServedSite(self._database, host, port, table.allow_hosts, file, table.max_series)
        self._server = site.server(self._say)
        threading.Thread(target=self._server.run, name="web", daemon=True).start()

    def renew(self, configuration: Configuration) -> None:
        """Users, tokens and certificates; what else is changed waits for the next start."""
        if self._server is not None:
            self._server.renew()
        if configuration.serve != self._table:
            self._say("[serve] was changed: that holds when plumbline watch is started anew")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
