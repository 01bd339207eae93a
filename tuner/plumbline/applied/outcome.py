"""Outcomes of `plumbline apply` and `plumbline apply --undo`: what they did, or would do
(docs/apply.md)."""

from __future__ import annotations

from typing import Literal

import msgspec

Action = Literal["create", "change", "remove"]


class Change(msgspec.Struct, frozen=True):
    """A file of others. `real`: what `path` leads to, where it is a link; else empty."""

    path: str
    action: Action
    diff: str
    real: str = ""


class AppliedOutcome(msgspec.Struct, frozen=True):
    """`generation` is in force then (0: nothing), `previous` was before; they are equal, and
    `changes` is empty, where nothing was to be done. `files` are those of the generation.
    `not_in_force`: the reasons why the library does not use what was written. `active`: how it is
    known that the library uses it. `not_checked`: why that could not be checked. `notes` are what a
    cautious person wants to know."""

    scope: str
    name: str
    generation: int
    previous: int
    dry_run: bool
    library: str = ""
    campaigns: list[str] = []
    changes: list[Change] = []
    files: list[str] = []
    left_out: list[str] = []
    not_in_force: list[str] = []
    active: list[str] = []
    not_checked: list[str] = []
    notes: list[str] = []
