"""The base of all records: those that the probe writes (probe_records.py), those that the database
keeps (records.py), and those of watching (watch_records.py).

Frozen and typed; units are in the names (`_ns`, `_seconds`, `_bytes`; plain `bytes` is a
communication volume as docs/plan-and-records.md defines it). No behaviour lives in records."""

from __future__ import annotations

from typing import Annotated

import msgspec

# The limits of SQLite's integers; each value of the probe's records is checked when it is decoded.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Signed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of them."""
