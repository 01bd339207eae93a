"""Records a sweep: the whole space in every cell, through the product's own Starter.

A simulated machine has a launch for each option of each function (all its sizes), one of everything
else for each function, and launches in which functions have options at the same time: what comes
out otherwise there depends on the options of others (`Dependent` in exact.py). Of a real machine a
launch has everything, blocks in random order, and there are several."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import msgspec

from plumbline.core.plan import PlanCase
from plumbline.launch.starter import Starter
from plumbline.measure import launches, tables
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.settings import starting
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import CaseRecord, Check, Footer, Header, ProbeRecord, Samples
from plumbline_db.records import Run

from .store import Recorded, Store, Timed
from .sweeps import Here

PROCESSES = 2
TOGETHER = "together"
_ATTEMPTS = 3
_TURNS = 3
_PATIENCE_SECONDS = 3600.0


class Item(msgspec.Struct, frozen=True):
    """One launch that is to be recorded."""

    name: str
    options: dict[str, str]
    cases: tuple[PlanCase, ...]
    seed: int = 0


def record(here: Here, store: Store, calm: float, say: Callable[[str], None]) -> None:
    """What the store lacks. Goes on where it was interrupted. `calm`: a launch of a real machine
    waits until its load is below that."""
    every = list(items(here))
    missing = [one for one in every if not store.has(one.name)]
    say(f"{here.sweep.name}: {len(every) - len(missing)} of {len(every)} launches are recorded")
    patient = here.settings.but(launch_timeout_seconds=_PATIENCE_SECONDS)
    starter = starting.starter(here.bench, patient)
    at_once = PROCESSES if here.sweep.simulated and here.settings.ranks.nprocs < 64 else 1
    stop = threading.Event()

    def one(item: Item) -> None:
        while not (here.sweep.simulated or stop.is_set() or os.getloadavg()[0] < calm):
            time.sleep(2)
        if not stop.is_set():
            store.add(launch(here, starter, item))
            done = sum(store.has(each.name) for each in every)
            say(f"{here.sweep.name}: {done} of {len(every)}: {item.name}")

    with ThreadPoolExecutor(at_once) as pool:
        try:
            for _ in pool.map(one, missing):
                pass
        finally:
            stop.set()


def items(here: Here) -> Iterator[Item]:
    """Every launch of the sweep."""
    table, cells = here.cases(), here.cells()
    if not here.sweep.simulated:
        cases = [*table]
        for function, size in cells:
            cases += [one.case(function, size) for one in here.space(function, size)]
        for number in range(here.sweep.launches):
            hot = here.bench.space.hot_environment
            yield Item(f"whole-{number:02d}", hot, tuple(dict.fromkeys(cases)), number)
        return
    knobs = {name: _knobs(here, name) for name in here.sizes()}
    for name, own in here.sizes().items():
        cases = [case for case in table if case.function == name]
        ours = [one for size in own for one in _ours(here, name, size)]
        yield Item(f"{name} default", {}, tuple(dict.fromkeys([*cases, *ours])))
        for one in knobs[name]:
            plain = tuple(PlanCase(name, size) for size in own)
            yield Item(f"{name} {one.configuration}", one.configuration.as_dict(), plain)
    yield from _together(knobs, cells)


def _together(
    knobs: dict[str, list[Candidate]], cells: Sequence[tuple[str, int]]
) -> Iterator[Item]:
    """Every option beside options of the other functions, and every default beside some of them, in
    more than one combination: what calls other functions may meet one that takes as long."""
    cases = tuple(PlanCase(function, size) for function, size in cells)
    names = list(knobs)
    for number, turn in itertools.product(
        range(max(len(those) for those in knobs.values())), range(1, _TURNS)
    ):
        chosen = {
            name: those[(number + turn * place) % len(those)]
            for place, (name, those) in enumerate(knobs.items())
            if those
        }
        options = dict(pair for one in chosen.values() for pair in one.configuration.values)
        yield Item(f"{TOGETHER} {number} {turn}", options, cases)
    for name, turn in itertools.product(names, range(_TURNS)):
        options = dict(
            pair
            for other in names
            if other != name and (those := knobs[other])
            for pair in those[turn * len(those) // _TURNS].configuration.values
        )
        own = tuple(case for case in cases if case.function == name)
        yield Item(f"{TOGETHER} {name} default {turn}", options, own)


def _knobs(here: Here, function: str) -> list[Candidate]:
    return [one for one in here.candidate_space.first(function) if one.is_knobs]


def _ours(here: Here, function: str, size: int) -> list[PlanCase]:
    found = here.space(function, size)
    return [one.case(function, size) for one in found if not one.is_knobs and one != DEFAULT]


def launch(
    here: Here, starter: Starter, item: Item, extra: dict[str, str] | None = None
) -> Recorded:
    """One launch, again without the case that was under way when it failed; what is left over when
    nothing is to blame has failed. `extra`: its environment, where that is not the options'."""
    left = list(item.cases)
    failed: list[Timed] = []
    environment = extra
    if environment is None:
        family = here.bench.family
        environment = family.in_environment(item.options) if here.sweep.simulated else item.options
    blameless = 0

    def start(cases: Sequence[PlanCase]) -> tuple[Run, Sequence[ProbeRecord]]:
        plan = tables.plan(here.settings, list(cases))
        plan = msgspec.structs.replace(
            plan,
            name="sweep",
            seed=here.settings.sampling.seed + item.seed,
            knobs=here.bench.space.switch,
        )
        if here.sweep.blocks:
            plan = msgspec.structs.replace(
                plan, blocks=here.sweep.blocks, warmup=here.sweep.warmup, rewarm=1
            )
        return starter.start("sweep", "sweep", item.seed, plan.text(), dict(environment))

    while left:
        run, records = start(left)
        if run.failure is None:
            return _condensed(item, run, records, left, failed)
        guilty = run.failure.case
        if guilty is None:
            blameless += 1
            if blameless == _ATTEMPTS:
                if not here.sweep.simulated:
                    raise PlumblineError(f"a launch failed: {run.reason}\n{run.stderr[-500:]}")
                failed += [_failed(one, run) for one in left]
                break
            continue
        before, victim = left[:guilty], left[guilty]
        poison = launches.guilty(before, victim, lambda cases: not start(cases)[0].finished)
        left.remove(poison or victim)
        failed.append(_failed(poison or victim, run))
    return Recorded(item.name, item.options, [], None, 0.0, 0, 0, failed)


def _failed(case: PlanCase, run: Run) -> Timed:
    knobs = case.configuration.as_dict()
    return Timed(case.function, case.bytes, case.variant, knobs, "failed", run.reason, [])


def _condensed(
    item: Item, run: Run, records: Sequence[ProbeRecord], cases: list[PlanCase], failed: list[Timed]
) -> Recorded:
    checks = {one.case: one for one in records if isinstance(one, Check)}
    blocks: dict[int, dict[int, list[int]]] = {}
    for one in records:
        if isinstance(one, Samples):
            ns = iter(one.ns)
            blocks[one.case] = {
                block: list(islice(ns, count))
                for block, count in zip(one.blocks, one.samples, strict=True)
            }
    header = next(one for one in records if isinstance(one, Header))
    footer = next(one for one in records if isinstance(one, Footer))
    assert sum(isinstance(one, CaseRecord) for one in records) == len(cases)
    timed = []
    for number, case in enumerate(cases):
        check, samples = checks[number], blocks.get(number, {})
        timed.append(
            Timed(
                case.function,
                case.bytes,
                case.variant,
                case.configuration.as_dict(),
                check.outcome,
                check.detail,
                [samples[block] for block in sorted(samples)],
            )
        )
    return Recorded(
        item.name,
        item.options,
        [],
        header,
        run.seconds,
        footer.wall_ns,
        footer.timed_ns,
        timed + failed,
    )
