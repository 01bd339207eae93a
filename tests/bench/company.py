"""Whether candidates take the same alone and in company: all options of SimGrid's collectives.

Each option has a launch of its own, in which it alone is in force. Then a launch holds an option of
every function, as far as the product would put them together (search/company.py): the options of
two functions meet pair by pair over the launches of a grid, whose side is a prime (number a + k b
of function k in launch a, b). Functions without an option in a launch are measured as they are.
Prints what takes more than 2 % more or less, and how many pairs have met. Asserts nothing."""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from plumbline.core.plan import PlanCase, measurable
from plumbline.libraries.simgrid import SELECTORS
from plumbline.measure import tables
from plumbline.search.race.cold_launches import AGREE, Company
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.settings import Settings, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db.probe_records import CaseRecord, Check, Samples

Chosen = Mapping[str, Candidate]
Seconds = dict[tuple[str, int], float]


class Machine:
    """One selector on one simulated machine."""

    def __init__(self, settings: Settings) -> None:
        toolchain = find_toolchain(settings=settings)
        self.functions = [one.name for one in toolchain.space.function]
        self.candidate_space = CandidateSpace(toolchain, settings.ranks.nprocs)
        self.launches = 0
        self._family = toolchain.family
        self._starter = starting.starter(toolchain, settings)
        self._plan = tables.plan(settings, [])
        self._cases = [
            PlanCase(name, size)
            for name in self.functions
            for size in measurable(
                name, settings.sizes_of(name), settings.ranks.nprocs, self._plan.data
            )
        ]
        self.company = Company(self.candidate_space, self._plan.harness)

    def options(self, function: str) -> list[Candidate]:
        return [one for one in self.candidate_space.first(function) if one.is_knobs]

    def take(self, chosen: Chosen, functions: Sequence[str]) -> Seconds | None:
        """What right calls of these functions take; None: the launch has failed."""
        self.launches += 1
        cases = tuple(one for one in self._cases if one.function in functions)
        plan = msgspec.structs.replace(self._plan, name="bench", seed=self.launches, cases=cases)
        knobs = dict(pair for one in chosen.values() for pair in one.configuration.values)
        around = self._family.in_environment(knobs)
        run, records = self._starter.start("bench", "company", self.launches, plan.text(), around)
        if not run.finished:
            return None
        at = {one.case: (one.function, one.bytes) for one in records if isinstance(one, CaseRecord)}
        right = {one.case for one in records if isinstance(one, Check) and one.outcome == "ok"}
        return {
            at[one.case]: one.ns[-1] / 1e9
            for one in records
            if isinstance(one, Samples) and one.case in right
        }


def grid(machine: Machine, every: Mapping[str, Sequence[Candidate]]) -> Iterator[Chosen]:
    """Launches in which each two options of different functions meet, if they may."""
    side = _prime(max(map(len, every.values())))
    names = list(every)
    for first, step in itertools.product(range(side), repeat=2):
        chosen: dict[str, Candidate] = {}
        for place in range(len(names)):
            number = (place + first + step) % len(names)  # who is left out changes
            at, those = (first + number * step) % side, every[names[number]]
            if at < len(those) and machine.company.agree({**chosen, names[number]: those[at]}):
                chosen[names[number]] = those[at]
        yield chosen


def _prime(least: int) -> int:
    return next(
        one for one in itertools.count(max(2, least)) if all(one % by for by in range(2, one))
    )


def compare(machine: Machine, stride: int) -> None:
    begun = time.monotonic()
    plain = machine.take({}, machine.functions) or {}
    alone: dict[tuple[str, Candidate], Seconds] = {}
    for name in machine.functions:
        for one in machine.options(name):
            found = machine.take({name: one}, [name])
            if found is None:
                print(f"  {_said({name: one})}: fails alone")
            else:
                alone[name, one] = found
    every = {
        name: those
        for name in machine.functions
        if (those := [one for one in machine.options(name) if (name, one) in alone])
    }
    met: set[frozenset[tuple[str, Candidate]]] = set()
    worst: dict[tuple[str, Candidate, int], tuple[float, Chosen]] = {}
    compared, differing = 0, Counter[tuple[str, str]]()
    for chosen in itertools.islice(grid(machine, every), 0, None, stride):
        functions = [
            one
            for one in machine.functions
            if one in chosen or machine.company.unchanged(one, chosen)
        ]
        found = machine.take(chosen, functions)
        if found is None:
            print(f"  fails: {_said(chosen)}")
            continue
        met |= {frozenset(two) for two in itertools.combinations(chosen.items(), 2)}
        for (name, size), seconds in found.items():
            one = chosen.get(name, DEFAULT)
            expected = (alone[name, one] if name in chosen else plain).get((name, size))
            if expected is None:
                continue
            compared += 1
            log = math.log(seconds / expected)
            if abs(log) > math.log1p(AGREE):
                differing += Counter((name, other) for other in chosen if other != name)
                if abs(log) > abs(worst.get((name, one, size), (0.0, {}))[0]):
                    worst[name, one, size] = (log, chosen)
    pairs = [
        frozenset(((name, left), (other, right)))
        for name, other in itertools.combinations(every, 2)
        for left, right in itertools.product(every[name], every[other])
    ]
    allowed = [one for one in pairs if machine.company.agree(dict(one))]
    print(
        f"  {sum(map(len, every.values()))} options of {len(every)} functions, {len(pairs)} pairs, "
        f"{len(pairs) - len(allowed)} kept apart, {len(met)} met; {machine.launches} launches, "
        f"{time.monotonic() - begun:.0f} s; {compared} times compared, "
        f"{len(worst)} cells differ by more than {100 * AGREE:g} %"
    )
    for (name, one, size), (log, chosen) in worst.items():
        print(f"  {_said({name: one})} at {size}: {math.exp(log):.3f} beside {_said(chosen)}")
    for (name, other), count in differing.most_common(20):
        print(f"  {name} differs beside {other}: {count} times")


def _said(chosen: Chosen) -> str:
    return " ".join(
        f"{knob}={value}"
        for name, one in chosen.items()
        for knob, value in one.configuration.values or [(name, "")]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulate", default=",".join(SELECTORS))
    parser.add_argument("--nprocs", type=int, default=12)
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--sizes", default="96,6000,150000")
    parser.add_argument("--stride", type=int, default=1, help="every so many launches of the grid")
    parser.add_argument(
        "--regardless", action="store_true", help="together, whatever the search space says"
    )
    options = parser.parse_args()
    for selector in options.simulate.split(","):
        settings = load(
            None,
            {
                "simulate": selector,
                "nprocs": options.nprocs,
                "nodes": options.nodes,
                "sizes": [int(one) for one in options.sizes.split(",")],
            },
        )
        machine = Machine(settings)
        if options.regardless:
            machine.company = _Anybody(machine.candidate_space)
        print(f"{selector}, {options.nodes} x {options.nprocs // options.nodes}", flush=True)
        compare(machine, options.stride)


class _Anybody(Company):
    def agree(self, chosen: Chosen) -> bool:
        del chosen
        return True

    def unchanged(self, function: str, chosen: Chosen) -> bool:
        return function not in chosen


if __name__ == "__main__":
    main()
