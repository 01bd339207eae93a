"""Settings of the whole process: transport, eager limits, ranks of components, parameters that a
rules file cannot hold.

Each value holds for launches of its own, which measure the library calls of the whole table and
take turns with launches that have the exported files alone (settings_race.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import AS_IT_IS, Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries import Knob
from plumbline.libraries.space import AlgorithmParameter, FunctionSpace, Setting, Space
from plumbline.measure import tables
from plumbline.measure.comparison import without_shared_factor
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings, site_rules
from plumbline.settings.starting import spare_cores
from plumbline.settings.toolchain import Toolchain
from plumbline.verify.decision import joint, slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import runs
from plumbline_db.errors import UsageError
from plumbline_db.records import Suite, Winner

from .settings_race import FEW, STAGES, Entered, SettingsRace
from .space.candidates import DEFAULT, Candidate, index

_ONE_LAUNCH = ((1, 3),)
_FEW_VALUES = ((10, FEW),)  # none is left out before the stage that decides
# A further setting beside the best one saves at least this share of the time of the table.
_WORTH = 0.01


def tried(
    toolchain: Toolchain,
    settings: Settings,
    functions: Collection[str],
    standing: Sequence[Winner] = (),
) -> list[Configuration]:
    """Return what a campaign tries. Raises UsageError where it asks for what cannot be tried."""
    return values(
        Settable.of(toolchain, settings),
        functions,
        standing=standing,
        named=settings.search.named_settings,
        usual=settings.search.tries_usual_settings,
    )


class Settable(msgspec.Struct, frozen=True):
    """The settings that can be tried: those of the `space` whose knobs are `installed` and not
    `fixed`; without `spare_cores` none that needs a core of its own."""

    space: Space
    installed: Mapping[str, Knob]
    fixed: Collection[str] = ()
    spare_cores: bool = True

    @classmethod
    def of(cls, toolchain: Toolchain, settings: Settings) -> Settable:
        # Variables that name a site's rules file belong to every knob of an algorithm.
        environment_names = settings.fixed.environment.keys() - site_rules.variables(toolchain)
        in_environment = toolchain.family.in_environment
        fixed = [
            knob
            for knob in toolchain.knobs
            if not environment_names.isdisjoint(in_environment({knob: ""}))
        ]
        return cls(toolchain.space, toolchain.knobs, fixed, spare_cores(toolchain, settings))

    def require_core(self, named: Iterable[str]) -> None:
        """Raise UsageError where one of these settings needs a core that is not there."""
        for setting in self.space.setting:
            if setting.knob in named and setting.needs_spare_core and not self.spare_cores:
                raise UsageError(
                    f"settings: {setting.knob}: a thread of each rank needs a core of its own, and "
                    "ranks have more than half of them; start fewer ranks, or leave it out"
                )

    def is_read(self, setting: Setting) -> bool:
        """Return whether the library, as it is, may look at the setting: where it chooses itself
        what stands before (a knob without a default), nobody knows."""
        for knob, needed in setting.when.items():
            gate = self.space.setting_of(knob)
            chosen = gate is not None and gate.default is None
            value = self.installed[knob].value if knob in self.installed else ""
            if not chosen and (value or (gate.default if gate else None)) != needed:
                return False
        return True


def values(
    settable: Settable,
    functions: Collection[str],
    *,
    standing: Sequence[Winner] = (),
    named: Collection[str] | None = None,
    usual: bool = False,
) -> list[Configuration]:
    """Return what is tried: other values of settings that can change one of `functions`, and that
    the library reads as it is; with `named` those alone, and what they want beside them; with
    `usual` the values that the space calls so, and no parameters. A parameter that has one value
    for a process is tried where a `standing` winner uses its algorithm. Raises UsageError for a
    name that no setting has, or whose setting needs a spare core."""
    space, installed = settable.space, settable.installed
    parameters = [
        (entry, parameter)
        for entry in space.function
        for parameter in entry.parameters
        if parameter.scope == "process" and entry.sizes == "each"
    ]
    every = {setting.knob for setting in space.setting} | {
        parameter.knob for _, parameter in parameters
    }
    unknown = sorted(set(named or ()) - every)
    if unknown:
        raise UsageError(f"settings: {', '.join(unknown)}: not in the search space")
    settable.require_core(named or ())
    searched_knobs = (every if named is None else set(named)) & installed.keys() - set(
        settable.fixed
    )
    candidates: dict[Configuration, None] = {}
    for setting in space.setting:
        touches = not setting.functions or not set(functions).isdisjoint(setting.functions)
        read = named is not None or settable.is_read(setting)
        alone = setting.needs_spare_core and not settable.spare_cores
        if setting.knob in searched_knobs and touches and read and not alone:
            texts = list(map(str, setting.usual)) if usual else None
            candidates |= dict.fromkeys(values_of(installed, setting, texts))
    for entry, parameter in [] if usual else parameters:
        if parameter.knob in searched_knobs and _is_used(standing, entry, parameter):
            for value in _others(installed, parameter):
                candidates[Configuration.of({parameter.knob: value})] = None
    return list(candidates)


def values_of(
    installed: Mapping[str, Knob], setting: Setting, among: Collection[str] | None = None
) -> list[Configuration]:
    """Values that are not the library's own, each with what it needs."""
    return [
        Configuration.of(setting.at(value))
        for value in _others(installed, setting)
        if among is None or value in among
    ]


def joined_values(base: Configuration, tried: Sequence[Configuration]) -> list[Configuration]:
    """Return `base` with each of the other values that changes none of its knobs."""
    joined = (
        base.with_(value.as_dict())
        for value in tried
        if all(base.get(knob) in ("", text) for knob, text in value.values)
    )
    return [value for value in dict.fromkeys(joined) if value != base]


def _is_used(
    standing: Iterable[Winner], entry: FunctionSpace, parameter: AlgorithmParameter
) -> bool:
    return any(winner.configuration.get(entry.knob) in parameter.algorithms for winner in standing)


def _others(installed: Mapping[str, Knob], entry: Setting | AlgorithmParameter) -> list[str]:
    """The values that are not the library's own."""
    own = {installed[entry.knob].value or entry.default, entry.default}
    return [text for text in map(str, entry.values) if text not in own]


class ProcessWide(SettingsRace[Target]):
    """The search of one campaign. `cells` are the library calls of its table, with their weights. A
    library whose knobs are `hot` says of its variables what it was started with: that takes half a
    second of a launch, and is left to the proof where a campaign tries the usual values. `suite`:
    the launches that have measured the table with the winner in force."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        cells: Mapping[Target, float],
        settable: Settable,
        has_time: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(
            store,
            settings,
            has_time=has_time,
        )
        self._settings = settings
        self._cells = cells
        self._settable = settable
        self._read_back = (
            settable.space.hot is not None and not settings.search.tries_usual_settings
        )
        self.suite = ""

    def search(
        self, tried: Sequence[Configuration], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Return the winner, if there is one: the best value, or where settings are named that one
        with others beside it. `environment` puts in force what the campaign has found before."""
        best = self._race_of(tried, environment, 1)
        number = 1
        while best is not None and not self._settings.search.tries_usual_settings:
            beside = joined_values(best.value, tried)
            if not beside:
                break
            number += 1
            joint = self._race_of([best.value, *beside], environment, number, base=best.value)
            if joint is None or joint.value == best.value:
                break
            best = joint
        if best is None:
            return []
        self.suite = best.arm.suite.name
        winner = self.winner(best, self._settings.ranks.nprocs, self._settings.ranks.ppn, [])
        return [msgspec.structs.replace(winner, bytes_from=self._felt_from(best.value))]

    def _race_of(
        self,
        values_tried: Sequence[Configuration],
        environment: Mapping[str, str],
        number: int,
        base: Configuration = AS_IT_IS,
    ) -> Entered[Target] | None:
        """Run the race of that number and store it. Return the best value; `base`, the first one,
        where that is not clearly slower in the launches that decide."""
        suite = Suite("process", number)
        stages = STAGES if len(values_tried) > FEW else _FEW_VALUES
        if self._settings.ranks.simulate is not None:
            stages = _ONE_LAUNCH
        entered, best = self.race(suite, values_tried, environment, stages, base)
        if (
            best is not None
            and base
            and best.value != base
            and not self._improves(best, entered[0])
        ):
            best = None
        nprocs, ppn = self._settings.ranks.nprocs, self._settings.ranks.ppn
        self.record(number, suite, entered, best, nprocs=nprocs, ppn=ppn)
        return best

    def _improves(self, joint: Entered[Target], base: Entered[Target]) -> bool:
        """Return whether a value surely saves _WORTH of the table's time over the base, launch by
        launch, and makes no cell slower."""
        ratios = {
            cell: [own - other for own, other in zip(logs, base.ratios[cell], strict=True)]
            for cell, logs in joint.ratios.items()
            if len(base.ratios.get(cell, ())) == len(logs)
        }
        whole = self.overall(ratios)
        surely = whole is not None and whole.high is not None and whole.high < 1 - _WORTH
        return surely and not self.slower(ratios)

    def _felt_from(self, value: Configuration) -> int:
        """Return the volume from which on a call may be another one under this value. Where usual
        values say how long a message may be that goes one way, calls stay as they are whose
        messages are half as long as the smaller limit, were all blocks in one."""
        if not self._settings.search.tries_usual_settings:
            return 0
        installed = self._settable.installed
        limits = [
            min(int(text), int(installed[knob].value or setting.default or 0))
            for knob, text in value.values
            if knob in installed
            and (setting := self._settable.space.setting_of(knob)) is not None
            and setting.usual
        ]
        return min(limits, default=0) // (2 * self._settings.ranks.nprocs)

    def ratios(
        self, plain: Suite, entry: Entered[Target], since: int, done: int
    ) -> dict[Target, list[float]]:
        """Return the ratios without what launches differ by as a whole, if that can be seen."""
        logs_by_cell = super().ratios(plain, entry, since, done)
        least = self._felt_from(entry.value)
        return without_shared_factor(
            logs_by_cell, [logs for cell, logs in logs_by_cell.items() if cell.bytes < least]
        )

    def gain(self, ratios: Mapping[Target, Sequence[float]]) -> Comparison | None:
        """Return the ratio over the cells that are faster beyond doubt."""
        negated = {cell: [-log for log in logs] for cell, logs in ratios.items()}
        faster = [cell for cell in slower(negated, self._claim) if self.weight(cell) > 0]
        if not faster:
            return None
        return self._compare(joint([ratios[cell] for cell in faster]), 0.95)

    def weight(self, cell: Target) -> float:
        return self._cells[cell]

    def plan(self, value: Configuration) -> Plan:
        own = value if self._read_back else AS_IT_IS
        cases = [PlanCase(cell.function, cell.bytes, configuration=own) for cell in self._cells]
        plan = self._store.no_surer(tables.until_sure(self._settings, cases))
        return msgspec.structs.replace(plan, knobs="start") if own else plan

    def checked(self, suite: str, sequence: int) -> str:
        """Return the flaw in the first cell where something is wrong."""
        store = self._store
        for case, check in runs.checks(store.db, store.campaign, suite, sequence):
            if check.outcome != "ok":
                where = f"{case.function} at {case.bytes} B"
                return f"{where}: {check.outcome.replace('_', ' ')}: {check.detail}"
        return ""

    def seconds(self, suite: str, value: Configuration) -> dict[Target, dict[int, float]]:
        candidate = Candidate(configuration=value) if value and self._read_back else DEFAULT
        times = index(runs.medians(self._store.db, self._store.campaign, [suite]))
        return {cell: times[cell, candidate] for cell in self._cells if (cell, candidate) in times}
