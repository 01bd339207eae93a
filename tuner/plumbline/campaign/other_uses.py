"""The circumstances of a user (a way of use, a type of data, how counts are shared among ranks),
and the cells of a violation table in other ways of use: what is violated there too, what only
there.

The cells ride along in the launches of the table's last look, where there is one, or have launches
of their own, all ways of use in the same launches: a call and then a barrier (`loop`, as benchmark
programs call) for the whole table where it is asked for, every other way for the cells that are
violated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import (
    COUNT_SHAPES,
    EQUAL_COUNTS,
    FUNCTIONS_IN_PARTS,
    IN_BLOCKS,
    REDUCTIONS,
    TYPE_BYTES,
    Data,
    PlanCase,
)
from plumbline.core.winner import is_in_force
from plumbline.measure import tables
from plumbline.measure.comparison import claim_of
from plumbline.measure.launches import LaunchStore, Series
from plumbline.settings import Settings
from plumbline.settings.cases import SYNCHRONISED
from plumbline.system.words import counted
from plumbline.verify.decision import Design
from plumbline.verify.verify import Look, Verification, VerifySettings
from plumbline_db import runs
from plumbline_db.records import Case, OtherUse, Suite, Verdict, Winner

# The circumstances of a user: in which way of use a call is made, of what its data are, and how
# they are shared among the ranks. A winner has to hold in all of these, whatever the campaign
# itself is about. Pure.

# Fewer elements than ranks are another algorithm in many libraries: types of several lengths are
# tried. Applications reduce doubles and floats, papers bytes.
_REDUCED = (("MPI_DOUBLE", "MPI_SUM"), ("MPI_FLOAT", "MPI_SUM"), ("MPI_BYTE", "MPI_BOR"))
_MOVED = ("MPI_DOUBLE", "MPI_BYTE")


class Circumstance(msgspec.Struct, frozen=True):
    """A way of use ("": the campaign's own) and what is sent."""

    use: str
    data: Data

    def case(self, case: PlanCase) -> PlanCase:
        """The same call, made so."""
        return msgspec.structs.replace(case, use=self.use, data=self.data)

    def label(self, settings: Settings) -> str:
        """`loop, MPI_DOUBLE/MPI_SUM`"""
        data = f"{self.data.type}/{self.data.op}" if self.data.op else self.data.type
        counts = "" if self.data.counts == EQUAL_COUNTS else f", counts={self.data.counts}"
        return f"{self.use or settings.way.use or settings.start_scheme}, {data}{counts}"


def planned(case: Case, root: int) -> PlanCase:
    """Return what a plan asked for where this was measured."""
    knobs = Configuration.of(case.knobs)
    data = Data(case.type, case.op, root, case.counts)
    return PlanCase(case.function, case.bytes, case.variant, knobs, use=case.use, data=data)


def everywhere(settings: Settings, case: PlanCase, *, crowded: bool) -> list[Circumstance]:
    """All circumstances of a call, the campaign's own first. `crowded`: more ranks than cores,
    where ranks cannot start at the same time."""
    own, *others = _data(settings, case)
    shapes = [
        msgspec.structs.replace(own, counts=counts)
        for counts in other_counts(case.function, own.counts)
    ]
    return [
        *(Circumstance(use, own) for use in ("", *other_uses(settings, crowded=crowded))),
        *(Circumstance("", data) for data in (*others, *shapes)),
    ]


def other_counts(function: str, own: str = EQUAL_COUNTS) -> list[str]:
    """Return the count shapes of a function beside its own one."""
    others = [shape for shape in COUNT_SHAPES if shape != own]
    return others if function in FUNCTIONS_IN_PARTS else []


def other_uses(settings: Settings, *, crowded: bool) -> list[str]:
    """The ways of use that the campaign is not about."""
    uses = [*([] if crowded else [SYNCHRONISED]), "loop", "stream"]
    return [use for use in uses if use != settings.way.use]


def _data(settings: Settings, case: PlanCase) -> Iterator[Data]:
    own, *others = kinds(case.function, settings.cases.data)
    yield own
    for data in others:
        if _elements(case, settings.ranks.nprocs, data.type):
            yield data


def kinds(function: str, own: Data) -> list[Data]:
    """Return the data that calls of a function are tried with, those of a campaign first."""
    first = own.of(function)
    reduces = function in REDUCTIONS
    others = _REDUCED if reduces else [(type, first.op) for type in _MOVED]
    sent = (Data(type, op, own.root, first.counts) for type, op in others)
    return list(dict.fromkeys([first, *sent]))


def _elements(case: PlanCase, nprocs: int, type: str) -> bool:
    """Return whether the volume has an element of the type for each part of the message."""
    blocks = case.function in IN_BLOCKS
    return case.bytes >= TYPE_BYTES[type] * (nprocs if blocks else 1)


LOOP = "loop"
_BLOCKS = 6
_SEEDS = 500_000  # after those of the table itself


class Elsewhere(msgspec.Struct, frozen=True):
    """`table` with what its cells are in other uses; `only` are cells that are violated in a loop
    of calls and not in the table, under a name that says so (`GL12 (loop)`)."""

    table: list[Verdict]
    only: list[Verdict]


class OtherUses:
    """Other uses in the tables of one campaign. `crowded`: more ranks than cores; `whole`: all
    cells in a loop of calls, not only those that are violated; `only`: what was violated in loops
    before; `winners`: those that are in force."""

    def __init__(
        self,
        guidelines: Guidelines,
        settings: Settings,
        *,
        crowded: bool,
        whole: bool,
        only: Sequence[Verdict] = (),
        winners: Sequence[Winner] = (),
    ) -> None:
        self._guidelines = guidelines
        self._settings = settings
        self._uses = other_uses(settings, crowded=crowded)
        self._whole = whole
        self._only = only
        self._winners = winners
        self._blocks = min(_BLOCKS, settings.sampling.blocks)

    def riders(self, table: Sequence[Verdict]) -> list[PlanCase]:
        """The cases of a table before its last look, with as many calls as launches of their own
        have: also of what is undecided, and would be violated if it stayed as it is."""
        limit = 1 + self._settings.claims.tolerance
        suspects = [
            verdict
            for verdict in table
            if verdict.verdict == "undecided" and (verdict.ratio or 0) > limit
        ]
        sampling = self._settings.sampling
        reps = -(-self._blocks * sampling.reps // sampling.blocks)
        cases = self._cases([*_violated(table), *suspects])
        return [msgspec.structs.replace(case, reps=reps) for case in cases]

    def look(
        self,
        store: LaunchStore,
        stage: str,
        environment: Mapping[str, str],
        table: Sequence[Verdict],
        ridden: str = "",
    ) -> Elsewhere:
        """Beside the table of `stage`, with `environment` in force. `ridden`: the launches that the
        riders were in; without them there are launches of their own."""
        cases = self._cases(_violated(table))
        if not cases:
            return Elsewhere(list(table), [])
        suite = ridden or self._measured(store, stage, environment, cases)
        sides = {(case.use, *_side(case)) for case in cases}
        samples = [
            sample
            for sample in runs.launch_samples(store.db, store.campaign, [suite], use=None)
            if (sample.case.use, *_side(sample.case)) in sides
        ]
        return _joined(
            table,
            {
                use: self._verdicts(stage, suite, [one for one in samples if one.case.use == use])
                for use in self._uses
            },
        )

    def _cases(self, verdicts: Iterable[Verdict]) -> list[PlanCase]:
        sides = {side for verdict in [*self._only, *verdicts] for side in verdict.sides}
        return [
            msgspec.structs.replace(case, use=use)
            for use in self._uses
            for case in tables.cases(self._guidelines, self._settings)
            if (self._whole and use == LOOP) or _side(case) in sides
        ]

    def _measured(
        self,
        store: LaunchStore,
        stage: str,
        environment: Mapping[str, str],
        cases: Sequence[PlanCase],
    ) -> str:
        """The suite of their own launches."""
        suite, sampling = Suite(stage, step="uses"), self._settings.sampling
        store.progress.step(
            f"{stage}: {counted(len(cases), 'case')} in other ways of use: {', '.join(self._uses)}"
        )
        plan = msgspec.structs.replace(
            tables.plan(self._settings, cases),
            blocks=self._blocks,
            seed=sampling.seed + _SEEDS,
        )
        Series(store, suite, plan, environment).advance(sampling.launches)
        return suite.name

    def _verdicts(
        self, stage: str, suite: str, samples: Sequence[runs.LaunchSamples]
    ) -> list[Verdict]:
        launches = max((len(sample.runs) for sample in samples), default=1)
        settings = self._settings
        table = Verification(
            self._guidelines,
            stage=stage,
            nprocs=settings.ranks.nprocs,
            ppn=settings.ranks.ppn,
            settings=VerifySettings(
                claim=msgspec.structs.replace(
                    claim_of(settings), design=Design((launches,), (1.0,))
                ),
                in_force=partial(is_in_force, self._winners),
            ),
        )
        medians = [runs.medians_of(sample) for sample in samples]
        table.look(Look(medians, [suite], samples=samples))
        return [verdict for verdict in table.verdicts() if verdict.ratio is not None]


def _violated(table: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in table if verdict.verdict == "violated"]


_Side = tuple[str, str, int]


def _side(case: PlanCase | Case) -> _Side:
    return (case.function, case.variant, case.bytes)


_Cell = tuple[str, str, str, int]


def _cell(verdict: Verdict) -> _Cell:
    return (verdict.guideline, verdict.kind, verdict.function, verdict.bytes)


def _joined(table: Sequence[Verdict], found: Mapping[str, Sequence[Verdict]]) -> Elsewhere:
    by_use = {
        use: {_cell(verdict): verdict for verdict in verdicts} for use, verdicts in found.items()
    }
    joined = [
        msgspec.structs.replace(
            verdict,
            uses=[
                OtherUse(use, in_use.verdict, in_use.ratio, in_use.ratio_low, in_use.ratio_high)
                for use, verdict_of in by_use.items()
                if (in_use := verdict_of.get(_cell(verdict))) is not None
            ],
        )
        for verdict in table
    ]
    violated = {_cell(verdict) for verdict in table if verdict.verdict == "violated"}
    only = [
        msgspec.structs.replace(verdict, guideline=f"{verdict.guideline} ({LOOP})")
        for cell, verdict in by_use.get(LOOP, {}).items()
        if verdict.verdict == "violated" and cell not in violated
    ]
    return Elsewhere(joined, only)
