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
            f"serve.listen: {text!r} is neither HOST:PORT, as in 127.0.0.1:9464, nor a path"
        )
    return host.strip("[]"), int(port)


def duration(key: str, text: str) -> timedelta:
    """`90s`, `30min`, `1h`, `60d`. Raises UsageError."""
    match = _DURATION.match(text.strip())
    if match is None or int(match[1]) == 0:
        raise UsageError(f"{key}: {text!r} is not a duration such as 90s, 30min, 1h, 60d")
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
