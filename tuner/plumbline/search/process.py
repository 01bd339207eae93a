"""Settings of the whole process: transport, eager limits, ranks of components, parameters that a
rules file cannot hold.

Each value holds for launches of its own, which measure the library calls of the whole table and
take turns with launches that have the exported files alone. Values that save no time fall out, heat
by heat. Of the others the one with the best weighted benefit is kept, if it makes no cell slower;
else the next one, or none."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline import libraries, tables
from plumbline.libraries import Family, Knob
from plumbline.measure import IN_A_ROW, Laboratory, Series
from plumbline.plan import Plan, PlanCase, knobs
from plumbline.settings import Settings
from plumbline.verify.statistics import Comparison, benjamini_hochberg
from plumbline.words import counted
from plumbline_db import runs, searches
from plumbline_db.errors import UsageError
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Search, Trial, Winner

from .candidates import DEFAULT, Candidate
from .cells import Target, index
from .outcome import label
from .select import Weights
from .space import FunctionSpace, Parameter, Setting, Space

# Launches of each value by the end of a heat, and how many values go on after it. Those of the last
# heat alone decide: the others have chosen what is in it.
HEATS = ((2, 8), (5, 3), (12, 3))
_ONE_LAUNCH = ((1, 3),)

Value = tuple[tuple[str, str], ...]
Ratios = Mapping[Target, Sequence[float]]


def values(
    space: Space,
    installed: Mapping[str, Knob],
    functions: Collection[str],
    *,
    standing: Sequence[Winner] = (),
    named: Collection[str] | None = None,
    fixed: Collection[str] = (),
) -> list[Value]:
    """What is tried: other values of settings that can change one of `functions`, and that the
    library reads as it is; with `named` those alone, and what they want beside them. A parameter
    that has one value for a process, where a `standing` winner uses its algorithm. Knobs that are
    `fixed` are not. Raises UsageError for a name that no setting has."""
    parameters = [
        (entry, one)
        for entry in space.function
        for one in entry.parameters
        if one.scope == "process" and entry.sizes == "each"
    ]
    every = {one.knob for one in space.setting} | {one.knob for _, one in parameters}
    unknown = sorted(set(named or ()) - every)
    if unknown:
        raise UsageError(f"settings: {', '.join(unknown)}: not in the search space")
    wanted = (every if named is None else set(named)) & installed.keys() - set(fixed)
    found: dict[Value, None] = {}
    for setting in space.setting:
        touches = not setting.functions or not set(functions).isdisjoint(setting.functions)
        read = named is not None or _is_read(space, installed, setting)
        if setting.knob in wanted and touches and read:
            for value in _others(installed, setting):
                found[knobs(setting.when | {setting.knob: value})] = None
    for entry, parameter in parameters:
        if parameter.knob in wanted and _is_used(standing, entry, parameter):
            for value in _others(installed, parameter):
                found[knobs({parameter.knob: value})] = None
    return list(found)


def _is_read(space: Space, installed: Mapping[str, Knob], setting: Setting) -> bool:
    """Whether the library, as it is, may look at the setting: where it chooses itself what stands
    before (a knob without a default), nobody knows."""
    for knob, needed in setting.when.items():
        gate = space.setting_of(knob)
        chosen = gate is not None and gate.default is None
        value = installed[knob].value if knob in installed else ""
        if not chosen and (value or (gate.default if gate else None)) != needed:
            return False
    return True


def _is_used(standing: Iterable[Winner], entry: FunctionSpace, parameter: Parameter) -> bool:
    return any(one.configuration.get(entry.knob) in parameter.algorithms for one in standing)


def _others(installed: Mapping[str, Knob], one: Setting | Parameter) -> list[str]:
    """The values that are not the library's own."""
    own = {installed[one.knob].value or one.default, one.default}
    return [text for text in map(str, one.values) if text not in own]


class _Entered(msgspec.Struct):
    """A value under way. `rounds`: of each finished launch, its place among those beside it."""

    value: Value
    suite: str
    sequence: int = 0
    in_a_row: int = 0
    flaw: str = ""
    rounds: list[int] = []
    ratios: dict[Target, list[float]] = {}


class ProcessWide:
    """The search of one campaign. `cells` are the library calls of its table; `read_back`: the
    library says of its variables what it was started with."""

    def __init__(
        self,
        lab: Laboratory,
        settings: Settings,
        cells: Sequence[Target],
        *,
        read_back: bool,
        weights: Weights | None = None,
    ) -> None:
        self._lab = lab
        self._settings = settings
        self._cells = list(cells)
        self._read_back = read_back
        self._weights = weights or {}
        self._compare = tables.compare_of(settings)

    def search(
        self, tried: Sequence[Value], environment: Mapping[str, str], number: int
    ) -> list[Winner]:
        """The winner, if there is one. `environment` puts in force what the campaign has found
        before; `number` is that of the round."""
        suite = f"process-{number}"
        plain = Series(self._lab, suite, self._plan(()), environment)
        entered = [
            _Entered(one, f"{suite}-{place:03d}", rounds=[], ratios={})
            for place, one in enumerate(tried, 1)
        ]
        left, done = list(entered), 0
        for launches, keep in HEATS if self._settings.simulation is None else _ONE_LAUNCH:
            if not left:
                break
            self._lab.progress.step(f"trying {counted(len(left), 'setting')} of the process")
            since = done
            for turn in range(done, launches):
                plain.advance()
                for one in left:
                    if one.sequence or self._within_budget():
                        self._launch(one, turn, environment)
            done = launches
            left = [one for one in left if one.sequence]
            for one in left:
                one.ratios = self._ratios(suite, one, since)
            left = [one for one in left if not one.flaw and self.saved(one.ratios) > 0]
            left = sorted(left, key=lambda one: -self.saved(one.ratios))[:keep]
        best = next((one for one in left if self._is_better(one.ratios)), None)
        chosen = [] if best is None else [self._winner(best)]
        if entered:
            begun = [one for one in entered if one.sequence]
            self._record(number, begun, len(entered), chosen)
        return chosen

    def saved(self, ratios: Ratios) -> float:
        """The time saved over the table, weighted; a cell that takes as long saves nothing."""
        return sum(
            self._weight(cell) * (1 - math.exp(statistics.median(logs)))
            for cell, logs in ratios.items()
        )

    def slower(self, ratios: Ratios) -> list[Target]:
        """Cells that are slower beyond doubt, however little; corrected for their number."""
        cells = [cell for cell, logs in ratios.items() if logs]
        found = [self._compare(ratios[cell], 0.95) for cell in cells]
        adjusted = benjamini_hochberg([one.p for one in found])
        return [cell for cell, p in zip(cells, adjusted, strict=True) if p < self._settings.alpha]

    def overall(self, ratios: Ratios) -> Comparison | None:
        """The time of the table with the value in force over that without, launch by launch."""
        whole = sum(self._weight(cell) for cell in ratios)
        count = min((len(logs) for logs in ratios.values()), default=0)
        if not count or not whole:
            return None
        shares = [
            sum(self._weight(cell) * math.exp(logs[at]) for cell, logs in ratios.items()) / whole
            for at in range(count)
        ]
        return self._compare([math.log(one) for one in shares], 0.95)

    def _is_better(self, ratios: Ratios) -> bool:
        found = self.overall(ratios)
        faster = found is not None and found.high is not None and found.high < 1
        return faster and not self.slower(ratios)

    def _within_budget(self) -> bool:
        return self._lab.spent_seconds < self._settings.budget_seconds

    def _weight(self, cell: Target) -> float:
        return self._weights.get((cell.function, cell.bytes), 1.0)

    def _plan(self, value: Value) -> Plan:
        own = value if self._read_back else ()
        cases = [PlanCase(one.function, one.bytes, knobs=own) for one in self._cells]
        plan = tables.plan(self._settings, cases)
        return msgspec.structs.replace(plan, knobs="start") if own else plan

    def _launch(self, one: _Entered, turn: int, environment: Mapping[str, str]) -> None:
        """The launch of a value in a turn; one that fails is tried again."""
        plan = self._plan(one.value)
        extra = in_force_beside(environment, self._lab.starter.family, one.value)
        while not one.flaw:
            named = msgspec.structs.replace(
                plan, name=f"{one.suite}-{one.sequence:03d}", seed=plan.seed + turn
            )
            run = self._lab.launch(one.suite, one.sequence, named, extra).run
            one.sequence += 1
            if run.outcome == "finished":
                one.in_a_row = 0
                one.rounds.append(turn)
                one.flaw = self._checked(one)
                return
            one.in_a_row += 1
            if one.in_a_row == IN_A_ROW:
                one.flaw = f"launches fail with it in force: {run.reason}"

    def _checked(self, one: _Entered) -> str:
        """What the last launch found wrong in the first cell where something is; empty: nothing."""
        lab = self._lab
        for case, check in runs.checks(lab.db, lab.campaign, one.suite, one.sequence - 1):
            if check.outcome != "ok":
                where = f"{case.function} at {case.bytes} B"
                return f"{where}: {check.outcome.replace('_', ' ')}: {check.detail}"
        return ""

    def _ratios(self, plain: str, one: _Entered, since: int) -> dict[Target, list[float]]:
        """log(with the value / without), a launch each from the turn `since` on, of the cells that
        all launches have."""
        lab = self._lab
        theirs = index(runs.medians(lab.db, lab.campaign, [plain]))
        ours = index(runs.medians(lab.db, lab.campaign, [one.suite]))
        candidate = Candidate(knobs=one.value) if self._read_back else DEFAULT
        found = {}
        for cell in self._cells:
            without = list(theirs.get((cell, DEFAULT), {}).values())
            under = list(ours.get((cell, candidate), {}).values())
            turns = one.rounds
            if len(under) == len(turns) and turns and since <= turns[-1] < len(without):
                found[cell] = [
                    math.log(seconds / without[turn])
                    for turn, seconds in zip(one.rounds, under, strict=True)
                    if turn >= since
                ]
        return found

    def _winner(self, one: _Entered) -> Winner:
        found = self.overall(one.ratios)
        assert found is not None  # noqa: S101 - it is faster
        return Winner(
            function=EVERY_FUNCTION,
            nprocs=self._settings.nprocs,
            ppn=self._settings.ppn,
            bytes_from=0,
            bytes_to=UNBOUNDED_BYTES,
            variant=DEFAULT.variant,
            configuration=dict(one.value),
            search_speedup=1 / found.ratio,
            speedup=1 / found.ratio,
            speedup_low=1 / (found.high or found.ratio),
            speedup_high=1 / (found.low or found.ratio),
            removes=[],
            restrictions=[],
        )

    def _record(
        self, number: int, begun: Sequence[_Entered], count: int, chosen: Sequence[Winner]
    ) -> None:
        won = [one.configuration for one in chosen]
        trials = [self._trial(one) for one in begun]
        reason = f"{counted(count, 'value')}"
        reason += f", {len(begun)} of them in the time there was; " if count > len(begun) else "; "
        reason += (
            f"{label(DEFAULT.variant, won[0])} saves the most, and no cell is slower"
            if won
            else "none saves time and makes no cell slower"
        )
        record = Search(
            round=number,
            function=EVERY_FUNCTION,
            nprocs=self._settings.nprocs,
            ppn=self._settings.ppn,
            bytes=0,
            opened_by=[],
            outcome="winner" if won else "nothing better",
            reason=reason,
            trials=trials,
            suites=[f"process-{number}", *(one.suite for one in begun)],
        )
        searches.put(self._lab.db, self._lab.campaign, record)

    def _trial(self, one: _Entered) -> Trial:
        found = None if one.flaw else self.overall(one.ratios)
        worse = [] if found is None else self.slower(one.ratios)
        detail = ", ".join(f"slower: {cell.function} at {cell.bytes} B" for cell in worse[:3])
        return Trial(
            variant=DEFAULT.variant,
            knobs=dict(one.value),
            state="failed" if found is None else "measured",
            ratio=None if found is None else found.ratio,
            ratio_low=None if found is None else found.low,
            ratio_high=None if found is None else found.high,
            launches=found.n if found is not None else 0,
            detail=one.flaw or detail,
        )


def in_force_beside(environment: Mapping[str, str], family: Family, value: Value) -> dict[str, str]:
    """`environment`, with a value in force too. What a family takes out of force where it tries an
    algorithm (the name of a rules file) stays: the value is tried with the exported files."""
    found = libraries.beside(family, environment, dict(value))
    return {name: text or environment.get(name, text) for name, text in found.items()}
