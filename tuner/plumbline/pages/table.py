"""The violation table of a run at a stage: guidelines and functions by size, rows with violations
first, each cell a link to what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core import guidelines
from plumbline.explain import before_after
from plumbline.pages.run import counted
from plumbline.pages.visit import Visit, Word
from plumbline_db import verdicts
from plumbline_db.order import by_number
from plumbline_db.records import Verdict


class TableQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`verdict`: rows that have such a cell alone."""

    guideline: Word = ""
    function: Word = ""
    verdict: Literal["", "violated", "undecided", "holds"] = ""


class TableRow(msgspec.Struct, frozen=True):
    """The cells of two sides, by size; of several at a size the worst."""

    guideline: str
    function: str
    sides: str
    cells: list[Verdict | None]

    @property
    def violated(self) -> list[Verdict]:
        return [cell for cell in self.cells if cell and cell.verdict == "violated"]

    @property
    def undecided(self) -> int:
        return sum(cell is not None and cell.verdict == "undecided" for cell in self.cells)

    @property
    def worst(self) -> float:
        return max((cell.ratio or 1.0 for cell in self.violated), default=0.0)


_WORST = {"violated": 2, "undecided": 1, "holds": 0}


def page(visit: Visit) -> Response:
    asked = visit.asked(TableQuery)
    campaign, stage = visit.campaign(), visit.path("stage")
    every = verdicts.get(visit.db, campaign.id, stage)
    if not every:
        raise HTTPException(404, "this table does not exist")
    chosen = [
        verdict
        for verdict in every
        if asked.guideline in ("", verdict.guideline) and asked.function in ("", verdict.function)
    ]
    sizes = sorted({verdict.bytes for verdict in chosen})
    rows = by_row(chosen, sizes)
    if asked.verdict:
        rows = [row for row in rows if any(c and c.verdict == asked.verdict for c in row.cells)]
    names = {entry.id: entry.name for entry in guidelines.load().entries()}
    return visit.page(
        "table.html",
        campaign=campaign,
        stage=stage,
        stages=verdicts.stages(visit.db, campaign.id),
        counts=counted(stage, every),
        asked=asked,
        sizes=sizes,
        rows=rows,
        by_function=_by_function(rows),
        step=step,
        names=names,
        guidelines=sorted({verdict.guideline for verdict in every}, key=by_number),
        functions=sorted({verdict.function for verdict in every}),
    )


def by_row(table: Sequence[Verdict], sizes: Sequence[int]) -> list[TableRow]:
    """Return the verdicts by guideline and function; rows with violations first."""
    grouped: dict[tuple[str, str, str], dict[int, Verdict]] = {}
    for verdict in table:
        cells = grouped.setdefault((verdict.guideline, verdict.function, sides(verdict)), {})
        worst = cells.get(verdict.bytes)
        if worst is None or _WORST[verdict.verdict] > _WORST[worst.verdict]:
            cells[verdict.bytes] = verdict
    keys = sorted(grouped, key=lambda key: (by_number(key[0]), key[1], by_number(key[2])))
    rows = [TableRow(*key, [grouped[key].get(size) for size in sizes]) for key in keys]
    return sorted(rows, key=lambda row: not row.violated)


def _by_function(rows: Sequence[TableRow]) -> list[tuple[str, list[TableRow]]]:
    """The function with the largest ratio first."""
    grouped: dict[str, list[TableRow]] = {}
    for row in rows:
        grouped.setdefault(row.function, []).append(row)
    return sorted(grouped.items(), key=lambda item: -max(row.worst for row in item[1]))


def step(verdict: Verdict) -> str:
    """The class of a cell: of a violated one, how much slower it is, in four steps."""
    if verdict.verdict != "violated":
        return verdict.verdict
    return f"violated step-{1 + before_after.step(verdict.ratio)}"


def sides(verdict: Verdict) -> str:
    """Return what is compared, but for the sizes: `against gather_as_allgather`."""
    variant = "" if verdict.lhs == "default" else f"{verdict.lhs} "
    on = f"on {verdict.ranks} ranks " if verdict.ranks else ""
    if verdict.rhs == verdict.function:
        right = "another number of ranks" if verdict.ranks else "another size"
        return f"{variant}{on}against {right}"
    return f"{variant}{on}against {verdict.rhs}"
