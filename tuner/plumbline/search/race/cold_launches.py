"""Cold launches: of candidates that are put in force when a launch starts, and hold for all of it.

One launch carries one candidate of each function, as far as these do not touch each other
(company.py), so that a look takes little more settings than the function with the most candidates
has. Launches of the settings take turns with one of the library as it is. Variants of ours, out of
messages alone, stand beside every cell (`reference_variants`): they check the library's result,
which nothing else does here, and what two launches differ by is seen in them. So do defaults of
functions that a launch is not about (`references`): they show whether its candidates touch them."""

from __future__ import annotations

import math
import statistics
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from plumbline import libraries
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries import Family
from plumbline.measure.launches import IN_A_ROW, LaunchStore
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.cells import Flaw, Target, index
from plumbline_db import runs
from plumbline_db.records import Failure, Suite

from .company import Company

# So many cases should show the factor between two launches.
ENOUGH_REFERENCES = 5
# A candidate under which launches fail in so many cells is left out of the others too.
_STRIKES = 2
_MARKS = string.ascii_lowercase  # MPI has fewer collective functions
_REFERENCES = 2  # cases of a launch

Entries = Mapping[Target, Sequence[Candidate]]
ReferenceVariants = Mapping[Target, Sequence[str]]


class Setting(msgspec.Struct):
    """What is in force in the launches of one suite: at most one candidate of a function, at its
    `cells`. `references`: cells of other functions whose defaults stand beside them. `rounds` are
    those of its finished launches, in order; None for one that is not to be looked at."""

    suite: Suite
    chosen: dict[str, Candidate]
    cells: list[Target]
    references: list[Target] = []
    sequence: int = 0
    blameless: int = 0  # launches in a row that failed with none of its cases under way
    rounds: list[int | None] = msgspec.field(default_factory=list)

    def part(self, mark: str, functions: Sequence[str]) -> Setting:
        chosen = {name: self.chosen[name] for name in functions}
        cells = [cell for cell in self.cells if cell.function in chosen]
        suite = msgspec.structs.replace(self.suite, arm=self.suite.arm + mark)
        return Setting(suite, chosen, cells, self.references)

    def knobs(self) -> dict[str, str]:
        return {
            name: value
            for candidate in self.chosen.values()
            for name, value in candidate.configuration.values
        }


def settings_of(
    entries: Entries, company: Company
) -> list[tuple[dict[str, Candidate], list[Target]]]:
    """Every candidate of every function in one setting, with the cells it is entered in. Each goes
    to the first setting that has none of its function, wants no other value of a knob, and is
    company for it."""
    cells: dict[tuple[str, Candidate], list[Target]] = {}
    for target, candidates in entries.items():
        for candidate in candidates:
            cells.setdefault((target.function, candidate), []).append(target)
    found: list[tuple[dict[str, Candidate], dict[str, str], list[Target]]] = []
    # Those that call most first: they leave room for what they may share a launch with.
    ranked = sorted(cells.items(), key=lambda one: -len(company.called(one[0][0], dict([one[0]]))))
    for (function, candidate), targets in ranked:
        wanted = candidate.configuration.as_dict()
        for chosen, values, inside in found:
            agree = all(values.get(knob, value) == value for knob, value in wanted.items())
            if function in chosen or not agree:
                continue
            if company.agree({**chosen, function: candidate}):
                chosen[function] = candidate
                values.update(wanted)
                inside.extend(targets)
                break
        else:
            found.append(({function: candidate}, wanted, list(targets)))
    return [(chosen, inside) for chosen, _, inside in found]


class ColdLaunches:
    """The cold launches of one look; with `repeats` they repeat each other. `flaws` are the
    outcomes of candidates that gave no result. What fails is found by taking settings apart: the
    function whose case was under way, or one half after the other, until one candidate is left.
    Functions that are `whole` have one choice for all sizes: what ends launches at one of them is
    out."""

    def __init__(
        self,
        store: LaunchStore,
        suite: Suite,
        plan: Plan,
        environment: Mapping[str, str],
        entries: Entries,
        reference_variants: ReferenceVariants,
        company: Company,
        *,
        references: Sequence[Target] = (),
        repeats: bool = False,
        whole: Collection[str] = (),
    ) -> None:
        """`references`: of which some stand beside settings that should leave them alone."""
        self.flaws: dict[tuple[Target, Candidate], Flaw] = {}
        self._store = store
        self._plan = plan
        self._environment = environment
        self._reference_variants = reference_variants
        self._repeats = repeats
        self._whole = whole
        self._active = []
        for number, (chosen, cells) in enumerate(settings_of(entries, company)):
            left = [
                reference
                for reference in references
                if company.unchanged(reference.function, chosen)
            ]
            turn = _REFERENCES * number % max(1, len(left))
            beside = [*left[turn:], *left[:turn]][:_REFERENCES]
            own = suite.of(f"cold-{number + 1:02d}")
            self._active.append(Setting(own, chosen, cells, beside))
        self._all = list(self._active)

    @property
    def suites(self) -> list[str]:
        return [setting.suite.name for setting in self._all if setting.sequence]

    @property
    def shared(self) -> list[dict[str, Candidate]]:
        """What was in force in launches of several candidates."""
        return [
            setting.chosen for setting in self._all if setting.sequence and len(setting.chosen) > 1
        ]

    def round(self, number: int, go_on: Callable[[], bool] = lambda: True) -> None:
        """One finished launch of every setting that still has something to measure; those that are
        left when `go_on` says no have none any more."""
        waiting, self._active = self._active, []
        while waiting and go_on():
            setting = waiting.pop(0)
            if not self._left(setting):
                continue
            if setting.rounds and setting.rounds[-1] == number:
                self._active.append(setting)
                continue
            parts = self._launch(setting, number)
            self._all += [part for part in parts if part is not setting]
            waiting[:0] = parts

    def ratios(
        self, plain: Sequence[Mapping[tuple[Target, Candidate], float]]
    ) -> dict[Target, dict[Candidate, list[float]]]:
        """log(candidate / default), a launch each; `plain[n]` are seconds under the library as it
        is in round n. Where launches do not repeat each other, without the factor that two of them
        differ by: the median over the reference variants."""
        found: dict[Target, dict[Candidate, list[float]]] = {}
        for setting, target, log in self._logs(plain):
            candidate = setting.chosen.get(target.function)
            if candidate and (target, candidate) not in self.flaws:
                found.setdefault(target, {}).setdefault(candidate, []).append(log)
        return found

    def touched(
        self, plain: Sequence[Mapping[tuple[Target, Candidate], float]]
    ) -> dict[str, list[float]]:
        """The same of references, by function."""
        found: dict[str, list[float]] = {}
        for setting, target, log in self._logs(plain):
            if target in setting.references:
                found.setdefault(target.function, []).append(log)
        return found

    def _logs(
        self, plain: Sequence[Mapping[tuple[Target, Candidate], float]]
    ) -> Iterator[tuple[Setting, Target, float]]:
        store = self._store
        for setting in self._all:
            here = index(runs.medians(store.db, store.campaign, [setting.suite.name]))
            for run, number in zip(
                _finished(store, setting.suite.name), setting.rounds, strict=True
            ):
                if number is None:
                    continue
                logs = {
                    cell: math.log(times[run] / plain[number][cell])
                    for cell, times in here.items()
                    if run in times and cell in plain[number]
                }
                ours = [value for (_, candidate), value in logs.items() if candidate != DEFAULT]
                factor = statistics.median(ours) if ours and not self._repeats else 0.0
                for (target, candidate), log in logs.items():
                    if candidate == DEFAULT:
                        yield setting, target, log - factor

    def _left(self, setting: Setting) -> list[Target]:
        return [
            cell
            for cell in setting.cells
            if (cell, setting.chosen[cell.function]) not in self.flaws
        ]

    def _launch(self, setting: Setting, number: int) -> list[Setting]:
        """What is to be launched in this round yet: nothing, the setting again, or its parts."""
        cells = self._left(setting)
        cases = [
            case
            for target in cells
            for case in (
                DEFAULT.case(target.function, target.bytes),
                *(
                    PlanCase(target.function, target.bytes, variant)
                    for variant in self._reference_variants[target]
                ),
            )
        ]
        cases += [
            DEFAULT.case(reference.function, reference.bytes) for reference in setting.references
        ]
        plan = msgspec.structs.replace(
            self._plan,
            name=setting.suite.launch(setting.sequence),
            seed=self._plan.seed + setting.sequence,
            cases=tuple(dict.fromkeys(cases)),
        )
        family: Family = self._store.starter.family
        extra = libraries.beside(family, self._environment, setting.knobs())
        done = self._store.launch(setting.suite, setting.sequence, plan, extra)
        setting.sequence += 1
        failure = done.run.failure
        if failure is not None:
            guilty = None if failure.case is None else plan.cases[failure.case]
            return self._failed(setting, failure, guilty)
        setting.blameless = 0
        flaws = self._checks(setting)
        suspects = list(dict.fromkeys(target.function for target in flaws))
        if suspects and len(setting.chosen) > 1:
            # One may corrupt the results of another, so that each is tried without the others.
            setting.rounds.append(None)
            return self._apart(setting, suspects)
        for target, flaw in flaws.items():
            self.flaws[target, setting.chosen[target.function]] = flaw
        setting.rounds.append(number)
        return [setting]

    def _failed(self, setting: Setting, failure: Failure, case: PlanCase | None) -> list[Setting]:
        functions = list(setting.chosen)
        own = case is not None and case.function in setting.chosen
        if len(functions) > 1:
            if case is not None and own:
                return self._apart(setting, [case.function])
            half = len(functions) // 2
            return [setting.part("a", functions[:half]), setting.part("b", functions[half:])]
        (candidate,) = setting.chosen.values()
        setting.blameless = 0 if own else setting.blameless + 1
        chance = not (own or self._repeats or failure.timed_out)
        if chance and setting.blameless < IN_A_ROW:
            return [setting]
        if case is not None and own:
            found = Flaw("failed", "a launch failed with this case under way")
            self.flaws[Target(case.function, case.bytes), candidate] = found
            left = self._left(setting)
            strikes = 1 if case.function in self._whole else _STRIKES
            if len(setting.cells) - len(left) < strikes:
                return [setting]
        for target in self._left(setting):
            found = Flaw("failed", f"launches fail with it in force: {failure.text}")
            self.flaws[target, candidate] = found
        return []

    def _apart(self, setting: Setting, suspects: Sequence[str]) -> list[Setting]:
        """Each suspect alone, then the others."""
        rest = [name for name in setting.chosen if name not in suspects]
        parts = [[name] for name in suspects] + ([rest] if rest else [])
        return [setting.part(mark, names) for mark, names in zip(_MARKS, parts, strict=False)]

    def _checks(self, setting: Setting) -> dict[Target, Flaw]:
        """What the last launch found wrong: a reference variant that has another result than
        the library's own call says so of this one."""
        store = self._store
        found: dict[Target, Flaw] = {}
        checks = runs.checks(store.db, store.campaign, setting.suite.name, setting.sequence - 1)
        for case, check in checks:
            target = Target(case.function, case.bytes)
            if check.outcome == "ok" or target in {*found, *setting.references}:
                continue
            if case.variant == DEFAULT.variant:
                found[target] = Flaw.of(check)
            elif check.outcome == "wrong":
                found[target] = Flaw("wrong", f"{case.variant} has another result: {check.detail}")
        return found


def _finished(store: LaunchStore, suite: str) -> list[int]:
    """Numbers of the finished launches of a suite, in order."""
    return [
        surrounding.number for surrounding in runs.surroundings(store.db, store.campaign, [suite])
    ]
