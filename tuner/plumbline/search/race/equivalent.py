"""Cold candidates that are not worth a launch of their own: what is known says that they are far
behind. Known is what they took before, with other winners in force, or what a variant of ours takes
that sends the same messages, and was measured beside everything else. Such a prediction counts only
where candidate and variant were seen to take the same here, at one size at least. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from plumbline.core.variant_spec import variant_name
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.search.space.cells import Target

from .evidence import Evidence

Entries = Mapping[Target, Sequence[Candidate]]

_SAME = 0.05  # so far apart may a candidate and its prediction be, to be the same


class EntryRule(msgspec.Struct, frozen=True):
    """So many times as long as what sends the same messages may a candidate take (`alike`), and
    so much more than `before`, when the library was as it is (`tolerance`); since then functions
    have `changed`."""

    alike: float = math.inf
    tolerance: float = math.inf
    before: Evidence | None = None
    changed: frozenset[str] = frozenset()


class _Behind(msgspec.Struct, frozen=True):
    """How far the best that races and the default are ahead, logarithms; how far they may be, and
    who says so."""

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
    found: dict[Target, list[str]] = {}
    for target, candidates in cold.items():
        if _is_guard(entries[target]):
            continue
        racing = {_name(candidate) for candidate in entries[target]}
        allowed = candidate_space.reference_variants(target.function)
        for candidate in candidates:
            equivalents = candidate_space.equivalents(target.function, candidate)
            if equivalents.isdisjoint({*racing, *found.get(target, ())}):
                found.setdefault(target, []).extend(
                    [name for name in allowed if name in equivalents][:1]
                )
    return found


def passed_over(
    candidate_space: CandidateSpace,
    evidence: Evidence,
    entries: Entries,
    cold: Entries,
    rule: EntryRule,
) -> dict[tuple[str, Candidate], str]:
    """Those of `cold`, by function, with the reason. `entries` is all that races in the cells. A
    candidate is passed over where it is too far behind the best in every cell that it races in.
    Where one choice holds for all sizes, and not one for each range of them, neither cells of which
    nothing is known are asked nor those that must only not get slower (no variant races there), and
    one that is too far behind the default is enough."""
    cells: dict[tuple[str, Candidate], list[Target]] = {}
    for target, candidates in cold.items():
        for one in candidates:
            cells.setdefault((target.function, one), []).append(target)
    found: dict[tuple[str, Candidate], str] = {}
    for (function, candidate), targets in cells.items():
        seen = [one for one in (evidence, rule.before) if one is not None]
        confirmed = _is_confirmed(candidate_space, seen, function, candidate)
        known = {
            target: behind
            for target in targets
            if (
                behind := _behind(
                    *(candidate_space, evidence, rule, target, candidate, entries[target]),
                    confirmed=confirmed,
                )
            )
        }
        whole = candidate_space.one_for_all_sizes(function) and not candidate_space.ranged(function)
        if not known or not (whole or len(known) == len(targets)):
            continue
        faster = {cell: known[cell] for cell in known if not _is_guard(entries[cell])} or known
        nearest, near = min(faster.items(), key=lambda one: one[1].best - one[1].within)
        farthest, far = max(known.items(), key=lambda one: one[1].default - one[1].within)
        if near.best > near.within:
            found[function, candidate] = _said(near.source, near.best, "the best", nearest)
        elif whole and far.default > far.within:
            found[function, candidate] = _said(far.source, far.default, "the default", farthest)
    return found


def _said(source: str, log: float, other: str, target: Target) -> str:
    return f"{source} {math.exp(log):.2f} times as long as {other} at {target.bytes} bytes"


def _behind(
    candidate_space: CandidateSpace,
    evidence: Evidence,
    rule: EntryRule,
    target: Target,
    candidate: Candidate,
    racing: Sequence[Candidate],
    *,
    confirmed: bool,
) -> _Behind | None:
    called = candidate_space.called(candidate_space.calls(target.function, candidate), {})
    if rule.before is not None and rule.changed.isdisjoint(called):
        logs = _logs(rule.before, target)
        if candidate in logs:
            within, source = math.log1p(rule.tolerance), "it took"
            return _Behind(logs[candidate] - _best(logs, racing), logs[candidate], within, source)
    logs = _logs(evidence, target)
    equivalent = _of_equivalent(candidate_space, target.function, candidate, logs)
    if equivalent is None or not confirmed:
        return None
    source = "a variant of ours with the same messages takes"
    return _Behind(equivalent - _best(logs, racing), equivalent, math.log(rule.alike), source)


def _is_confirmed(
    candidate_space: CandidateSpace,
    seen: Iterable[Evidence],
    function: str,
    candidate: Candidate,
) -> bool:
    """Return whether the candidate was measured at some size of the function beside a variant that
    sends the same messages, and took the same wherever it was."""
    found = []
    for evidence in seen:
        for target in evidence.targets(function):
            logs = _logs(evidence, target)
            predicted = _of_equivalent(candidate_space, function, candidate, logs)
            if candidate in logs and predicted is not None:
                found.append(abs(logs[candidate] - predicted))
    return bool(found) and max(found) <= math.log1p(_SAME)


def _of_equivalent(
    candidate_space: CandidateSpace,
    function: str,
    candidate: Candidate,
    logs: Mapping[Candidate, float],
) -> float | None:
    """Return what the fastest known variant with its messages takes."""
    equivalents = candidate_space.equivalents(function, candidate)
    return min((log for other, log in logs.items() if _name(other) in equivalents), default=None)


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
