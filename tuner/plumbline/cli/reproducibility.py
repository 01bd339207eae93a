"""plumbline reproducibility"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.system.words import counted
from plumbline_db.errors import UsageError

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from plumbline.reproducibility.report import EffectTable, ReproducibilityReport, SpreadTable
    from plumbline.reproducibility.settings import ReproducibilitySettings
    from plumbline.results.compared_now import StartableSide
    from plumbline.results.factor_effects import FactorExperiment

_FACTORS = "factors"
_SIZES = [8, 4096, 65536]
_LAUNCHES, _FIRST = 40, 12  # of each level: at most, and before the first look
_ALPHA, _TOLERANCE = 0.05, 0.03
_OF_CLAIM: dict[str, Any] = dict.fromkeys(
    ("alpha", "tolerance"), options.Real(0, 1, min_open=True, max_open=True)
)

_ESTIMATORS = {
    "medians": "launch medians, as PGMPI compares them",
    "pairs": "all pairs of samples within a launch, as `plumbline verify` compares them",
}


class _Shown(NamedTuple):
    """Options that say whether stored launches are taken, and what is drawn where."""

    new: bool
    picture: Path | None


def _standing(name: str) -> Callable[[], str]:
    """Return what the help says of a setting: with --quick too, where that has another one."""

    def text() -> str:
        from plumbline.reproducibility.settings import ReproducibilitySettings, quick

        full, short = (
            ",".join(f"{number:g}" for number in value) if isinstance(value, list) else str(value)
            for value in (
                getattr(of_settings, name) for of_settings in (ReproducibilitySettings(), quick())
            )
        )
        return full if full == short else f"{full}; with --quick {short}"

    return text


@base.command(
    "reproducibility",
    takes=f"mpi db json nprocs nodes bind map_by sizes {options.DATA} seed",
    several="nprocs",
    told={
        "nprocs": {"help": "Numbers of ranks.", "unset": _standing("nprocs")},
        "sizes": {"help": "Bytes, with commas between (unset: see above)."},
        "seed": {"unset": _standing("seed")},
    },
)
@click.argument("words", nargs=-1, metavar="[factors FUNCTION [FACTOR[=LEVEL]]...]")
@click.option("--quick", is_flag=True, help="Three minutes at most: fewer cells and effects.")
@options.option(
    "--functions", type=options.Functions(), help="With commas between (unset: see above)."
)
@options.option(
    "--trials",
    type=options.CountType(),
    unset=_standing("trials"),
    help="Whole experiments that are compared.",
)
@options.launches(
    "Launches of a trial; with factors of the base and of each level, at most.",
    unset=lambda: f"{_standing('launches')()}; with factors {_LAUNCHES}",
)
@options.settings(
    "the planted slow-downs: effects (per cent, with commas between), effect_launches (0: none); "
    "with factors of the claim (alpha, tolerance) or of a campaign file",
    {"effects": options.Numbers(float), "effect_launches": options.CountType(0)} | _OF_CLAIM,
)
@options.new
@options.picture("Draw the trials, or the effects of factors,")
def command(
    program: ProgramOptions,
    words: tuple[str, ...],
    quick: bool,
    new: bool,
    picture: Path | None,
    **asked: Any,
) -> int:
    """How far the measurements themselves can be trusted here; with `factors` what changes them.

    It begins to measure at once, without options for long and into the default database: --quick
    takes minutes, --db names another file.

    Repeats whole experiments and compares how far their results lie apart with what one launch of a
    plain benchmark program reports in the same minutes; compares every cell with itself; plants
    delays and counts which are found. The spread is measured for MPI_Bcast and MPI_Allreduce, the
    rest for all functions (--quick: for these two), unless --functions says otherwise. Interrupted,
    the same command goes on.

    `factors FUNCTION` measures what factors change in its times (sizes: 8,4096,65536). Launches of
    the base and of each level of each factor take turns in shuffled order, on ranks that are
    started in each turn, until it is decided whether the level matters (its interval excludes the
    base) or is idle (the interval is within the tolerance). All intervals are valid together. Later
    `plumbline results` of this machine and library list what was found. The factors, and their
    levels if none is named:

    \b
      pinning     core, none (also socket, numa)
      cache       overwrite: cold buffers (also cycle)
      start       barrier or window, whichever the base has not (also other schemes)
      clock       wtime, tsc (also other timers of the probe)
      neighbour   1: a busy process beside the launch (any number)
      frequency   the other governors, if this user may set them
    and those that are measured only if they are named:
      flags       -O1, -O3: compiler flags of the probe, which is built with them
      library     library=PREFIX: another build of the library
      NAME=VALUE  a variable, or a knob of the library; repeat it for several values

    \b
    Example:
      plumbline reproducibility --quick
      plumbline reproducibility --trials 30 --launches 30 --picture spread.svg
      plumbline reproducibility factors MPI_Allreduce --picture factors.svg
      plumbline reproducibility factors MPI_Bcast -n 2 --sizes 4096 cache UCX_TLS=tcp
    """
    if words:
        return _measure_factors(
            program, words, _Shown(new, picture), asked | {"quick": quick or None}
        )
    return _measure_trials(program, quick, _Shown(new, picture), asked)


def _measure_trials(
    program: ProgramOptions, quick: bool, shown: _Shown, asked: dict[str, Any]
) -> int:
    from plumbline.reproducibility import experiment
    from plumbline.reproducibility.report import conditions_of, report
    from plumbline.reproducibility.settings import checked, full
    from plumbline.reproducibility.settings import quick as quick_settings
    from plumbline.settings.toolchain import find_toolchain

    toolchain = find_toolchain(program.mpi)
    function_names = [function.name for function in toolchain.catalogue.functions]
    settings = checked(
        _overridden(quick_settings() if quick else full(function_names), asked), function_names
    )
    with (
        program.open(write=True) as db,
        progress.Bar(in_all=experiment.launches_in_all(settings)) as bar,
    ):
        ranks = experiment.begin(db, toolchain, settings, bar, new=shown.new)
        outcome = experiment.Experiment(ranks, settings).run()
        warnings = conditions_of(ranks)
    done = report(toolchain, ranks, settings, outcome, warnings)
    if shown.picture is not None:
        from plumbline.reproducibility.report import specification

        common.draw(shown.picture, specification(done.spread))
    common.answer(program, done, _shown(done))
    if shown.picture is not None and not program.json:
        click.echo(f"\n{shown.picture}")
    return 0


def _overridden(
    settings: ReproducibilitySettings, asked: dict[str, Any]
) -> ReproducibilitySettings:
    """The settings with what the command line says put over them. Raises UsageError for keys of
    factors."""
    import msgspec

    values = {name: value for name, value in asked.items() if value is not None}
    others = values.keys() - set(settings.__struct_fields__)
    if others:
        raise UsageError(f"{min(others)} has no effect without factors: leave it out")
    for name in ("functions", "sizes"):
        if name in values:
            values[f"effect_{name}"] = values[name]
    return msgspec.structs.replace(settings, **values)


def _shown(report: ReproducibilityReport) -> Iterator[RenderableType]:
    """Everything, in reading order: spread, false alarms, power, cost."""
    from rich.text import Text

    library, machine = report.library, report.machine
    ranks = ", ".join(str(nproc) for nproc in report.settings.nprocs)
    yield Text(f"{library.version_string}, {machine.cpu_model}, {ranks} ranks", style="bold")
    yield ""
    spread = f"Spread over {report.spread.trials} trials: largest over smallest result, minus one"
    yield Text(spread, style="bold")
    yield _spread(report.spread)
    if report.spread.trials < report.settings.trials:
        yield (
            f"{report.settings.trials} trials were asked for; the machine is slow or busy, and the "
            f"budget of {report.settings.budget_seconds:g} s ended them."
        )
    yield "\n".join(_spread_lines(report.spread))
    for number, (name, table) in enumerate(report.effects.items()):
        if number == 0:
            yield "\n".join(["", *_false_alarm_lines(report.settings, table)])
        yield ""
        head = f"Planted slow-downs: share of cells found ({_ESTIMATORS[name]})"
        yield Text(head, style="bold")
        yield _power(table)
    if report.effects:
        yield _power_note(report.settings)
    for name, table in report.effects.items():
        yield _looks_line(name, table, report.settings)
    for cell in report.missing:
        yield f"not measured: {cell}"
    if report.warnings:
        yield "\n".join(["", *(f"warning: {warning}" for warning in report.warnings)])
    yield "\n".join(["", *_seconds(report)])


def _spread(table: SpreadTable) -> Table:
    from plumbline.reproducibility.effects import PLAIN

    heads = ["function", "ranks", "bytes", "µs", "ours %", *(f"plain, {way} %" for way in PLAIN)]
    grid = common.table(*heads, "", left=("function", ""))
    for row in table.rows:
        seconds = sorted(row.ours.seconds)[len(row.ours.seconds) // 2]
        grid.add_row(
            row.function,
            str(row.nprocs),
            str(row.bytes),
            f"{1e6 * seconds:.2f}",
            f"{row.ours.percent:.1f}",
            *(f"{row.plain[name].percent:.1f}" for name in PLAIN),
            "" if row.smaller else "not smaller",
        )
    return grid


def _spread_lines(table: SpreadTable) -> Iterator[str]:
    if not table.cells:
        yield "no cell was measured in every launch"
        return
    than = ", ".join(f"than plain ({name}) in {n}" for name, n in table.smaller_than.items())
    share = 100 * table.smaller / table.cells
    yield (
        f"Ours is smaller than all of them in {table.smaller} of {table.cells} cells "
        f"({share:.0f} %); {than}."
    )
    not_smaller = [row for row in table.rows if not row.smaller]
    if not_smaller:
        names = (f"{row.function} {row.bytes} B at {row.nprocs} ranks" for row in not_smaller)
        yield f"Not smaller: {', '.join(names)}."
    yield (
        f"ours: median over {table.launches} launches of their medians. plain, one launch, mean of "
        "up to 1000 repetitions: each call"
    )
    yield (
        "timed and a barrier after it (each: OMB, IMB since 2019), or all calls timed as one "
        "(series: IMB before 2019);"
    )
    yield (
        "SKaMPI's rules (skampi): batches of 8 calls until the standard error is 10 %, at most 33; "
        "mean of the middle half."
    )


def _false_alarm_lines(settings: ReproducibilitySettings, table: EffectTable) -> Iterator[str]:
    alarms = table.false_alarms
    yield (
        f"A/A: {alarms.comparisons} cells compared with themselves in {settings.effect_launches} "
        f"launches. {alarms.raw} have p < {alarms.alpha:g} ({100 * alarms.share:.1f} %, "
        f"95 % interval {100 * alarms.low:.1f}-{100 * alarms.high:.1f} %;"
    )
    yield (
        f"{100 * alarms.alpha:g} % are expected, as many or more by chance: p = "
        f"{alarms.p_excess:.2g}). After correction {alarms.adjusted}, of which "
        f"{alarms.violations} beyond the tolerance."
    )
    yield (
        f"Of {alarms.discoveries} slow-downs found in the whole family {alarms.false_discoveries} "
        "are A/A."
    )


def _power(table: EffectTable) -> Table:
    effects = sorted({power.effect for power in table.power})
    grid = common.table(
        "ranks",
        "cells of",
        "cells",
        *(f"{effect:g} %" for effect in effects),
        "found in 90 %",
        left=("cells of",),
    )
    for row in table.smallest:
        of = {
            power.effect: power
            for power in table.power
            if (power.nprocs, power.size_class) == (row.nprocs, row.size_class)
        }
        shares = [
            f"{100 * of[effect].share:.0f} % ({of[effect].realised:+.1f} %)" for effect in effects
        ]
        least = "none" if row.effect is None else f"{row.effect:g} % and more"
        cells = max(power.cells for power in of.values())
        grid.add_row(str(row.nprocs), row.size_class, str(cells), *shares, least)
    return grid


def _power_note(settings: ReproducibilitySettings) -> str:
    return (
        "found: slower than the cell without delay, p < 0.05 after Benjamini-Hochberg over all "
        f"comparisons, {settings.effect_launches} launches.\nIn brackets what the slow-down came "
        "out as, median over the cells."
    )


def _looks_line(name: str, table: EffectTable, settings: ReproducibilitySettings) -> str:
    from plumbline.reproducibility.effects import design_of

    alarms = table.false_alarms
    planted = sum(power.cells for power in table.power)
    mean = sum(power.looks_launches * power.cells for power in table.power) / planted
    at = ", ".join(str(launch) for launch in design_of(settings.effect_launches).launches)
    right = alarms.looks_discoveries - alarms.looks_false_discoveries
    return (
        f"{name}: with looks at {at} launches {right} of {planted} planted slow-downs are found "
        f"(without {alarms.discoveries - alarms.false_discoveries}), after {mean:.1f} launches in "
        f"the mean; {alarms.looks_false_discoveries} A/A."
    )


def _seconds(report: ReproducibilityReport) -> Iterator[str]:
    seconds, table = report.seconds, report.spread
    sets = table.trials * len(report.settings.nprocs)
    plain = ", ".join(f"{time / sets:.2f} s ({name})" for name, time in seconds.plain.items())
    total = seconds.ours + sum(seconds.plain.values()) + seconds.effects
    yield (
        f"One result takes {seconds.ours / sets:.1f} s of launches with ours, {plain} with the "
        f"plain schemes. {total:.0f} s in all."
    )


# --- factors --------------------------------------------------------------------------------------


def _measure_factors(
    program: ProgramOptions, words: Sequence[str], shown: _Shown, asked: dict[str, Any]
) -> int:
    """Measure what FUNCTION and FACTORS of the `words` name. `asked`: options and keys that were
    given; a None was not. Raises UsageError for words and options that do not fit."""
    from plumbline.results import factor_effects, factor_pictures
    from plumbline.results.compared_now import NamedSide, RegressionClaim, StartableSide
    from plumbline.results.factor_levels import Base, parse
    from plumbline.settings import campaign_file
    from plumbline.verify import decision

    if words[0] != _FACTORS or len(words) == 1:
        raise UsageError(
            f"{' '.join(words)}: name a function and its factors: {_FACTORS} MPI_Bcast cache"
        )
    name_of_function, factors = words[1], words[2:]
    given = {name: value for name, value in asked.items() if value is not None}
    sizes, most = given.pop("sizes", _SIZES), given.pop("launches", _LAUNCHES)
    alpha, tolerance = given.pop("alpha", _ALPHA), given.pop("tolerance", _TOLERANCE)
    settings = campaign_file.load(None, _keys(given))
    if settings.ranks.simulate is not None:
        raise UsageError("a simulated machine has no such factors: leave out simulate")
    name = NamedSide(factor_effects.BASE, program.mpi, {})
    side = StartableSide(name, settings, program.database.parent)
    (measured,) = common.functions(side.toolchain.catalogue, [name_of_function])
    levels = parse(factors, Base(side.settings, side.toolchain))
    kinds = {level.needs_start for level in levels}  # a base for each
    design = decision.design_over(min(_FIRST, most), most)
    claim = RegressionClaim(alpha, tolerance, design)
    question = factor_effects.FactorQuestion(measured, sizes, levels, claim)
    with (
        progress.Bar(in_all=most * (len(kinds) + len(levels))) as bar,
        program.open(write=True) as db,
    ):
        experiment = factor_effects.measure(db, side, question, bar, new=shown.new)
        pictures = (
            dict(factor_pictures.drawings(db, experiment, shown.picture)) if shown.picture else {}
        )
    for file, specification in pictures.items():
        common.draw(file, specification)
    common.answer(program, factor_effects.document(experiment), _shown_factors(experiment, side))
    if pictures and not program.json:
        click.echo("\n" + "\n".join(map(str, pictures)))
    return 0


def _keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a campaign file among what was given. Raises UsageError for the rest."""
    from plumbline.settings import GROUP_OF

    ranks = given.get("nprocs", [])
    if len(ranks) > 1:
        raise UsageError(f"--nprocs takes one number with {_FACTORS}")
    others = [name for name in given if name not in GROUP_OF or name == "functions"]
    if others:
        raise UsageError(f"--{others[0]} has no effect with {_FACTORS}: leave it out")
    return {**given, **({"nprocs": ranks[0]} if ranks else {})}


def _shown_factors(experiment: FactorExperiment, side: StartableSide) -> Iterator[RenderableType]:
    from rich.text import Text

    from plumbline.results.factor_effects import words

    library = side.toolchain.installation.library
    head = f"{library.version_string}, {experiment.function}, {experiment.nprocs} ranks"
    yield Text(head, style="bold")
    if experiment.base:
        yield "base: " + ", ".join(f"{name} {level}" for name, level in experiment.base.items())
    rows = [
        (
            effect.level.text if number == 0 else "",
            line.cell.bytes,
            *(sample and f"{1e6 * sample.median:.2f}" for sample in (line.a, line.b)),
            line.pairs,
            words(line),
            effect.verdict if number == 0 else "",
        )
        for effect in experiment.levels
        for number, line in enumerate(effect.cells)
    ]
    columns = ("level", "bytes", "base µs", "level µs", "launches", "against the base", "the level")
    texts = ("level", "against the base", "the level")
    yield common.table(*columns, left=texts, wrap=False, rows=rows)
    for effect in experiment.levels:
        if effect.reason:
            yield f"{effect.level.text}: no result: {effect.reason}"
    yield _summary(experiment)


def _summary(experiment: FactorExperiment) -> str:
    verdicts: list[str] = [effect.verdict for effect in experiment.levels]
    claim = experiment.claim
    counts = ", ".join(
        f"{verdicts.count(verdict)} {word}"
        for verdict, word in (("matters", "matter"), ("idle", "idle"), ("undecided", "undecided"))
    )
    return (
        f"of {counted(len(verdicts), 'level')} {counts}; effects below {100 * claim.tolerance:g} % "
        f"do not count; all intervals are valid together ({100 * (1 - claim.alpha):g} %)"
    )
