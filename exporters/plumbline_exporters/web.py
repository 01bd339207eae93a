"""The HTTP side of `plumbline serve`: /metrics, /healthz, /readyz, /alerts, and the pages of other
rooms. Reads only."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
)
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plumbline_db.connection import Database
from plumbline_db.errors import NotJoinedError, PlumblineError, UsageError
from plumbline_db.schema import OtherSchemaError
from plumbline_exporters import frame, listening
from plumbline_exporters.access import Access, Authenticated
from plumbline_exporters.frame import Pages
from plumbline_exporters.metrics import MOST_SERIES, DatabaseCollector, text
from plumbline_exporters.metrics.scrape import Collect

_log = logging.getLogger("plumbline")
_HOST = re.compile(r"(?:\*|(?:\*\.)?[A-Za-z0-9:][A-Za-z0-9._:-]*)\Z")


class Address(NamedTuple):
    """Where to listen, and whom to answer. `names`: what clients call this server beside `host` and
    the names that this machine has for itself; `access`: by a web configuration (None: whoever
    reaches it)."""

    host: str = "127.0.0.1"
    port: int = 9464
    names: Sequence[str] = ()
    access: Access | None = None

    @property
    def url(self) -> str:
        scheme = "https" if self.access and self.access.context else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/"


class Metrics(NamedTuple):
    """`more`: collectors of other rooms, by name; `most`: how many series there may be;
    `simulated`: of simulated machines too."""

    more: Mapping[str, Collect] = {}
    most: int = MOST_SERIES
    simulated: bool = False

    def registry(self, db_path: Path) -> CollectorRegistry:
        """With metrics of this process."""
        registry = CollectorRegistry(auto_describe=False)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        registry.register(
            DatabaseCollector(db_path, self.more, self.most, simulated=self.simulated)
        )
        return registry


def app(
    db_path: Path,
    more: Sequence[Pages] = (),
    hosts: Sequence[str] = ("*",),
    told: Metrics = Metrics(),  # noqa: B008 - never changed
    access: Access | None = None,
) -> Starlette:
    """The application over one database, which is opened anew for every request. Answers requests
    for these `hosts`, so that no page of another site reaches it under a name of that site's."""
    registry = told.registry(db_path)

    def metrics(request: Request) -> Response:
        content, kind = text.encoded(registry, request.headers.get("accept", ""))
        return Response(content, headers={"Content-Type": kind})

    def healthz(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    def readyz(request: Request) -> Response:
        with Database.open(db_path):
            return PlainTextResponse("ok\n")

    def alerts(request: Request) -> Response:
        return frame.page(request, frame.OWN, "alerts.html")

    def unavailable(request: Request, error: Exception) -> Response:
        _log.warning("%s", error)
        return frame.error(request, 503, "the database cannot be read; the log says why\n")

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for these
        detail = "there is no such page" if error.detail == "Not Found" else error.detail
        answer = frame.error(request, error.status_code, detail)
        answer.headers.update(error.headers or {})
        return answer

    served = Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/alerts", alerts),
            frame.STATIC,
            *(route for room in more for route in room.routes),
        ],
        exception_handlers={
            PlumblineError: unavailable,
            NotJoinedError: partial(_explained, db_path),
            OtherSchemaError: partial(_explained, db_path),
            HTTPException: refused,
        },
        middleware=[
            Middleware(_OwnNames, hosts),
            *([] if access is None else [Middleware(Authenticated, access)]),
            Middleware(GZipMiddleware, compresslevel=5),
        ],
    )
    served.state.links = [link for room in more for link in room.links]
    return served


def _explained(db_path: Path, request: Request, error: Exception) -> Response:
    """Return the reason without the path of the file: pages are for everybody."""
    _log.warning("%s", error)
    text = str(error).replace(str(db_path.absolute()), "the database")
    return frame.error(request, 409 if isinstance(error, NotJoinedError) else 503, f"{text}\n")


class _OwnNames:
    """Refuses requests for other names than `hosts`, and says which one and what to do."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        entered = False

        async def enter(scope: Scope, receive: Receive, _: Send) -> None:
            nonlocal entered
            entered = True
            await self._app(scope, receive, send)

        async def unsaid(_: Message) -> None:
            """The answer of the library, which names neither."""

        check = TrustedHostMiddleware(enter, allowed_hosts=self._hosts, www_redirect=False)
        await check(scope, receive, unsaid)
        if not entered:
            name = Headers(scope=scope).get("host", "")[:100]
            allow = "start it with --allow-host NAME (or serve.allow_hosts)"
            text = f"{name!r} is no name of this server: {allow}"
            _log.warning("a request was refused: %s", text)
            await PlainTextResponse(text + "\n", status_code=400)(scope, receive, send)


class Server:
    """Listens from construction on. PlumblineError when the address is taken or not ours."""

    def __init__(
        self,
        db_path: Path,
        address: Address,
        more: Sequence[Pages] = (),
        told: Metrics = Metrics(),  # noqa: B008 - never changed
    ) -> None:
        host, port, names, access = address
        for name in names:
            if not _HOST.match(name):
                raise UsageError(
                    f"--allow-host {name!r} (or serve.allow_hosts): a name of this server, or "
                    "*.DOMAIN, or *"
                )
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise PlumblineError(
                f"cannot listen on {host} port {port}: {error.strerror}; choose others with "
                "--host and --port (or serve.listen)"
            ) from error
        self.address = address
        own = {host, "localhost", "127.0.0.1", "::1", "[::1]", socket.gethostname()}
        hosts = sorted(own.union(names))
        config = listening.config(app(db_path, more, hosts, told, access), access)
        self._server = listening.Server(config)

    def run(self) -> None:
        """In the main thread until SIGINT or SIGTERM, in another one as long as the process."""
        with self._listener:
            self._server.run(sockets=[self._listener])

    def renew(self) -> None:
        """Reads the web configuration anew, where there is one."""
        if self.address.access is not None:
            self.address.access.renew()
