"""Violation tables: which cases a table needs, the launches that fill it, the verdicts.

A table is looked at twice: after the first launches, and after as many again for the cells that
were undecided. The verdicts account for both looks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from plumbline.guidelines import Guidelines
from plumbline.measure import Laboratory, Series, culprit
from plumbline.plan import Data, Plan, PlanCase, measurable
from plumbline.settings import Settings
from plumbline.verify.index import Obstacle
from plumbline.verify.verify import VerifySettings, verify
from plumbline_db import runs
from plumbline_db.records import Medians, Verdict

LOOKS = 2


def sizes_of(guidelines: Guidelines, settings: Settings) -> dict[str, list[int]]:
    """The measured sizes of every function on a left side, and of those asked for besides."""
    data = Data(settings.type, settings.op, settings.root)
    return {
        function: measurable(function, settings.sizes, settings.nprocs, data)
        for function in dict.fromkeys([*guidelines.lhs_functions(), *settings.functions])
    }


def cases(guidelines: Guidelines, settings: Settings) -> list[PlanCase]:
    """Every left side at every size, and every right side of a pattern."""
    sizes = sizes_of(guidelines, settings)
    left = [PlanCase(function, size) for function, those in sizes.items() for size in those]
    right = [
        PlanCase(pattern.lhs, size, pattern.variant)
        for pattern in guidelines.patterns
        for size in sizes[pattern.lhs]
    ]
    return left + right


def plan(settings: Settings, of: Iterable[PlanCase]) -> Plan:
    return Plan(
        name="",
        seed=settings.seed,
        cases=tuple(of),
        data=Data(settings.type, settings.op, settings.root),
        blocks=settings.blocks,
        reps=settings.reps,
    )


def judge(
    lab: Laboratory, stage: str, guidelines: Guidelines, settings: Settings, suites: Sequence[str]
) -> list[Verdict]:
    """The verdicts that the launches of `suites` allow."""
    medians = runs.medians(lab.db, lab.campaign, suites)
    return verify(
        medians,
        guidelines,
        stage=stage,
        nprocs=settings.nprocs,
        ppn=settings.nprocs,
        suites=list(suites),
        settings=VerifySettings(alpha=settings.alpha, tolerance=settings.tolerance, looks=LOOKS),
        obstacles=_obstacles(lab, suites, medians),
    )


def second_look(
    lab: Laboratory,
    stage: str,
    guidelines: Guidelines,
    settings: Settings,
    suite: str,
    environment: Mapping[str, str],
    verdicts: list[Verdict],
) -> list[Verdict]:
    """More launches for what is undecided; the verdicts over all of them."""
    undecided = [one for one in verdicts if one.verdict == "undecided"]
    if not undecided:
        return verdicts
    more = f"{suite}-more"
    wanted = tuple(dict.fromkeys(case for one in undecided for case in sides(one)))
    lab.progress.step(
        f"{stage}: {len(undecided)} cells undecided, {settings.launches} launches more"
    )
    Series(lab, more, plan(settings, wanted), environment).advance(settings.launches)
    return judge(lab, stage, guidelines, settings, [suite, more])


def sides(verdict: Verdict) -> list[PlanCase]:
    """The cases that a verdict compares."""
    left = PlanCase(verdict.function, verdict.bytes)
    if verdict.kind == "pattern":
        return [left, PlanCase(verdict.function, verdict.bytes, verdict.rhs)]
    return [left, PlanCase(verdict.function, verdict.other_bytes)]


_CASE = re.compile(r"case id=(\d+) function=(\S+) variant=(\S+) config=\S+ bytes=(\d+) ")


def _case_of(plan_text: str, number: int) -> tuple[str, str, int]:
    """Function, variant and bytes of a case of a stored plan."""
    for words in _CASE.finditer(plan_text):
        if int(words[1]) == number:
            return words[2], words[3], int(words[4])
    raise ValueError(f"the plan has no case {number}")


def _obstacles(
    lab: Laboratory, suites: Sequence[str], medians: Sequence[Medians]
) -> list[Obstacle]:
    """Why a planned case was not timed, from the checks of all launches; or why no launch gave a
    result of it (where some did, those that were refused are simply not there)."""
    found: dict[tuple[str, str, int], str] = {}
    for run in runs.listing(lab.db, lab.campaign, suites):
        if run.outcome == "failed":
            blamed = culprit(run)
            if blamed is not None:
                found[_case_of(run.plan, blamed)] = f"a launch failed: {run.reason}"
            continue
        for case, check in runs.checks(lab.db, lab.campaign, run.suite, run.sequence):
            if check.outcome != "ok":
                reason = f"{check.outcome}: {check.detail}" if check.detail else check.outcome
                found[case.function, case.variant, case.bytes] = reason
    timed = {(one.case.function, one.case.variant, one.case.bytes) for one in medians}
    for case, refused in runs.refusals(lab.db, lab.campaign, suites):
        key = (case.function, case.variant, case.bytes)
        if key not in timed:
            found[key] = refused.reason
    return [Obstacle(*key, reason) for key, reason in found.items()]
