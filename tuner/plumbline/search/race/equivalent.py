"""Cold candidates that are not worth a launch of their own: what is known says that they are far
behind. Known is what they took before, with other winners in force, or what a variant of ours takes
that sends the same messages, and was measured beside everything else. Such a prediction counts only
where candidate and variant were seen to take the same here, at one size at least. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.variant_spec import variant_name
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace, Entries

from .effort import Effort
from .evidence import Evidence
from .past import Past

_SAME = 0.05  # so far apart may a candidate and its prediction be, to be the same


class _Behind(msgspec.Struct, frozen=True):
    """The distance by which the best that races and the default are ahead, logarithms; how far they
    may be, and who says so."""

    best: float
    default: float
    within: float
    source: str


def equivalent_variants(
    candidate_space: CandidateSpace, entries: Entries, cold: Entries
) -> dict[Target, list[str]]:
    """Variants of ours that do not race, and whose times say what candidates are worth whose
    equivalents do not race either. None where no variant races: such a cell must only not get
    slower."""
    variants_by_cell: dict[Target, list[str]] = {}
    for target, candidates in cold.items():
        if _is_guard(entries[target]):
            continue
        racing = {_name(candidate) for candidate in entries[target]}
        allowed = candidate_space.reference_variants(target.function)
        for candidate in candidates:
            equivalents = candidate_space.equivalents(target.function, candidate)
            if equivalents.isdisjoint({*racing, *variants_by_cell.get(target, ())}):
                variants_by_cell.setdefault(target, []).extend(
                    [name for name in allowed if name in equivalents][:1]
                )
    return variants_by_cell


def passed_over(
    candidate_space: CandidateSpace, past: Past, entries: Entries, cold: Entries, effort: Effort
) -> dict[tuple[str, Candidate], str]:
    """Return those of `cold`, by function, with the reason. `entries` is all that races in the
    cells. A candidate is passed over where it is too far behind the best in every cell that it
    races in: it took longer before than the tolerance of the `effort` allows, or what sends the
    same messages takes longer than `alike` allows.
    Where one choice holds for all sizes, and not one for each range of them, neither cells of which
    nothing is known are asked nor those that must only not get slower (no variant races there), and
    one that is too far behind the default is enough."""
    cells: dict[tuple[str, Candidate], list[Target]] = {}
    for target, candidates in cold.items():
        for cold_candidate in candidates:
            cells.setdefault((target.function, cold_candidate), []).append(target)
    reasons: dict[tuple[str, Candidate], str] = {}
    for (function, candidate), targets in cells.items():
        racing = {target: entries[target] for target in targets}
        behind_by_cell = _behind(candidate_space, past, effort, candidate, racing)
        whole = candidate_space.one_for_all_sizes(function) and not candidate_space.ranged(function)
        if not behind_by_cell or not (whole or len(behind_by_cell) == len(targets)):
            continue
        faster = {
            cell: behind_by_cell[cell] for cell in behind_by_cell if not _is_guard(entries[cell])
        } or behind_by_cell
        nearest, near = min(
            faster.items(),
            key=lambda cell_and_behind: cell_and_behind[1].best - cell_and_behind[1].within,
        )
        farthest, far = max(
            behind_by_cell.items(),
            key=lambda cell_and_behind: cell_and_behind[1].default - cell_and_behind[1].within,
        )
        if near.best > near.within:
            reasons[function, candidate] = _said(near.source, near.best, "the best", nearest)
        elif whole and far.default > far.within:
            reasons[function, candidate] = _said(far.source, far.default, "the default", farthest)
    return reasons


def _said(source: str, log: float, rival: str, target: Target) -> str:
    return f"{source} {math.exp(log):.2f} times as long as {rival} at {target.bytes} bytes"


def _behind(
    candidate_space: CandidateSpace,
    past: Past,
    effort: Effort,
    candidate: Candidate,
    racing: Entries,
) -> dict[Target, _Behind]:
    """Return how far the candidate is behind what is `racing` in its cells, all of one function,
    where something says so."""
    function = next(target.function for target in racing)
    equivalents = candidate_space.equivalents(function, candidate)
    past_evidence = [evidence for evidence in (past.evidence, past.before) if evidence is not None]
    is_confirmed = _is_confirmed(past_evidence, function, candidate, equivalents)
    called = candidate_space.called(candidate_space.calls(function, candidate), {})
    changed = any(winner.function in called for winner in past.in_force)
    behind_by_cell: dict[Target, _Behind] = {}
    for target, others in racing.items():
        logs = _logs(past.before, target) if past.before is not None and not changed else {}
        if candidate in logs:
            log, within, source = logs[candidate], math.log1p(effort.tolerance), "it took"
        else:
            logs = _logs(past.evidence, target)
            least = _least(logs, equivalents)
            if least is None or not is_confirmed:
                continue
            log, within = least, math.log(effort.alike)
            source = "a variant of ours with the same messages takes"
        behind_by_cell[target] = _Behind(log - _best(logs, others), log, within, source)
    return behind_by_cell


def _is_confirmed(
    every_evidence: Iterable[Evidence],
    function: str,
    candidate: Candidate,
    equivalents: Collection[str],
) -> bool:
    """Return whether the candidate was measured at some size of the function beside a variant that
    sends the same messages, and took the same wherever it was."""
    differences = []
    for evidence in every_evidence:
        for target in evidence.targets(function):
            logs = _logs(evidence, target)
            least = _least(logs, equivalents)
            if candidate in logs and least is not None:
                differences.append(abs(logs[candidate] - least))
    return bool(differences) and max(differences) <= math.log1p(_SAME)


def _least(logs: Mapping[Candidate, float], names: Collection[str]) -> float | None:
    """Return what the fastest known variant with one of the names takes."""
    return min((log for candidate, log in logs.items() if _name(candidate) in names), default=None)


def _name(candidate: Candidate) -> str:
    return variant_name(candidate.variant)


def _is_guard(racing: Sequence[Candidate]) -> bool:
    return all(candidate.is_knobs for candidate in racing)


def _best(logs: Mapping[Candidate, float], racing: Sequence[Candidate]) -> float:
    return min(
        log for candidate, log in logs.items() if candidate in racing or candidate == DEFAULT
    )


def _logs(evidence: Evidence, target: Target) -> dict[Candidate, float]:
    """log(candidate / default) of all that is known in a cell."""
    return {DEFAULT: 0.0} | {
        candidate: lead.log
        for candidate in evidence.candidates(target)
        if (lead := evidence.lead(target, candidate)) is not None
    }
