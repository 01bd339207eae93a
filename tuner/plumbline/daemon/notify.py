"""A change told by a command or a webhook: rate-limited, and kept with what came of it."""

from __future__ import annotations

import http.client
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Sequence
from datetime import timedelta
from string import Template
from typing import Literal

import msgspec

from plumbline.daemon import deadline
from plumbline.daemon.configuration import TEMPLATE_NAMES, Notify
from plumbline.daemon.moments import Clock, iso
from plumbline.daemon.told import Told
from plumbline.system import version
from plumbline_db import watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.watch_records import Notice

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
        deadline.connected(self.sock)


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
            timeout=deadline.SECONDS,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise PlumblineError(f"{words[0]} ran for {deadline.SECONDS:g} s and was killed") from None
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
    with opener.open(request, timeout=2 * deadline.SECONDS) as answer:
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
        deadline.run(lambda: SENDERS[way](notify, told.what[:200], text, told), deadline.SECONDS)
    except PlumblineError as error:
        return str(error)[:500]
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:500]
    return ""
