"""What the search is compared with, each one trial a launch: the exhaustive sweep, random choice,
and TPE as Optuna has it. All have the space of the search, and the default and our variants in it.

A launch of a trial measures all sizes of its function, as often as a launch of the product does.
There is no pairing: a trial stands against trials of other launches."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence

import optuna

from plumbline.measure import tables
from plumbline.search.space.candidates import DEFAULT, Candidate

from .answers import Answers
from .sweeps import Here
from .truth import Cell, Truth

# As ompi-collectives-tuning has it.
RUNS = 3
_CHECK_CALLS = 2

Times = dict[int, dict[Candidate, list[float]]]


class Trials:
    """Launches of one strategy, what they took and what they said. `runs`: of each trial."""

    def __init__(self, here: Here, answers: Answers, truth: Truth, seed: int) -> None:
        self.launches = 0
        self.seconds = 0.0
        self.times: dict[str, Times] = {}
        self._here = here
        self._answers = answers
        self._truth = truth
        self._chance = random.Random(f"trials {seed}")
        self.sizes = here.sizes()
        self._plain: dict[Cell, Candidate] = dict.fromkeys(here.cells(), DEFAULT)
        plan = tables.plan(here.settings, ())
        warm = plan.warmup + (plan.blocks - 1) * plan.rewarm
        self._calls = _CHECK_CALLS + warm + plan.blocks * plan.reps
        self._known: dict[tuple[str, int, Candidate], list[float] | None] = {}

    def candidates(self, function: str) -> list[Candidate]:
        """Of all its sizes, the default first."""
        sizes = self.sizes[function]
        return list(
            dict.fromkeys(one for size in sizes for one in self._here.space(function, size))
        )

    def launch(self, function: str, candidate: Candidate) -> float | None:
        """One trial: the mean over its sizes of the logarithm of its time over the default's, as
        far as that is known. None where it has no times."""
        number = self._chance.randrange(self._answers.launches)
        self.launches += 1
        self.seconds += self._answers.overhead_seconds
        logs = []
        for size in self.sizes[function]:
            if candidate not in self._here.space(function, size):
                continue
            seconds = self._of(function, size, candidate)
            if seconds is None:
                continue
            found = seconds[number]
            self.seconds += self._calls * found * self._answers.call_factor
            at = self.times.setdefault(function, {}).setdefault(size, {})
            at.setdefault(candidate, []).append(found)
            if DEFAULT in at:
                logs.append(math.log(found / statistics.mean(at[DEFAULT])))
        return statistics.mean(logs) if logs else None

    def _of(self, function: str, size: int, candidate: Candidate) -> list[float] | None:
        key = (function, size, candidate)
        if key not in self._known:
            self._known[key] = self._truth.seconds(*key, self._plain)
        return self._known[key]

    def choices(self) -> dict[Cell, Candidate]:
        """The least mean of each cell; where one algorithm must hold for all sizes, the one with
        the least over them that is nowhere slower than the default."""
        found = dict(self._plain)
        for function, times in self.times.items():
            if not self._here.candidate_space.one_for_all_sizes(function):
                for size, at in times.items():
                    found[function, size] = _least(at)
                continue
            base = self._base(times)
            for size, at in times.items():
                kept = {one: at[one] for one in at if one == base or not one.is_knobs}
                if base != DEFAULT:
                    kept.pop(DEFAULT, None)
                found[function, size] = _least(kept)
        return found

    def _base(self, times: Times) -> Candidate:
        limit = 1 + self._here.settings.claims.tolerance
        means = {
            size: {one: statistics.mean(those) for one, those in at.items()}
            for size, at in times.items()
        }
        common = [one for one in next(iter(means.values())) if one == DEFAULT or one.is_knobs]
        fitting = [
            one
            for one in common
            if all(
                one in at and at[one] <= at.get(DEFAULT, math.inf) * limit for at in means.values()
            )
        ]
        return min(
            fitting,
            key=lambda one: sum(math.log(at[one]) for at in means.values()),
            default=DEFAULT,
        )


def exhaustive(trials: Trials, functions: Sequence[str], runs: int) -> None:
    """Every candidate, `runs` times."""
    for function in functions:
        for candidate in trials.candidates(function):
            for _ in range(runs):
                trials.launch(function, candidate)


def at_random(trials: Trials, functions: Sequence[str], seconds: float, seed: int) -> None:
    """Candidates in random order, the default first, until so many seconds are spent."""
    order = {}
    for name in functions:
        first, *rest = trials.candidates(name)
        random.Random(f"{seed} {name}").shuffle(rest)
        order[name] = iter([first, *rest])
    _in_turn(trials, {name: order[name].__next__ for name in functions}, seconds)


def tpe(trials: Trials, functions: Sequence[str], seconds: float, seed: int) -> None:
    """A study a function, with the sampler that Optuna has by default; the default first."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name in functions:
        trials.launch(name, DEFAULT)
    studies = {name: _Tpe(trials, name, seed) for name in functions}
    _in_turn(trials, {name: one.ask for name, one in studies.items()}, seconds, studies)


class _Tpe:
    """The space as a tree: the algorithm or variant, then the parameters that it reads."""

    def __init__(self, trials: Trials, function: str, seed: int) -> None:
        self._candidate_space = trials._here.candidate_space
        self._function = function
        self._size = max(trials.sizes[function])
        whole = set(trials.candidates(function))
        self._first = [one for one in self._candidate_space.first(function) if one in whole]
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(sampler=sampler)
        self._trial: optuna.Trial | None = None

    def ask(self) -> Candidate:
        trial = self._trial = self._study.ask()
        index = trial.suggest_categorical("algorithm", list(range(len(self._first))))
        one = self._first[index]
        values = {
            name: trial.suggest_categorical(f"{index}.{name}", those)
            for name, those in self._candidate_space.choices(
                self._function, one, self._size
            ).items()
        }
        return self._candidate_space.with_parameters(one, values) if values else one

    def tell(self, value: float | None) -> None:
        assert self._trial is not None
        if value is None:
            self._study.tell(self._trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(self._trial, value)


def _in_turn(
    trials: Trials,
    asks: Mapping[str, Callable[[], Candidate]],
    seconds: float,
    studies: Mapping[str, _Tpe] | None = None,
) -> None:
    """A trial of each function in turn, until so many seconds are spent or nothing is left."""
    left = dict(asks)
    while left:
        for name in list(left):
            if trials.seconds >= seconds:
                return
            try:
                candidate = left[name]()
            except StopIteration:
                del left[name]
                continue
            value = trials.launch(name, candidate)
            if studies is not None:
                studies[name].tell(value)


def _least(at: Mapping[Candidate, Sequence[float]]) -> Candidate:
    """The default where every call ends its launch."""
    return min(at, key=lambda one: statistics.mean(at[one]), default=DEFAULT)
