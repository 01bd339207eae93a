"""The output of `--rules`: tables by the rules of a paper, and where Plumbline's differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from plumbline.system.words import counted
from plumbline_db.records import Verdict

from . import common
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.core.guidelines import Guidelines
    from plumbline.results.paper_rules import JudgedTable


def show(program: ProgramOptions, ids: Sequence[str], rules: str, *, all_rows: bool) -> bool:
    """Print the tables of campaigns by these rules; return whether the last table of one of them
    has a violation, or a result was wrong."""
    from plumbline.core import guidelines
    from plumbline.results import paper_rules, report

    with program.open() as db:
        reports = [report.read(db, id, conditions=False) for id in ids]
        judged = [paper_rules.judged(db, each, rules) for each in reports]
    documents = []
    for each, tables in zip(reports, judged, strict=True):
        if program.json:
            documents.append(paper_rules.document(each, rules, tables))
            continue
        from . import digest

        own_guidelines = guidelines.of_settings(each.campaign.settings)
        shown = _tables(rules, tables, own_guidelines, all_rows=all_rows)
        common.show(digest.heading(each), *shown, fit=True)
    if program.json:
        common.print_json(documents[0] if len(documents) == 1 else {"campaigns": documents})
    last_tables = [list(tables.values())[-1] for tables in judged]
    return any(each.wrong for each in reports) or any(
        verdict.verdict == "violated" for table in last_tables for verdict in table.verdicts
    )


def _tables(
    rules: str, tables: Mapping[str, JudgedTable], guidelines: Guidelines, *, all_rows: bool
) -> Iterator[RenderableType]:
    from plumbline.verify.paper import ALPHA, RULES
    from plumbline.verify.table import violation_table

    for stage, table in tables.items():
        fewest, most = table.launches
        number = counted(most, "launch") if fewest == most else f"{fewest} to {most} launches"
        how = f"{RULES[rules].name}, p < {ALPHA:g}, {number} a cell"
        yield ""
        yield violation_table(
            table.verdicts,
            guidelines,
            title=f"{stage.capitalize()}, by the rules of PGMPI ({how})",
            all_rows=all_rows,
        )
        yield ""
        yield _counts(table)
        yield from _differences(table, guidelines)


def _counts(table: JudgedTable) -> RenderableType:
    rows = [
        (kind, *(numbers[name] for name in ("tested", "paper", "plumbline", "both")))
        for kind, numbers in table.counts.items()
    ]
    heads = ("kind", "cells", "by the paper", "by Plumbline", "by both")
    return common.table(*heads, left=("kind",), title="Violated cells", rows=rows)


def _differences(table: JudgedTable, guidelines: Guidelines) -> Iterator[RenderableType]:
    """Yield the cells that only one set of rules calls violated, by the reason."""
    from plumbline.verify.paper import REASONS

    from . import digest

    for reason, meaning in REASONS.items():
        rows = [
            (
                digest.named(each.paper.guideline, guidelines, each.paper.function),
                each.paper.bytes,
                *_words(each.paper, each.plumbline),
                each.detail,
            )
            for each in table.differences
            if each.reason == reason
        ]
        if rows:
            yield ""
            title = f"{reason} ({counted(len(rows), 'cell')}): {meaning}"
            heads = ("guideline", "bytes", "paper", "Plumbline", "numbers")
            yield common.titled(title, heads, rows=rows)


def _words(paper: Verdict, own: Verdict | None) -> tuple[str, str]:
    return paper.verdict, "-" if own is None else own.verdict
