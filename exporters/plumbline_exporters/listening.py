"""How `plumbline serve` listens: how many connections there may be, how long one of them may take,
and how much is logged of what strangers send."""

from __future__ import annotations

import asyncio
import logging
import socket
from asyncio import constants
from typing import Any

import uvicorn
from anyio import to_thread
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from plumbline_exporters.access import Access

# Far below the 1024 files that a process may have open. Prometheus and a few people need a handful.
CONNECTIONS = 64
# More get this answer, if they take it in so many seconds; beyond as many more they are closed.
RETRY_SECONDS = 10
_REFUSAL_SECONDS = 2.0
_BUSY = f"plumbline serve has its {CONNECTIONS} connections: try again\n".encode()
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Retry-After: %d\r\nContent-Length: %d\r\n\r\n%s" % (RETRY_SECONDS, len(_BUSY), _BUSY)
)
# A request's head must be there, and an answer taken, so many seconds after the one before.
HEAD_SECONDS = 10.0
ANSWER_SECONDS = 60.0
HEAD_BYTES = 16 * 1024
# The same words are logged once in so many seconds.
QUIET_SECONDS = 60.0
# Answers that are made at once; more wait. Each worker keeps a megabyte for itself, for ever.
WORKERS = 4
_MOST_WORDS = 100  # of different kinds that are remembered


class Patience(H11Protocol):
    """uvicorn waits for ever for a head that has begun, and for a client that takes no answer; and
    it lets any number of connections wait. Here each wait has an end, and connections that are too
    many are told at once when to try again."""

    access: Access | None = None
    refused: set[Patience]
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self.logger.warning(
                "more than %d connections: one is answered 503, try again in %d s",
                CONNECTIONS,
                RETRY_SECONDS,
            )
            self._refuse(transport)
        elif not self._is_allowed(transport):
            self.logger.warning("a client's certificate has no name of client_allowed_sans")
            transport.abort()
        else:
            self._wait(HEAD_SECONDS)

    def _is_allowed(self, transport: asyncio.Transport) -> bool:
        return self.access is None or self.access.allows(transport.get_extra_info("peercert"))

    def _refuse(self, transport: asyncio.Transport) -> None:
        """Answer before the request is there. What comes of it is read: a connection that is closed
        with unread data loses its answer."""
        self.connections.discard(self)
        if len(self.refused) >= CONNECTIONS:
            transport.abort()
            return
        self.refused.add(self)
        self._wait(_REFUSAL_SECONDS)
        transport.write(_REFUSAL)
        if transport.can_write_eof():
            transport.write_eof()

    def data_received(self, data: bytes) -> None:
        if self not in self.refused:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.refused.discard(self)
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._wait(ANSWER_SECONDS)

    def on_response_complete(self) -> None:
        self._wait(HEAD_SECONDS)
        super().on_response_complete()

    def _wait(self, seconds: float) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = self.loop.call_later(seconds, self.transport.abort)


class Sparing(logging.Filter):
    """Lets the same words (before values are put in) through once in QUIET_SECONDS, and says then
    how many were left out. What the loop says of sockets comes without a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "asyncio":  # it shows where it was; what matters is that it was
            record.exc_info = None
        words = str(record.msg)[:200]
        if words not in self._last and len(self._last) >= _MOST_WORDS:
            words = "of other kinds"
        last = self._last.get(words)
        if last is not None and record.created - last < QUIET_SECONDS:
            self._left_out[words] = self._left_out.get(words, 0) + 1
            return False
        self._last[words] = record.created
        left_out = self._left_out.pop(words, 0)
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more like this were left out)"
            record.args = ()
        return True


class Server(uvicorn.Server):
    """With few workers, so that a crowd of requests costs time, not memory."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        to_thread.current_default_thread_limiter().total_tokens = WORKERS
        await super().startup(sockets)


def config(app: ASGIApp, access: Access | None = None) -> uvicorn.Config:
    # A handshake is a head too; asyncio has no other way to say how long a server's may take.
    constants.SSL_HANDSHAKE_TIMEOUT = HEAD_SECONDS
    context = access.context if access else None
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=type("Patience", (Patience,), {"access": access, "refused": set()}),
        ssl_context_factory=None if context is None else lambda *_: context,
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=CONNECTIONS,
        timeout_keep_alive=int(HEAD_SECONDS),
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=HEAD_BYTES,
        log_config=LOGGING,
        log_level="warning",
    )


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"sparing": {"()": Sparing}},
    "formatters": {"plain": {"format": "plumbline: %(levelname)s: %(message)s"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "plain",
            "filters": ["sparing"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
