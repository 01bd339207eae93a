"""Cells where the library's own call ends launches: there is no time that a candidate could be
compared with, so that nothing races and nothing wins. What of the library does not end launches
there is found out all the same: one candidate a launch, nothing beside it but a variant of ours
that checks its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from plumbline import libraries
from plumbline.measure import IN_A_ROW, Laboratory
from plumbline.plan import Plan, PlanCase
from plumbline.words import counted
from plumbline_db import runs
from plumbline_db.records import Search, Trial

from .candidates import DEFAULT, Candidate, Menu
from .cells import Flaw, Target, index
from .outcome import label

State = Literal["measured", "wrong", "failed", "not_in_force", "unsupported"]


def rescue(
    lab: Laboratory,
    menu: Menu,
    plan: Plan,
    cell: Target,
    number: int,
    ppn: int,
    has_time: Callable[[], bool],
) -> Search:
    """Tries the library's candidates in `cell`, in round `number`, as long as there is time."""
    candidates = [one for one in menu.first(cell.function) if one.is_knobs]
    name = cell.function.removeprefix("MPI_").lower()
    trials: list[Trial] = []
    suites: list[str] = []
    least: tuple[float, str] | None = None
    for place, candidate in enumerate(candidates, 1):
        if not has_time():
            break
        suites.append(f"search-{number}-aside-{name}-{cell.bytes}-{place:02d}")
        trial, seconds = _tried(lab, menu, plan, cell, candidate, suites[-1])
        trials.append(trial)
        if seconds is not None:
            found = (seconds, label(trial.variant, trial.knobs))
            least = min(found, least or found)
    how = lab.aside.how(cell.function, cell.bytes)
    said = f"the library's own call ends launches ({how}); {len(trials)} of "
    said += f"{counted(len(candidates), 'candidate')} tried, each in launches of its own: "
    if least is None:
        said += "none works there" if trials else "there was no time"
    else:
        works = sum(one.state == "measured" for one in trials)
        said += f"{works} work, {least[1]} takes the least time, {1e6 * least[0]:.1f} µs"
    return Search(
        round=number,
        function=cell.function,
        nprocs=lab.starter.placement.nprocs,
        ppn=ppn,
        bytes=cell.bytes,
        opened_by=[],
        outcome="nothing better",
        reason=said,
        trials=trials,
        suites=suites,
    )


def _tried(
    lab: Laboratory, menu: Menu, plan: Plan, cell: Target, candidate: Candidate, suite: str
) -> tuple[Trial, float | None]:
    """The trial, and the time of the call where it works."""
    cases = [DEFAULT.case(cell.function, cell.bytes)]
    cases += [PlanCase(cell.function, cell.bytes, one) for one in menu.anchors(cell.function)[:1]]
    extra = libraries.beside(lab.starter.family, {}, dict(candidate.knobs))
    flaw = Flaw("failed", "")
    for sequence in range(1 if lab.starter.family.simulates else IN_A_ROW):
        named = f"{suite}-{sequence:03d}"
        full = msgspec.structs.replace(plan, name=named, cases=tuple(cases))
        run = lab.launch(suite, sequence, full, extra).run
        if run.outcome != "finished":
            flaw = Flaw("failed", run.reason)
            continue
        checks = runs.checks(lab.db, lab.campaign, suite, sequence)
        wrong = [Flaw.of(one) for _, one in checks if one.outcome != "ok"]
        times = index(runs.medians(lab.db, lab.campaign, [suite])).get((cell, DEFAULT), {})
        if times and not wrong:
            seconds = min(times.values())
            return _trial(candidate, "measured", f"{1e6 * seconds:.1f} µs"), seconds
        flaw = next(iter(wrong), flaw)
        break
    return _trial(candidate, flaw.state, flaw.detail), None


def _trial(candidate: Candidate, state: State, detail: str) -> Trial:
    return Trial(
        variant=candidate.variant,
        knobs=dict(candidate.knobs),
        state=state,
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        launches=int(state == "measured"),
        detail=detail,
    )
