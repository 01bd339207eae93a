"""Names and values of parameters, by what is known of a library: typing errors, dead parameters,
values that are not taken."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.finding import Finding, LintTarget
from plumbline_exporters.known import Parameter

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
        found = [known.parameters.get(assignment.name) for known in target.known]
        there = [parameter for parameter in found if parameter is not None]
        if not there:
            guesses -= 1
            yield from _unknown(assignment, target, prefix, guess=guesses >= 0)
        elif all(parameter.dead for parameter in there):
            yield Finding(
                assignment.line, "ignored", "dead-parameter",
                f"{prefix}{assignment.name} changes nothing: {there[0].dead}", "leave it out",
            )  # fmt: skip
        elif assignment.value is not None and not any(
            _takes(each, assignment.value) for each in there
        ):
            effect, what = families.linted()[target.family].refusal
            yield Finding(
                assignment.line, effect, "no-such-value",
                f"{prefix}{assignment.name}: {assignment.value!r} {what}",
                f"take {there[0].choices()}",
            )  # fmt: skip


def _takes(parameter: Parameter, value: str) -> bool:
    """Numbers may have a suffix; a switch has several spellings."""
    if parameter.least is None and parameter.values and parameter.values <= _TRUE | _FALSE:
        return value.lower() in _TRUE | _FALSE
    factor = _FACTORS.get(value[-1:].lower())
    if factor and re.fullmatch(r"[0-9]{1,18}", value[:-1]) and parameter.least is not None:
        return parameter.takes(str(int(value[:-1]) * factor))
    return parameter.takes(value)


def _unknown(one: Assignment, target: LintTarget, prefix: str, *, guess: bool) -> Iterator[Finding]:
    """Silent where the name may belong to a part that nothing is known of."""
    if not target.known:
        return
    elsewhere = [known for known in target.others if one.name in known.parameters]
    if elsewhere:
        versions = " and ".join(known.versions() for known in elsewhere)
        yield Finding(
            one.line, "ignored", "other-version",
            f"{prefix}{one.name} is a parameter of {target.family} {versions}, not of this version",
            "leave it out, or take what took its place",
        )  # fmt: skip
        return
    names = [name for known in target.known for name in known.parameters]
    near = difflib.get_close_matches(one.name, names, n=1, cutoff=_ALIKE) if guess else []
    component = "_".join(one.name.split("_")[:2]) + "_"
    spoken = any(known.speaks_of(one.name) for known in target.known)
    if near or (spoken and any(name.startswith(component) for name in names)):
        yield Finding(
            one.line, "ignored", "unknown-name",
            f"{target.family} has no {prefix}{one.name}, and says nothing of names that it does "
            "not know", f"did you mean {prefix}{near[0]}?" if near else "leave it out",
        )  # fmt: skip
