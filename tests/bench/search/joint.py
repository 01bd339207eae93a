"""Searches of a joint space of settings of the whole process, replayed on recorded launches
(joint_space.py): one value at a time, one setting after the other, random points, and TPE as Optuna
has it. Prints regrets by the number of launches; asserts nothing.

The record is the machine: the shortest of its launches is the truth of a point, and other launches
are longer as the recorded ones are. As in a campaign, the three points that a search likes best are
finalists, and the best of them is kept that makes no cell slower."""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import statistics
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec
import numpy as np
import optuna
from numpy.typing import NDArray

from .joint_space import PLAIN, TRANSPORTS, Record, name_of, points, read

LAUNCHES = (10, 20, 30, 40, 60, 90, 120)
_ATTEMPTS = 5  # of TPE, until a random point takes its turn
_TOLERANCE = 0.05  # a cell that is slower by more is slower
_FINALISTS = 3
_VISITS = 3  # launches of a point that is not pruned
_STAGES = ((2, 8), (5, 3), (12, 3))  # those of settings_race.py

Logs = NDArray[np.float64]
Point = tuple[str, Mapping[str, str]]


class Machine:
    """The `cells` that count, of the recorded ones. `truth` of a point: by cell the shortest of its
    launches over that of as many launches of the library as it is, a logarithm, since other work
    only lengthens calls; None where launches fail. Launches are longer as the recorded ones are."""

    def __init__(self, record: Record, cells: Sequence[int]) -> None:
        rows: dict[str, list[list[float]]] = {}
        for launch in record.launches:
            row = [math.log(launch.ns[cell]) for cell in cells if launch.ns]
            rows.setdefault(launch.point, []).append(row)
        plain = np.array(rows.pop(PLAIN))
        logs = {name: np.array(of) if all(of) else None for name, of in rows.items()}
        several = [of for of in logs.values() if of is not None]
        launches = len(several[0])
        shortest = [plain[at : at + launches].min(axis=0) for at in range(0, len(plain), launches)]
        reference = np.median(shortest, axis=0)
        self.truth: dict[str, Logs | None] = {
            name: None if of is None else of.min(axis=0) - reference for name, of in logs.items()
        }
        self._longer = np.concatenate([of - of.min(axis=0) for of in several])

    def launch(self, name: str, chance: random.Random) -> Logs | None:
        """Return log ratios to a launch of the library as it is; None: the launch fails."""
        truth = self.truth[name]
        value, beside = (chance.randrange(len(self._longer)) for _ in range(2))
        return None if truth is None else truth + self._longer[value] - self._longer[beside]

    def ratio(self, name: str) -> float:
        """Return the mean ratio over the cells; infinite where a cell is slower."""
        truth = self.truth[name]
        if truth is None or truth.max() > math.log1p(_TOLERANCE):
            return math.inf
        return float(np.exp(truth).mean())

    def best(self) -> float:
        return min(1.0, *map(self.ratio, self.truth))


class Visits:
    """The launches of one search. `trace`: the regret after so many of them."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self._machine, self._chance = machine, random.Random(f"launches {seed}")
        self._rows: dict[str, list[Logs]] = {}
        self._failed: set[str] = set()
        self._best = machine.best()
        self.trace: list[float] = []

    def launch(self, name: str) -> None:
        """One launch of a point. Raises StopIteration when there were as many as may be."""
        if len(self.trace) == LAUNCHES[-1]:
            raise StopIteration
        logs = self._machine.launch(name, self._chance)
        if logs is None:
            self._failed.add(name)
        else:
            self._rows.setdefault(name, []).append(logs)
        kept = min((self._machine.ratio(final) for final in self.ranked()[:_FINALISTS]), default=1)
        self.trace.append(min(1.0, kept) / self._best - 1)

    def visited(self) -> Collection[str]:
        return self._rows.keys()

    def count(self, name: str) -> int:
        return len(self._rows.get(name, ()))

    def failed(self, name: str) -> bool:
        return name in self._failed

    def value(self, name: str) -> float:
        """Return the mean ratio by what has been launched."""
        return float(np.exp(np.median(self._rows[name], axis=0)).mean())

    def beyond(self, name: str) -> float:
        """Return by how much the slowest cell is beyond what is tolerated, a logarithm. Launches
        differ, so that one of them proves little."""
        rows = self._rows[name]
        error = 0.1 / math.sqrt(len(rows))
        return float(np.median(rows, axis=0).max()) - math.log1p(_TOLERANCE) - error

    def ranked(self) -> list[str]:
        """Return the points that save time and make no cell slower, the best first."""
        fitting = [name for name in self._rows if self.beyond(name) <= 0 and self.value(name) < 1]
        return sorted(fitting, key=self.value)


Search = Callable[[Visits, int], None]


# --- one value at a time --------------------------------------------------------------------------


def _defaults() -> dict[str, dict[str, str]]:
    return {
        name: {knob: values[0] for knob, values in transport.settings.items()}
        for name, transport in TRANSPORTS.items()
    }


def _values(transport: str) -> Iterator[tuple[str, str]]:
    for knob, values in TRANSPORTS[transport].settings.items():
        yield from ((knob, value) for value in values[1:])


def one_value(visits: Visits, seed: int) -> None:
    """All values that differ from the library's own in one setting, stage by stage."""
    del seed
    every = []
    for transport, values in _defaults().items():
        own = [values | {knob: value} for knob, value in _values(transport)]
        every += [(transport, point) for point in (values, *own)]
    _race(visits, every[1:])  # the first is the library as it is


def _race(visits: Visits, entered: Sequence[Point]) -> None:
    """The stages of settings_race.py; launches of an earlier race do not count."""
    remaining = list(dict.fromkeys(name_of(*point) for point in entered))
    done = 0
    for launches, keep in _STAGES:
        for _ in range(launches - done):
            for name in remaining:
                if not visits.failed(name):
                    visits.launch(name)
        done = launches
        remaining = [name for name in visits.ranked() if name in remaining][:keep]


# --- one value, then others beside it: the search of the product ----------------------------------


def one_beside_another(visits: Visits, seed: int) -> None:
    """One value at a time, then the best one alone and with one more value, until none helps."""
    one_value(visits, seed)
    every = {name_of(*point): point for point in points()}
    best = ""
    while (ranked := visits.ranked()) and ranked[0] != best:
        best = ranked[0]
        transport, values = every[best]
        changed = values.items() - _defaults()[transport].items()
        beside = [
            (transport, values | {knob: value})
            for knob, value in _values(transport)
            if knob not in dict(changed)
        ]
        _race(visits, [(transport, values), *beside])
    _again(visits)


# --- one setting after the other ---------------------------------------------------------------


def one_setting(visits: Visits, seed: int) -> None:
    """The best value of a setting is kept while the next one is tried, until none helps."""
    chance = random.Random(seed)
    place: Point = next(iter(_defaults().items()))
    place = _better(visits, place, list(_defaults().items()))
    changed = True
    while changed:
        changed = False
        knobs = list(TRANSPORTS[place[0]].settings)
        chance.shuffle(knobs)
        for knob in knobs:
            values = TRANSPORTS[place[0]].settings[knob]
            beside = [(place[0], {**place[1], knob: value}) for value in values]
            better = _better(visits, place, beside)
            changed, place = changed or better != place, better
    _again(visits)


def _better(visits: Visits, place: Point, beside: Sequence[Point]) -> Point:
    """Return the best of these. Each is launched until it is clearly behind, or often enough."""
    for point in beside:
        _visit(visits, name_of(*point), [name_of(*place)])
    fitting = [point for point in beside if _fits(visits, name_of(*point))]
    return min(fitting, key=lambda point: visits.value(name_of(*point)), default=place)


def _fits(visits: Visits, name: str) -> bool:
    return bool(visits.count(name)) and visits.beyond(name) <= 0


# --- random points, and TPE -----------------------------------------------------------------------


def _visit(visits: Visits, name: str, best: Sequence[str]) -> None:
    """Launches a point until it is pruned: it is behind all of the `best`, and by more than its
    launches differ."""
    for _ in range(visits.count(name), _VISITS):
        visits.launch(name)
        if visits.failed(name) or not _promising(visits, name, best):
            return


def _promising(visits: Visits, name: str, best: Sequence[str]) -> bool:
    limit = max((visits.value(other) for other in best if visits.count(other)), default=math.inf)
    return visits.value(name) <= limit + 0.05 / math.sqrt(visits.count(name))


def at_random(visits: Visits, seed: int) -> None:
    every = [name_of(*point) for point in points()]
    random.Random(seed).shuffle(every)
    for name in every:
        _visit(visits, name, visits.ranked()[:_FINALISTS])
    _again(visits)


def tpe(visits: Visits, seed: int) -> None:
    """One study: the transport, then the settings that it reads; the library's own values first.
    Where it proposes what it knows, again and again, a random point takes its turn."""
    study = optuna.create_study(sampler=_sampler(seed))
    every = {name_of(*point): point for point in points()}
    unseen = list(every)
    random.Random(seed).shuffle(unseen)
    study.enqueue_trial(_parameters(next(iter(every.values()))))
    repeated = 0
    while unseen:
        if repeated == _ATTEMPTS:
            study.enqueue_trial(_parameters(every[unseen[-1]]))
        trial = study.ask()
        point = _point(trial)
        if point not in unseen:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            repeated += 1
            continue
        repeated = 0
        unseen.remove(point)
        _visit(visits, point, visits.ranked()[:_FINALISTS])
        if visits.failed(point):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            continue
        trial.set_constraint("slower", visits.beyond(point))
        study.tell(trial, visits.value(point))
    _again(visits)


def _sampler(seed: int) -> optuna.samplers.BaseSampler:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)


def _parameters(point: Point) -> dict[str, str]:
    return {"transport": point[0], **point[1]}


def _point(trial: optuna.Trial) -> str:
    transport = trial.suggest_categorical("transport", list(TRANSPORTS))
    settings = TRANSPORTS[transport].settings
    return name_of(
        transport, {knob: trial.suggest_categorical(knob, own) for knob, own in settings.items()}
    )


def _again(visits: Visits) -> None:
    """Launches what is liked best again, until there were as many launches as may be."""
    while True:
        for name in visits.ranked()[: 2 * _FINALISTS] or list(visits.visited())[:1]:
            visits.launch(name)


SEARCHES: dict[str, Search] = {
    "one value at a time": one_value,
    "and others beside it": one_beside_another,
    "one setting after the other": one_setting,
    "random": at_random,
    "TPE": tpe,
}


class Row(msgspec.Struct, frozen=True):
    """Regrets of one search by the number of launches: mean, and the share of replays above 1 %."""

    cells: str
    search: str
    regret: list[float]
    missed: list[float]


def replay(record: Record, seeds: int) -> Iterator[Row]:
    for what, cells in _parts(record).items():
        machine = Machine(record, cells)
        for name, search in SEARCHES.items():
            traces = []
            for seed in range(seeds):
                visits = Visits(machine, seed)
                with contextlib.suppress(StopIteration):
                    search(visits, seed)
                traces.append(visits.trace)
            at = [[trace[min(n, len(trace)) - 1] for trace in traces] for n in LAUNCHES]
            yield Row(
                what,
                name,
                [statistics.mean(regrets) for regrets in at],
                [sum(regret > 0.01 for regret in regrets) / seeds for regrets in at],
            )


def _parts(record: Record) -> dict[str, list[int]]:
    """Return all cells, and those of each function."""
    parts = {"all": list(range(len(record.cells)))}
    for place, (function, _) in enumerate(record.cells):
        parts.setdefault(function, []).append(place)
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30, help="replays of each search")
    options = parser.parse_args()
    record = read()
    machine = Machine(record, _parts(record)["all"])
    best = f"the best takes {machine.best():.3f} of the time"
    print(f"{len(machine.truth)} points, {len(record.launches)} launches; {best}")
    print(f"{'regret in % after launches':42}" + "".join(f"{n:>12}" for n in LAUNCHES))
    for row in replay(record, options.seeds):
        cells = zip(row.regret, row.missed, strict=True)
        text = "".join(f"{f'{r:.1%} ({m:.0%})':>14}" for r, m in cells)
        print(f"{row.cells:15} {row.search:28}{text}", flush=True)


if __name__ == "__main__":
    main()
