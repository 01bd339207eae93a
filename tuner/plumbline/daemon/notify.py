"""A change told by a command or a webhook: rate-limited, and kept with what came of it."""

from __future__ import annotations

import contextlib
import contextvars
import http.client
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Sequence
from datetime import timedelta
from string import Template
from typing import Literal

import msgspec

from plumbline.daemon.configuration import TEMPLATE_NAMES, Notify
from plumbline.daemon.looking import FingerprintChange
from plumbline.daemon.retuning import of_alarm
from plumbline.daemon.windows import Clock, iso
from plumbline.system import version
from plumbline.system.words import counted
from plumbline_db import watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, typed
from plumbline_db.watching import CellAlarm, Notice, Retuning


class Told(msgspec.Struct, frozen=True):
    """`what`: one line; `table`: lines, a cell each; `command` shows more."""

    campaign: str
    what: str
    table: str
    command: str


def of_changes(campaign: str, changes: Sequence[FingerprintChange]) -> Told:
    stale = [change for change in changes if change.makes_stale]
    what = "its table is out of date" if stale else "what is in force has changed"
    table = "\n".join(change.text for change in changes)
    command = typed("campaign") if stale else typed("watch", "--status")
    return Told(campaign, f"{campaign}: {what}", table, command)


def of_alarms(campaign: str, judged: Sequence[CellAlarm]) -> Told | None:
    """Return a notice of the alarms that are true, or None if none is."""
    true = [alarm for alarm in judged if alarm.state in ("confirmed", "stays")]
    if not true:
        return None
    slower = [alarm for alarm in true if alarm.direction == "slower"]
    word = "slower" if slower else "faster"
    what = f"{campaign}: {counted(len(slower or true), 'cell')} {word} than was learnt"
    return Told(campaign, what, _cells(true), typed("results", "--campaign", campaign))


def _cells(judged: Sequence[CellAlarm]) -> str:
    return "\n".join(
        f"{of_alarm(alarm).named}: {alarm.ratio:.2f} times; {alarm.detail}" for alarm in judged
    )


def of_retuning(row: Retuning, opened_by: Sequence[CellAlarm], command: str) -> Told:
    state_words = {
        "nothing better": "searched, and nothing better was found",
        "offered": "something better was found",
        "applied": f"generation {row.generation} was applied, and is to be confirmed",
        "kept": f"generation {row.generation} is applied and confirmed",
        "rolled back": f"generation {row.generation} was rolled back",
        "failed": "the search failed",
    }.get(row.state, row.state)
    table = f"{row.because}\n{_cells(opened_by)}\n{row.detail}".strip()
    return Told(row.campaign, f"{row.campaign}: {state_words}", table, command)


def of_error(campaign: str, step: str, error: str) -> Told:
    what = f"{campaign}: {step} failed"
    return Told(campaign, what, error, typed("watch", "--status"))


# One deadline for a whole message: name look-up, connection, TLS and every answer of the server.
# Time limits of single reads do not end a server that sends a byte a second; they are twice as
# long, so that this one always comes first.

SECONDS = 30.0


class _Message:
    """The connections that a message has opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._connections: list[socket.socket] = []
        self.failure: BaseException | None = None

    def connected(self, connection: socket.socket) -> None:
        """Keep a second descriptor: TLS replaces the object, but not the connection."""
        with self._lock:
            self._connections.append(connection.dup())
        if self._over:
            self.end()

    def end(self) -> None:
        """Shut down all connections, so that whoever waits for one returns."""
        with self._lock:
            self._over = True
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            self._connections.clear()


_MESSAGE: contextvars.ContextVar[_Message] = contextvars.ContextVar("message")


def _connected(connection: socket.socket) -> None:
    """End this connection at the deadline of the message that opened it."""
    if (message := _MESSAGE.get(None)) is not None:
        message.connected(connection)


def _run(send: Callable[[], None], seconds: float) -> None:
    """Call `send`. Raises what it raises, and TimeoutError where it has not returned in time."""
    message = _Message()

    def work() -> None:
        _MESSAGE.set(message)
        try:
            send()
        except BaseException as error:
            message.failure = error

    # A name look-up cannot be cancelled: the thread stays until the system ends the look-up.
    thread = threading.Thread(target=work, name="message", daemon=True)
    thread.start()
    thread.join(seconds)
    in_time = not thread.is_alive()
    message.end()
    if not in_time:
        raise TimeoutError(f"the server had not taken the message after {seconds:g} s; given up")
    if message.failure is not None:
        raise message.failure


_REMEMBERED = timedelta(days=30)  # for which what was held back is counted
_USUAL = """$what

$table

More: $command
$host, campaign $campaign
"""

Way = Literal["command", "webhook"]
Sender = Callable[[Notify, str, str, Told], None]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that follows no redirect: what is told goes to who was named, and to nobody
    else."""

    def redirect_request(self, *_: object) -> None:
        return None


class _Http(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _connected(self.sock)


class _Https(http.client.HTTPSConnection, _Http):
    """The connection is known before its handshake begins."""


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Http, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Https, req)


def text_of(notify: Notify, told: Told, held_back: int = 0) -> str:
    """`held_back`: messages before it that were too many."""
    text = Template(notify.template or _USUAL).safe_substitute(_values(told))
    if held_back:
        text += f"\n{held_back} messages before this one were held back (notify.most_a_day).\n"
    return text


def _values(told: Told) -> dict[str, str]:
    names = [name for name in TEMPLATE_NAMES if name != "host"]
    return {"host": socket.gethostname()} | {name: getattr(told, name) for name in names}


def by_command(notify: Notify, subject: str, text: str, told: Told) -> None:
    """Give the text to the program's standard input. Raises OSError, and PlumblineError where the
    program fails or takes too long."""
    del subject
    words = [
        " ".join(Template(word).safe_substitute(_values(told)).split()) for word in notify.command
    ]
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            words,
            input=text,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=SECONDS,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise PlumblineError(f"{words[0]} ran for {SECONDS:g} s and was killed") from None
    if done.returncode != 0:
        raise PlumblineError(
            f"{words[0]} ended with status {done.returncode}: {done.stderr.strip()}"
        )


def by_webhook(notify: Notify, subject: str, text: str, told: Told) -> None:
    """A POST of JSON: `text` for chats, and its parts. Raises OSError."""
    values = msgspec.structs.asdict(told) | {"text": f"{subject}\n{text}"}
    request = urllib.request.Request(  # noqa: S310 - http or https, by the configuration
        notify.webhook,
        data=msgspec.json.encode(values | {"host": socket.gethostname()}),
        headers={
            "Content-Type": "application/json",
            "User-Agent": f"plumbline/{version.PLUMBLINE}",
        },
        method="POST",
    )
    opener = urllib.request.build_opener(_NoRedirect, _HttpHandler, _HttpsHandler)
    with opener.open(request, timeout=2 * SECONDS) as answer:
        answer.read(1024)


SENDERS: dict[Way, Sender] = {"command": by_command, "webhook": by_webhook}


def tell(db: Database, notify: Notify, news: Sequence[Told], clock: Clock) -> list[str]:
    """Each by all ways; says what could not be told. A way has so many messages in 24 hours."""
    failures = []
    for told in news:
        for way in ways_of(notify):
            notice = _told(db, notify, told, way, clock)
            watching.tell(db, notice)
            if notice.state == "failed":
                failures.append(f"{way} failed: {notice.detail}")
    return failures


def tell_unkept(notify: Notify, told: Told) -> list[str]:
    """Tell what cannot be stored: the database is what it is about. Says what could not be told."""
    texts = {way: _failure(notify, told, way) for way in ways_of(notify)}
    return [f"{way} failed: {text}" for way, text in texts.items() if text]


def ways_of(notify: Notify) -> list[Way]:
    ways: list[tuple[object, Way]] = [(notify.command, "command"), (notify.webhook, "webhook")]
    return [way for configured, way in ways if configured]


def _told(db: Database, notify: Notify, told: Told, way: Way, clock: Clock) -> Notice:
    now, subject = clock(), told.what[:200]
    every = [notice for notice in watching.told(db, iso(now - _REMEMBERED)) if notice.way == way]
    sent = [number for number, notice in enumerate(every) if notice.state == "sent"]
    today = iso(now - timedelta(days=1))
    if sum(every[number].time >= today for number in sent) >= notify.most_a_day:
        return Notice(iso(now), way, subject, "held back")
    last = sent[-1] if sent else -1
    held_back = sum(notice.state == "held back" for notice in every[last + 1 :])
    if failure := _failure(notify, told, way, held_back):
        return Notice(iso(now), way, subject, "failed", failure)
    return Notice(iso(now), way, subject, "sent")


def _failure(notify: Notify, told: Told, way: Way, held_back: int = 0) -> str:
    """Empty: it was sent."""
    text = text_of(notify, told, held_back)
    try:
        _run(lambda: SENDERS[way](notify, told.what[:200], text, told), SECONDS)
    except PlumblineError as error:
        return str(error)[:500]
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:500]
    return ""
