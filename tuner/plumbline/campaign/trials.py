"""Trials: hundreds of calls under each rule of the exported files, before anybody gets them.

What a race has checked are the measured sizes, a few times. Here the files are in force as for a
user. Each rule is called at volumes that nobody has measured, odd counts among them, with the types
that applications have, with every root, and with fresh data each time. The probe draws for each
call what a rule matches as well: another communicator, buffers at odd addresses, MPI_IN_PLACE,
derived types, operations of a program, other counts. Every result is compared with what each rank
computes for itself. A rule with one wrong result, or that fails, is not exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from plumbline.campaign.circumstances import everywhere
from plumbline.core.plan import Plan, PlanCase
from plumbline.core.winner import far_sizes, is_part
from plumbline.measure.launches import LaunchStore, Series
from plumbline.settings import Settings
from plumbline.system.words import counted
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Suite, Winner

# Of a rule with the campaign's own type; more where that is enough for every count of its range.
CALLS = 1000
MOST_CALLS = 5000
_OTHERS = 160  # with each of the other types
# So many in a row, the last one of them is special (probes/measure/trial.c): of any volume.
_SPECIAL = 8
# Data of all ranks in a trial. Large volumes are rare in it; where the smallest are too large for
# so many calls, there are fewer.
_MOST_BYTES = 128 << 20
_EVERY_BYTES = 512 << 20  # where every count has its turn
_FEWEST = 100


class Trials:
    """The trials of the winners of one campaign; what went well is not tried again. `sizes` are the
    measured sizes by function."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
    ) -> None:
        self._store = store
        self._settings = settings
        self._sizes = sizes
        self._right: list[Winner] = []

    def wrong(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[tuple[Winner, str]]:
        """Return those of `winners` with a wrong result where `environment` puts them in force, and
        what it was."""
        fresh = [
            winner for winner in winners if not any(is_part(winner, right) for right in self._right)
        ]
        cases = {
            case: winner
            for winner in reversed(fresh)
            for case in trials(winner, self._settings, self._sizes)
        }
        if not cases:
            return []
        store, suite = self._store, Suite("trial", turn)
        calls = sum(case.calls for case in cases)
        store.progress.step(
            f"checking {counted(calls, 'result')} of {counted(len(fresh), 'winner')}"
        )
        seed = self._settings.sampling.seed
        plan = Plan(suite.name, seed, tuple(cases), blocks=1, warmup=0, rewarm=0)
        series = Series(store, suite, plan, environment)
        series.advance()
        wrong_cases = {
            case: "launches fail with calls of it under way"
            for case in cases
            if case in series.dropped
        }
        checked = [case for case in cases if case not in series.dropped]
        done = runs.listing(store.db, store.campaign, [suite.name])[-1]
        for _, check in runs.checks(store.db, store.campaign, suite.name, done.sequence):
            if check.outcome != "ok":
                case = checked[check.case]
                data = (case.data or plan.data).of(case.function)
                what = f"{data.type}/{data.op}" if data.op else data.type
                wrong_cases[case] = f"{check.outcome} result ({what}): {check.detail}"
        wrong = [(cases[case], why) for case, why in wrong_cases.items()]
        culprits = [trial for trial in wrong if not _is_around_another(trial[0], wrong)]
        self._right += [winner for winner in fresh if not any(winner is bad for bad, _ in wrong)]
        if not wrong:
            store.tell(
                "results checked",
                f"{counted(len(fresh), 'winner')}, {counted(calls, 'call')} at volumes in their "
                "ranges: all results are right",
                Suite("confirm", turn).name,
            )
        return list({id(winner): (winner, why) for winner, why in reversed(culprits)}.values())


def trials(
    winner: Winner, settings: Settings, sizes: Mapping[str, Sequence[int]]
) -> list[PlanCase]:
    """The trials of a winner: a case for each kind of data."""
    functions = list(sizes) if winner.function == EVERY_FUNCTION else [winner.function]
    checks = []
    for function in functions:
        most = winner.bytes_to
        if most == UNBOUNDED_BYTES:
            most = max(winner.bytes_from, *sizes[function], *far_sizes(winner, sizes[function]))
        here = PlanCase(function, most, least=winner.bytes_from)
        kinds = dict.fromkeys(  # count shapes are among what the probe draws for special calls
            circumstance.data
            for circumstance in everywhere(settings, here, crowded=False)
            if circumstance.data.counts == settings.cases.data.counts
        )
        for number, data in enumerate(kinds):
            own = number == 0 and winner.function != EVERY_FUNCTION
            counts = (most - winner.bytes_from) // data.width(function) + 1
            every = counts <= MOST_CALLS and counts * most * settings.ranks.nprocs <= _EVERY_BYTES
            turns = counts + counts // (_SPECIAL - 1) + 1
            wanted = (max(CALLS, turns) if every else CALLS) if own else _OTHERS
            fewest = max(1, winner.bytes_from) * settings.ranks.nprocs
            calls = min(wanted, max(_FEWEST, _MOST_BYTES // fewest))
            mean = _MOST_BYTES // (calls * settings.ranks.nprocs)
            mean = min(most, max(winner.bytes_from, mean))
            checks.append(replace(here, calls=calls, mean=mean, data=data))
    return checks


def _is_around_another(winner: Winner, wrong: Sequence[tuple[Winner, str]]) -> bool:
    """Return whether its calls were those of a narrower rule too, which is wrong."""
    return any(
        inner is not winner
        and winner.function in (inner.function, EVERY_FUNCTION)
        and (winner.bytes_from, winner.bytes_to) != (inner.bytes_from, inner.bytes_to)
        and winner.bytes_from <= inner.bytes_from
        and inner.bytes_to <= winner.bytes_to
        for inner, _ in wrong
    )
