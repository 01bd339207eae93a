"""Two sides, cell by cell: libraries, versions, settings, tables. Only what was measured together
is called faster; that is decided in results/compare.py."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.pages.visit import Visit, Word, ending, picture_response
from plumbline.results import comparison_chart, sides
from plumbline.results.compare import ComparedCell, How, SideComparison, Verdict, compare
from plumbline.results.sides import ComparedSide
from plumbline_db import campaigns, verdicts
from plumbline_db.errors import PlumblineError
from plumbline_db.launch_records import PrunedError

_OFFERED = 20  # runs
_EXAMPLES = 4
_DIFFERING = frozenset[Verdict](("A faster", "B faster", "differs", "differs (unpaired)"))


class ComparisonQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`a`, `b`: RUN[:STAGE | /SUITE][@VARIANT], as in `plumbline compare`."""

    a: Word = ""
    b: Word = ""


def page(visit: Visit) -> Response:
    asked = visit.asked(ComparisonQuery)
    compared = _compared(visit, asked) if asked.a and asked.b else None
    every = [*campaigns.all_campaigns(visit.db), *campaigns.of_suites(visit.db)]
    newest = sorted(every, key=lambda campaign: campaign.started)[::-1][:_OFFERED]
    offered = [side for run in newest for side in sides.offered(visit.db, run.id)]
    lines = sorted(compared.lines, key=_likeness) if compared else []
    return visit.page(
        "compare.html",
        asked=asked,
        compared=compared,
        differing=[line for line in lines if line.verdict in _DIFFERING],
        alike=[line for line in lines if line.verdict not in _DIFFERING],
        offered=list(dict.fromkeys([*(side for side in (asked.a, asked.b) if side), *offered])),
        examples=_examples(visit, [run.id for run in newest]),
    )


def _likeness(line: ComparedCell) -> float:
    """Return a number that is the smaller the more the sides differ."""
    return -abs(math.log(line.ratio)) if line.ratio else 0.0


def _examples(visit: Visit, newest: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return what somebody may want to compare: words and two sides."""
    examples = []
    for run in newest:
        of_run = sides.offered(visit.db, run)
        if len(of_run) > 1:
            examples.append((f"first and last table of {run}", of_run[0], of_run[-1]))
    cells = {run: _cells(visit, run) for run in newest}
    for b, a in itertools.pairwise([run for run in newest if cells[run]]):
        if cells[a] & cells[b]:
            examples.append((f"{a} and {b}", f"{a}:before", f"{b}:before"))
    return examples[:_EXAMPLES]


def _cells(visit: Visit, run: str) -> set[tuple[str, int, int]]:
    """Return what the first table of a run is about."""
    table = verdicts.get(visit.db, run, "before")
    return {
        (verdict.function, verdict.bytes, verdict.nprocs)
        for verdict in table
        if verdict.launches > 2
    }


def picture(visit: Visit) -> Response:
    suffix = ending(visit, ".json")
    asked = visit.asked(ComparisonQuery)
    if not (asked.a and asked.b):
        raise HTTPException(400, "a and b: two sides, RUN[:STAGE | /SUITE][@VARIANT]")
    compared = _compared(visit, asked)
    spec = comparison_chart.specification(compared, asked.a, asked.b)
    return picture_response(visit, "comparison", suffix, spec)


def _compared(visit: Visit, asked: ComparisonQuery) -> SideComparison:
    try:
        return compare(_side(visit, asked.a), _side(visit, asked.b), How())
    except PrunedError as error:
        raise HTTPException(410, "the samples of a side were thrown away") from error
    except PlumblineError as error:
        text = str(error).replace(str(visit.db.path), "the database")
        raise HTTPException(400, text) from error


def _side(visit: Visit, text: str) -> ComparedSide:
    name = sides.parse(text)
    if name.file is not None:
        raise HTTPException(400, f"{text!r} names a file: sides are of this database")
    if campaigns.known(visit.db, name.campaign) is None:
        raise HTTPException(404, f"there is no run {name.campaign}")
    return sides.read(visit.db, name)
