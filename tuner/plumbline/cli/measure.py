"""plumbline measure"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from plumbline.core.configuration import Configuration, variant_name
from plumbline.core.plan import Plan, PlanCase, StoppingRule, least_bytes, rounding
from plumbline_db.errors import UsageError

from . import base, common, completing, options, progress
from .base import Program

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.measure.refine import Axis
    from plumbline.measure.side_by_side import MeasuredCase
    from plumbline.settings import Settings
    from plumbline.settings.toolchain import Toolchain
    from plumbline_db.points import SuitePoint


LAUNCHES = 8
_REFINED = 8  # places that may be added, beside as many as were asked for
_FIRST_RANKS = 5  # numbers of ranks, before any is added

# Settings of a plan that apply to all its cases.
_OF_PLAN = {
    "sync": "How ranks start: barrier, dissemination, window, roundtime or none.",
    "use": "Way of use: synchronised, loop, stream, after_barrier or late (in place of --sync and "
    "--runtime).",
    "arrival": "Who comes late with --use late: one:NS, uniform:NS or list:NS,NS,… (a number a "
    "rank).",
    "runtime": "local: the largest of the ranks' own times; global: first start to last end.",
    "clock": "Timer: monotonic_raw, monotonic, wtime, tsc or papi.",
    "clock_sync": "How the global clock is learnt, where one is needed: hca3, hca2, hca, jk, …",
}


class What(NamedTuple):
    """Options that say what is measured side by side."""

    function: str
    sizes: list[int]
    variants: str
    knobs: tuple[str, ...]


@base.command(
    "measure",
    gathers={"what": What},
    takes=f"mpi json {options.MEASURED}",
    context_settings={"default_map": {"sizes": "16384"}},
    told={"sizes": {"help": "Bytes, with commas between; 0: the call without data."}},
)
@click.argument("function", shell_complete=completing.functions)
@options.option(
    "--variants",
    default="",
    help="Variants beside the default (`plumbline variants`), with commas between; or 'all'.",
)
@options.refine
@options.knob
@options.launches(unset=f"{LAUNCHES}; 1 on a simulated machine, as all repeat")
@options.option(
    "--rule",
    help="A stopping rule (see `plumbline nrep`) in place of a fixed number of repetitions.",
)
@options.cache()
@options.together(*(options.of_plan(name, help) for name, help in _OF_PLAN.items()))
@options.of_plan(
    "window_us",
    "Window of --sync window; 0: from a short measurement of each case.",
    type=options.Count(0),
)
@options.raw_records
def command(
    program: Program,
    what: What,
    launches: int | None,
    refine: bool,
    rule: str | None,
    output: Path | None,
    **asked: Any,
) -> int:
    """Measure one function, or one pattern, side by side in several variants.

    All cases run in the same launches, in random order; the ratio to the default is paired by
    launch. Knobs that the library reads when it starts have launches of their own, which take turns
    with those; what they are read under is set with them. --refine adds sizes between several; with
    one size it goes over ranks, from 2 to --nprocs. Nothing is stored in the database. Exit code 1
    if a case could not be measured.

    \b
    Example:
      plumbline measure MPI_Allreduce --sizes 1024,16384 --variants all \\
        --knob coll_tuned_allreduce_algorithm=ring
      plumbline measure point_to_point -n 2 --variants ssend_recv --sizes 64,65536 --refine
      plumbline measure MPI_Gather -n 32 --simulate mpich --variants all --sizes 8192 --refine
    """
    from plumbline.measure import conditions, settling, side_by_side, unkept
    from plumbline.measure.refine import Axis, Refinement, run_refined
    from plumbline.search.outcome import label
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain

    of_plan = {name: asked.pop(name) for name in (*_OF_PLAN, "cache", "window_us")}
    all_settings = campaign_file.load(None, asked)
    toolchain = find_toolchain(program.mpi, settings=all_settings)
    (function,) = common.functions(toolchain.catalogue, [what.function])
    chosen = _variants(toolchain, function, what.variants)
    hot, cold = _configurations(toolchain, what.knobs, all_settings)
    data = all_settings.cases.data
    common.remark(rounding({function: what.sizes}, data))
    cases = [
        case
        for size in dict.fromkeys(data.whole(function, size) for size in what.sizes)
        for case in (
            PlanCase(function, size),
            *(PlanCase(function, size, configuration=configuration) for configuration in hot),
            *(PlanCase(function, size, variant) for variant in chosen),
        )
    ]
    simulated = all_settings.ranks.simulate is not None
    nprocs = all_settings.ranks.placement(toolchain.launcher.processing_units()).nprocs
    axis = Axis("ranks" if refine and len({case.bytes for case in cases}) == 1 else "bytes", nprocs)
    if axis.name == "ranks":
        over = _first_ranks(max(2, data.root + 1), nprocs)
        cases = [axis.at(place, case, data) for place in over for case in cases]
    plan = Plan(
        "check",
        all_settings.sampling.seed,
        tuple(dict.fromkeys(cases)),
        data,
        blocks=all_settings.sampling.blocks,
        reps=all_settings.sampling.reps,
        nrep=StoppingRule(rule) if rule is not None else None,
        **of_plan,
        knobs=toolchain.space.switch,
    )
    if not (simulated and rule is not None):
        plan = settling.until_settled(plan, simulated=simulated)
    environment = toolchain.space.hot_environment if hot else {}
    ranks = starting.starter(toolchain, all_settings)
    ranks.require(plan.text(), "this plan")
    count = launches or (1 if simulated else LAUNCHES)
    with (
        progress.Bar(in_all=count * (1 + len(cold))) as bar,
        unkept.store_for(toolchain, ranks, "measure", bar) as store,
    ):
        store.progress.step(f"measuring {function}")
        added: list[SuitePoint] = []
        if refine:
            unit = least_bytes(function, nprocs, data) if axis.name == "bytes" else 1
            places = len({axis.place(case) for case in plan.cases})
            how = Refinement(most=2 * places + _REFINED, unit=unit or 1)
            more = run_refined(
                *(store, plan, count, environment, cold),
                how=how,
                axis=axis,
                label=label,
            )
            lines, added = more.cases, more.added
        else:
            lines = side_by_side.run(store, plan, count, environment, cold)
        raw = unkept.records(store)
    common.write_records(output, "measure", raw)
    start_weaknesses = conditions.of_starts(settling.starts(raw), simulated=simulated)
    common.remark(*(weakness.text for weakness in [*conditions.of_records(raw), *start_weaknesses]))
    _show(program, lines, added, axis, tested=not simulated)
    return 0 if all(line.outcome == "ok" for line in lines) else 1


def _variants(toolchain: Toolchain, function: str, text: str) -> list[str]:
    """Return what stands beside the default. Raises UsageError."""
    variants_known = toolchain.catalogue.choices(function)
    chosen = variants_known if text == "all" else common.specs_of(text)
    unknown = {variant_name(word) for word in chosen} - set(variants_known) - {"library", "empty"}
    if unknown:
        raise UsageError(
            f"{function} has no variant {', '.join(sorted(unknown))}; "
            f"it has {', '.join(variants_known) or 'none'}"
        )
    return list(chosen)


def _configurations(
    toolchain: Toolchain, knobs: tuple[str, ...], settings: Settings
) -> tuple[list[Configuration], list[Configuration]]:
    """Return those that may change within a launch, and those that the library reads when it
    starts: all, where a site has rules in force, which come first. Raises UsageError."""
    from plumbline.settings import site_rules

    space = toolchain.space
    if site_rules.find(toolchain, settings) is not None:
        space = site_rules.over(space)
    hot: list[Configuration] = []
    cold: list[Configuration] = []
    for name, value in map(_knob, knobs):
        if toolchain.knobs and name not in toolchain.knobs:
            raise UsageError(f"{toolchain.installation.library.id} reports no parameter {name}")
        writable = name not in toolchain.knobs or toolchain.knobs[name].writable
        kind = hot if writable and space.is_hot(name) else cold
        kind.append(Configuration.of(space.with_needs(name, value)))
    return hot, cold


def _first_ranks(first: int, nprocs: int) -> list[int]:
    """Return where refinement over ranks begins. Raises UsageError."""
    from plumbline.measure.refine import grid

    if first >= nprocs:
        raise UsageError(
            f"--refine with one size varies the number of ranks, from {first} on: raise --nprocs "
            f"above {first}, or give several --sizes"
        )
    return grid(first, nprocs, _FIRST_RANKS, scale="logarithmic")


def _show(
    program: Program,
    lines: list[MeasuredCase],
    added: Sequence[SuitePoint],
    axis: Axis,
    *,
    tested: bool,
) -> None:
    from rich.text import Text

    if program.json:
        why = {point.place: point for point in added}
        common.print_json(
            [
                msgspec.to_builtins(line)
                | {"added": msgspec.to_builtins(why.get(axis.place(line)))}
                for line in lines
            ]
        )
        return
    reasons = common.Reasons()
    common.show(
        _table(lines, reasons, axis, tested=tested),
        *map(Text, [*reasons.lines(), *_remarks(lines), *_added(added)]),
    )


def _knob(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise click.UsageError(f"--knob takes NAME=VALUE, not {word!r}")
    return name, value


def _remarks(lines: list[MeasuredCase]) -> list[str]:
    """Return what start scheme and global clock left out or add: nothing where neither was asked
    for."""
    remarks = []
    if dropped := sum(line.dropped for line in lines):
        remarks.append(f"{dropped} repetitions were late or overran their window, and were dropped")
    error = lines[0].clock_error_seconds
    if error is not None:
        remarks.append(f"global clock: residual error at most {1e6 * error:.2f} µs")
    return remarks


def _added(points: Sequence[SuitePoint]) -> list[str]:
    units = {"bytes": "B", "ranks": "ranks"}
    return [
        f"{point.place} {units[point.axis]}, look {point.look}: {point.why}: {point.detail}"
        for point in points
    ]


def _table(
    lines: list[MeasuredCase], reasons: common.Reasons, axis: Axis, *, tested: bool
) -> Table:
    """`tested`: ratios have a p; those of a simulated machine are as they are."""
    import statistics

    from rich.text import Text

    from plumbline.search.outcome import label

    over_ranks = axis.name == "ranks"
    table = common.table(
        *(["ranks"] if over_ranks else []),
        *("bytes", "configuration", "median µs", "launches µs", "over default", "p"),
        left=("configuration",),
    )
    for line in lines:
        name = label(line.variant, line.knobs)
        where = (*([str(axis.place(line))] if over_ranks else []), str(line.bytes))
        if not line.seconds:
            table.add_row(*where, name, Text(reasons.mark(line.outcome)))
            continue
        low, high = min(line.seconds), max(line.seconds)
        comparison = line.ratio
        table.add_row(
            *where,
            name,
            f"{1e6 * statistics.median(line.seconds):.2f}",
            f"{1e6 * low:.2f}–{1e6 * high:.2f}",
            common.ratio_words(comparison),
            f"{comparison.p:.2g}" if comparison is not None and tested else "",
        )
    return table
