"""Two sides, cell by cell: who is faster, by how much, how sure is that (Hunold and Carpen-Amarie,
TPDS 2016, section 5.2).

Pure: sides in, lines out. The replicate is the launch. Two sides whose launches belong together are
compared in pairs. Others are two samples; but a machine has states that last over many launches, so
that launches of a side are no independent replicates, and what changed between the sides cannot be
told from what they are. There p speaks of the samples alone, and no side is called faster."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.core.plan import EQUAL_COUNTS
from plumbline.measure import factors
from plumbline.measure.factors import Difference
from plumbline.results import sides
from plumbline.results.sides import ComparedSide, SideConditions
from plumbline.system.words import counted
from plumbline.verify.decision import benjamini_hochberg
from plumbline.verify.significance import student
from plumbline.verify.significance.comparison import Alternative, Test, Vector, finite
from plumbline.verify.statistics import TESTS, stars
from plumbline_db.errors import UsageError
from plumbline_db.runs import LaunchSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# The way from the raw samples of a launch to its averages: algorithm 3 of TPDS 2016, section
# 5.1. Pure. Samples are filtered here, never where they are stored.

_FENCE = 1.5  # interquartile ranges


class _LaunchAverage(msgspec.Struct, frozen=True):
    """Median and mean of what was kept of a launch's samples, in their unit; `kept` of `taken`."""

    median: float
    mean: float
    kept: int
    taken: int


def averages(launches: Iterable[ArrayLike], *, filtered: bool = True) -> list[_LaunchAverage]:
    """One LaunchAverage for each launch, from its samples; `filtered`: Tukey's outliers are left
    out first (lines 4 to 6 of the algorithm)."""
    import numpy as np

    averages_by_launch = []
    for launch in launches:
        samples = finite(launch, "samples")
        kept = tukey_filter(samples) if filtered else samples
        averages_by_launch.append(
            _LaunchAverage(float(np.median(kept)), float(np.mean(kept)), len(kept), len(samples))
        )
    return averages_by_launch


def tukey_filter(values: ArrayLike) -> Vector:
    """The values from Q1 - 1.5 IQR to Q3 + 1.5 IQR, both included, in their order (TPDS 2016, 3.4).

    Quartiles interpolate linearly between order statistics, as R's `quantile` does by default: type
    7 of Hyndman and Fan, The American Statistician 50 (1996). Of fewer than 4 values none can be an
    outlier."""
    import numpy as np

    samples = finite(values, "samples")
    if len(samples) < 4:
        return samples
    first, third = np.quantile(samples, [0.25, 0.75], method="linear")
    reach = _FENCE * (third - first)
    return np.asarray(samples[(samples >= first - reach) & (samples <= third + reach)])


class How(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`test`: a name of TESTS, or auto. `alternative` is about the times of A: less means that A is
    faster. `average`: of the samples of a launch, after Tukey's filter if `outliers` says so."""

    test: str = "auto"
    alternative: Alternative = "two-sided"
    average: Literal["median", "mean"] = "median"
    outliers: Literal["keep", "tukey"] = "keep"
    alpha: float = 0.05
    confidence: float = 0.95
    all_variants: bool = False


Verdict = Literal[
    "A faster", "B faster", "differs", "differs (unpaired)", "not shown", "not compared"
]
PAIRED, UNPAIRED = "signed-rank", "rank-sum"
FEW_PAIRS = student.TEST  # too few for the signed-rank test among so many cells
# These tests show that two distributions differ, in location or in spread: neither is faster.
NOT_OF_LOCATION = frozenset({"kolmogorov-smirnov"})


class MatchedCell(msgspec.Struct, frozen=True, order=True):
    """A cell that is matched. `variant` is empty where each side names its own. `settings`: knobs
    that are switched inside launches, and a duplicate communicator. `ranks`: it ran on the first
    ones; 0: on all."""

    function: str
    variant: str
    settings: str
    type: str
    op: str
    root: int
    delay_ns: int
    ranks: int
    nprocs: int
    ppn: int
    bytes: int
    counts: str = EQUAL_COUNTS


class Sample(msgspec.Struct, frozen=True):
    """Averages of the launches of one side, seconds, in the order of the launches."""

    launches: int
    median: float
    low_quartile: float
    high_quartile: float


class ComparedCell(msgspec.Struct, frozen=True):
    """`ratio`: A over B, with its interval at the confidence asked for; `factor`: how many times as
    fast the faster side is, where one is named. `stars` are those of `p_adjusted`; none where the
    sides were not measured together. `reason`: what else there is to know, or why the cell was not
    compared."""

    cell: MatchedCell
    a: Sample
    b: Sample
    pairs: int | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    stars: str = ""
    verdict: Verdict = "not compared"
    factor: float | None = None
    reason: str = ""


class SideComparison(msgspec.Struct, frozen=True):
    """`paired`: the test compares pairs. `together`: the sides were measured in the same launches,
    or in turn; where they were not, no side is called faster, whatever p is. `why` says which.
    `only_a`, `only_b`: cells that the other side has not. `limits`: why so few launches can show
    nothing, or what was done about it; "": they suffice."""

    how: How
    test: str
    paired: bool
    together: bool
    why: str
    a: SideConditions
    b: SideConditions
    differences: list[Difference]
    lines: list[ComparedCell]
    only_a: int
    only_b: int
    limits: str = ""

    def count(self, *verdicts: Verdict) -> int:
        return sum(line.verdict in verdicts for line in self.lines)


def compare(a: ComparedSide, b: ComparedSide, how: How) -> SideComparison:
    """All cells that both sides have. Raises UsageError when there are none, when both are the same
    launches, or when a paired test is asked for and the launches are not paired."""
    if bool(a.name.variant) != bool(b.name.variant):
        raise UsageError("name a @VARIANT on both sides, or on neither")
    pairs, why = pairing(a, b)
    cells_of_a, cells_of_b = (by_cell(side, how) for side in (a, b))
    both = sorted(cells_of_a.keys() & cells_of_b.keys())
    if not both:
        raise UsageError(
            f"no cell is on both sides: A has {_some(cells_of_a)}; B has {_some(cells_of_b)}. "
            "Cells are matched by function, variant, ranks, bytes, type, op and root"
        )
    seconds = {
        cell: (seconds_of(cells_of_a[cell], how), seconds_of(cells_of_b[cell], how))
        for cell in both
    }
    test, limits = _test(how, pairs, why, (a, b), len(both))
    of_cell = how
    if test is FEW_PAIRS:
        confidence = 1 - (1 - how.confidence) / len(both)
        of_cell = msgspec.structs.replace(how, confidence=confidence)
    lines = [_line(cell, *seconds[cell], pairs, test, of_cell) for cell in both]
    return SideComparison(
        how=how,
        test=test.name,
        paired=test.paired,
        together=pairs is not None,
        why=why,
        a=sides.of_side(a.launches),
        b=sides.of_side(b.launches),
        differences=differences(a, b),
        lines=_adjusted(lines, how, test, together=pairs is not None),
        only_a=len(cells_of_a.keys() - cells_of_b.keys()),
        only_b=len(cells_of_b.keys() - cells_of_a.keys()),
        limits=limits,
    )


def differences(a: ComparedSide, b: ComparedSide) -> list[Difference]:
    """The factors that A and B do not share, builds of the libraries and machines included: what is
    compared is among them, and so is what may be mistaken for it."""
    different_factors = factors.differences(
        [("A", a.launches[0].header), ("B", b.launches[0].header)]
    )
    pairs = {"machine": (a.machine.id, b.machine.id)}
    for key in dict.fromkeys([*a.library.build, *b.library.build]):
        unknown = factors.NOT_KNOWN
        pair = (a.library.build.get(key, unknown), b.library.build.get(key, unknown))
        pairs[f"library build {key}"] = pair
    noted = factors.FactorRule("noted")
    return different_factors + [
        Difference(name, noted, [(value_of_a, ["A"]), (value_of_b, ["B"])])
        for name, (value_of_a, value_of_b) in pairs.items()
        if value_of_a != value_of_b
    ]


def pairing(a: ComparedSide, b: ComparedSide) -> tuple[list[tuple[int, int]] | None, str]:
    """Launches of A and B that belong together, by number, and why; or None, and why not. Raises
    UsageError when both sides are the same times."""
    launches_of_a, launches_of_b = ([launch.number for launch in side.launches] for side in (a, b))
    if a.database != b.database:
        return None, "A and B are in different databases"
    if set(launches_of_a) & set(launches_of_b):
        if a.name.variant == b.name.variant:
            raise UsageError(f"{a.name.text} and {b.name.text} share launches: nothing to compare")
        shared = sorted(set(launches_of_a) & set(launches_of_b))
        return [(run, run) for run in shared], "both sides were measured in the same launches"
    order = sorted([(run, 0) for run in launches_of_a] + [(run, 1) for run in launches_of_b])
    neighbours = list(zip(order[::2], order[1::2], strict=False))
    if len(launches_of_a) == len(launches_of_b) and all(
        pair[1] != next_pair[1] for pair, next_pair in neighbours
    ):
        paired = [sorted(two, key=lambda launch: launch[1]) for two in neighbours]
        return [
            (ours_at[0], launch_of_b[0]) for ours_at, launch_of_b in paired
        ], "launches of A and B take turns"
    if a.campaign.id != b.campaign.id:
        return None, "A and B are different runs"
    return None, "the launches of A and B do not take turns"


def _test(
    how: How,
    pairs: list[tuple[int, int]] | None,
    why: str,
    both: tuple[ComparedSide, ComparedSide],
    cells: int,
) -> tuple[Test, str]:
    """Return the test, and what is to be known of it where launches are few for so many cells.
    Raises UsageError where there is no such test, or it does not fit."""
    launches = [len(side.launches) for side in both] if pairs is None else [len(pairs)]
    usual = UNPAIRED if pairs is None else PAIRED
    name = usual if how.test == "auto" else how.test
    if name not in TESTS:
        raise UsageError(f"unknown test {how.test}; choose one of: auto, {', '.join(TESTS)}")
    if TESTS[name].paired and pairs is None:
        free = ", ".join(name for name, test in TESTS.items() if not test.paired)
        raise UsageError(f"{how.test} compares pairs of launches, but {why}; take one of: {free}")
    limits = _limits(name, launches, cells, how)
    if limits and how.test == "auto" and pairs is not None:
        limits += ". So the test is Student's t, and intervals hold for all cells together"
        return FEW_PAIRS, limits
    return TESTS[name], limits


def _limits(test: str, launches: Sequence[int], cells: int, how: How) -> str:
    """Return what a test by ranks cannot show because its smallest p, that of sides of which one is
    faster in all launches, is too large for so many cells; "" where it can show each cell."""
    if test == PAIRED:
        least = 0.5 ** launches[0]
    elif test == UNPAIRED and len(launches) == 2:
        least = 1 / math.comb(sum(launches), launches[0])
    else:
        return ""
    least *= 2 if how.alternative == "two-sided" else 1
    alike = math.ceil(cells * least / how.alpha)
    if alike <= 1:
        return ""
    shown = "nothing" if alike > cells else f"no difference in fewer than {alike} cells"
    return (
        f"{counted(min(launches), 'launch')} a side can show {shown} with {test} among "
        f"{counted(cells, 'cell')}: the smallest p is {least:.2g} before it is adjusted"
    )


def by_cell(side: ComparedSide, how: How) -> dict[MatchedCell, LaunchSamples]:
    """The samples of each cell. Raises UsageError where one was measured as two cases."""
    header = side.launches[0].header
    samples_by_cell = {}
    for sample in side.samples:
        case = sample.case
        knobs = " ".join(f"{name}={value}" for name, value in sorted(case.knobs.items()))
        settings = knobs or ("" if case.config == "default" else case.config)
        every = side.name.variant or side.described or how.all_variants
        if not every and case.variant != "default":
            continue
        variant = "" if side.name.variant else case.variant
        cell = MatchedCell(
            function=case.function,
            variant=variant,
            settings=settings,
            type=case.type,
            op=case.op,
            root=case.root,
            delay_ns=case.delay_ns,
            ranks=case.ranks,
            nprocs=header.nprocs,
            ppn=header.ppn,
            bytes=case.bytes,
            counts=case.counts,
        )
        if cell in samples_by_cell:
            raise UsageError(f"{side.name.text}: {cell} was measured as two cases; name one suite")
        samples_by_cell[cell] = sample
    return samples_by_cell


def seconds_of(samples: LaunchSamples, how: How) -> dict[int, float]:
    """Return the seconds by launch number."""
    averages_by_launch = averages(samples.ns, filtered=how.outliers == "tukey")
    return {
        run: 1e-9 * (average.median if how.average == "median" else average.mean)
        for run, average in zip(samples.runs, averages_by_launch, strict=True)
    }


def _line(
    cell: MatchedCell,
    seconds_of_a: dict[int, float],
    seconds_of_b: dict[int, float],
    pairs: Sequence[tuple[int, int]] | None,
    test: Test,
    how: How,
) -> ComparedCell:
    times_of_a, times_of_b = list(seconds_of_a.values()), list(seconds_of_b.values())
    plain = ComparedCell(cell, sample_of(times_of_a), sample_of(times_of_b))
    if test.paired:
        both = [pair for pair in pairs or () if pair[0] in seconds_of_a and pair[1] in seconds_of_b]
        times_of_a, times_of_b = (
            [seconds_of_a[run] for run, _ in both],
            [seconds_of_b[launch_of_b] for _, launch_of_b in both],
        )
        plain = msgspec.structs.replace(plain, pairs=len(both))
    if not times_of_a:
        return msgspec.structs.replace(plain, reason="no pair of launches has both sides")
    if min(*times_of_a, *times_of_b) <= 0:
        return msgspec.structs.replace(plain, reason="a launch was too short for the timer")
    result = test.run(times_of_a, times_of_b, how.alternative, how.confidence)
    return msgspec.structs.replace(
        plain,
        ratio=result.ratio,
        ratio_low=result.low,
        ratio_high=result.high,
        p=result.p,
        reason=result.reason,
    )


def sample_of(seconds: Sequence[float]) -> Sample:
    """Return the sample of one side, which has a launch at least."""
    import numpy as np

    low, high = np.quantile(seconds, [0.25, 0.75])
    return Sample(len(seconds), statistics.median(seconds), float(low), float(high))


def _adjusted(
    lines: Sequence[ComparedCell], how: How, test: Test, *, together: bool
) -> list[ComparedCell]:
    """Return what follows for each cell from p adjusted for all of them: by Bonferroni where
    intervals hold together, else at a false discovery rate."""
    p_values = [line.p for line in lines if line.p is not None]
    adjusted = (
        iter([min(1.0, p * len(lines)) for p in p_values])
        if test is FEW_PAIRS
        else iter(benjamini_hochberg(p_values))
    )
    adjusted_lines = []
    for line in lines:
        if line.p is None or line.ratio is None:
            adjusted_lines.append(line)
            continue
        p = float(next(adjusted))
        verdict = _verdict(line.ratio, how, test, together=together) if p <= how.alpha else None
        factor = {"A faster": 1 / line.ratio, "B faster": line.ratio}.get(verdict or "")
        adjusted_lines.append(
            msgspec.structs.replace(
                line,
                p_adjusted=p,
                stars=stars(p) if together else "",
                verdict=verdict or "not shown",
                factor=factor,
            )
        )
    return adjusted_lines


def _verdict(ratio: float, how: How, test: Test, *, together: bool) -> Verdict:
    """Return the verdict of a cell whose p is small enough."""
    if not together:
        return "differs (unpaired)"
    if test.name in NOT_OF_LOCATION:
        return "differs"
    slower_is_a = how.alternative == "greater" or (how.alternative == "two-sided" and ratio > 1)
    return "B faster" if slower_is_a else "A faster"


def _some(cells: dict[MatchedCell, LaunchSamples]) -> str:
    """Enough of the cells to see why none is on the other side."""
    functions = sorted({cell.function for cell in cells})
    sizes = sorted({cell.bytes for cell in cells})
    ranks = sorted({cell.nprocs for cell in cells})
    return (
        f"{len(functions)} functions ({', '.join(functions[:3])} …), {len(sizes)} sizes "
        f"({', '.join(map(str, sizes[:4]))} … B), {', '.join(map(str, ranks))} ranks"
    )
