"""Overlap cells whose data did not come as they were sent: the library is wrong, and nothing was
timed."""

from __future__ import annotations

from collections.abc import Iterable

from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Overlap


def flaw(records: Iterable[object]) -> str:
    """Return that of the first such cell; empty: there is none."""
    for record in records:
        if isinstance(record, Overlap) and not record.delivered:
            cell = f"{record.bench} {record.function}".rstrip()
            return f"{cell}: of {record.bytes} bytes others came than were sent"
    return ""


def require(records: Iterable[object]) -> None:
    """Raises PlumblineError where there is one."""
    first_flaw = flaw(records)
    if first_flaw:
        raise PlumblineError(f"{first_flaw}; the library is wrong")
