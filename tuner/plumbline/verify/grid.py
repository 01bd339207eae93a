"""The shape of the violation table: which rows and columns there are and what a cell says.

Pure; table.py draws it. The form is that of Table 4 of Hunold et al., Euro-Par 2016: a row for each
function (monotony, split-robustness) or guideline (pattern), a column for each message size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from plumbline.core.guidelines import Guidelines
from plumbline.verify.kinds import all_kinds
from plumbline_db.records import Verdict

# The fields of a verdict in `--json` (docs/verification.md), in their order.
JSON_FIELDS = (
    "guideline",
    "kind",
    "function",
    "lhs",
    "rhs",
    "ranks",
    "nprocs",
    "ppn",
    "bytes",
    "other_bytes",
    "factor",
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p",
    "p_adjusted",
    "launches",
    "reason",
)


def as_json(verdicts: Sequence[Verdict]) -> list[dict[str, object]]:
    """Verdicts as plain objects with the fields JSON_FIELDS; numbers that do not exist are None."""
    return [
        {field: getattr(verdict, field) for field in JSON_FIELDS}
        | {"depends": verdict.depends, "uses": msgspec.to_builtins(verdict.uses)}
        for verdict in verdicts
    ]


# The states of a cell. `depends`: another way of use has another answer. The last two occur only if
# two tables are combined.
State = Literal["violated", "undecided", "holds", "depends", "absent", "removed", "new"]


class Row(msgspec.Struct, frozen=True):
    """One row: `letter` is its kind's, `label` a function or guideline without `MPI_`."""

    letter: str
    label: str
    states: list[State]

    def remarkable(self) -> bool:
        return any(state not in ("holds", "absent") for state in self.states)


class Grid(msgspec.Struct, frozen=True):
    """`sizes` in bytes, ascending; every row has one state a size."""

    sizes: list[int]
    rows: list[Row]


def of_table(verdicts: Sequence[Verdict], guidelines: Guidelines) -> Grid:
    """The grid of one table (one stage, one number of ranks)."""
    cells = _by_cell(verdicts)
    return _grid({place: _state(verdict) for place, verdict in cells.items()}, verdicts, guidelines)


def of_before_and_after(
    before: Sequence[Verdict], after: Sequence[Verdict], guidelines: Guidelines
) -> Grid:
    """The grid of two tables in one.

    removed: violated before, holds after. violated: violated after, and not known to have held
    before. new: held before, violated after. A cell that has a verdict before only is undecided:
    what was not looked at again is not removed."""
    old, new = _by_cell(before), _by_cell(after)
    states: dict[_Place, State] = {}
    for place in {**old, **new}:
        was = old[place].verdict if place in old else None
        now = new[place].verdict if place in new else "undecided"
        if now == "violated" and was == "holds":
            states[place] = "new"
        elif now == "holds" and was == "violated":
            states[place] = "removed"
        else:
            states[place] = _state(new[place]) if place in new else now
    return _grid(states, [*before, *after], guidelines)


def size_heads(sizes: Sequence[int]) -> list[str]:
    """Return heads in one style: 512, 1k, 100k, 1M where each size above 1024 is a multiple of it,
    else bytes."""
    if any(size > 1024 and size % 1024 for size in sizes):
        return [str(size) for size in sizes]
    return [_short(size) for size in sizes]


def _short(size: int) -> str:
    for unit, factor in (("M", 1024 * 1024), ("k", 1024)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def guideline_label(guideline: str, guidelines: Guidelines) -> str:
    """`Allreduce ⪯ Reduce+Bcast` for GL12; the id itself where the file does not know it."""
    try:
        name = guidelines.name_of(guideline)
    except KeyError:
        return guideline
    return name.replace("MPI_", "").replace(" + ", "+")


def named(guideline: str, guidelines: Guidelines, function: str = "") -> str:
    """`GL3 Gather ⪯ Allgather`, and with a function that its name lacks `GL2 A(n) ⪯ k A(n / k) of
    Gather`; the id alone where nobody knows the guideline."""
    name = " ".join(dict.fromkeys([guideline, guideline_label(guideline, guidelines)]))
    short = function.removeprefix("MPI_")
    return name if short in name else f"{name} of {short}"


def _state(verdict: Verdict) -> State:
    return "depends" if verdict.depends else verdict.verdict


# (kind, guideline, function, bytes)
_Place = tuple[str, str, str, int]


def _by_cell(verdicts: Iterable[Verdict]) -> dict[_Place, Verdict]:
    cells: dict[_Place, Verdict] = {}
    ranks: set[tuple[int, int]] = set()
    for verdict in verdicts:
        place = (verdict.kind, verdict.guideline, verdict.function, verdict.bytes)
        if place in cells:
            raise ValueError(f"two verdicts for {place}: a table shows one stage")
        cells[place] = verdict
        ranks.add((verdict.nprocs, verdict.ppn))
    if len(ranks) > 1:
        raise ValueError(f"a table shows one number of ranks, not {sorted(ranks)}")
    return cells


def _grid(states: dict[_Place, State], verdicts: Sequence[Verdict], guidelines: Guidelines) -> Grid:
    # The largest size of monotony stands on right sides only, and is a column all the same.
    sizes = sorted({place[3] for place in states} | {verdict.other_bytes for verdict in verdicts})
    rows = []
    for kind in all_kinds():
        by_function = kind.row == "function"
        states_by_row: dict[str, dict[int, State]] = {}
        for (name, guideline, function, size), state in states.items():
            if name == kind.name:
                states_by_row.setdefault(function if by_function else guideline, {})[size] = state
        usual_order = (
            guidelines.lhs_functions() if by_function else [g.id for g in guidelines.patterns]
        )
        for key in in_order(states_by_row, usual_order):
            label = key.removeprefix("MPI_") if by_function else guideline_label(key, guidelines)
            row_states = [states_by_row[key].get(size, "absent") for size in sizes]
            rows.append(Row(kind.letter, label, row_states))
    return Grid(sizes, rows)


def in_order(present: Iterable[str], usual_order: Sequence[str]) -> list[str]:
    """Return what is present: first in the order of the guidelines, then the rest by name."""
    names_present = set(present)
    return [
        *(name for name in usual_order if name in names_present),
        *sorted(names_present - set(usual_order)),
    ]
