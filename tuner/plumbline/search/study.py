"""Which parameters to try next in one cell: an Optuna study over the algorithms that are still in
the race. Small spaces are enumerated, larger ones modelled (TPE). Asked and told; measures
nothing."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Mapping, Sequence

import optuna

from .candidates import Candidate, Menu

ENUMERATE_UP_TO = 60
_ATTEMPTS = 50


class Study:
    """Proposes parameter values for `survivors` (candidates with parameters) of one cell.

    `known` are ratios to the default already measured; they are told to the study first, and are
    never proposed again. Deterministic for a given seed and history."""

    def __init__(
        self,
        menu: Menu,
        function: str,
        size: int,
        survivors: Sequence[Candidate],
        known: Mapping[Candidate, float],
        seed: int,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._menu = menu
        self._choices = {
            index: menu.choices(function, one, size) for index, one in enumerate(survivors)
        }
        self._survivors = list(survivors)
        self._seen = set(known)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
        self._study = optuna.create_study(sampler=sampler, direction="minimize")
        points = [
            {"algorithm": index, **dict(zip((f"{index}.{k}" for k in one), position, strict=True))}
            for index, one in self._choices.items()
            for position in itertools.product(*(range(len(values)) for values in one.values()))
        ]
        self._enumerated = len(points) <= ENUMERATE_UP_TO
        self._left = len(points)
        if self._enumerated:
            random.Random(seed).shuffle(points)  # noqa: S311 - an order, not a secret
            for point in points:
                self._study.enqueue_trial(point)
        self._trials: dict[Candidate, optuna.Trial] = {}
        for candidate, ratio in known.items():
            self._remember(candidate, ratio)

    def ask(self, count: int) -> list[Candidate]:
        """At most `count` candidates that nobody has measured; fewer when the space is used up."""
        proposals: list[Candidate] = []
        attempts = self._left if self._enumerated else _ATTEMPTS
        for _ in range(attempts):
            if len(proposals) == count:
                break
            self._left -= 1
            trial = self._study.ask()
            candidate = self._candidate(trial)
            if candidate in self._seen:
                # Told as failed: its value is in the study already, from `known` or an earlier ask.
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            self._seen.add(candidate)
            self._trials[candidate] = trial
            proposals.append(candidate)
        return proposals

    def tell(self, candidate: Candidate, ratio: float | None) -> None:
        """The measured ratio to the default, or None when the candidate failed."""
        trial = self._trials.pop(candidate)
        if ratio is None:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, math.log(ratio))

    def _candidate(self, trial: optuna.Trial) -> Candidate:
        index = trial.suggest_int("algorithm", 0, len(self._survivors) - 1)
        values = {
            knob: values[trial.suggest_int(f"{index}.{knob}", 0, len(values) - 1)]
            for knob, values in self._choices[index].items()
        }
        return self._menu.with_parameters(self._survivors[index], values)

    def _remember(self, candidate: Candidate, ratio: float) -> None:
        """A measurement made before the study began, if it lies in the study's space."""
        settings = self._menu.settings(candidate)
        for index, survivor in enumerate(self._survivors):
            choices = self._choices[index]
            whole = self._menu.settings(survivor)
            others = {k: v for k, v in whole.items() if k not in choices}
            if {k: v for k, v in settings.items() if k not in choices} != others:
                continue
            try:
                positions = {
                    f"{index}.{knob}": values.index(int(settings[knob]))
                    for knob, values in choices.items()
                }
            except (KeyError, ValueError):
                return  # the library's default value is not among those we search
            distributions: dict[str, optuna.distributions.BaseDistribution] = {
                "algorithm": optuna.distributions.IntDistribution(0, len(self._survivors) - 1)
            }
            for knob, values in choices.items():
                distributions[f"{index}.{knob}"] = optuna.distributions.IntDistribution(
                    0, len(values) - 1
                )
            self._study.add_trial(
                optuna.trial.create_trial(
                    params={"algorithm": index, **positions},
                    distributions=distributions,
                    value=math.log(ratio),
                )
            )
            return
