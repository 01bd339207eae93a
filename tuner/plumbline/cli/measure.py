"""plumbline measure"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from plumbline.core.configuration import Configuration, variant_name
from plumbline.core.plan import Plan, PlanCase, StoppingRule, least_bytes, measurable, rounding
from plumbline.system.machine import processing_units
from plumbline.system.words import with_interval
from plumbline_db.errors import UsageError

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.measure.pingpong import PairLatencies
    from plumbline.measure.refine import Axis, RefinedCases
    from plumbline.measure.repetitions import RepetitionsCell
    from plumbline.measure.side_by_side import MeasuredCase
    from plumbline.settings import Settings
    from plumbline.settings.toolchain import Toolchain
    from plumbline_db.points import SuitePoint
    from plumbline_db.probe_records import Criterion


LAUNCHES = 8
_REFINED = 8  # places that may be added, beside as many as were asked for
_FIRST_RANKS = 5  # numbers of ranks, before any is added
_SIZE = 16384
_UNITS = {"bytes": "B", "ranks": "ranks"}
_NREP_SIZES, _NREP_LAUNCHES = [8, 1024, 16384, 131072], 3
_FEWEST = 2  # ranks of ping-pongs
PINGPONG = "pingpong"  # in place of a function

# Keys of a plan for --set, beside those of a campaign file.
_OF_PLAN: dict[str, Any] = {
    **dict.fromkeys(("sync", "use", "arrival", "runtime", "clock", "clock_sync", "cache")),
    **dict.fromkeys(("window_us", "budget_ms"), options.CountType(0)),
}


class What(NamedTuple):
    """Options that say what is measured, and how often."""

    sizes: list[int] | None
    variants: str
    knobs: tuple[str, ...]
    refine: bool
    launches: int | None
    output: Path | None
    new: bool


@base.command(
    "measure",
    gathers={"what": What},
    takes=f"mpi db json refine {options.MEASURED}",
    told={
        "sizes": {
            "help": "Bytes, with commas between; 0: the call without data.",
            "unset": f"{_SIZE}; --nrep: {','.join(map(str, _NREP_SIZES))}; pingpong: 0 to 4194304",
        }
    },
)
@click.argument("function", shell_complete=options.complete_functions)
@options.option(
    "--variants",
    default="",
    help="Variants beside the default (`plumbline variants`), with commas between; or 'all'.",
)
@options.knob
@options.launches(
    unset=f"{LAUNCHES}, or 1 on a simulated machine, as all repeat; --nrep: {_NREP_LAUNCHES}; "
    "pingpong: 10"
)
@click.option(
    "--nrep",
    "counts_repetitions",
    is_flag=True,
    help="Count the repetitions that each size needs until the stopping rule `--set nrep=` is met "
    f"(default: {StoppingRule().criteria}).",
)
@options.settings("a plan or a campaign file", _OF_PLAN)
@options.raw_records
@options.new
def command(
    program: ProgramOptions, function: str, what: What, counts_repetitions: bool, **asked: Any
) -> int:
    """Measure one function, or one pattern, side by side in several variants.

    All cases run in the same launches, in random order; the ratio to the default is paired by
    launch. Knobs that the library reads when it starts have launches of their own, which take turns
    with those; what they are read under is set with them. --refine adds sizes between several; with
    one size it goes over ranks, from 2 to --nprocs. Nothing is stored in the database. Exit code 1
    if a case could not be measured, or with --nrep if a launch did not meet the rule.

    `plumbline measure pingpong` measures latency and bandwidth between ranks by class of pair (same
    core, same socket, other sockets, other nodes), fits Hockney's α + β m, and stores everything in
    the database. docs/measurement.md has the keys of --set.

    \b
    Example:
      plumbline measure MPI_Allreduce --sizes 1024,16384 --variants all \\
        --knob coll_tuned_allreduce_algorithm=ring
      plumbline measure point_to_point -n 2 --variants ssend_recv --sizes 64,65536 --refine
      plumbline measure MPI_Bcast --nrep --set nrep=median_ci:0.01
      plumbline measure pingpong -n 4 --sizes 0,8,1024,65536,1048576
    """
    if function == PINGPONG:
        return _round_trips(program, what, counts_repetitions=counts_repetitions, **asked)
    if what.new:
        raise UsageError("--new: only ping-pongs are stored; leave it out")
    if counts_repetitions:
        return _repetitions(program, function, what, asked)
    return _side_by_side(program, function, what, asked)


def _of_plan(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a plan, which are taken out of `asked`."""
    return {key: asked.pop(key) for key in _OF_PLAN if key in asked}


# --- one function, side by side -------------------------------------------------------------------


def _side_by_side(program: ProgramOptions, name: str, what: What, asked: dict[str, Any]) -> int:
    from plumbline.measure import conditions, settling, side_by_side
    from plumbline.measure.refine import Axis, RefinedCases, Refinement, run_refined
    from plumbline.search.outcome import label
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain

    of_plan = _of_plan(asked)
    sizes = what.sizes or [_SIZE]
    all_settings = campaign_file.load(None, asked)
    toolchain = find_toolchain(program.mpi, settings=all_settings)
    (function,) = common.functions(toolchain.catalogue, [name])
    chosen = _variants(toolchain, function, what.variants)
    hot, cold = _configurations(toolchain, what.knobs, all_settings)
    data = all_settings.cases.data
    common.remark(rounding({function: sizes}, data))
    cases = _cases(function, [data.whole(function, size) for size in sizes], hot, chosen)
    simulated = all_settings.ranks.simulate is not None
    nprocs = all_settings.ranks.placement(toolchain.launcher.processing_units()).nprocs
    axis = Axis(
        "ranks" if what.refine and len({case.bytes for case in cases}) == 1 else "bytes", nprocs
    )
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
        nrep=all_settings.sampling.rule,
        **of_plan,
        knobs=toolchain.space.switch,
    )
    if not (simulated and plan.nrep):
        plan = settling.until_settled(plan, simulated=simulated)
    environment = toolchain.space.hot_environment if hot else {}
    ranks = starting.starter(toolchain, all_settings)
    ranks.require(plan.text(), "this plan")
    count = what.launches or (1 if simulated else LAUNCHES)
    with (
        progress.Bar(in_all=count * (1 + len(cold))) as bar,
        side_by_side.unkept_store(toolchain, ranks, "measure", bar) as store,
    ):
        store.progress.step(f"measuring {function}")
        if what.refine:
            unit = least_bytes(function, nprocs, data) if axis.name == "bytes" else 1
            places = len({axis.place(case) for case in plan.cases})
            how = Refinement(most=2 * places + _REFINED, unit=unit or 1)
            measured = run_refined(
                store, plan, count, environment, cold, how=how, axis=axis, label=label
            )
        else:
            measured = RefinedCases(side_by_side.run(store, plan, count, environment, cold))
        raw = side_by_side.unkept_records(store)
    common.write_records(what.output, "measure", raw)
    start_weaknesses = conditions.of_starts(settling.starts(raw), simulated=simulated)
    common.remark(*(weakness.text for weakness in [*conditions.of_records(raw), *start_weaknesses]))
    common.remark(*(drift.text(_UNITS[axis.name]) for drift in measured.drifts))
    _show(program, measured, axis, tested=not simulated)
    return 0 if all(line.outcome == "ok" for line in measured.cases) else 1


def _cases(
    function: str, sizes: Sequence[int], hot: Sequence[Configuration], variants: Sequence[str]
) -> list[PlanCase]:
    """Return for each size the default, and what stands beside it."""
    return [
        case
        for size in dict.fromkeys(sizes)
        for case in (
            PlanCase(function, size),
            *(PlanCase(function, size, configuration=configuration) for configuration in hot),
            *(PlanCase(function, size, variant) for variant in variants),
        )
    ]


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
    """Return the configurations that may change within a launch, and those that the library reads
    when it starts: all, where a site has rules in force, which come first. Raises UsageError."""
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


def _show(program: ProgramOptions, measured: RefinedCases, axis: Axis, *, tested: bool) -> None:
    from plumbline.search.outcome import label

    lines = measured.cases
    if program.json:
        why = {point.place: point for point in measured.added}
        common.print_json(
            [
                msgspec.to_builtins(line)
                | {
                    "added": msgspec.to_builtins(why.get(axis.place(line))),
                    "drifts": [
                        msgspec.to_builtins(drift)
                        for drift in measured.drifts
                        if (drift.operation, drift.place)
                        == (label(line.variant, line.knobs), axis.place(line))
                    ],
                }
                for line in lines
            ]
        )
        return
    reasons = common.Reasons()
    common.show(
        _table(lines, reasons, axis, tested=tested),
        *reasons.lines(),
        *_remarks(lines),
        *_added(measured.added),
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
    return [
        f"{point.place} {_UNITS[point.axis]}, look {point.look}: {point.why}: {point.detail}"
        for point in points
    ]


def _table(
    lines: list[MeasuredCase], reasons: common.Reasons, axis: Axis, *, tested: bool
) -> Table:
    """`tested`: ratios have a p; those of a simulated machine are as they are."""

    from plumbline.search.outcome import label

    over_ranks = axis.name == "ranks"
    table = common.table(
        *(["ranks"] if over_ranks else []),
        "bytes",
        "configuration",
        "median µs",
        "launches µs",
        "over default",
        "p",
        left=("configuration",),
    )
    for line in lines:
        name = label(line.variant, line.knobs)
        where = (*([str(axis.place(line))] if over_ranks else []), str(line.bytes))
        if not line.seconds:
            table.add_row(*where, name, reasons.mark(line.outcome))
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


# --- how many repetitions -------------------------------------------------------------------------


def _repetitions(program: ProgramOptions, name: str, what: What, asked: dict[str, Any]) -> int:

    from plumbline.measure import repetitions, side_by_side
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain

    if what.variants or what.knobs or what.refine:
        raise UsageError(
            "--nrep is of the library as it is: leave out --variants, --knob, --refine"
        )
    of_plan = _of_plan(asked)
    settings = campaign_file.load(None, {"nrep": StoppingRule().criteria} | asked)
    toolchain = find_toolchain(program.mpi, settings=settings)
    (function,) = common.functions(toolchain.catalogue, [name])
    sizes = what.sizes or _NREP_SIZES
    data, nprocs = settings.cases.data, settings.ranks.nprocs
    common.remark(rounding({function: sizes}, data))
    cases = tuple(PlanCase(function, size) for size in measurable(function, sizes, nprocs, data))
    if not cases:
        raise UsageError(
            f"--sizes {','.join(map(str, sizes))} names no cell of {function}: a call without data "
            f"is not measured; its smallest size here is {least_bytes(function, nprocs, data)} "
            "bytes"
        )
    rule = settings.sampling.rule
    plan = Plan("check", settings.sampling.seed, cases, data, nrep=rule, **of_plan)
    launches = what.launches or _NREP_LAUNCHES
    ranks = starting.starter(toolchain, settings)
    ranks.require(plan.text(), "this plan")
    with (
        progress.Bar(in_all=launches) as bar,
        side_by_side.unkept_store(toolchain, ranks, "nrep", bar) as store,
    ):
        store.progress.step("repeating until the rule is met")
        predicted_cells = repetitions.predict(store, plan, launches, curves=True)
        raw = side_by_side.unkept_records(store)
    common.write_records(what.output, "nrep", raw)
    if what.output is not None:
        _draw_repetitions(what.output / "nrep.svg", function, predicted_cells)
    if program.json:
        common.print_json(predicted_cells)
    else:
        reasons = common.Reasons()
        common.show(_repetitions_table(predicted_cells, reasons), *reasons.lines())
    return 0 if all(cell.met for cell in predicted_cells) else 1


def _draw_repetitions(path: Path, function: str, cells: list[RepetitionsCell]) -> None:
    """Draw the criteria over the repetitions, where what draws is installed."""
    from plumbline.results import repetition_curves
    from plumbline.system import version

    if "pictures" in version.absent_extras():
        common.remark(f"{path} is not drawn: {version.missing_extra('vl_convert')}")
        return
    title = f"{function}: how many repetitions are enough"
    common.draw(path, repetition_curves.specification(cells, title))
    common.remark(f"the criteria over the repetitions: {path}")


def _repetitions_table(cells: list[RepetitionsCell], reasons: common.Reasons) -> Table:

    words = ("launches", "ended by", "criteria at the end")
    table = common.table("function", "bytes", "nrep", *words, left=("function", *words))
    for cell in cells:
        if cell.nrep is None:
            table.add_row(cell.function, str(cell.bytes), "", "", reasons.mark(cell.outcome))
            continue
        counts = " ".join(str(launch.nrep) for launch in cell.launches)
        ended = ", ".join(dict.fromkeys(launch.by for launch in cell.launches))
        worst = max(cell.launches, key=lambda launch: launch.nrep)
        values = "  ".join(map(_condition, worst.criteria))
        table.add_row(cell.function, str(cell.bytes), str(cell.nrep), counts, ended, values)
    return table


def _condition(criterion: Criterion) -> str:
    if criterion.value is None:
        return f"{criterion.name} unknown"
    return (
        f"{criterion.name} {criterion.value:.3g} "
        f"{'<' if criterion.value < criterion.threshold else '≥'} {criterion.threshold:g}"
    )


# --- ping-pongs -----------------------------------------------------------------------------------


def _round_trips(
    program: ProgramOptions, what: What, *, nprocs: int | None, seed: int | None, **asked: Any
) -> int:
    from plumbline.measure import pingpong
    from plumbline.measure.launches import LaunchStore
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain

    _refuse_for_pingpong(asked | what._replace(sizes=None, launches=None, new=False)._asdict())
    if nprocs is not None and nprocs < _FEWEST:
        raise UsageError(f"--nprocs {nprocs}: {_FEWEST} at least")
    ranks = nprocs or max(_FEWEST, processing_units())
    usual = pingpong.PingPongSettings(ranks)
    settings = msgspec.structs.replace(
        usual,
        sizes=tuple(sorted(set(what.sizes or pingpong.SIZES))),
        launches=what.launches or usual.launches,
        seed=usual.seed if seed is None else seed,
    )
    toolchain = find_toolchain(program.mpi)
    starter = starting.starter(toolchain, campaign_file.load(None, {"nprocs": ranks}))
    starter.require(pingpong.plan(settings).text())
    with program.open(write=True) as db:
        row = pingpong.begin(db, toolchain, settings, new=what.new)
        if row.state == "finished":
            pair_latencies = pingpong.read(db, row)
        else:
            with progress.Bar(in_all=settings.launches) as bar:
                pair_latencies = pingpong.run(LaunchStore(db, row.id, starter, bar), row, settings)
    document = {"id": row.id, "nprocs": ranks, "pairs": pair_latencies}
    common.answer(program, document, (_lines(pair_latencies), "", _times(pair_latencies)))
    return 0


def _refuse_for_pingpong(asked: Mapping[str, object]) -> None:
    """Raise UsageError for options that ping-pongs do not have."""
    for name, value in asked.items():
        if value not in (None, False, "", ()):
            option = f"--{name.replace('_', '-').replace('knobs', 'knob')}"
            raise UsageError(f"{option} has no effect on ping-pongs: leave it out")


def _lines(pair_latencies: list[PairLatencies]) -> Table:
    in_unit = partial(with_interval, form=".3g")
    names = ("pair", "bytes", "α µs", "β ns/B", "GB/s", "off by", "launches")
    table = common.table(*names, left=("pair",))
    for latencies in pair_latencies:
        for line in latencies.lines:
            beta = line.beta_seconds_per_byte
            table.add_row(
                latencies.pair if line.piece == 0 else "",
                f"{line.bytes_from}–{line.bytes_to}",
                in_unit(line.alpha_seconds, line.alpha_low, line.alpha_high, unit=1e6),
                in_unit(beta, line.beta_low, line.beta_high, unit=1e9),
                f"{1e-9 / beta:.3g}" if beta > 0 else "",
                f"{100 * line.deviation:.0f} %",
                str(line.launches),
            )
    return table


def _times(pair_latencies: list[PairLatencies]) -> Table:
    pairs = [
        name for latencies in pair_latencies for name in (f"{latencies.pair} µs", "launches µs")
    ]
    table = common.table("bytes", *pairs)
    sizes = sorted({trips.bytes for latencies in pair_latencies for trips in latencies.half_trips})
    for size in sizes:
        row = [str(size)]
        for latencies in pair_latencies:
            seconds = next((t.seconds for t in latencies.half_trips if t.bytes == size), [])
            if not seconds:
                row += ["", ""]
                continue
            row += [
                f"{1e6 * statistics.median(seconds):.2f}",
                f"{1e6 * min(seconds):.2f}–{1e6 * max(seconds):.2f}",
            ]
        table.add_row(*row)
    return table
