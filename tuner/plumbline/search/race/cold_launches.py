"""Cold launches: of candidates that are put in force when a launch starts, and hold for all of it.

One launch carries one candidate of each function, as far as these do not touch each other
(`Company`), so that a look takes little more settings than the function with the most candidates
has. Launches of the settings take turns with one of the library as it is. Variants of ours, out of
messages alone, stand beside every cell (`reference_variants`): they check the library's result,
which nothing else does here, and what two launches differ by is seen in them. So do defaults of
functions that a launch is not about (`references`): they show whether its candidates touch them."""

from __future__ import annotations

import math
import statistics
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from plumbline import libraries
from plumbline.core.cell import Target
from plumbline.core.plan import WITHOUT_SIZE, PlanCase
from plumbline.libraries import Family
from plumbline.measure.comparison import Arm
from plumbline.measure.launches import IN_A_ROW, LaunchStore
from plumbline.search.space.candidates import (
    DEFAULT,
    Candidate,
    CandidateSpace,
    Entries,
    Flaw,
    index,
)
from plumbline_db import runs
from plumbline_db.records import Failure, Suite

# Who may share a cold launch with whom: the one place that says so. A candidate is in force for all
# of its launch, so that whatever a case calls underneath (the harness between two calls, the
# functions that its algorithm is made of, theirs) must be nobody's candidate there, but for the
# cell that the candidate is for.
# What the search space says of that (`calls`) is checked by times: of a sample of candidates alone,
# and of defaults in launches that are about other functions. A function that is found to take
# another time in company has its candidates measured alone from then on (`apart`). Pure.

# A case may take this share more or less time in company; on a real machine, errors are added.
AGREE = 0.02
# For so many shared launches one candidate is measured alone too.
_SAMPLE = 10
# If launches differ, a case counts as changed beyond that share plus so many standard errors.
_DEVIATIONS = 3.0

_Chosen = Mapping[str, Candidate]


class Company:
    """`harness`: the functions that the harness calls around a timed call. `apart`: functions whose
    candidates stand alone, with what was seen."""

    def __init__(self, candidate_space: CandidateSpace, harness: Collection[str] = ()) -> None:
        self.apart: dict[str, str] = {}
        self._candidate_space = candidate_space
        self._harness = harness
        self._seen: dict[tuple[str, str], list[float]] = {}
        self._sampled: list[tuple[str, Candidate]] = []

    def agree(self, chosen: _Chosen) -> bool:
        """Return whether candidates of these functions may be in force in one launch."""
        return len(chosen) < 2 or all(
            name not in self.apart and not self._meets(name, chosen) for name in chosen
        )

    def unchanged(self, function: str, chosen: _Chosen) -> bool:
        """Return whether its default takes what it takes without `chosen`."""
        return not (function in chosen or self._meets(function, chosen))

    def called(self, function: str, chosen: _Chosen) -> set[str]:
        """The other functions that one of its cases calls, on whatever way, with `chosen` in force;
        those of the harness too."""
        return self._candidate_space.called([function, *self._harness], chosen) - {function}

    def _meets(self, function: str, chosen: _Chosen) -> bool:
        return not chosen.keys().isdisjoint(self.called(function, chosen))

    def sample(
        self,
        shared: Sequence[_Chosen],
        logs_by_cell: Mapping[Target, Mapping[Candidate, Sequence[float]]],
    ) -> dict[Target, list[Candidate]]:
        """Return the candidates of `shared` launches that are measured alone too, in the cells of
        `logs_by_cell` (log(candidate / default)): the same as before while they race, then the
        fastest of functions that had none yet, since winners are among them."""
        gains = {
            (target.function, candidate): min(
                statistics.median(of[candidate])
                for at, of in logs_by_cell.items()
                if at.function == target.function and candidate in of
            )
            for target, racing in logs_by_cell.items()
            for candidate in racing
            if any(chosen.get(target.function) == candidate for chosen in shared)
        }
        before = [sample for sample in self._sampled if sample in gains]
        had = {function for function, _ in self._sampled}
        ranked = sorted(
            gains,
            key=lambda function_and_candidate: (
                function_and_candidate[0] in had,
                gains[function_and_candidate],
            ),
        )
        fresh = {
            name: (name, candidate)
            for name, candidate in reversed(ranked)
            if (name, candidate) not in before
        }
        more = sorted(fresh.values(), key=ranked.index)
        chosen = [*before, *more][: math.ceil(len(shared) / _SAMPLE)]
        self._sampled += [sample for sample in chosen if sample not in before]
        return {
            target: chosen_candidates
            for target, racing in logs_by_cell.items()
            if (
                chosen_candidates := [
                    candidate for candidate in racing if (target.function, candidate) in chosen
                ]
            )
        }

    def learn(self, function: str, what: str, logs: Sequence[float], error: float = 0.0) -> bool:
        """Return whether a function was found to be touched just now. `logs`: of what `what` of it
        took in company over what it took else, a cell each; `error`: of one of them between
        launches."""
        medians = self._seen.setdefault((function, what), [])
        medians.append(statistics.median(logs))
        worst = max(logs, key=abs)
        sides = [(worst, 1), (statistics.median(medians), len(medians))] if error else [(worst, 1)]
        for log, launches in sides:
            within = math.log1p(AGREE) + _DEVIATIONS * error / math.sqrt(launches)
            if function not in self.apart and abs(log) > within:
                times = f"{math.exp(log):.2f} times as long in company"
                self.apart[function] = f"{what} took {times}"
                return True
        return False


# So many cases are used to estimate the factor between two launches.
ENOUGH_REFERENCES = 5
# A candidate whose launches fail in so many cells is left out of the other cells too.
_STRIKES = 2
_MARKS = string.ascii_lowercase  # MPI has fewer collective functions
_REFERENCES = 2  # cases of a launch


class Comparands(msgspec.Struct, frozen=True):
    """Times that cold candidates are compared with. `plain`: seconds under the library as it is;
    `reference_variants` stand beside each cell; `error` of a log ratio between launches, 0: they
    repeat each other. Functions that are `whole` have one choice for all sizes: what ends launches
    at one of them is out."""

    plain: Mapping[tuple[Target, Candidate], float]
    reference_variants: Mapping[Target, Sequence[str]]
    error: float
    whole: Collection[str]

    def references(self) -> list[Target]:
        """Return a cell of each function, of a size in the middle, for settings that should leave
        it alone."""
        # Intel MPI uses another barrier beside any candidate (libraries/intelmpi).
        return _middles(
            target
            for target, candidate in self.plain
            if candidate == DEFAULT and target.function not in WITHOUT_SIZE
        )


class SuiteSetting(msgspec.Struct):
    """The setting in force in the launches of one suite: at most one candidate of a function, at
    its `cells`. `references`: cells of other functions whose defaults stand beside them.
    `is_measured`: a launch has finished, and its times count."""

    suite: Suite
    chosen: dict[str, Candidate]
    cells: list[Target]
    references: list[Target] = []
    sequence: int = 0
    blameless: int = 0  # launches in a row that failed with none of its cases under way
    is_measured: bool = False

    def part(self, mark: str, functions: Sequence[str]) -> SuiteSetting:
        chosen = {name: self.chosen[name] for name in functions}
        cells = [cell for cell in self.cells if cell.function in chosen]
        suite = msgspec.structs.replace(self.suite, arm=self.suite.arm + mark)
        return SuiteSetting(suite, chosen, cells, self.references)

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
    settings: list[tuple[dict[str, Candidate], dict[str, str], list[Target]]] = []
    # Candidates that call most other functions come first, because they limit the choice of others.
    ranked = sorted(
        cells.items(),
        key=lambda candidate_and_cells: (
            -len(company.called(candidate_and_cells[0][0], dict([candidate_and_cells[0]])))
        ),
    )
    for (function, candidate), targets in ranked:
        candidate_values = candidate.configuration.as_dict()
        for chosen, values, inside in settings:
            agree = all(
                values.get(knob, value) == value for knob, value in candidate_values.items()
            )
            if function in chosen or not agree:
                continue
            if company.agree({**chosen, function: candidate}):
                chosen[function] = candidate
                values.update(candidate_values)
                inside.extend(targets)
                break
        else:
            settings.append(({function: candidate}, candidate_values, list(targets)))
    return [(chosen, inside) for chosen, _, inside in settings]


class ColdLaunches:
    """The cold launches of one look, by an `arm` without cases. `flaws` are the outcomes of
    candidates that gave no result. What fails is found by taking settings apart: the function whose
    case was under way, or one half after the other, until one candidate is left."""

    def __init__(
        self,
        store: LaunchStore,
        arm: Arm,
        entries: Entries,
        company: Company,
        comparands: Comparands,
    ) -> None:
        self.flaws: dict[tuple[Target, Candidate], Flaw] = {}
        self._store = store
        self._arm = arm
        self._comparands = comparands
        self._repeats = not comparands.error
        self._all = []
        references = comparands.references()
        for number, (chosen, cells) in enumerate(settings_of(entries, company)):
            usable = [
                reference
                for reference in references
                if company.unchanged(reference.function, chosen)
            ]
            turn = _REFERENCES * number % max(1, len(usable))
            beside = [*usable[turn:], *usable[:turn]][:_REFERENCES]
            own = arm.suite.of(f"cold-{number + 1:02d}")
            self._all.append(SuiteSetting(own, chosen, cells, beside))

    @property
    def suites(self) -> list[str]:
        return [setting.suite.name for setting in self._all if setting.sequence]

    @property
    def shared(self) -> list[dict[str, Candidate]]:
        """Return what was in force in launches of several candidates."""
        return [
            setting.chosen for setting in self._all if setting.sequence and len(setting.chosen) > 1
        ]

    def run(self, go_on: Callable[[], bool]) -> None:
        """Finish one launch of every setting that has something to measure, until `go_on` says
        no."""
        waiting = list(self._all)
        while waiting and go_on():
            setting = waiting.pop(0)
            if not self._left(setting):
                continue
            parts = self._launch(setting)
            self._all += [part for part in parts if part is not setting]
            waiting[:0] = parts

    def ratios(self) -> dict[Target, dict[Candidate, list[float]]]:
        """Return log(candidate / default), a launch each. Where launches do not repeat each other,
        it is without the factor that two of them differ by: the median over the reference
        variants."""
        logs_by_cell: dict[Target, dict[Candidate, list[float]]] = {}
        for setting, target, log in self._logs():
            candidate = setting.chosen.get(target.function)
            if candidate and (target, candidate) not in self.flaws:
                logs_by_cell.setdefault(target, {}).setdefault(candidate, []).append(log)
        return logs_by_cell

    def touched(self) -> dict[str, list[float]]:
        """Return the same of references, by function."""
        logs_by_function: dict[str, list[float]] = {}
        for setting, target, log in self._logs():
            if target in setting.references:
                logs_by_function.setdefault(target.function, []).append(log)
        return logs_by_function

    def _logs(self) -> Iterator[tuple[SuiteSetting, Target, float]]:
        store, plain = self._store, self._comparands.plain
        for setting in self._all:
            if not setting.is_measured:
                continue
            suite = setting.suite.name
            here = index(runs.medians(store.db, store.campaign, [suite]))
            (run,) = (
                launch.number for launch in runs.surroundings(store.db, store.campaign, [suite])
            )
            logs = {
                cell: math.log(times[run] / plain[cell])
                for cell, times in here.items()
                if run in times and cell in plain
            }
            candidate_logs = [
                value for (_, candidate), value in logs.items() if candidate != DEFAULT
            ]
            factor = (
                statistics.median(candidate_logs) if candidate_logs and not self._repeats else 0.0
            )
            for (target, candidate), log in logs.items():
                if candidate == DEFAULT:
                    yield setting, target, log - factor

    def _left(self, setting: SuiteSetting) -> list[Target]:
        return [
            cell
            for cell in setting.cells
            if (cell, setting.chosen[cell.function]) not in self.flaws
        ]

    def _launch(self, setting: SuiteSetting) -> list[SuiteSetting]:
        """Return what is to be launched yet: nothing, the setting again, or its parts."""
        cells = self._left(setting)
        cases = [
            case
            for target in cells
            for case in (
                DEFAULT.case(target.function, target.bytes),
                *(
                    PlanCase(target.function, target.bytes, variant)
                    for variant in self._comparands.reference_variants[target]
                ),
            )
        ]
        cases += [
            DEFAULT.case(reference.function, reference.bytes) for reference in setting.references
        ]
        plan = msgspec.structs.replace(
            self._arm.plan,
            name=setting.suite.launch(setting.sequence),
            seed=self._arm.plan.seed + setting.sequence,
            cases=tuple(dict.fromkeys(cases)),
        )
        family: Family = self._store.starter.family
        extra = libraries.beside(family, self._arm.environment, setting.knobs())
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
            # A candidate may corrupt the results of another, so each is tried alone.
            return self._apart(setting, suspects)
        for target, flaw in flaws.items():
            self.flaws[target, setting.chosen[target.function]] = flaw
        setting.is_measured = True
        return []

    def _failed(
        self, setting: SuiteSetting, failure: Failure, case: PlanCase | None
    ) -> list[SuiteSetting]:
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
            flaw = Flaw("failed", "a launch failed with this case under way")
            self.flaws[Target(case.function, case.bytes), candidate] = flaw
            remaining = self._left(setting)
            strikes = 1 if case.function in self._comparands.whole else _STRIKES
            if len(setting.cells) - len(remaining) < strikes:
                return [setting]
        for target in self._left(setting):
            flaw = Flaw("failed", f"launches fail with it in force: {failure.text}")
            self.flaws[target, candidate] = flaw
        return []

    def _apart(self, setting: SuiteSetting, suspects: Sequence[str]) -> list[SuiteSetting]:
        """Each suspect alone, then the others."""
        rest = [name for name in setting.chosen if name not in suspects]
        parts = [[name] for name in suspects] + ([rest] if rest else [])
        return [setting.part(mark, names) for mark, names in zip(_MARKS, parts, strict=False)]

    def _checks(self, setting: SuiteSetting) -> dict[Target, Flaw]:
        """Return what the last launch found wrong: a reference variant that has another result than
        the library's own call says so of this one."""
        store = self._store
        flaw_by_cell: dict[Target, Flaw] = {}
        checks = runs.checks(store.db, store.campaign, setting.suite.name, setting.sequence - 1)
        for case, check in checks:
            target = Target(case.function, case.bytes)
            if check.outcome == "ok" or target in {*flaw_by_cell, *setting.references}:
                continue
            if case.variant == DEFAULT.variant:
                flaw_by_cell[target] = Flaw.of(check)
            elif check.outcome == "wrong":
                flaw_by_cell[target] = Flaw(
                    "wrong", f"{case.variant} has another result: {check.detail}"
                )
        return flaw_by_cell


def _middles(cells: Iterable[Target]) -> list[Target]:
    """Return a cell of each function, of a size in the middle."""
    by_function: dict[str, list[Target]] = {}
    for cell in sorted(cells):
        by_function.setdefault(cell.function, []).append(cell)
    return [cells[len(cells) // 2] for cells in by_function.values()]
