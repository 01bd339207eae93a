"""plumbline reproducibility factors"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.system.words import counted
from plumbline_db.errors import UsageError

from . import common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.results.compared_now import StartableSide
    from plumbline.results.factor_effects import FactorExperiment

WORD = "factors"
SIZES = [8, 4096, 65536]
LAUNCHES, FIRST = 40, 12  # of each level: at most, and before the first look
ALPHA, TOLERANCE = 0.05, 0.03
KEYS: dict[str, Any] = dict.fromkeys(
    ("alpha", "tolerance"), options.Real(0, 1, min_open=True, max_open=True)
)
"""Keys of --set: the claim."""


class ShownFactors(NamedTuple):
    """Options that say whether stored launches are taken, and where the effects are drawn."""

    new: bool
    picture: Path | None


def measure(
    program: ProgramOptions, words: Sequence[str], shown: ShownFactors, asked: dict[str, Any]
) -> int:
    """Measure what FUNCTION and FACTORS of the `words` name. `asked`: options and keys that were
    given; a None was not. Raises UsageError for words and options that do not fit."""
    from plumbline.results import factor_effects
    from plumbline.results.compared_now import NamedSide, RegressionClaim, StartableSide
    from plumbline.results.factor_levels import Base, parse
    from plumbline.settings import campaign_file
    from plumbline.verify import decision

    if words[0] != WORD or len(words) == 1:
        raise UsageError(
            f"{' '.join(words)}: name a function and its factors, as in {WORD} MPI_Allreduce cache"
        )
    name_of_function, factors = words[1], words[2:]
    given = {name: value for name, value in asked.items() if value is not None}
    sizes, most = given.pop("sizes", SIZES), given.pop("launches", LAUNCHES)
    alpha, tolerance = given.pop("alpha", ALPHA), given.pop("tolerance", TOLERANCE)
    settings = campaign_file.load(None, _keys(given))
    if settings.ranks.simulate is not None:
        raise UsageError("a simulated machine has no such factors: leave out simulate")
    name = NamedSide(factor_effects.BASE, program.mpi, {})
    side = StartableSide(name, settings, program.database.parent)
    (measured,) = common.functions(side.toolchain.catalogue, [name_of_function])
    levels = parse(factors, Base(side.settings, side.toolchain))
    design = decision.design_over(min(FIRST, most), most)
    claim = RegressionClaim(alpha, tolerance, design)
    question = factor_effects.FactorQuestion(measured, sizes, levels, claim)
    with (
        progress.Bar(in_all=most * (1 + len(levels))) as bar,
        program.open(write=True) as db,
    ):
        experiment = factor_effects.measure(db, side, question, bar, new=shown.new)
    if shown.picture is not None:
        common.draw(shown.picture, factor_effects.specification(experiment))
    common.answer(program, factor_effects.document(experiment), _shown(experiment, side))
    if shown.picture is not None and not program.json:
        click.echo(f"\n{shown.picture}")
    return 0


def _keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a campaign file among what was given. Raises UsageError for the rest."""
    from plumbline.settings import GROUP_OF

    ranks = given.get("nprocs", [])
    if len(ranks) > 1:
        raise UsageError(f"--nprocs takes one number with {WORD}")
    others = [name for name in given if name not in GROUP_OF or name == "functions"]
    if others:
        raise UsageError(f"--{others[0]} has no effect with {WORD}: leave it out")
    return {**given, **({"nprocs": ranks[0]} if ranks else {})}


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
