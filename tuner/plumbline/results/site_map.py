"""The map of a site: functions and numbers of ranks by bytes, with the violated guidelines before
and after, the winner in use and its speed-up. Reads the database; measures nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.results.site import machine_of
from plumbline.search.outcome import label
from plumbline_db import coverage, findings, machines
from plumbline_db.connection import Database
from plumbline_db.coverage import Coverage
from plumbline_db.records import Machine, Verdict, Winner

_RANK = {"holds": 0, "undecided": 1, "violated": 2}


class CellWinner(msgspec.Struct, frozen=True):
    """The winner that is in use in a cell. `place`: its number among the winners of `campaign`,
    from 0, in the order in which they are stored. `speedup`: default over winner."""

    campaign: str
    place: int
    configuration: str
    speedup: float
    speedup_low: float
    speedup_high: float


class MapCell(msgspec.Struct, frozen=True):
    """All guidelines of a function at a size. `state`: the worst answer of the last table, at
    `stage` of `campaign`; `before` and `after`: how many are violated in the first and in the last
    table (None: there is no such table of the cell); `guidelines`: how many there are."""

    state: str
    before: int | None
    after: int | None
    guidelines: int
    campaign: str
    stage: str
    winner: CellWinner | None = None

    @property
    def violated(self) -> int:
        return (self.before if self.after is None else self.after) or 0


class MapRow(msgspec.Struct, frozen=True):
    """`cells` by the sizes of the map; None: the function was not verified at a size."""

    function: str
    nprocs: int
    ppn: int
    cells: list[MapCell | None]

    @property
    def nodes(self) -> int:
        return -(-self.nprocs // self.ppn)


class SiteMap(msgspec.Struct, frozen=True):
    """The map of a library on a machine; `sizes` in bytes. Rows are ordered by function and number
    of ranks."""

    host: str
    library: str
    fingerprint: str
    sizes: list[int]
    rows: list[MapRow]

    def cells(self) -> list[MapCell]:
        return [cell for row in self.rows for cell in row.cells if cell is not None]

    @property
    def before(self) -> int:
        """Return the number of violations in the first tables."""
        return sum(cell.before or 0 for cell in self.cells())

    @property
    def after(self) -> int:
        """Return the number of violations in the last tables."""
        return sum(cell.violated for cell in self.cells())


def every(db: Database) -> list[SiteMap]:
    """The maps of all libraries on all machines, by host and library."""
    machine_by_id = {machine.id: machine for machine in machines.all_machines(db)}
    grouped: dict[tuple[str, str, str, str], list[Coverage]] = {}
    for covered in coverage.of_campaigns(db):
        grouped.setdefault(_key(machine_by_id, covered), []).append(covered)
    return [
        _map(db, host, library, fingerprint, places)
        for (host, library, fingerprint, _), places in grouped.items()
    ]


def of(db: Database, machine: str, fingerprint: str) -> SiteMap | None:
    """The map of one library on one machine; None: nothing was verified there."""
    machine_by_id = {each.id: each for each in machines.all_machines(db)}
    wanted_key = machine_of(machine_by_id[machine])[0]
    places = [
        covered
        for covered in coverage.of_campaigns(db)
        if covered.place.fingerprint == fingerprint
        and machine_of(machine_by_id[covered.place.machine])[0] == wanted_key
    ]
    if not places:
        return None
    host, library, _, _ = _key(machine_by_id, places[0])
    return _map(db, host, library, fingerprint, places)


def _key(machine_by_id: dict[str, Machine], covered: Coverage) -> tuple[str, str, str, str]:
    place = covered.place
    id, host = machine_of(machine_by_id[place.machine])
    return host, place.library, place.fingerprint, id


def _map(
    db: Database, host: str, library: str, fingerprint: str, places: Sequence[Coverage]
) -> SiteMap:
    rows: dict[tuple[str, int, int], dict[int, MapCell]] = {}
    for covered in places:
        own = findings.get_winners(db, covered.in_force) if covered.in_force else []
        for stage in ("before", "after"):
            for campaign, verdict in findings.newest_of_place(db, covered, stage):
                key = (verdict.function, covered.place.nprocs, covered.place.ppn)
                cells = rows.setdefault(key, {})
                cells[verdict.bytes] = _joined(cells.get(verdict.bytes), campaign, verdict, stage)
        for (function, nprocs, ppn), cells in rows.items():
            if (nprocs, ppn) == (covered.place.nprocs, covered.place.ppn):
                for size in list(cells):
                    winner = _winner(own, covered.in_force, Target(function, size))
                    cells[size] = msgspec.structs.replace(cells[size], winner=winner)
    sizes = sorted({size for cells in rows.values() for size in cells})
    listed = [MapRow(*key, [rows[key].get(size) for size in sizes]) for key in sorted(rows)]
    return SiteMap(host, library, fingerprint, sizes, listed)


def _winner(own: Sequence[Winner], campaign: str | None, cell: Target) -> CellWinner | None:
    winner = deciding(own, cell)
    if winner is None or campaign is None:
        return None
    words = label(winner.variant, winner.configuration)
    interval = winner.speedup, winner.speedup_low, winner.speedup_high
    return CellWinner(campaign, own.index(winner), words, *interval)


def _joined(joined: MapCell | None, campaign: str, verdict: Verdict, stage: str) -> MapCell:
    """The cell with one more verdict; the last table speaks for its state."""
    violated = int(verdict.verdict == "violated")
    if joined is None or joined.stage != stage:
        before = joined.before if joined else violated
        after = violated if stage == "after" else None
        if joined is None and stage == "after":
            before = None
        return MapCell(verdict.verdict, before, after, 1, campaign, stage)
    worse = _RANK[verdict.verdict] > _RANK[joined.state]
    if stage == "before":
        counts = {"before": (joined.before or 0) + violated}
    else:
        counts = {"after": (joined.after or 0) + violated}
    return msgspec.structs.replace(
        joined,
        state=verdict.verdict if worse else joined.state,
        campaign=campaign if worse else joined.campaign,
        guidelines=joined.guidelines + 1,
        **counts,
    )


def of_functions(site_map: SiteMap, functions: Collection[str]) -> SiteMap:
    """The rows of these functions alone, with the sizes that they have."""
    rows = [row for row in site_map.rows if row.function in functions]
    places = [n for n in range(len(site_map.sizes)) if any(row.cells[n] for row in rows)]
    return msgspec.structs.replace(
        site_map,
        sizes=[site_map.sizes[place] for place in places],
        rows=[
            msgspec.structs.replace(row, cells=[row.cells[place] for place in places])
            for row in rows
        ],
    )


def document(site_map: SiteMap) -> dict[str, Any]:
    """The map as JSON has it: a list of the cells that were verified, with what they are of."""
    return {
        "host": site_map.host,
        "library": site_map.library,
        "fingerprint": site_map.fingerprint,
        "violations_before": site_map.before,
        "violations_after": site_map.after,
        "cells": [
            {
                "function": row.function,
                "bytes": size,
                "nprocs": row.nprocs,
                "nodes": row.nodes,
                "ppn": row.ppn,
                **msgspec.to_builtins(cell),
            }
            for row in site_map.rows
            for size, cell in zip(site_map.sizes, row.cells, strict=True)
            if cell is not None
        ],
    }
