"""How much a launch measures: for as long as it takes to start, at least.

A launch of a few short cases is over before mpirun and MPI_Init have paid for themselves. More
blocks make what it says surer, for little more time. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from plumbline.core.plan import Plan

MOST = 4  # times the blocks that were asked for


def filled(plan: Plan, case_seconds: Iterable[float], start_seconds: float) -> Plan:
    """`plan` with as many blocks as its cases, of so many seconds a call, can take in the time that
    a launch takes to start; never fewer than it has, and at most MOST times as many. One of the
    cases takes time."""
    blocks = int(start_seconds / (plan.reps * sum(case_seconds)))
    return msgspec.structs.replace(plan, blocks=max(plan.blocks, min(MOST * plan.blocks, blocks)))
