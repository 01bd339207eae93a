"""Moments of the daemon, and how the database keeps them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso(moment: datetime | None) -> str:
    """Return it as the database keeps times of day; None: never."""
    return "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")


def moment_of(text: str) -> datetime | None:
    """Return what `iso` has written."""
    return datetime.fromisoformat(text) if text else None
