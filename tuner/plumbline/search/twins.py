"""Cold candidates that are not worth a launch of their own: what is known says that they are far
behind. Known is what they took before, with other winners in force, or what a variant of ours takes
that sends the same messages, and was measured beside everything else. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from .candidates import DEFAULT, Candidate, Menu
from .cells import Target
from .evidence import Evidence

Entries = Mapping[Target, Sequence[Candidate]]


class _Behind(msgspec.Struct, frozen=True):
    """How far the best that races and the default are ahead, logarithms; and who says so."""

    best: float
    default: float
    witness: str


def passed_over(
    menu: Menu,
    evidence: Evidence,
    entries: Entries,
    cold: Entries,
    band: float,
    before: Evidence | None = None,
) -> dict[tuple[str, Candidate], str]:
    """Those of `cold`, by function, with the reason. `entries` is all that races in the cells;
    `before` is what the library as it is took. A candidate is passed over where it is more than
    `band` times behind the best in every cell that it races in. Where one choice holds for all
    sizes, cells of which nothing is known are not asked, and one that is so far behind the default
    is enough."""
    cells: dict[tuple[str, Candidate], list[Target]] = {}
    for target, candidates in cold.items():
        for one in candidates:
            cells.setdefault((target.function, one), []).append(target)
    found: dict[tuple[str, Candidate], str] = {}
    for (function, candidate), targets in cells.items():
        known = {
            target: behind
            for target in targets
            if (behind := _behind(menu, evidence, before, target, candidate, entries[target]))
        }
        whole = menu.one_for_all_sizes(function)
        if not known or not (whole or len(known) == len(targets)):
            continue
        nearest = min(known, key=lambda one: known[one].best)
        farthest = max(known, key=lambda one: known[one].default)
        if known[nearest].best > math.log(band):
            found[function, candidate] = _said(known[nearest].best, "the best", nearest, known)
        elif whole and known[farthest].default > math.log(band):
            said = _said(known[farthest].default, "the default", farthest, known)
            found[function, candidate] = said
    return found


def _said(log: float, other: str, target: Target, known: Mapping[Target, _Behind]) -> str:
    times = f"{math.exp(log):.1f} times as long as {other} at {target.bytes} bytes"
    return f"{known[target].witness} {times}"


def _behind(
    menu: Menu,
    evidence: Evidence,
    before: Evidence | None,
    target: Target,
    candidate: Candidate,
    racing: Sequence[Candidate],
) -> _Behind | None:
    if before is not None:
        logs = _logs(before, target)
        if candidate in logs:
            best = min(log for one, log in logs.items() if one in racing or one == DEFAULT)
            return _Behind(logs[candidate] - best, logs[candidate], "it took")
    logs = _logs(evidence, target)
    twins = menu.twins(target.function, candidate)
    of_twins = [log for one, log in logs.items() if one.variant.partition(":")[0] in twins]
    if not of_twins:
        return None
    best = min(log for one, log in logs.items() if one in racing or one == DEFAULT)
    witness = "a variant of ours with the same messages takes"
    return _Behind(min(of_twins) - best, min(of_twins), witness)


def _logs(evidence: Evidence, target: Target) -> dict[Candidate, float]:
    """log(candidate / default) of all that is known in a cell."""
    return {DEFAULT: 0.0} | {
        one: lead.log
        for one in evidence.candidates(target)
        if (lead := evidence.lead(target, one)) is not None
    }
