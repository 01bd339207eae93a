"""A report as tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.core.guidelines import Guidelines
from plumbline.measure.repetitions import RepetitionsCell
from plumbline.results.remaining import Behind, Remaining
from plumbline.results.report import Report, timed_share
from plumbline.results.saving import Saving
from plumbline.search.outcome import label
from plumbline.system.words import counted, with_interval
from plumbline.verify import grid
from plumbline.verify.across import Column, across_table, summary_table
from plumbline.verify.table import before_after_table, violation_table
from plumbline_db.cost import Spent
from plumbline_db.errors import typed
from plumbline_db.layout import use
from plumbline_db.records import Winner, Wrong, by_number
from plumbline_exporters import bundle

from . import common, digest
from .digest import in_unit

_HEAVY = 0.01  # of the application's work
_OF_SEARCH = ["in the search", "of default", "of right side"]

T = TypeVar("T")
K = TypeVar("K")


def of_all(
    reports: Sequence[Report], guidelines: Guidelines, *, all_rows: bool
) -> Iterator[RenderableType]:
    """Return the tables of one campaign, or of those of one file beside each other."""
    if len(reports) == 1:
        return of(reports[0], guidelines, all_rows=all_rows)
    return side_by_side(reports, guidelines, all_rows=all_rows)


def of(report: Report, guidelines: Guidelines, *, all_rows: bool) -> Iterator[RenderableType]:
    """Everything, in reading order: before, what became of it, how, what was dropped, what remains
    and why, at what cost."""
    crowded = report.campaign.oversubscribed
    yield digest.heading(report)
    yield ""
    way = use(report.campaign)
    yield violation_table(
        report.before,
        guidelines,
        title=f"Before ({way})",
        all_rows=all_rows,
        oversubscribed=crowded,
    )
    if report.wrong:
        yield ""
        yield wrong(report.wrong)
    if report.repetitions:
        yield ""
        yield repetitions(report.repetitions, all_rows=all_rows)
    if report.after is None:
        yield f"\nThe campaign is not finished; {report.to_continue}."
        return
    if report.campaign.state == "finished" and report.winners:
        yield ""
        yield before_after_table(
            report.before,
            report.after,
            guidelines,
            title=f"After ({way}), cold, with the exported files in force",
            all_rows=all_rows,
            oversubscribed=crowded,
        )
        if any(verdict.kind == "rank" for verdict in report.after):
            yield (
                "rank monotony after: calls on fewer ranks, the left sides, are not tuned; the "
                "winners are for all ranks"
            )
    if report.without_cells():
        yield (
            f"not verified: {', '.join(report.without_cells())}; there is no cell at these sizes "
            "and on this number of ranks"
        )
    stages = {"before": report.before, "after": report.after}
    yield ""
    yield report.headline()
    yield summary_table(stages if report.winners else {"before": report.before}, guidelines)
    if report.winners:
        yield ""
        yield winners(report, guidelines)
        yield from (f"not proven: {text}" for text in report.not_proven())
    if report.saving is not None:
        yield ""
        yield digest.saved(report.saving)
        yield savings(report.saving)
    if texts := report.notes():
        yield ""
        yield "\n".join(texts)
    yield ""
    slower = report.behind()
    if slower:
        yield from behind(slower)
    if report.searches and (still_violated := report.remaining(slower)):
        yield from remaining(still_violated, guidelines)
    yield facts(report)


def side_by_side(
    reports: Sequence[Report], guidelines: Guidelines, *, all_rows: bool
) -> Iterator[RenderableType]:
    """Campaigns of one file: libraries and layouts beside each other, then what each has cost."""
    columns = [
        Column(
            f"{report.library.id} {_layout(report)}",
            report.before,
            report.after if report.winners else None,
        )
        for report in reports
    ]
    machines = ", ".join(dict.fromkeys(f"{report.machine.host}" for report in reports))
    yield across_table(
        columns, guidelines, title=f"Violated guidelines on {machines}", all_rows=all_rows
    )
    yield ""
    rows = [
        (
            " ".join(report.library.version_string.split()),
            _layout(report),
            report.campaign.id,
            report.state,
            len(report.winners),
            report.cost.launches,
            f"{report.cost.seconds:.0f}",
        )
        for report in reports
    ]
    heads = ("library", "layout", "campaign", "state", "winners", "launches", "seconds")
    yield common.titled("Campaigns", heads, rows=rows)
    yield f"one of them: {typed('results', '--campaign', reports[-1].campaign.id)}"


def _layout(report: Report) -> str:
    return f"{report.campaign.nodes}x{report.campaign.ppn}"


def winners(report: Report, guidelines: Guidelines) -> Table:
    rows = [
        (
            winner.function,
            bundle.sizes(winner, unit="") + bundle.only(winner),
            common.short(label(winner.variant, winner.configuration)),
            with_interval(winner.speedup, winner.speedup_low, winner.speedup_high),
            _removed(winner, guidelines),
        )
        for winner in digest.in_order(report.winners)
    ]
    heads = ("function", "bytes", "configuration", "speed-up, cold", "removes")
    return common.titled("Winners", heads, whole=("speed-up, cold",), rows=rows)


def _removed(winner: Winner, guidelines: Guidelines) -> str:
    """`GL12 Allreduce ⪯ Reduce+Bcast (1024, 8192 B)`, by guideline."""
    sizes: dict[str, list[str]] = {}
    for name in winner.removes:
        guideline, _, size = name.partition("@")
        sizes.setdefault(guideline, []).append(size)
    words = [
        grid.named(guideline, guidelines)
        + (f" ({', '.join(sorted(sizes_of, key=by_number))} B)" if all(sizes_of) else "")
        for guideline, sizes_of in sizes.items()
    ]
    return "; ".join(words) or "none for certain"


def behind(cells_behind: Sequence[Behind]) -> Iterator[RenderableType]:
    """Cells that what was measured could make faster, by the reason why it was not taken."""
    yield Text("Behind the best that was measured", style="bold")
    for why, same_reason in _grouped(cells_behind, lambda cell: cell.why).items():
        table = common.titled(
            f"{why}:", ("function", "bytes", "in force", "times as long as", "the best")
        )
        rows = _grouped(same_reason, lambda cell: (cell.function, cell.in_force, cell.best))
        for (function, in_force, best), cells in rows.items():
            factors = sorted(cell.factor for cell in cells)
            table.add_row(
                function,
                ", ".join(str(size) for size in sorted(cell.bytes for cell in cells)),
                common.short(in_force),
                "-".join(dict.fromkeys(f"{factor:.2f}" for factor in (factors[0], factors[-1]))),
                common.short(best),
            )
        yield table
        yield ""


def _grouped(members: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return groups in the order of their first members."""
    groups: dict[K, list[T]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return groups


def wrong(wrong_results: Sequence[Wrong]) -> Table:
    """Return what gave wrong results, and where: such calls are not timed, and nothing of them is
    exported."""
    rows = [
        (
            wrong.function,
            common.short(label(wrong.variant, wrong.knobs)),
            wrong.bytes,
            f"{wrong.type} {wrong.op}",
            wrong.launches,
            wrong.detail,
        )
        for wrong in wrong_results
    ]
    heads = ("function", "configuration", "bytes", "type", "launches", "what was wrong")
    return common.titled("Wrong results", heads, rows=rows)


def repetitions(cells: Sequence[RepetitionsCell], *, all_rows: bool) -> Table:
    """Return the repetitions that a stopping rule has counted, of the library's own calls or, with
    `all_rows`, of all that was measured; `+` where the rule was not met."""
    by_side = _grouped(
        (cell for cell in cells if all_rows or cell.variant == "default"),
        lambda cell: (cell.function, cell.variant, cell.ranks),
    )
    rows = [
        (
            function + (f" on {counted(ranks, 'rank')}" if ranks else ""),
            common.short(variant),
            "  ".join(
                f"{cell.bytes}: {cell.nrep}{'' if cell.met else '+'}"
                for cell in sorted(side, key=lambda cell: cell.bytes)
                if cell.nrep is not None
            ),
        )
        for (function, variant, ranks), side in by_side.items()
    ]
    heads = ("function", "variant", "bytes: the most repetitions of all launches")
    return common.titled("Repetitions by the stopping rule", heads, rows=rows)


def savings(saving: Saving) -> Table:
    """Calls that have a winner, and those that are heavy."""
    table = common.titled(
        "Saving",
        (
            "function",
            "bytes",
            "calls",
            "seconds",
            "not waiting",
            "default",
            "saving",
            "configuration",
        ),
    )
    for row in saving.rows:
        if not row.configuration and row.share < _HEAVY:
            continue
        interval = ""
        if row.configuration and row.saving_seconds is not None:
            interval = (
                f"{in_unit(row.saving_seconds)} [{in_unit(row.saving_low_seconds)}, "
                f"{in_unit(row.saving_high_seconds)}]"
            )
        table.add_row(
            row.function,
            str(row.bytes),
            f"{row.calls:.6g}",
            in_unit(row.seconds),
            in_unit(row.work_seconds),
            in_unit(row.default_seconds),
            interval or ("not measured" if row.configuration else "-"),
            common.short(row.configuration),
        )
    return table


def _spent(spent: Spent) -> str:
    whole = (
        spent.start_seconds
        + spent.check_seconds
        + spent.timed_seconds
        + spent.synchronisation_seconds
    )

    def share(seconds: float) -> str:
        return f"{100 * seconds / whole:.0f} %"

    return (
        f"these went into starts ({share(spent.start_seconds)}, "
        f"{spent.start_seconds / spent.launches:.2f} s a launch), "
        f"checks of results ({share(spent.check_seconds)}), "
        f"timed regions ({share(spent.timed_seconds - spent.warmup_seconds)}, and "
        f"{share(spent.warmup_seconds)} for warm-up), "
        f"synchronisation and records ({share(spent.synchronisation_seconds)})"
    )


def facts(report: Report) -> str:
    """The plain facts of the run, and where the exported files are."""
    spent = report.cost
    starts = (
        "" if spent.starts == spent.launches else f", {counted(spent.starts, 'start')} of ranks"
    )
    lines = [
        f"{counted(spent.launches, 'launch')} ({spent.failed} failed){starts}, "
        f"{counted(spent.cells, 'cell')}, "
        f"{spent.seconds:.1f} s in launches, {100 * timed_share(spent):.0f} % of it inside timed "
        "regions"
    ]
    if report.spent is not None:
        lines.append(_spent(report.spent))
    if report.hours is not None:
        lines.append(report.hours.text())
    if report.conditions is not None:
        lines += [f"warning: {warning.text}" for warning in report.conditions.warnings]
        lines += [f"varied: {text}" for text in report.conditions.varied]
    if report.winners:
        lines.append("exported:")
        lines += [f"  {export.path}" for export in report.exports]
    return "\n".join(lines)


def remaining(violations: Sequence[Remaining], guidelines: Guidelines) -> Iterator[RenderableType]:
    """Violations that are left, by the reason; in the search the winner in force, or the fastest
    candidate."""
    yield Text("Violations that remain", style="bold")
    for why, same_reason in _grouped(violations, lambda violation: violation.reason).items():
        heads = ["guideline", "bytes", "ratio"]
        tried = any(violation.configuration for violation in same_reason)
        heads += _OF_SEARCH if tried else []
        table = common.titled(f"{why}:", heads, whole=("ratio", "of default"))
        for each in same_reason:
            verdict, trial = each.verdict, each.trial
            words = [
                grid.named(verdict.guideline, guidelines, verdict.function),
                str(verdict.bytes),
                with_interval(verdict.ratio, verdict.ratio_low, verdict.ratio_high),
                common.short(each.configuration),
                with_interval(trial.ratio, trial.ratio_low, trial.ratio_high) if trial else "",
                with_interval(each.of_right_side, None, None),
            ]
            table.add_row(*words[: len(table.columns)])
        yield table
        yield ""
