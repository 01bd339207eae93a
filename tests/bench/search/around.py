"""What is in force around a case: for each function and size a candidate, out of exported files or
out of somebody's choices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.campaign.proof import PROFILE, REFUSING_VARIANT
from plumbline.libraries.into_ranks import for_ranks
from plumbline.libraries.simgrid import NO_SUCH_ALGORITHM, options_in
from plumbline.search.space.candidates import DEFAULT, Candidate
from tests.tuner.simulated import Rules

from .mpich_tables import Tables
from .sweeps import Here

Choices = Mapping[tuple[str, int], Candidate]
_REACH = 2


class Rule(msgspec.Struct, frozen=True):
    """Of a profile."""

    function: str
    low: int
    high: float
    variant: str


class Around(msgspec.Struct, frozen=True):
    """`options`: knobs by name, of a library whose knobs hold for a launch (the simulated one).
    `by_size`: knobs by function and range of sizes; `rules`: of the profile, in its order, and
    `lines` the same as it has them; `file`: what files say of the knobs of a call. `corrupted`: a
    knob has a canary's value; `ends`: a canary in a file ends the launch that meets it."""

    options: dict[str, str] = {}
    by_size: dict[str, list[tuple[int, float, dict[str, str]]]] = {}
    rules: list[Rule] = []
    lines: list[str] = []
    corrupted: bool = False
    ends: bool = False
    file: Rules | Tables | None = None
    nprocs: int = 0

    def variant(self, function: str, size: int) -> str:
        return next(
            (
                one.variant
                for one in self.rules
                if one.function == function and one.low <= size <= one.high
            ),
            DEFAULT.variant,
        )

    def refusal(self, function: str, size: int) -> Literal["", "error", "failed"]:
        """What becomes of a call that a canary answers."""
        if self.variant(function, size) == REFUSING_VARIANT:
            return "error"
        if self.file is None or self.file.knobs(function, self.nprocs, size) is not None:
            return ""
        return "failed" if self.ends else "error"

    def knobs(self, function: str, size: int) -> dict[str, str]:
        """Those of the function itself; empty where the library decides."""
        if self.file is not None:
            return self.file.knobs(function, self.nprocs, size) or {}
        for low, high, knobs in self.by_size.get(function, ()):
            if low <= size <= high:
                return knobs
        return {}


AS_IT_IS = Around()


def in_force(here: Here, extra: Mapping[str, str]) -> Around:
    """Out of the environment of a launch."""
    path = extra.get(PROFILE, for_ranks(extra).get(PROFILE, ""))
    lines = [
        line for line in (Path(path).read_text().splitlines() if path else []) if _is_rule(line)
    ]
    rules = [_rule(line) for line in lines]
    nprocs = here.settings.ranks.nprocs
    if here.bench.family.name == "mpich":
        tables = Tables(extra, here.space)
        return Around(
            rules=rules,
            lines=lines,
            file=tables,
            nprocs=nprocs,
            ends=True,
            corrupted=tables.corrupted,
        )
    if not here.sweep.simulated:
        named = "OMPI_MCA_coll_tuned_dynamic_rules_filename" in extra
        file = Rules(extra) if named else None
        return Around(rules=rules, lines=lines, file=file, nprocs=nprocs)
    words = (word.removeprefix("--cfg=").partition(":") for word in options_in(extra))
    options = {name: value for name, _, value in words if name != "smpi/coll-selector"}
    corrupted = NO_SUCH_ALGORITHM in options.values()
    return Around(options=options, rules=rules, lines=lines, corrupted=corrupted)


def chosen(here: Here, choices: Choices) -> Around:
    """Each choice holds at its size and half-way to the neighbouring ones, as in exported files;
    where one knob must hold for all sizes, it does."""
    options: dict[str, str] = {}
    by_size: dict[str, list[tuple[int, float, dict[str, str]]]] = {}
    rules: list[Rule] = []
    for function in dict.fromkeys(function for function, _ in choices):
        sizes = sorted(size for name, size in choices if name == function)
        for size in sizes:
            candidate = choices[function, size]
            low, high = bounds(sizes, size)
            if size == sizes[-1]:  # equal blocks are padded to whole elements
                unit = 8 * here.settings.ranks.nprocs
                high = -(-size // unit) * unit
            if candidate.variant != DEFAULT.variant:
                rules.append(Rule(function, low, high, candidate.variant))
            if candidate.configuration:
                options.update(candidate.configuration.as_dict())
                whole = here.candidate_space.one_for_all_sizes(function)
                span = (0, math.inf) if whole else (low, high)
                by_size.setdefault(function, []).append((*span, candidate.configuration.as_dict()))
    if not here.sweep.simulated:
        options = {}
    return Around(
        options=options, by_size=by_size, rules=rules, lines=[_line(here, one) for one in rules]
    )


def choices_of(here: Here, around: Around) -> dict[tuple[str, int], Candidate]:
    """What is in force in the cells of the table."""
    found = {}
    for function, size in here.cells():
        variant = around.variant(function, size)
        if variant != DEFAULT.variant:
            found[function, size] = Candidate(variant)
            continue
        knobs = around.knobs(function, size)
        if here.sweep.simulated:
            entry = here.bench.space.of(function)
            needed = {entry.knob} if entry else set()
            knobs = {name: value for name, value in around.options.items() if name in needed}
        found[function, size] = here.named(function, size, knobs)
    return found


def bounds(sizes: Sequence[int], size: int) -> tuple[int, int]:
    place = sizes.index(size)
    low = math.isqrt(sizes[place - 1] * size) + 1 if place else size
    high = math.isqrt(size * sizes[place + 1]) if place + 1 < len(sizes) else size
    return max(low, size // _REACH), min(high, size * _REACH)


def of_lines(options: dict[str, str], lines: list[str]) -> Around:
    """What was in force in a recorded launch."""
    return Around(options=options, rules=[_rule(one) for one in lines], lines=lines)


def _is_rule(line: str) -> bool:
    return line.startswith("rule ")


def _rule(line: str) -> Rule:
    words = dict(word.split("=", 1) for word in line.split()[1:])
    low, high = words["bytes"].split("-")
    upper = math.inf if high == "inf" else int(high)
    return Rule(words["function"], int(low), upper, words["variant"])


def _line(here: Here, rule: Rule) -> str:
    p = here.settings.ranks.nprocs
    return (
        f"rule function={rule.function} nprocs={p}-{p} bytes={rule.low}-{rule.high} "
        f"variant={rule.variant}"
    )
