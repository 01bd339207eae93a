"""Two libraries, builds or settings of one, measured now: launches take turns, A B, B A and so on,
look by look, and go on for the cells that are not decided. Each side is a row of the database of
its own, and both name their comparison, so that what was asked can be answered again."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.core.plan import PlanCase, measurable
from plumbline.measure import tables
from plumbline.measure.comparison import Arm, Turns, looks
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.results import sides
from plumbline.results.compare import (
    How,
    MatchedCell,
    Sample,
    by_cell,
    pairing,
    sample_of,
    seconds_of,
)
from plumbline.results.sides import ComparedSide
from plumbline.settings import Settings, identity, starting
from plumbline.settings.toolchain import OUT, Toolchain, find_toolchain, set_by_site
from plumbline.system.toml import Document
from plumbline.system.words import counted
from plumbline.verify.decision import CellDecision, Claim, Design, HypothesisFamily, Key, alone
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Campaign, Suite

COMMAND = "compare"
AS_FOUND = "default"
PRELOAD = "LD_PRELOAD"
SYNTAX = "PREFIX, module:NAME or default, and settings: PREFIX,NAME=VALUE,…"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*\Z")

Letter = Literal["a", "b"]

# Is B slower than A? What launches of two sides that took turns say, cell by cell (pure). All cells
# are one family: the intervals of all of them hold together at the confidence asked for, over all
# looks, so that two equal builds have no cell that is called slower or faster in as many
# comparisons as that says (docs/design/reproducibility.md).

Change = Literal["slower", "faster", "equal", "not shown", "lost", "only in B"]
# A look decides a cell only if so many of its pairs have a result: fewer than the next look adds.
WITH_RESULT = 0.9
BAD: tuple[Change, ...] = ("slower", "lost")


class RegressionClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`alpha`: the error of all cells and looks together; `tolerance`: a smaller change does not
    count; `launches`: of each side in all at each look."""

    alpha: float
    tolerance: float
    design: Design


class Regression(msgspec.Struct, frozen=True):
    """A cell: B against A. `change`: how much longer B takes, as a share (0.12: 12 %), from `low`
    to `high` with all other cells together; None where launches are too few, or a side has no
    result. `pairs`: of launches; `look`: the last one, from 1."""

    cell: MatchedCell
    a: Sample | None
    b: Sample | None
    pairs: int = 0
    look: int = 0
    change: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Change = "not shown"


def regressions(
    a: ComparedSide, b: ComparedSide, claim: RegressionClaim, how: How
) -> list[Regression]:
    """Largest slow-down first, before it what only A has a result of. Raises PlumblineError where
    the launches of the sides do not take turns."""
    pairs, why = pairing(a, b)
    if pairs is None:
        raise PlumblineError(f"{why}; measure them again: {command_name()} compare --measure A B")
    cells_of_a, cells_of_b = (
        {cell: seconds_of(samples, how) for cell, samples in by_cell(side, how).items()}
        for side in (a, b)
    )
    both = sorted(cells_of_a.keys() & cells_of_b.keys())
    logs = {cell: _log_ratios(cells_of_a[cell], cells_of_b[cell], pairs) for cell in both}
    lines = [
        _regression(decision, cells_of_a[cell], cells_of_b[cell], len(logs[cell]))
        for decision in decided(logs, claim)
        for cell in [decision.key]
    ]
    lines += [
        _missing(cell, cells_of_a.get(cell), cells_of_b.get(cell))
        for cell in cells_of_a.keys() ^ cells_of_b.keys()
    ]
    return sorted(lines, key=_order)


def undecided(lines: Sequence[Regression]) -> list[Regression]:
    """Return what more launches may decide."""
    return [line for line in lines if line.verdict == "not shown"]


def is_worse(lines: Sequence[Regression]) -> bool:
    return any(line.verdict in BAD for line in lines)


def decided(logs: Mapping[Key, Sequence[float]], claim: RegressionClaim) -> list[CellDecision[Key]]:
    """Decide all cells by log(B / A), one a pair of launches in their order: each at the first look
    that can, else at the last one that has its launches."""
    family = HypothesisFamily.of(
        logs,
        Claim(
            tolerance=claim.tolerance,
            alpha=claim.alpha,
            design=claim.design,
            judge=alone,
            correction="all",
        ),
    )
    for launches in claim.design.launches:
        family.look(
            lambda cell, first=launches: (  # type: ignore[misc]
                logs[cell][:first] if len(logs[cell]) >= first * WITH_RESULT else None
            )
        )
    return family.decisions


def _log_ratios(
    seconds_of_a: Mapping[int, float],
    seconds_of_b: Mapping[int, float],
    pairs: Sequence[tuple[int, int]],
) -> list[float]:
    times = [
        (seconds_of_a[launch_of_a], seconds_of_b[launch_of_b])
        for launch_of_a, launch_of_b in pairs
        if launch_of_a in seconds_of_a and launch_of_b in seconds_of_b
    ]
    return [
        math.log(time_of_b / time_of_a)
        for time_of_a, time_of_b in times
        if min(time_of_b, time_of_a) > 0
    ]


def _regression(
    decision: CellDecision[MatchedCell],
    seconds_of_a: Mapping[int, float],
    seconds_of_b: Mapping[int, float],
    pairs: int,
) -> Regression:
    line = Regression(
        decision.key,
        sample_of(list(seconds_of_a.values())),
        sample_of(list(seconds_of_b.values())),
        pairs,
    )
    comparison = decision.comparison
    if comparison is None:
        return line
    low, high = (None if end is None else end - 1 for end in (comparison.low, comparison.high))
    return msgspec.structs.replace(
        line,
        look=decision.look + 1,
        change=comparison.ratio - 1,
        low=low,
        high=high,
        verdict="not shown" if decision.word == "undecided" else decision.word,
    )


def _missing(
    cell: MatchedCell,
    seconds_of_a: Mapping[int, float] | None,
    seconds_of_b: Mapping[int, float] | None,
) -> Regression:
    a, b = (
        sample_of(list(seconds.values())) if seconds else None
        for seconds in (seconds_of_a, seconds_of_b)
    )
    return Regression(cell, a, b, verdict="lost" if seconds_of_a else "only in B")


def _order(line: Regression) -> tuple[bool, float, MatchedCell]:
    return line.verdict != "lost", -(line.change or 0.0), line.cell


class NamedSide(msgspec.Struct, frozen=True):
    """A side as people type it: an installation (None: the one that is found), and variables or
    knobs of its library that are in force in all its launches."""

    text: str
    prefix: Path | None
    values: dict[str, str]


class AskedComparison(msgspec.Struct, frozen=True):
    """The settings of the row of a side. `comparison`: the same in the rows of both."""

    command: str
    comparison: str
    side: Letter
    name: str
    claim: RegressionClaim
    how: How


class MeasuredComparison(msgspec.Struct, frozen=True):
    comparison: str
    claim: RegressionClaim
    a: ComparedSide
    b: ComparedSide
    cells: list[Regression]


def parse(text: str, default: Path | None = None) -> NamedSide:
    """Return the side that a text names; `default`: the prefix of a side that names none. Raises
    UsageError that shows the syntax. A comma belongs to a value where no NAME= follows,
    as in `btl=self,vader`."""
    where, comma, rest = text.partition(",")
    if "=" in where:
        where, rest = AS_FOUND, text
    elif comma and not rest:
        raise UsageError(f"{text!r}: a setting is missing after the comma; a side is {SYNTAX}")
    values: dict[str, str] = {}
    for word in re.split(r",(?=[A-Za-z_][A-Za-z0-9_]*=)", rest) if rest else []:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{text!r}: {word!r} is not NAME=VALUE; a side is {SYNTAX}")
        values[name] = value
    if not where:
        raise UsageError(f"{text!r} names no installation; a side is {SYNTAX}")
    return NamedSide(text, default if where == AS_FOUND else Path(where), values)


def measure(
    db: Database,
    names: tuple[NamedSide, NamedSide],
    settings: Settings,
    claim: RegressionClaim,
    how: How,
    progress: Progress | None = None,
) -> MeasuredComparison:
    """Measure both sides in turn. Raises UsageError for what cannot be measured, before a launch,
    and PlumblineError where a side cannot be started."""
    letters: tuple[Letter, Letter] = ("a", "b")
    made = [StartableSide(name, settings, Path(db.path).parent) for name in names]
    comparison = f"{identity.now()}-{secrets.randbelow(10**9):09}"
    cases = _cases(made[0].toolchain, made[0].settings)
    suites = [Suite("compare", arm=letter) for letter in letters]
    stores: dict[Suite, LaunchStore] = {}
    rows: list[Campaign] = []
    for letter, suite, arm in zip(letters, suites, made, strict=True):
        plan = msgspec.structs.replace(tables.plan(arm.settings, cases), name=suite.launch(0))
        arm.starter.require(plan.text(), f"this plan on side {letter}")
        asked_comparison = AskedComparison(COMMAND, comparison, letter, arm.name.text, claim, how)
        text = msgspec.json.encode(asked_comparison).decode()
        asked_here = identity.Identity(text, arm.starter.placement, "c")
        row = identity.enter(db, arm.toolchain, asked_here, new=True)
        rows.append(row)
        stores[suite] = LaunchStore(db, row.id, arm.starter, progress)
    first = stores[suites[0]]
    comparison_so_far: MeasuredComparison | None = None
    for look in looks(claim.design):
        if comparison_so_far is not None:
            open_cells = {
                (line.cell.function, line.cell.bytes) for line in undecided(comparison_so_far.cells)
            }
            cases = [case for case in cases if (case.function, case.bytes) in open_cells]
            if not cases:
                break
        first.progress.step(
            f"{counted(len(cases), 'cell')}; {look.launches} launches of each side, in turn"
        )
        own = {suite: look.suite(suite) for suite in suites}
        plan = look.plan(tables.plan(made[0].settings, cases))
        # Both sides share one plan: cases that were added for one side could not be compared.
        plan = first.filled(own[suites[0]], plan)
        arms = [
            Arm(own[suite], plan, arm.environment) for suite, arm in zip(suites, made, strict=True)
        ]
        turns = Turns(first, arms, {own[suite]: stores[suite] for suite in suites})
        for number in range(look.launches):
            turns.take(reversed(arms) if number % 2 else arms)
        comparison_so_far = _read(db, comparison, claim, how, rows, [name.text for name in names])
    if comparison_so_far is None:
        raise ValueError("a design has one look at least")
    for row in rows:
        identity.finish(db, row)
    return comparison_so_far


def stored(db: Database) -> list[MeasuredComparison]:
    """All comparisons that were brought to their end, the oldest first, answered again."""
    by_comparison: dict[tuple[str, str], dict[Letter, tuple[Campaign, AskedComparison]]] = {}
    for row in campaigns.every(db):
        if row.state == "finished" and is_side(row):
            asked_comparison = msgspec.json.decode(row.settings, type=AskedComparison)
            by_comparison.setdefault((row.imported_from, asked_comparison.comparison), {})[
                asked_comparison.side
            ] = (row, asked_comparison)
    comparisons = []
    for (_, comparison), both in by_comparison.items():
        if len(both) == 2:
            rows = [both["a"], both["b"]]
            claim, how = rows[0][1].claim, rows[0][1].how
            names = [asked.name for _, asked in rows]
            comparisons.append(_read(db, comparison, claim, how, [row for row, _ in rows], names))
    return comparisons


class _Command(msgspec.Struct):
    command: str = ""


def is_side(row: Campaign) -> bool:
    return msgspec.json.decode(row.settings, type=_Command).command == COMMAND


class StartableSide:
    """A side that can be started: its library, and what is in force in its launches. `beside`:
    the folder of the database; `toolchain`: that of the side, where it is known already."""

    def __init__(
        self,
        name: NamedSide,
        settings: Settings,
        beside: Path,
        toolchain: Toolchain | None = None,
    ) -> None:
        self.name = name
        preload = [path for path in name.values.get(PRELOAD, "").split(":") if path]
        if preload:
            settings = settings.but(preload=preload).checked(Document(name.text))
        self.toolchain = toolchain or find_toolchain(name.prefix, settings=settings, beside=beside)
        site = set_by_site(self.toolchain)
        if site:
            raise PlumblineError(f"{name.text}: {'; '.join(site)}: {OUT}")
        self.settings = settings.on(self.toolchain.launcher.processing_units())
        self.starter = starting.starter(self.toolchain, self.settings)
        self.environment = _in_force(self.toolchain, name)


def _knob(toolchain: Toolchain, name_given: str, value: str) -> str:
    """`btl` of `OMPI_MCA_btl`, as the library's own variables are spelt; else what was given."""
    meant = [
        knob
        for knob in toolchain.knobs
        if name_given.endswith(knob)
        and name_given in toolchain.family.in_environment({knob: value})
    ]
    return max(meant, key=len, default=name_given)


def _in_force(toolchain: Toolchain, name: NamedSide) -> dict[str, str]:
    """Variables are put in force as they are, knobs as the library wants them."""
    variables: dict[str, str] = {}
    for name_given, value in name.values.items():
        if name_given == PRELOAD:
            continue
        knob = _knob(toolchain, name_given, value)
        if knob in toolchain.knobs:
            variables |= toolchain.family.in_environment(toolchain.space.with_needs(knob, value))
        elif _VARIABLE.match(knob):
            variables[knob] = value
        else:
            raise UsageError(
                f"{name.text}: {toolchain.installation.library.id} reports no parameter {knob}, "
                "and it is not the name of a variable (capital letters)"
            )
    return variables


def _cases(toolchain: Toolchain, settings: Settings) -> list[PlanCase]:
    """The library's own calls: functions that are asked for, else those that guidelines are
    about."""
    functions = settings.cases.functions or identity.chosen(toolchain, settings).lhs_functions()
    identity.chosen(toolchain, settings)  # knows them
    data = settings.cases.data
    cases = [
        PlanCase(function, size)
        for function in functions
        for size in measurable(function, settings.sizes_of(function), settings.ranks.nprocs, data)
    ]
    if not cases:
        raise UsageError("no size can be measured: name sizes that can be divided among all ranks")
    return cases


def _read(
    db: Database,
    comparison: str,
    claim: RegressionClaim,
    how: How,
    rows: Sequence[Campaign],
    names: Sequence[str],
) -> MeasuredComparison:
    a, b = (
        sides.of_suites(db, name, row, _suites(db, row))
        for name, row in zip(names, rows, strict=True)
    )
    return MeasuredComparison(comparison, claim, a, b, regressions(a, b, claim, how))


def _suites(db: Database, row: Campaign) -> list[str]:
    """Return the suites that took turns, without launches that looked for a case to blame."""
    names = dict.fromkeys(run.suite for run in runs.listing(db, row.id))
    return [name for name in names if "blame" not in name]
