"""Names and values of parameters, by what is known of a library: typing errors, dead parameters,
values that are not taken."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache

from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.finding import Finding, LintTarget

_ALIKE = 0.85
_MOST_GUESSES = 100  # in a file: each is compared with every name there is
_FALSE = frozenset({"f", "no", "n", "false", "disabled", "0", ""})


def is_true(value: str | None) -> bool:
    """Return it as Open MPI reads a switch; what is not known before the file runs counts as
    set."""
    return value is None or value.strip().lower() not in _FALSE


def check(
    assignments: Iterable[Assignment], target: LintTarget, *, prefix: str = ""
) -> Iterator[Finding]:
    """`prefix` is what the environment puts before a name."""
    guesses = _MOST_GUESSES
    for assignment in assignments:
        own_versions = [
            version.parameters[assignment.name]
            for version in target.known
            if assignment.name in version.parameters
        ]
        parameters = target.parameters(assignment.name)
        if not parameters:
            guesses -= 1
            yield from _unknown(assignment, target, prefix, guess=guesses >= 0)
        elif own_versions and all(parameter.dead for parameter in own_versions):
            versions = " and ".join(version.versions() for version in target.known)
            yield Finding(
                assignment.line, "ignored", "dead-parameter",
                f"{prefix}{assignment.name} changes nothing in {target.family} {versions}: "
                f"{own_versions[0].dead}", "leave it out",
            )  # fmt: skip
        else:
            yield from _of_value(assignment, target, prefix)


def takes(name: str, value: str, target: LintTarget) -> bool:
    """Return whether a version that the file may meet takes the value; true of a name that nothing
    is known of."""
    parameters = target.parameters(name)
    return not parameters or any(parameter.takes(value) for parameter in parameters)


def _of_value(assignment: Assignment, target: LintTarget, prefix: str) -> Iterator[Finding]:
    """A value that no version takes; `target` has such a parameter."""
    value = assignment.value
    if value is None or takes(assignment.name, value, target):
        return
    parameter = target.parameters(assignment.name)[0]
    effect, what = parameter.refusal or families.linted()[target.family].refusal
    yield Finding(
        assignment.line, effect, "no-such-value",
        f"{prefix}{assignment.name}: {value!r} {what}", f"take {parameter.choices}",
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _near(name: str, names: tuple[str, ...]) -> list[str]:
    return difflib.get_close_matches(name, names, n=1, cutoff=_ALIKE)


def _unknown(
    assignment: Assignment, target: LintTarget, prefix: str, *, guess: bool
) -> Iterator[Finding]:
    """Silent where the name may belong to a part that nothing is known of."""
    owner = next((space for space in target.others if assignment.name in space.parameters), None)
    if owner is not None and target.known:
        yield Finding(
            assignment.line, "ignored", "other-version",
            f"{prefix}{assignment.name} is a parameter of {target.family} {owner.versions()}, not "
            "of this version",
            "leave it out, or take what took its place",
        )  # fmt: skip
        return
    complete = {
        start
        for version in target.known
        for start in version.prefixes
        if assignment.name.startswith(start)
    }
    if not complete:
        return
    names = [
        name
        for version in target.known
        for name in version.parameters
        if name.startswith(max(complete))
    ]
    near = _near(assignment.name, tuple(names)) if guess else []
    yield Finding(
        assignment.line, "ignored", "unknown-name",
        f"{target.family} has no {prefix}{assignment.name}, and says nothing of names that it does "
        "not know", f"did you mean {prefix}{near[0]}?" if near else "leave it out",
    )  # fmt: skip
