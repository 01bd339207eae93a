"""What the looks save, and what they cost in power: designs compared on simulated tables.

    python -m tests.verify.designs [TABLES]

A table has 645 cells: 5 % are 10 to 100 % slower than they should be, 8 % are within 0 and 8 %,
17 % equal within 2 %, the rest faster. Paired log ratios spread, cell by cell, by 0.4 to 5 % on a
quiet machine, by 2 to 30 % on one that others use, with heavy tails (Student's t, 3 degrees of
freedom). A launch takes 0.4 s and 2.5 ms a cell. One look at 30 launches is the most there is to
know from them.

Then, of the looks that campaigns have, what becomes of cells that are slower by a known share: in
the same tables, 20 of the cells a share. Last, tables of cells at the limit whose launches depend
on each other: the share with a violation, by the lag-1 autocorrelation."""

from __future__ import annotations

import sys
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.verify import decision
from plumbline.verify.decision import Claim, Design, HypothesisFamily, benjamini_hochberg
from tests.verify.simulated import first, signed_rank_p

CELLS = 645
HELD = ("equal", "faster")
LIMIT = 1.05
START_SECONDS, CELL_SECONDS = 0.4, 1.6 / CELLS
SPREADS = {"quiet": (0.004, 0.05), "busy": (0.02, 0.3)}
SLOWER = (1.0, 1.045, 1.05, 1.075, 1.1, 1.2)
EACH = 20  # cells a share
DEPENDENT = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
DESIGNS = {
    "15, then 15 more (p times 2)": Design((15, 30), (0.5, 0.5)),
    "6 … 30": decision.design_over(6, 30),
    "15, 21, 30": decision.design_over(15, 30),
    "one look at 15": decision.design_over(15, 15),
    "one look at 30": decision.design_over(30, 30),
}


class Outcome(msgspec.Struct, frozen=True):
    """Means over tables: `seconds` of launches; `measured`, cells times launches; of 645 cells
    `undecided` in the end; `found`, the share of those 10 % or more too slow that are called
    violated; `false`, cells within the limit called violated; `missed`, cells above the limit that
    are called holding."""

    seconds: float
    measured: float
    undecided: float
    found: float
    false: float
    missed: float


def outcome(chosen: Design, machine: str, tables: int) -> Outcome:
    spreads = SPREADS[machine]
    each = [_table(chosen, spreads, np.random.default_rng(seed)) for seed in range(tables)]
    return Outcome(*np.mean(each, axis=0).tolist())


def _table(
    chosen: Design, spreads: tuple[float, float], rng: np.random.Generator
) -> tuple[float, ...]:
    truth, logs = _cells(spreads, rng)
    family, cells = judged(chosen, logs)
    new = [chosen.new_launches(look) for look in range(len(cells))]
    seconds = sum(
        more * (START_SECONDS + CELL_SECONDS * count)
        for more, count in zip(new, cells, strict=True)
    )
    measured = sum(more * count for more, count in zip(new, cells, strict=True))
    words = np.array([cell[0].word for cell in family.cells])
    slow = truth >= np.log(1.1)
    return (
        seconds,
        measured,
        float((words == "undecided").sum()),
        float((words[slow] == "slower").mean()),
        float((words[truth <= np.log(LIMIT)] == "slower").sum()),
        float(np.isin(words[truth > np.log(LIMIT)], HELD).sum()),
    )


def judged(chosen: Design, logs: NDArray[np.float64]) -> tuple[HypothesisFamily[int], list[int]]:
    """A table after all looks that it needs, and how many cells each of these measured."""
    family = HypothesisFamily.of(range(len(logs)), Claim(tolerance=LIMIT - 1, design=chosen))
    measured = []
    cells = set(range(len(logs)))
    for launches in chosen.launches:
        measured.append(len(cells))
        evidence = partial(first, logs, launches)
        family.look(lambda cell, asked=cells, of=evidence: of(cell) if cell in asked else None)  # type: ignore[misc]
        cells = {decision.key for decision in family.worth_looking()}
        if not cells:
            break
    return family, measured


class Fate(msgspec.Struct, frozen=True):
    """Of cells slower by the same share: what they are called, as shares, and the mean launches of
    one. `alarms`: tables in which one of them is called violated."""

    violated: float
    holds: float
    undecided: float
    launches: float
    alarms: float


def fates(chosen: Design, machine: str, tables: int) -> dict[float, Fate]:
    """By how many times as long the cells take, truly."""
    found: dict[float, list[tuple[float, ...]]] = {ratio: [] for ratio in SLOWER}
    for seed in range(tables):
        truth, logs = _cells(SPREADS[machine], np.random.default_rng(1000 + seed))
        places = {ratio: slice(n * EACH, (n + 1) * EACH) for n, ratio in enumerate(SLOWER)}
        for ratio, place in places.items():
            logs[place] += np.log(ratio) - truth[place, None]
        family, _ = judged(chosen, logs)
        for ratio, place in places.items():
            those = [cell[0] for cell in family.cells[place]]
            words = ["equal" if one.is_held else one.word for one in those]
            counts = [words.count(word) for word in ("slower", "equal", "undecided")]
            used = [one.comparison.n for one in those if one.comparison]
            found[ratio].append(
                (*(count / EACH for count in counts), sum(used) / EACH, "slower" in words)
            )
    return {ratio: Fate(*np.mean(each, axis=0).tolist()) for ratio, each in found.items()}


def _cells(
    spreads: tuple[float, float], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True log ratios and 30 measured ones, a row a cell."""
    share = rng.random(CELLS)
    truth = np.select(
        [share < 0.05, share < 0.13, share < 0.30],
        [
            np.log(rng.uniform(1.1, 2.0, CELLS)),
            rng.uniform(0, 0.08, CELLS),
            rng.normal(0, 0.02, CELLS),
        ],
        rng.uniform(-1.5, -0.05, CELLS),
    )
    spread = np.exp(rng.uniform(*np.log(spreads), CELLS))
    noise = rng.standard_t(3, (CELLS, 30)) * 0.75
    return truth, truth[:, None] + spread[:, None] * noise


def alarms_if_dependent(rho: float, cells: int, tables: int) -> float:
    """The share of tables with a violation at any look: all cells are at the limit, and the log
    ratios of each are an AR(1) series of normal shocks."""
    rng = np.random.default_rng(1)
    looks = DESIGNS["6 … 30"]
    found = 0
    for _ in range(tables):
        series = rng.standard_normal((cells, 20 + looks.launches[-1]))
        for launch in range(1, series.shape[1]):
            shock = np.sqrt(1 - rho**2) * series[:, launch]
            series[:, launch] = rho * series[:, launch - 1] + shock
        p = np.ones(cells)
        for look, launches in enumerate(looks.launches):
            once = signed_rank_p(series[:, 20 : 20 + launches])
            p = np.minimum(p, once / looks.shares[look])
        found += bool((benjamini_hochberg(p) < 0.05).any())
    return found / tables


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    names = Outcome.__struct_fields__
    for machine in SPREADS:
        print(f"{machine:30}" + "".join(f"{name:>11}" for name in names))
        for name, chosen in DESIGNS.items():
            found = outcome(chosen, machine, tables)
            print(f"{name:30}" + "".join(f"{getattr(found, one):11.3f}" for one in names))
    names = Fate.__struct_fields__
    for machine in SPREADS:
        print(f"{machine + ', truly slower by':30}" + "".join(f"{name:>11}" for name in names))
        for ratio, fate in fates(DESIGNS["6 … 30"], machine, tables).items():
            print(f"{ratio - 1:30.1%}" + "".join(f"{getattr(fate, one):11.3f}" for one in names))
    for count, share in ((50, 100), (CELLS, 15)):
        shown = [alarms_if_dependent(rho, count, share * tables) for rho in DEPENDENT]
        head = f"{count} cells, dependent launches"
        print(f"{head:30}" + "".join(f"{rho:>11}" for rho in DEPENDENT))
        print(f"{'':30}" + "".join(f"{one:11.3f}" for one in shown))


if __name__ == "__main__":
    main()
