"""plumbline compare"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.system.words import counted, with_interval
from plumbline_db.errors import PlumblineError, UsageError, command_name

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.results.compare import ComparedCell, Difference, How, SideComparison
    from plumbline.results.compared_now import MeasuredComparison
    from plumbline.results.sides import ComparedSide, SideConditions


_LONGEST = 90  # characters of a factor's value; --json has all of it
LAUNCHES, FIRST = 40, 12  # of each side: at most, and before the first look
TOLERANCE = 0.05


# Keys of --set: how stored sides are compared, and the claim.
_KEYS: dict[str, Any] = {
    "test": None,
    "alternative": click.Choice(["two-sided", "less", "greater"]),
    "average": click.Choice(["median", "mean"]),
    "outliers": click.Choice(["keep", "tukey"]),
    "alpha": options.Real(0, 1, min_open=True, max_open=True),
    "tolerance": options.Real(0, 1, max_open=True),
}


class Pair(NamedTuple):
    """The names of both sides, and how they are compared; with `history` there are no sides."""

    a: str | None
    b: str | None
    measure: bool
    history: bool


class Only(NamedTuple):
    """The cells that are compared."""

    functions: list[str] | None
    sizes: list[int] | None


class Measuring(NamedTuple):
    """Options that are for --measure alone."""

    launches: int | None
    output: Path | None
    tolerance: float | None = None


@base.command(
    "compare",
    gathers={"pair": Pair, "only": Only, "measuring": Measuring},
    takes=f"mpi db json {options.MEASURED}",
    told={"sizes": {"help": "Bytes, with commas between; also of what is shown."}},
)
@click.argument("a", required=False)
@click.argument("b", required=False)
@options.settings("a comparison (docs/comparing.md), or with --measure a campaign file", _KEYS)
@click.option("--all", "all_variants", is_flag=True, help="Also mock-ups and algorithms of ours.")
@options.option(
    "--measure",
    is_flag=True,
    help="A and B are installations or settings (below), measured now in launches that take turns.",
)
@options.option(
    "--functions",
    type=options.Functions(),
    help="Only these, with commas between; --measure: in place of those that guidelines are about.",
)
@options.launches("With --measure: launches of each side, at most.", unset="40")
@options.option(
    "--output",
    type=options.NewFile(),
    help="With --measure: also into this file: JUnit (.xml), Markdown (.md) or JSON (.json).",
)
@options.picture("Draw run times by size")
@click.option(
    "--history", is_flag=True, help="List all comparisons by --measure, the oldest first."
)
def command(
    program: ProgramOptions,
    pair: Pair,
    picture: Path | None,
    only: Only,
    measuring: Measuring,
    **asked: Any,
) -> int:
    """Compare two libraries, versions or settings, cell by cell.

    Says who is faster, by how much, and how sure that is: the ratio of run times A over B with its
    95 % interval, p, and p adjusted over all cells (Benjamini-Hochberg). Sides that were not
    measured together (two campaigns) may differ by what changed in the machine: there no side is
    called faster. Without --measure, A and B name launches that are in a database,

    \b
      RUN            of a campaign what its table `before` rests on: the library as it is;
                     of `plumbline suite` all its suites
      RUN:after      with the exported files in force; also :before, :round-1 …
      RUN/SUITE      one suite: of launches, or as the file of suites calls it
      FILE#RUN       in another database than --db; all forms
      RUN@VARIANT    this variant or operation alone, on both sides

    `plumbline results --list` lists campaigns; `/runs` of `plumbline serve` all runs.
    With --measure A and B are

    \b
      PREFIX or module:NAME      an installation, with a probe (`make build MPICC=…`)
      default                    the one of --mpi, or on PATH
      PREFIX,NAME=VALUE,…        with knobs or variables in force; also NAME=VALUE alone

    and the answer is whether B is slower than A, with an error that holds for all cells together.
    Exit code 3 if B is slower, or has no result any more; with --history, if that is so in the last
    comparison.

    \b
    Example:
      plumbline compare --measure /opt/openmpi-5.0.10 /opt/openmpi-5.0.11 --sizes 8,1024,65536
      plumbline compare --measure default coll_tuned_priority=0 --output compared.xml
      plumbline compare openmpi-4.1.4-4xd00815 openmpi-5.0.11-4xd00815
      plumbline compare openmpi-4.1.4-4xd00815:before openmpi-4.1.4-4xd00815:after \\
        --picture tuned.svg
      plumbline compare openmpi-4.1.4-4s1c6c2f/modes@send_recv \\
        openmpi-4.1.4-4s1c6c2f/modes@ssend_recv
    """
    from plumbline.results import compare

    if pair.history:
        return _history(program, pair)
    if pair.b is None:
        raise UsageError("name both sides: A and B")
    of_how = {name: asked.pop(name) for name in compare.How.__struct_fields__ if name in asked}
    how = compare.How(**{name: value for name, value in of_how.items() if value is not None})
    if pair.measure:
        _refuse_options_of_stored(of_how | {"picture": picture})
        asked |= only._asdict()
        return _measure(program, (str(pair.a), pair.b), how, **measuring._asdict(), **asked)
    _refuse_options_of_measure(asked | measuring._asdict())
    return _stored(program, pair, how, only, picture)


def _stored(program: ProgramOptions, pair: Pair, how: How, only: Only, picture: Path | None) -> int:
    from plumbline.results import compare, comparison_files, sides
    from plumbline_db.connection import Database

    read_sides = []
    for name in map(sides.parse, (str(pair.a), str(pair.b))):
        with Database.open(name.file or program.database) as db:
            read_sides.append(sides.read(db, name))
    a, b = (side.only(*only) for side in read_sides)
    compared = compare.compare(a, b, how)
    if picture is not None:
        spec = comparison_files.chart_specification(compared, _short(a), _short(b))
        common.draw(picture, spec)
    if program.json:
        common.print_json(_document(compared, a, b))
    else:
        for text in _heading(compared, a, b):
            click.echo(text)
        common.show(_table(compared))
        click.echo(_summary(compared))
        if picture is not None:
            click.echo(str(picture))
    return 0


def _short(side: ComparedSide) -> str:
    return f"{side.name.text}, {side.library.version_string}"


def _heading(comparison: SideComparison, a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    for letter, side in (("A", a), ("B", b)):
        yield f"{headed(letter, side)} of {', '.join(side.suites_named)}"
    yield f"test: {comparison.test}, {comparison.how.alternative}; {comparison.why}"
    if comparison.limits:
        yield comparison.limits
    if not comparison.together:
        yield from apart(comparison.a, comparison.b)
    yield from differing(comparison.differences, together=comparison.together)


def _table(comparison: SideComparison) -> Table:

    variants = any(line.cell.variant not in ("", "default") for line in comparison.lines)
    settings = any(line.cell.settings for line in comparison.lines)
    on_ranks = any(line.cell.ranks for line in comparison.lines)
    words = ("function", *(["variant"] if variants else []), *(["settings"] if settings else []))
    numbers = ("bytes", "A µs", "B µs", "launches", "A / B", "p", "adjusted")
    columns = (*words, *(["ranks"] if on_ranks else []), *numbers)
    stars = [""] if comparison.together else []
    rows = [
        (
            cell.function,
            *([cell.variant] if variants else []),
            *([cell.settings] if settings else []),
            *([cell.ranks or cell.nprocs] if on_ranks else []),
            cell.bytes,
            f"{1e6 * line.a.median:.2f}",
            f"{1e6 * line.b.median:.2f}",
            f"{line.a.launches}, {line.b.launches}" if line.pairs is None else line.pairs,
            with_interval(line.ratio, line.ratio_low, line.ratio_high, ".3f"),
            line.p and f"{line.p:.2g}",
            line.p_adjusted and f"{line.p_adjusted:.2g}",
            *([line.stars] if comparison.together else []),
            _verdict(line),
        )
        for line in comparison.lines
        for cell in (line.cell,)
    ]
    texts = (*words, "verdict")
    return common.table(*columns, *stars, "verdict", left=texts, wrap=False, rows=rows)


def _verdict(line: ComparedCell) -> str:
    if line.factor is not None:
        return f"{line.verdict}, {line.factor:.2f} times"
    return line.reason if line.verdict == "not compared" else line.verdict


def _summary(comparison: SideComparison) -> str:
    text = f"of {counted(len(comparison.lines), 'cell')} "
    if not comparison.together:
        text += f"{comparison.count('differs (unpaired)')} differ, unpaired; "
    elif differ := comparison.count("differs"):
        text += f"{differ} differ; "
    else:
        text += (
            f"A is faster in {comparison.count('A faster')}, B in {comparison.count('B faster')}; "
        )
    text += (
        f"not shown in {comparison.count('not shown')} (adjusted p above {comparison.how.alpha:g})"
    )
    if comparison.count("not compared"):
        text += f"; not compared: {comparison.count('not compared')}"
    return text + only_on_one_side(comparison.only_a, comparison.only_b)


def only_on_one_side(only_a: int, only_b: int) -> str:
    """Return the end of a summary about cells that the other side has not; empty: there are
    none."""
    if not only_a and not only_b:
        return ""
    return f"; only on one side: {counted(only_a, 'cell')} of A, {only_b} of B"


def _document(comparison: SideComparison, a: ComparedSide, b: ComparedSide) -> dict[str, Any]:
    import msgspec

    def side(compared_side: ComparedSide) -> dict[str, Any]:
        header = compared_side.launches[0].header
        return {
            "name": compared_side.name.text,
            "database": str(compared_side.database),
            "run": compared_side.campaign.id,
            "suites": compared_side.suites,
            "launches": len(compared_side.launches),
            "library": msgspec.to_builtins(compared_side.library),
            "machine": msgspec.to_builtins(compared_side.machine),
            **{name: getattr(header, name) for name in ("nprocs", "ppn", "oversubscribed")},
        }

    document: dict[str, Any] = msgspec.to_builtins(comparison)
    document |= {"a": side(a) | document["a"], "b": side(b) | document["b"]}
    document["differences"] = [
        {"factor": difference.factor, "a": difference.values[0][0], "b": difference.values[1][0]}
        for difference in comparison.differences
    ]
    document["lines"] = [
        msgspec.to_builtins(line.cell)
        | {key: value for key, value in msgspec.to_builtins(line).items() if key != "cell"}
        for line in comparison.lines
    ]
    document["summary"] = {
        "cells": len(comparison.lines),
        "a_faster": comparison.count("A faster"),
        "b_faster": comparison.count("B faster"),
        "differs": comparison.count("differs", "differs (unpaired)"),
        "not_shown": comparison.count("not shown"),
        "not_compared": comparison.count("not compared"),
    }
    return document


def _refuse_options_of_stored(of_stored: Mapping[str, object]) -> None:
    """Refuse what only sides of a database have."""
    kept = {"alpha", "average", "outliers", "confidence"}
    for name, value in of_stored.items():
        if value and name not in kept:
            raise click.UsageError(f"{_typed(name)} has no effect with --measure: leave it out")


def _refuse_options_of_measure(asked: Mapping[str, object]) -> None:
    """Raise UsageError for options that only --measure has."""
    for name, value in asked.items():
        if value is not None:
            raise click.UsageError(
                f"{_typed(name)} needs --measure: without it A and B come from the database"
            )


def _typed(name: str) -> str:
    """Return what a user typed for a parameter."""
    shown = {"all_variants": "--all"} | {key: f"--set {key}" for key in _KEYS}
    return shown.get(name, f"--{name.replace('_', '-')}")


def _measure(
    program: ProgramOptions,
    sides: tuple[str, str],
    how: How,
    *,
    launches: int | None,
    tolerance: float | None,
    output: Path | None,
    **asked: Any,
) -> int:
    """Exit code 3 where B is slower somewhere, or has no result any more."""
    from plumbline.core import guidelines
    from plumbline.results import compared_now, comparison_files
    from plumbline.settings import campaign_file
    from plumbline.verify import decision

    if output is not None:
        comparison_files.require(output)
    a, b = (compared_now.parse(side, program.mpi) for side in sides)
    most = launches or LAUNCHES
    claim = compared_now.RegressionClaim(
        alpha=how.alpha,
        tolerance=TOLERANCE if tolerance is None else tolerance,
        design=decision.design_over(min(FIRST, most), most),
    )
    sizes = asked.pop("sizes", None)
    if sizes and min(sizes) < 1:
        raise click.UsageError("--sizes: each of 1 byte or more")
    settings = campaign_file.load(None, asked)
    if sizes:
        settings = settings.but(sizes=sorted(set(sizes)))
    measured = settings.cases.functions or guidelines.load().lhs_functions()
    common.remark(settings.cases.rounding(measured, settings.ranks.nprocs))
    with progress.Bar(in_all=2 * most) as bar, program.open(write=True) as db:
        comparison = compared_now.measure(db, (a, b), settings, claim, how, bar)
    if output is not None:
        common.write(output, comparison_files.text(comparison, output))
    if program.json:
        common.print_json(comparison_files.document(comparison))
    else:
        _print_measured(comparison)
        if output is not None:
            click.echo(str(output))
    return common.VIOLATIONS_FOUND if compared_now.is_worse(comparison.cells) else 0


def _print_measured(comparison: MeasuredComparison) -> None:

    from plumbline.results.comparison_files import words_of

    for text in _measured_heading(comparison):
        click.echo(text)
    words = ("function", "bytes", "A µs", "B µs", "launches", "B against A")
    rows = [
        (
            line.cell.function,
            line.cell.bytes,
            *(side and f"{1e6 * side.median:.2f}" for side in (line.a, line.b)),
            line.pairs,
            words_of(line),
        )
        for line in comparison.cells
    ]
    common.show(common.table(*words, left=("function", "B against A"), wrap=False, rows=rows))
    click.echo(_measured_summary(comparison))


def _measured_heading(comparison: MeasuredComparison) -> Iterator[str]:
    from plumbline.results import compare

    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        yield headed(letter, side)
    claim = comparison.claim
    promised, least = f"{100 * (1 - claim.alpha):g} %", f"{100 * claim.tolerance:g} %"
    yield (
        "launches of A and B took turns; intervals are valid for "
        f"{counted(len(comparison.cells), 'cell')} "
        f"together with {promised}; changes below {least} do not count"
    )
    yield from differing(compare.differences(comparison.a, comparison.b), together=True)


def _measured_summary(comparison: MeasuredComparison) -> str:
    from plumbline.results.comparison_files import summary

    counts = summary(comparison.cells)
    text = (
        f"of {counted(counts['cells'], 'cell')} B is slower in {counts['slower']}, "
        f"faster in {counts['faster']}, equal in {counts['equal']}; "
        f"not shown in {counts['not_shown']}"
    )
    if counts["lost"] or counts["only_in_b"]:
        text += f"; no result of B in {counts['lost']}, of A in {counts['only_in_b']}"
    return text


# --- what sides do not share ---------------------------------------------------------------------


def headed(letter: str, side: ComparedSide) -> str:
    """Return what a side is, and on how many launches it rests."""
    header = side.launches[0].header
    crowded = " (oversubscribed)" if header.oversubscribed else ""
    return (
        f"{letter}  {side.name.text}: {side.library.version_string} on {side.machine.host}, "
        f"{header.nprocs} ranks{crowded}, {len(side.launches)} launches"
    )


def differing(differences: Sequence[Difference], *, together: bool) -> Iterator[str]:
    """The factors that two sides do not share."""
    if not differences:
        yield "all recorded factors are equal" + ("" if together else ", but time and load")
        return
    yield "what differs between A and B, and so may be what the ratios show:"
    for difference in differences:
        yield f"  {difference.factor}: " + "; ".join(
            f"{names[0]} {textwrap.shorten(value, _LONGEST, placeholder=' …')}"
            for value, names in difference.values
        )


def apart(a: SideConditions, b: SideConditions) -> Iterator[str]:
    """Return the words about sides that were not measured together: what p does not cover, and what
    is known of that."""
    from plumbline.results.sides import load_differences

    yield (
        "not paired: the sides were measured at different times; changes of the machine between "
        "them affect these ratios, and neither p nor intervals account for that"
    )
    for letter, conditions in (("A", a), ("B", b)):
        yield f"  {letter}  {conditions.first} to {conditions.last}; {_load(conditions)}"
    for text in load_differences(a, b):
        yield f"  the load differs: {text}"


def _load(conditions: SideConditions) -> str:
    if not conditions.launches_with_load:
        return "its load is not known"
    words = [
        f"{what} {'not known' if value is None else f'{value:.2f} processors'}"
        for what, value in (
            ("other work", conditions.other_processors),
            ("stolen", conditions.stolen_processors),
        )
    ]
    return f"{', '.join(words)} (medians of {conditions.launches_with_load} launches)"


# --- earlier comparisons -------------------------------------------------------------------------


def _history(program: ProgramOptions, pair: Pair) -> int:
    if pair.a is not None:
        raise UsageError("--history lists all comparisons: leave out A and B")
    from plumbline.results import compared_now
    from plumbline.results.comparison_files import document

    with program.open() as db:
        comparisons = compared_now.stored(db)
    if program.json:
        common.print_json([document(comparison) for comparison in comparisons])
    elif not comparisons:
        raise PlumblineError(
            f"{program.database} contains no comparison: "
            f"make one with `{command_name()} compare --measure A B`"
        )
    else:
        common.show(_history_table(comparisons))
    worse = bool(comparisons) and compared_now.is_worse(comparisons[-1].cells)
    return common.VIOLATIONS_FOUND if worse else 0


def _history_table(comparisons: list[MeasuredComparison]) -> Table:

    from plumbline.results.comparison_files import summary, words_of

    def row(comparison: MeasuredComparison) -> tuple[object, ...]:
        counts, worst = summary(comparison.cells), comparison.cells[0]
        sides = (comparison.a, comparison.b)
        return (
            comparison.a.launches[0].started[:16].replace("T", " "),
            *(f"{side.name.text} ({side.library.version_string})" for side in sides),
            comparison.a.campaign.nprocs,
            counts["slower"] + counts["lost"],
            *(counts[word] for word in ("faster", "equal", "not_shown")),
            f"{worst.cell.function} {worst.cell.bytes} B: {words_of(worst)}",
        )

    words = ("when", "A", "B", "ranks", "slower", "faster", "equal", "not shown", "worst cell")
    texts = ("when", "A", "B", "worst cell")
    return common.table(*words, left=texts, wrap=False, rows=map(row, comparisons))
