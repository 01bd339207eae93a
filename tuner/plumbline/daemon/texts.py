"""Texts of the configuration that stand for something else: lengths of time, addresses."""

from __future__ import annotations

import re
from datetime import timedelta

from plumbline_db.errors import UsageError

_DURATION = re.compile(r"(\d{1,7})\s*(s|min|h|d)\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def listened(text: str) -> tuple[str, int]:
    """Return host and port of `serve.listen`; the path of a Unix socket is the host. Raises
    UsageError."""
    if text.startswith("/"):
        return text, 0
    host, _, port = text.rpartition(":")
    if not host or not _PORT.match(port) or not 1 <= int(port) <= 65535:
        raise UsageError(
            f"serve.listen: {text!r} is no host and port, as in 127.0.0.1:9464, and no path"
        )
    return host.strip("[]"), int(port)


def duration(key: str, text: str) -> timedelta:
    """`90s`, `30min`, `1h`, `60d`. Raises UsageError."""
    found = _DURATION.match(text.strip())
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{key}: {text!r} is no length of time, as in 90s, 30min, 1h, 60d")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])
