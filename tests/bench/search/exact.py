"""Answers of a simulated machine: it repeats itself, so a case has one time. What the sweep lacks
(several options at once, where one depends on another; sizes between those recorded) is simulated
then and there, and recorded as well."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from plumbline.campaign.proof import PROFILE, REFUSING_VARIANT
from plumbline.core.guidelines import calls
from plumbline.core.plan import PlanCase
from plumbline.search.space.candidates import DEFAULT
from plumbline.settings import starting
from plumbline_db.probe_records import Header

from .answers import Answer
from .around import Around, of_lines
from .record import TOGETHER, Item, launch
from .store import Recorded, Store, Timed
from .sweeps import Here

LATER = "later"
# Two simulations of one case may differ in the last digits of a double.
_SAME = 1e-6
Key = tuple[str, ...]


class Exact:
    def __init__(self, here: Here, store: Store, overhead_seconds: float) -> None:
        self.launches = 1
        self.call_factor = 1.0
        self.overhead_seconds = overhead_seconds
        self.simulated = 0  # cases that were not recorded before
        self._here = here
        self._store = store
        self._starter = starting.starter(here.bench, here.settings)
        self._known: dict[Key, Timed] = {}
        self._knob = {
            name: entry.knob
            for name in {*here.sizes(), *_called(here)}
            if (entry := here.bench.space.of(name)) is not None
        }
        self._dependent: set[tuple[str, str]] = set()
        self._dependent = _dependent(store, self._knob)
        headers = [one.header for one in store.launches if one.header is not None]
        self.header: Header = headers[0]
        for one in store.launches:
            if not one.name.startswith(TOGETHER):
                self._learn(one)

    def of(self, cases: Sequence[PlanCase], around: Around) -> list[Answer]:
        resolved = []
        for case in cases:
            variant = case.variant
            if variant == DEFAULT.variant and not case.ranks:
                variant = around.variant(case.function, case.bytes)
            resolved.append(PlanCase(case.function, case.bytes, variant, ranks=case.ranks))
        missing = [
            case
            for case in resolved
            if case.variant != REFUSING_VARIANT and self._find(case, around) is None
        ]
        if missing:
            self._simulate(list(dict.fromkeys(missing)), around)
        return [
            Answer("error", "the canary refuses")
            if case.variant == REFUSING_VARIANT
            else _answer(self._find(case, around))
            for case in resolved
        ]

    def _find(self, case: PlanCase, around: Around) -> Timed | None:
        return self._known.get(_whole_key(case, around)) or self._known.get(self._key(case, around))

    def _key(self, case: PlanCase, around: Around) -> Key:
        """Everything that its time depends on."""
        reached, rules = self._meets(case, around)
        options = around.options
        if self._alone(reached, options):
            names = {self._knob[name] for name in reached if name in self._knob}
            options = {name: value for name, value in options.items() if name in names}
        return (
            *(case.function, str(case.bytes), case.variant, str(case.ranks)),
            *(f"{name}={value}" for name, value in sorted(options.items())),
            *sorted(rules),
        )

    def _meets(self, case: PlanCase, around: Around) -> tuple[set[str], set[str]]:
        """The functions of the library that it reaches, and what the profile has in place of calls
        on its way, at the sizes that they may have."""
        reached, rules = self._reached(case), set()
        if case.variant == "library":
            return reached, rules
        done: set[str] = set()
        while reached - done:
            name = (reached - done).pop()
            done.add(name)
            for size in self._volumes(case.bytes):
                variant = around.variant(name, size)
                if variant != DEFAULT.variant:
                    rules.add(f"{name}@{size}:{variant}")
                    reached |= set(calls(name, variant) or ())
        return reached, rules

    def _volumes(self, size: int) -> list[int]:
        """Of calls that something of `size` bytes may make: in pieces, in blocks, padded."""
        p = self._here.settings.ranks.nprocs
        padded = {-(-size // unit) * unit for unit in (p, 4 * p)}
        return sorted({1, size, size // 2, size // p, size * p, *padded} - {0})

    def _reached(self, case: PlanCase) -> set[str]:
        if case.variant == "library":
            return {case.function}
        found = calls(case.function, case.variant)
        return set(self._knob) if found is None else set(found)

    def _alone(self, functions: set[str], options: Mapping[str, str]) -> bool:
        """No algorithm in force in `functions` depends on the options of others."""
        return not any(
            (name, options.get(self._knob.get(name, ""), "")) in self._dependent
            for name in functions
        )

    def _simulate(self, cases: list[PlanCase], around: Around) -> None:
        self.simulated += len(cases)
        environment = self._here.bench.family.in_environment(around.options)
        with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
            if around.lines:
                file = Path(folder, "profile")
                file.write_text("\n".join(["plumbline-profile 1", *around.lines]) + "\n")
                environment |= {PROFILE: str(file)}
            name = f"{LATER} {len(self._store.launches)}"
            item = Item(name, dict(around.options), tuple(cases))
            found = launch(self._here, self._starter, item, environment)
        found = msgspec.structs.replace(found, rules=list(around.lines))
        self._store.add(found)
        self._learn(found)

    def _learn(self, found: Recorded) -> None:
        around = of_lines(found.options, found.rules)
        for one in found.cases:
            case = PlanCase(one.function, one.bytes, one.variant)
            # Who is to blame for what failed is not known: it fails with all that was in force.
            key = self._key if one.outcome == "ok" else _whole_key
            self._known.setdefault(key(case, around), one)


def _whole_key(case: PlanCase, around: Around) -> Key:
    return (
        *("in all this", case.function, str(case.bytes), case.variant, str(case.ranks)),
        *(f"{name}={value}" for name, value in sorted(around.options.items())),
        *around.lines,
    )


def _called(here: Here) -> set[str]:
    return {used for pattern in here.guidelines.patterns for used in pattern.uses}


def _dependent(store: Store, knob: Mapping[str, str]) -> set[tuple[str, str]]:
    """Functions with the value of their option ("": none) whose time is another one when other
    functions have options too."""
    alone: dict[tuple[str, int, str], Timed] = {}
    for launched in store.launches:
        if launched.name.startswith((TOGETHER, LATER)):
            continue
        for one in launched.cases:
            if one.variant == DEFAULT.variant:
                value = launched.options.get(knob.get(one.function, ""), "")
                alone[one.function, one.bytes, value] = one
    found = set()
    for launched in store.launches:
        if launched.name.startswith(TOGETHER):
            for one in launched.cases:
                value = launched.options.get(knob.get(one.function, ""), "")
                same = alone.get((one.function, one.bytes, value))
                if same is None or not _equal(one, same):
                    found.add((one.function, value))
    return found


def _equal(left: Timed, right: Timed) -> bool:
    if left.outcome != "ok" or right.outcome != "ok":
        return left.outcome == right.outcome
    mine, other = np.ravel(left.ns), np.ravel(right.ns)
    return bool(np.allclose(mine, other, rtol=_SAME, atol=2))


def _answer(found: Timed | None) -> Answer:
    assert found is not None
    if found.outcome != "ok":
        return Answer(found.outcome, found.detail)
    return Answer("ok", "", [np.array(found.ns, dtype=float)])
