"""The HTTP side of `plumbline serve`: /metrics, /healthz, /readyz, /alerts, and the pages of other
rooms. Reads only."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from anyio import to_thread
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
from plumbline_exporters import frame
from plumbline_exporters.frame import Pages
from plumbline_exporters.metrics import MOST_SERIES, DatabaseCollector, scrape
from plumbline_exporters.metrics.scrape import Collect

_log = logging.getLogger("plumbline")
# The limit is far below the 1024 files that a process may open; Prometheus and people need few.
CONNECTIONS = 64
IDLE_SECONDS = 10
HEAD_BYTES = 16 * 1024
# The answers that are made at the same time; others wait. Each worker keeps a megabyte.
WORKERS = 4
_HOST = re.compile(r"(?:\*|(?:\*\.)?[A-Za-z0-9:][A-Za-z0-9._:-]*)\Z")


class Address(NamedTuple):
    """The address to listen at, and for which names. `host` that begins with `/` is the path of a
    Unix socket; `names`: what clients call this server beside `host` and this machine's own
    names."""

    host: str = "127.0.0.1"
    port: int = 9464
    names: Sequence[str] = ()

    @property
    def is_socket(self) -> bool:
        return self.host.startswith("/")

    @property
    def url(self) -> str:
        if self.is_socket:
            return f"unix:{self.host}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"

    def listener(self) -> socket.socket:
        """Return a socket that listens. Raises PlumblineError where the address is taken."""
        try:
            if self.is_socket:
                return _unix_listener(self.host)
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            return socket.create_server((self.host, self.port), family=family)
        except OSError as error:
            where = self.host if self.is_socket else f"{self.host} port {self.port}"
            raise PlumblineError(
                f"cannot listen on {where}: {error.strerror or error}; choose others with "
                "--listen (or serve.listen)"
            ) from error


def _unix_listener(path: str) -> socket.socket:
    """Return a socket that its owner and its group may connect to. Replace one that nobody listens
    on."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(FileNotFoundError):
            try:
                client.connect(path)
            except ConnectionRefusedError:
                Path(path).unlink()
        listener.bind(path)
        Path(path).chmod(0o660)
        listener.listen(CONNECTIONS)
    except OSError:
        listener.close()
        raise
    return listener


class Metrics(NamedTuple):
    """`more`: collectors of other rooms, by name; `most`: how many series there may be;
    `simulated`: of simulated machines too."""

    more: Mapping[str, Collect] = {}
    most: int = MOST_SERIES
    simulated: bool = False

    def registry(self, db_path: Path) -> CollectorRegistry:
        """Return the registry with metrics of this process."""
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
) -> Starlette:
    """The application over one database, which is opened anew for every request. Answers requests
    for these `hosts`, so that no page of another site reaches it under a name of that site's."""
    registry = told.registry(db_path)

    def metrics(request: Request) -> Response:
        content, kind = scrape.encoded(registry, request.headers.get("accept", ""))
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
        detail = "this page does not exist" if error.detail == "Not Found" else error.detail
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
            text = f"{name!r} is not a name of this server: {allow}"
            _log.warning("a request was refused: %s", text)
            await PlainTextResponse(text + "\n", status_code=400)(scope, receive, send)


class _FewWorkers(uvicorn.Server):
    """A server with few workers, so that a crowd of requests costs time, not memory."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        to_thread.current_default_thread_limiter().total_tokens = WORKERS
        await super().startup(sockets)


class Server:
    """Listens from construction on. PlumblineError when the address is taken or not ours."""

    def __init__(
        self,
        db_path: Path,
        address: Address,
        more: Sequence[Pages] = (),
        told: Metrics = Metrics(),  # noqa: B008 - never changed
    ) -> None:
        for name in address.names:
            if not _HOST.match(name):
                raise UsageError(
                    f"--allow-host {name!r} (or serve.allow_hosts): a name of this server, or "
                    "*.DOMAIN, or *"
                )
        self._listener = address.listener()
        self.address = address
        own = {"localhost", "127.0.0.1", "::1", "[::1]", socket.gethostname()}
        own |= set() if address.is_socket else {address.host}
        self._server = _FewWorkers(
            _config(app(db_path, more, sorted(own.union(address.names)), told))
        )

    def run(self) -> None:
        """Run in the main thread until SIGINT or SIGTERM, in another one as long as the process."""
        with self._listener:
            self._server.run(sockets=[self._listener])


def _config(app: ASGIApp) -> uvicorn.Config:
    """Return uvicorn's limits: connections, idle time and the size of a request's head."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=CONNECTIONS,
        limit_concurrency=CONNECTIONS + 1,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=HEAD_BYTES,
        log_config=_LOGGING,
        log_level="warning",
    )


_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "plumbline: %(levelname)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
