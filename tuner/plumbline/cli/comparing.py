"""`plumbline compare --measure`: two sides measured in turn, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline.system.words import counted

from . import common, differences, progress
from .base import Program

if TYPE_CHECKING:
    from plumbline.results.compare import How
    from plumbline.results.compared_now import MeasuredComparison

LAUNCHES, FIRST = 40, 12  # of each side: at most, and before the first look
TOLERANCE = 0.05


def refuse(of_stored: Mapping[str, object]) -> None:
    """What only sides of a database have."""
    kept = {"alpha", "average", "outliers", "confidence"}
    for name, value in of_stored.items():
        if value and name not in kept:
            option = "--all" if name == "all_variants" else f"--{name}"
            raise click.UsageError(f"{option} means nothing to --measure: leave it out")


def require_measure(asked: Mapping[str, object]) -> None:
    """Raise UsageError for options that only --measure has."""
    for name, value in asked.items():
        if value is not None:
            raise click.UsageError(
                f"--{name.replace('_', '-')}: A and B are in the database; measure them with "
                "--measure"
            )


def run(
    program: Program,
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
    from plumbline.results import compared_now, comparison_files, regressions
    from plumbline.settings import campaign_file
    from plumbline.verify import design
    from plumbline_db.connection import Database

    if output is not None:
        comparison_files.require(output)
    a, b = (compared_now.parse(side, program.mpi) for side in sides)
    most = launches or LAUNCHES
    claim = regressions.RegressionClaim(
        alpha=how.alpha,
        tolerance=TOLERANCE if tolerance is None else tolerance,
        design=design.over(min(FIRST, most), most),
    )
    sizes = asked.pop("sizes", None)
    if sizes and min(sizes) < 1:
        raise click.UsageError("--sizes: each of 1 byte or more")
    settings = campaign_file.load(None, asked)
    if sizes:
        settings = settings.but(sizes=sorted(set(sizes)))
    measured = settings.cases.functions or guidelines.load().lhs_functions()
    common.remark(settings.cases.rounding(measured, settings.ranks.nprocs))
    with (
        progress.Bar(in_all=2 * most) as bar,
        Database.open(program.database, write=True) as db,
    ):
        found = compared_now.measure(db, (a, b), settings, claim, how, bar)
    if output is not None:
        common.write(output, comparison_files.text(found, output))
    if program.json:
        common.print_json(comparison_files.document(found))
    else:
        show(found)
        if output is not None:
            click.echo(str(output))
    return common.VIOLATIONS_FOUND if regressions.is_worse(found.cells) else 0


def show(found: MeasuredComparison) -> None:
    from rich.text import Text

    from plumbline.results.comparison_files import words_of

    for text in _heading(found):
        click.echo(text)
    words = ("function", "bytes", "A µs", "B µs", "launches", "B against A")
    table = common.table(*words, left=("function", "B against A"), wrap=False)
    for line in found.cells:
        times = ["" if side is None else f"{1e6 * side.median:.2f}" for side in (line.a, line.b)]
        cell = line.cell
        said = Text(words_of(line))
        table.add_row(cell.function, str(cell.bytes), *times, str(line.pairs), said)
    common.show(table)
    click.echo(_summary(found))


def _heading(found: MeasuredComparison) -> Iterator[str]:
    from plumbline.results import compare

    for letter, side in (("A", found.a), ("B", found.b)):
        yield differences.headed(letter, side)
    claim = found.claim
    promised, least = f"{100 * (1 - claim.alpha):g} %", f"{100 * claim.tolerance:g} %"
    yield (
        f"launches of A and B took turns; intervals hold for {counted(len(found.cells), 'cell')} "
        f"together with {promised}; changes below {least} do not count"
    )
    yield from differences.differing(compare.differences(found.a, found.b), together=True)


def _summary(found: MeasuredComparison) -> str:
    from plumbline.results.comparison_files import summary

    counts = summary(found.cells)
    text = (
        f"of {counted(counts['cells'], 'cell')} B is slower in {counts['slower']}, "
        f"faster in {counts['faster']}, equal in {counts['equal']}; "
        f"not shown in {counts['not_shown']}"
    )
    if counts["lost"] or counts["only_in_b"]:
        text += f"; no result of B in {counts['lost']}, of A in {counts['only_in_b']}"
    return text
