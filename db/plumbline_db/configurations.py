"""Distinct knob sets, each stored once. The empty set is the library as it comes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from plumbline_db import columns
from plumbline_db.statements import Statements


def number(db: Statements, knobs: Mapping[str, str]) -> int:
    """The row of this knob set, made when it is not there. Inside a transaction of the caller."""
    text = msgspec.json.encode(dict(sorted(knobs.items()))).decode()
    return columns.number(db, "configuration", {"knobs": text})


def knobs(text: str) -> dict[str, str]:
    """A stored knob set."""
    return msgspec.json.decode(text, type=dict[str, str])
