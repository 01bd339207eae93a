"""The best of our variants beside the library's best algorithm and its default, cell by cell.

Two steps, so that the winner of a crowd is not judged by the launches that made it the winner:
all candidates race in a few launches, then the front runners of either side meet the default in
fresh ones."""

from __future__ import annotations

import math
import statistics as numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Plan
from plumbline.measure import side_by_side
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.measure.settling import until_settled
from plumbline.measure.side_by_side import MeasuredCase
from plumbline.search.outcome import label
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.settings import Settings, starting
from plumbline.settings.toolchain import Catalogue, Toolchain
from plumbline.verify.decision import Compare, compare_of
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Suite

FRONT = 3  # of either side that go on to the final launches


class FastestOfSide(msgspec.Struct, frozen=True):
    """The fastest of one side in the final launches: the median of its launch medians, and its
    time over the default's, paired by launch."""

    name: str
    seconds: float
    ratio: Comparison | None


class BestOfCell(msgspec.Struct, frozen=True):
    """None: no candidate of that side was measured. `ours_over_library` is paired by launch."""

    function: str
    nprocs: int
    bytes: int
    default_seconds: float
    library: FastestOfSide | None
    ours: FastestOfSide | None
    ours_over_library: Comparison | None
    candidates: int


class Contenders(msgspec.Struct, frozen=True):
    """Who runs for a function at one size. `cold` are algorithms of the library that only a launch
    as a whole can have."""

    library: Sequence[Candidate]
    ours: Sequence[Candidate]
    cold: Sequence[Candidate] = ()

    @property
    def sides(self) -> tuple[list[Candidate], list[Candidate]]:
        """The library's candidates and ours."""
        return [*self.library, *self.cold], [*self.ours]


def field(
    candidate_space: CandidateSpace, catalogue: Catalogue, function: str, size: int, nprocs: int
) -> Contenders:
    """The library's algorithms, and our variants but the naive ones, each with the standard values
    of its parameters and with one parameter at a time at its other values."""
    library: dict[Candidate, None] = {}
    for candidate in candidate_space.first(function):
        if not candidate.is_knobs:
            continue
        library[candidate] = None
        for knob, values in candidate_space.choices(function, candidate, size).items():
            for value in values:
                library[candidate_space.with_parameters(candidate, {knob: value})] = None
    own_variants = [
        Candidate(variant=spec)
        for variant in catalogue.variants
        if variant.function == function and variant.kind != "naive"
        for spec in variant.specs(size, nprocs)
    ]
    cold = [candidate for candidate in library if candidate_space.is_cold(function, candidate)]
    return Contenders(
        [candidate for candidate in library if candidate not in cold], own_variants, cold
    )


def plan_of(settings: Settings, data: Data, switch: str) -> Plan:
    """Return how cases are measured; `switch`: how knobs are switched inside a launch."""
    sampling = settings.sampling
    plan = Plan(
        "best", sampling.seed, (), data, blocks=sampling.blocks, reps=sampling.reps, knobs=switch
    )
    return until_settled(plan, simulated=settings.ranks.simulate is not None)


FIRST, FINALS = 3, 10  # launches of all candidates, and of the front runners


def launches(settings: Settings, finals: int | None = None) -> tuple[int, int]:
    """Return the launches of all candidates, and those of the front runners; a simulated machine
    repeats itself."""
    if settings.ranks.simulate is not None:
        return 1, finals or 1
    return FIRST, finals or FINALS


def race(
    toolchain: Toolchain,
    settings: Settings,
    fields: Mapping[Target, Contenders],
    finals: int | None = None,
    progress: Progress | None = None,
) -> list[BestOfCell]:
    """Return what `find` finds in launches that are not kept; `finals` None: the usual number."""
    starter = starting.starter(toolchain, settings)
    with side_by_side.unkept_store(toolchain, starter, "best", progress) as store:
        plan = plan_of(settings, settings.cases.data, toolchain.space.switch)
        first, finals = launches(settings, finals)
        environment = toolchain.space.hot_environment
        return find(store, plan, environment, fields, first=first, finals=finals)


def find(
    store: LaunchStore,
    plan: Plan,
    environment: Mapping[str, str],
    fields: Mapping[Target, Contenders],
    *,
    first: int,
    finals: int,
) -> list[BestOfCell]:
    """Return the best of each side for every target of `fields`; `plan` says how cases are
    measured. All sizes of a function share their launches. A target at which the library's own call
    was not timed has no cell. Raises PlumblineError when launches fail and no case is to blame."""
    cells = []
    nprocs = store.starter.placement.nprocs
    compare = compare_of(simulated=store.starter.family.simulates)
    for function in dict.fromkeys(target.function for target in fields):
        store.progress.step(f"{function}, {nprocs} ranks")
        suite = Suite("best", step=function.removeprefix("MPI_").lower())
        fields_of_function = {
            target: field for target, field in fields.items() if target.function == function
        }
        cold = {candidate for field in fields_of_function.values() for candidate in field.cold}
        entries = {target: [*chain(*field.sides)] for target, field in fields_of_function.items()}
        race = _Race(store, plan, environment, cold)
        first_times = race.run(suite, entries, first)
        fronts = {
            target: [_front(side, first_times[target]) for side in field.sides]
            for target, field in fields_of_function.items()
        }
        last = {target: [*chain(*sides)] for target, sides in fronts.items()}
        final = race.run(suite.at(2), last, finals)
        cells += [
            _cell(target, nprocs, fronts[target], final[target], len(entries[target]), compare)
            for target in fields_of_function
            if DEFAULT in final[target]
        ]
    return cells


class _Race(msgspec.Struct):
    """The measurement of the candidates of one function; a launch as a whole has one of the `cold`
    ones."""

    store: LaunchStore
    plan: Plan
    environment: Mapping[str, str]
    cold: Collection[Candidate]

    def run(
        self, suite: Suite, entries: Mapping[Target, Sequence[Candidate]], launches: int
    ) -> dict[Target, dict[Candidate, MeasuredCase]]:
        """Return the lines of the default and of those candidates that every launch measured."""
        cases = tuple(
            candidate.case(target.function, target.bytes)
            for target, candidates in entries.items()
            for candidate in dict.fromkeys([DEFAULT, *candidates])
            if candidate not in self.cold
        )
        started = dict.fromkeys(chain(*entries.values()))
        settings = [entrant.configuration for entrant in started if entrant in self.cold]
        lines = side_by_side.run(
            self.store,
            msgspec.structs.replace(self.plan, cases=cases),
            launches,
            self.environment,
            settings,
            suite=suite,
        )
        lines = [line for line in lines if len(line.seconds) == launches]
        by_candidate = {
            (line.bytes, Candidate(line.variant, Configuration.of(line.knobs))): line
            for line in lines
        }
        return {
            target: {
                candidate: by_candidate[target.bytes, candidate]
                for candidate in dict.fromkeys([DEFAULT, *candidates])
                if (target.bytes, candidate) in by_candidate
            }
            for target, candidates in entries.items()
        }


def _cell(
    target: Target,
    nprocs: int,
    fronts: Sequence[Sequence[Candidate]],
    final: Mapping[Candidate, MeasuredCase],
    candidates: int,
    compare: Compare,
) -> BestOfCell:
    library, own_fastest = (
        min(
            (candidate for candidate in front if candidate in final),
            key=lambda c: _median(final[c]),
            default=None,
        )
        for front in fronts
    )
    return BestOfCell(
        function=target.function,
        nprocs=nprocs,
        bytes=target.bytes,
        default_seconds=_median(final[DEFAULT]),
        library=_fastest(library, final),
        ours=_fastest(own_fastest, final),
        ours_over_library=_between(own_fastest, library, final, compare),
        candidates=candidates,
    )


def _front(side: Iterable[Candidate], lines: Mapping[Candidate, MeasuredCase]) -> list[Candidate]:
    measured = [candidate for candidate in side if candidate in lines]
    return sorted(measured, key=lambda candidate: _median(lines[candidate]))[:FRONT]


def _median(line: MeasuredCase) -> float:
    return numbers.median(line.seconds)


def _fastest(
    candidate: Candidate | None, lines: Mapping[Candidate, MeasuredCase]
) -> FastestOfSide | None:
    if candidate is None:
        return None
    line = lines[candidate]
    return FastestOfSide(label(line.variant, line.knobs), _median(line), line.ratio)


def _between(
    own_candidate: Candidate | None,
    library: Candidate | None,
    lines: Mapping[Candidate, MeasuredCase],
    compare: Compare,
) -> Comparison | None:
    if own_candidate is None or library is None:
        return None
    pairs = zip(lines[own_candidate].seconds, lines[library].seconds, strict=True)
    return compare([math.log(own_time / library_time) for own_time, library_time in pairs], 0.95)
