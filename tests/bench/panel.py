"""Comparison of launches that visit living ranks with launches of their own: A/A by function
and size, beside A/A of two launches of their own; what both cost; and whether five members differ
from each other more than their visits do (docs/design/campaign.md).

A turn is a launch of each kind, in turning order. The ratio of a case is the median of its turns'
ratios of medians, with the interval of order statistics that holds at least 95 %."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.panel import Experiment
from plumbline.launch.starter import Starter
from plumbline.measure.conditions import correlation
from plumbline.settings import Settings, starting
from plumbline.settings.toolchain import find_toolchain
from plumbline_db.probe_records import Footer, ProbeRecord, Samples
from plumbline_db.records import Run

FUNCTIONS = (
    *("Allgather", "Allreduce", "Alltoall", "Barrier", "Bcast", "Exscan", "Gather", "Reduce"),
    *("Reduce_scatter", "Reduce_scatter_block", "Scan", "Scatter"),
)
SIZES = (64, 4096, 65536)
KINDS = ("fresh", "fresh again", "visit")
REVISITED = 5  # members that are visited again and again


class Kind(msgspec.Struct):
    """Launches of one kind, and their cost. `medians`: nanoseconds by case, turn by turn;
    `members`: the ranks of each launch."""

    members: list[str] = msgspec.field(default_factory=list)
    starts: int = 0
    seconds: float = 0.0
    timed_seconds: float = 0.0
    medians: dict[int, list[float]] = msgspec.field(default_factory=dict)

    def add(self, run: Run, records: Sequence[ProbeRecord]) -> None:
        if not run.finished:
            raise SystemExit(f"a launch failed: {run.reason}\n{run.stderr}")
        self.members.append(run.member)
        self.starts += run.visit <= 1
        self.seconds += run.seconds
        self.timed_seconds += sum(one.timed_ns for one in records if isinstance(one, Footer)) / 1e9
        samples: dict[int, list[int]] = {}
        for record in records:
            if isinstance(record, Samples):
                samples.setdefault(record.case, []).extend(record.ns)
        for case, times in samples.items():
            self.medians.setdefault(case, []).append(statistics.median(times))


def cases() -> list[PlanCase]:
    sizes = {"Barrier": (0,)}
    return [PlanCase(f"MPI_{name}", size) for name in FUNCTIONS for size in sizes.get(name, SIZES)]


def rank_of_bound(count: int) -> int:
    """The k for which the k-th smallest and the k-th largest of `count` values hold their median
    with at least 95 %."""
    rank, below = 0, 0.0
    while True:
        below += math.comb(count, rank) / 2**count
        if 2 * below > 0.05:
            return rank
        rank += 1


def ratios(ours: Kind, theirs: Kind) -> Iterator[tuple[int, float, float, float]]:
    """Return the ratio of each case, and its interval."""
    for case, values in sorted(ours.medians.items()):
        logs = sorted(
            math.log(mine / other) for mine, other in zip(values, theirs.medians[case], strict=True)
        )
        bound = max(1, rank_of_bound(len(logs)))
        low, high = logs[bound - 1], logs[-bound]
        yield case, math.exp(statistics.median(logs)), math.exp(low), math.exp(high)


def measure(starter: Starter, plan: Plan, turns: int) -> tuple[dict[str, Kind], Kind]:
    """Return the launches of each kind, and those that visit a few members again and again."""
    found, again = {name: Kind() for name in KINDS}, Kind()
    with starter.keeping_ranks():
        for turn in range(turns):  # ranks that are visited later, after other measurements
            starter.begin(Experiment("first"))
            _launch(starter, plan, 1000 + turn)
        for turn in range(turns):
            for place in range(len(KINDS)):
                name = KINDS[(turn + place) % len(KINDS)]
                # An experiment that has visited all ranks starts new ones.
                starter.begin(Experiment("second" if name == "visit" else "first"))
                found[name].add(*_launch(starter, plan, 3 * turn + place))
    with starter.keeping_ranks():
        for turn in range(3 * turns):
            starter.begin(Experiment("third", most_members=REVISITED))
            again.add(*_launch(starter, plan, 2000 + turn))
    return found, again


def _launch(starter: Starter, plan: Plan, number: int) -> tuple[Run, Sequence[ProbeRecord]]:
    own = msgspec.structs.replace(plan, seed=plan.seed + number)
    return starter.start("bench", "panel", number, own.text(), {})


def lines(plan: Plan, found: Mapping[str, Kind], again: Kind) -> Iterator[str]:
    off = {}
    for ours in KINDS[1:]:
        yield f"{ours} / fresh, by case: ratio [interval of at least 95 %]"
        every = list(ratios(found[ours], found["fresh"]))
        for number, ratio, low, high in every:
            case = plan.cases[number]
            mark = "" if low <= 1 <= high else "  *"
            interval = f"[{low:.3f}, {high:.3f}]{mark}"
            yield f"  {case.function:<26}{case.bytes:>7} B  {ratio:.3f} {interval}"
        off[ours] = sum(not low <= 1 <= high for _, _, low, high in every)
        yield f"  median of ratios {statistics.median(one[1] for one in every):.3f}"
    for name, count in off.items():
        yield f"{name} / fresh: {count} of {len(plan.cases)} intervals are off 1"
    for name, kind in found.items():
        share = kind.timed_seconds / kind.seconds
        yield (
            f"{name}: {kind.starts} starts, {kind.seconds:.2f} s, {100 * share:.0f} % of it inside "
            "timed regions"
        )
    shared = correlation(
        (dict(enumerate(times)) for times in again.medians.values()), dict(enumerate(again.members))
    )
    members = len(set(again.members))
    yield (
        f"intraclass correlation of {members} members, {len(again.members)} visits: {shared:.3f}"
        if shared is not None
        else "members were not visited often enough to be compared"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nprocs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    settings = Settings()
    ranks = msgspec.structs.replace(settings.ranks, nprocs=options.nprocs)
    starter = starting.starter(find_toolchain(), msgspec.structs.replace(settings, ranks=ranks))
    plan = Plan("panel", 1, tuple(cases()), blocks=12, reps=10)
    for line in lines(plan, *measure(starter, plan, options.turns)):
        print(line)


if __name__ == "__main__":
    main()
