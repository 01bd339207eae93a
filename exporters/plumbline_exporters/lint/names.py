"""Names and values of parameters, by what is known of a library: typing errors, dead parameters,
values that are not taken."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.finding import Finding, LintTarget, Parameter

_ALIKE = 0.85
_MOST_GUESSES = 100  # in a file: each is compared with every name there is
_FACTORS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TRUE = frozenset({"1", "true", "t", "yes", "y", "enabled"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "disabled"})


def is_true(value: str | None) -> bool:
    """Return it as Open MPI reads a switch; what is not known before the file runs counts as
    set."""
    return value is None or value.lower() in _TRUE


def check(
    assignments: Iterable[Assignment], target: LintTarget, *, prefix: str = ""
) -> Iterator[Finding]:
    """`prefix` is what the environment puts before a name."""
    guesses = _MOST_GUESSES
    for assignment in assignments:
        by_version = [version.parameters.get(assignment.name) for version in target.known]
        parameters = [parameter for parameter in by_version if parameter is not None]
        if not parameters:
            guesses -= 1
            yield from _unknown(assignment, target, prefix, guess=guesses >= 0)
        elif all(parameter.dead for parameter in parameters):
            yield Finding(
                assignment.line, "ignored", "dead-parameter",
                f"{prefix}{assignment.name} changes nothing: {parameters[0].dead}", "leave it out",
            )  # fmt: skip
        elif assignment.value is not None and not any(
            _takes(parameter, assignment.value) for parameter in parameters
        ):
            effect, what = families.linted()[target.family].refusal
            yield Finding(
                assignment.line, effect, "no-such-value",
                f"{prefix}{assignment.name}: {assignment.value!r} {what}",
                f"take {parameters[0].choices()}",
            )  # fmt: skip


def _takes(parameter: Parameter, value: str) -> bool:
    """Numbers may have a suffix; a switch has several spellings."""
    if parameter.least is None and parameter.values and parameter.values <= _TRUE | _FALSE:
        return value.lower() in _TRUE | _FALSE
    factor = _FACTORS.get(value[-1:].lower())
    if factor and re.fullmatch(r"[0-9]{1,18}", value[:-1]) and parameter.least is not None:
        return parameter.takes(str(int(value[:-1]) * factor))
    return parameter.takes(value)


def _unknown(
    assignment: Assignment, target: LintTarget, prefix: str, *, guess: bool
) -> Iterator[Finding]:
    """Silent where the name may belong to a part that nothing is known of."""
    if not target.known:
        return
    elsewhere = [
        other_versions
        for other_versions in target.others
        if assignment.name in other_versions.parameters
    ]
    if elsewhere:
        versions = " and ".join(version.versions() for version in elsewhere)
        yield Finding(
            assignment.line, "ignored", "other-version",
            f"{prefix}{assignment.name} is a parameter of {target.family} {versions}, not of this "
            "version",
            "leave it out, or take what took its place",
        )  # fmt: skip
        return
    names = [name for version in target.known for name in version.parameters]
    near = difflib.get_close_matches(assignment.name, names, n=1, cutoff=_ALIKE) if guess else []
    component = "_".join(assignment.name.split("_")[:2]) + "_"
    spoken = any(version.speaks_of(assignment.name) for version in target.known)
    if near or (spoken and any(name.startswith(component) for name in names)):
        yield Finding(
            assignment.line, "ignored", "unknown-name",
            f"{target.family} has no {prefix}{assignment.name}, and says nothing of names that it "
            "does "
            "not know", f"did you mean {prefix}{near[0]}?" if near else "leave it out",
        )  # fmt: skip
