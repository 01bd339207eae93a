"""plumbline factors"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.system.words import counted
from plumbline_db.errors import UsageError

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.results.compared_now import StartableSide
    from plumbline.results.factor_effects import FactorExperiment
    from plumbline.settings import Settings

SIZES = [8, 4096, 65536]
LAUNCHES, FIRST = 40, 12  # of each level: at most, and before the first look
ALPHA, TOLERANCE = 0.05, 0.03
_KEYS: dict[str, Any] = {
    "alpha": options.Real(0, 1, min_open=True, max_open=True),
    "tolerance": options.Real(0, 1, min_open=True, max_open=True),
}


class What(NamedTuple):
    """The factors, and how surely their effects are known."""

    factors: tuple[str, ...]
    sizes: list[int] | None
    launches: int | None
    new: bool
    alpha: float = ALPHA
    tolerance: float = TOLERANCE


@base.command(
    "factors",
    gathers={"what": What},
    takes=f"mpi db json nprocs nodes bind map_by sizes {options.DATA} seed",
    told={"sizes": {"unset": ",".join(map(str, SIZES))}},
)
@click.argument("function", shell_complete=options.complete_functions)
@click.argument("factors", nargs=-1, metavar="[FACTOR[=LEVEL]]...")
@options.launches("Launches of the base and of each level, at most.", unset=str(LAUNCHES))
@options.settings(
    "the claim (alpha, tolerance: effects below it do not count), or a campaign file", _KEYS
)
@options.new
@options.picture("Draw the effects")
def command(
    program: ProgramOptions, function: str, what: What, picture: Path | None, **asked: Any
) -> int:
    """How pinning, caches, timers, variables and other factors change the times of a function.

    Launches of the base and of each level of each factor take turns in shuffled order, each with
    ranks of its own, until it is decided whether the level matters: whether its interval excludes
    the base. It is idle if the interval is within the tolerance. All intervals are valid together.
    Interrupted, the same command goes on. Later `plumbline results` of this machine and library
    list what was found.

    \b
    Factors, and the levels that are measured if none is named:
      pinning     core, none (also socket, numa)
      cache       overwrite: cold buffers (also cycle)
      start       barrier or window, whichever the base has not (also other start schemes)
      clock       wtime, tsc (also other timers of the probe)
      neighbour   1: a busy process beside the launch (any number)
      frequency   the other governors, if this user may set them
    Only if they are named:
      flags       -O1, -O3: compiler flags of the probe, which is built with them
      library     library=PREFIX: another build of the library
      NAME=VALUE  a variable, or a knob of the library; repeat it for several values

    \b
    Example:
      plumbline factors MPI_Allreduce --picture factors.svg
      plumbline factors MPI_Bcast -n 2 --sizes 4096 cache pinning=core OMPI_MCA_btl=tcp,self
    """
    from plumbline.results import factor_effects
    from plumbline.results.compared_now import NamedSide, RegressionClaim, StartableSide
    from plumbline.results.factor_levels import Base, parse
    from plumbline.settings import campaign_file
    from plumbline.verify import decision

    settings = campaign_file.load(None, asked)
    _refuse_simulated(settings)
    name = NamedSide(factor_effects.BASE, program.mpi, {})
    side = StartableSide(name, settings, program.database.parent)
    (measured,) = common.functions(side.toolchain.catalogue, [function])
    levels = parse(what.factors, Base(side.settings, side.toolchain))
    most = what.launches or LAUNCHES
    claim = RegressionClaim(
        what.alpha, what.tolerance, decision.design_over(min(FIRST, most), most)
    )
    question = factor_effects.FactorQuestion(measured, what.sizes or SIZES, levels, claim)
    with (
        progress.Bar(in_all=most * (1 + len(levels))) as bar,
        program.open(write=True) as db,
    ):
        experiment = factor_effects.measure(db, side, question, bar, new=what.new)
    if picture is not None:
        common.draw(picture, factor_effects.specification(experiment))
    common.answer(program, factor_effects.document(experiment), _shown(experiment, side))
    if picture is not None and not program.json:
        click.echo(f"\n{picture}")
    return 0


def _refuse_simulated(settings: Settings) -> None:
    if settings.ranks.simulate is not None:
        raise UsageError("a simulated machine has no such factors: leave out simulate")


def _shown(experiment: FactorExperiment, side: StartableSide) -> Iterator[RenderableType]:
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
