"""Tables 2, 3 and 4 of Hunold et al. (Euro-Par 2016) of campaigns, as rows for files: how many
functions or guidelines are violated, which patterns in which library, and where in which size. What
people read are the same tables in verify/across.py and verify/table.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plumbline.core.guidelines import Guidelines
from plumbline.results.report import Report
from plumbline.verify import grid
from plumbline.verify.across import summary_counts
from plumbline.verify.table import UNICODE
from plumbline_db.records import Verdict

Columns = dict[str, type]
Row = dict[str, object]


def rows_of(
    name: str, reports: Sequence[Report], guidelines: Guidelines
) -> tuple[Columns, list[Row]]:
    """Return the columns and rows of the table `name`: table2, table3 or table4."""
    if name == "table2":
        return _counts(reports)
    if name == "table3":
        return _patterns(reports, guidelines)
    return _places(reports, guidelines)


def _stages(report: Report) -> Iterator[tuple[str, Sequence[Verdict]]]:
    yield "before", report.before
    if report.after is not None and report.winners:
        yield "after", report.after


def _campaign(report: Report, stage: str) -> Row:
    return {
        "run": report.campaign.id,
        "library": " ".join(report.library.version_string.split()),
        "nodes": report.campaign.nodes,
        "ppn": report.campaign.ppn,
        "stage": stage,
    }


def _counts(reports: Sequence[Report]) -> tuple[Columns, list[Row]]:
    """Return table 2: of each kind of guideline, how many functions or patterns are violated."""
    rows = [
        _campaign(report, stage)
        | {
            "type": kind,
            "violated": count.violated,
            "undecided": count.undecided,
            "tested": count.tested,
        }
        for report in reports
        for stage, verdicts in _stages(report)
        for kind, count in summary_counts(verdicts).items()
    ]
    return _columns(rows), rows


def _patterns(reports: Sequence[Report], guidelines: Guidelines) -> tuple[Columns, list[Row]]:
    """Return table 3: a row for each pattern guideline, a column for each campaign and stage."""
    heads: dict[str, Sequence[Verdict]] = {
        f"{report.campaign.id} {stage}": verdicts
        for report in reports
        for stage, verdicts in _stages(report)
    }
    tested = {
        verdict.guideline
        for verdicts in heads.values()
        for verdict in verdicts
        if verdict.kind == "pattern"
    }
    order = [pattern.id for pattern in guidelines.patterns]
    rows: list[Row] = []
    for guideline in grid.in_order(tested, order):
        label = grid.guideline_label(guideline, guidelines)
        marks = {head: _mark(guideline, verdicts) for head, verdicts in heads.items()}
        rows.append({"id": guideline, "guideline": label, **marks})
    return _columns(rows), rows


def _mark(guideline: str, verdicts: Sequence[Verdict]) -> str:
    """Return the sign of a guideline over all sizes: violated at one, undecided at one, not tested,
    or blank."""
    words = {verdict.verdict for verdict in verdicts if verdict.guideline == guideline}
    if "violated" in words:
        return UNICODE.violated
    if "undecided" in words:
        return UNICODE.undecided
    return UNICODE.holds.strip() if words else UNICODE.absent


def _places(reports: Sequence[Report], guidelines: Guidelines) -> tuple[Columns, list[Row]]:
    """Return table 4: a row for each function or pattern, a column for each size."""
    rows: list[Row] = []
    columns: Columns = {"run": str, "stage": str, "type": str, "guideline": str}
    for report in reports:
        for stage, verdicts in _stages(report):
            shown_grid = grid.of_table(verdicts, guidelines)
            for row in shown_grid.rows:
                sizes = {
                    str(size): getattr(UNICODE, state).strip()
                    for size, state in zip(shown_grid.sizes, row.states, strict=True)
                }
                about = {"run": report.campaign.id, "stage": stage}
                rows.append(about | {"type": row.letter, "guideline": row.label} | sizes)
                columns |= dict.fromkeys(sizes, str)
    return columns, [dict.fromkeys(columns, UNICODE.absent) | row for row in rows]


def _columns(rows: Sequence[Row]) -> Columns:
    return {name: type(value) for name, value in rows[0].items()} if rows else {}
