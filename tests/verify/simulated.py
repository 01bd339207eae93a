"""Simulated campaigns: per-launch medians as the database hands them over and the verdicts on
them; log ratios, a row a cell and a column a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines, load
from plumbline.verify.index import Obstacle
from plumbline.verify.significance.distributions import signed_rank_counts
from plumbline.verify.verify import Look, Verification, VerifySettings
from plumbline_db.records import Case, Medians, Verdict

Times = NDArray[np.float64]
PAPER = load().selected([f"GL{n}" for n in range(1, 18)])
MOCKUP = "allreduce_as_reduce_plus_bcast"  # the right side of GL12


def medians(
    function: str,
    size: int,
    seconds: Sequence[float],
    runs: Sequence[int] | None = None,
    **changes: object,
) -> Medians:
    case = Case(function, "default", {}, "default", size, "MPI_BYTE", "MPI_BOR", 0)
    changed = msgspec.structs.replace(case, **changes)
    return Medians(changed, list(runs or range(len(seconds))), list(seconds))


def pair(left: Sequence[float], right: Sequence[float]) -> list[Medians]:
    """The two sides of GL12."""
    return [
        medians("MPI_Allreduce", 16384, left),
        medians("MPI_Allreduce", 16384, right, variant=MOCKUP),
    ]


def verify(
    medians: Sequence[Medians],
    guidelines: Guidelines,
    *,
    stage: str,
    nprocs: int,
    ppn: int,
    suites: list[str],
    settings: VerifySettings | None = None,
    obstacles: Sequence[Obstacle] = (),
) -> list[Verdict]:
    """The verdicts of the first look of the design, which may be the only one."""
    table = Verification(guidelines, stage=stage, nprocs=nprocs, ppn=ppn, settings=settings)
    table.look(Look(medians, suites, obstacles))
    return table.verdicts()


def verified(
    data: list[Medians],
    obstacles: Sequence[Obstacle] = (),
    guidelines: Guidelines = PAPER,
    in_force: Callable[[Side, Side], bool] = lambda *_: False,
    deterministic: bool = False,
    **claim: object,
) -> list[Verdict]:
    return verify(
        data,
        guidelines,
        stage="before",
        nprocs=4,
        ppn=4,
        suites=["before"],
        settings=VerifySettings(
            claim=msgspec.structs.replace(VerifySettings().claim, **claim),
            deterministic=deterministic,
            in_force=in_force,
        ),
        obstacles=list(obstacles),
    )


def gl12(verdicts: Sequence[Verdict]) -> Verdict:
    (found,) = [each for each in verdicts if each.guideline == "GL12"]
    return found


def heavy(rng: np.random.Generator, shape: int | tuple[int, ...], spread: float) -> Times:
    """Student's t with 2 degrees of freedom: no variance, one launch in ten far off."""
    return np.asarray(rng.standard_t(2, shape) * spread)


def first(logs: Times, launches: int, cell: int) -> list[float]:
    return list(logs[cell, :launches])


def signed_rank_p(log_ratios: Times) -> Times:
    """p of untied log ratios along the last axis, all at once."""
    n = log_ratios.shape[-1]
    counts = signed_rank_counts(tuple(range(2, 2 * n + 1, 2)))[::2]
    upper_tail = counts[::-1].cumsum()[::-1] / 2.0**n
    ranks = np.abs(log_ratios).argsort(axis=-1).argsort(axis=-1) + 1
    return np.asarray(upper_tail[(ranks * (log_ratios > 0)).sum(axis=-1)])
