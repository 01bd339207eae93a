"""Two libraries, builds or settings of one, measured now: launches take turns, A B, B A and so on,
look by look, and go on for the cells that are not decided. Each side is a row of the database of
its own, and both name their comparison, so that what was asked can be answered again."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.core.plan import PlanCase, measurable
from plumbline.measure import tables
from plumbline.measure.comparison import Arm, Turns, looks
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.results import sides
from plumbline.results.compare import How
from plumbline.results.regressions import Regression, RegressionClaim, regressions, undecided
from plumbline.results.sides import ComparedSide
from plumbline.settings import Settings, identity, starting
from plumbline.settings.toolchain import OUT, Toolchain, find_toolchain, set_by_site
from plumbline.system.toml import Document
from plumbline.system.words import counted
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Campaign, Suite

COMMAND = "compare"
AS_FOUND = "default"
PRELOAD = "LD_PRELOAD"
SYNTAX = "PREFIX, module:NAME or default, and settings: PREFIX,NAME=VALUE,…"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*\Z")

Letter = Literal["a", "b"]


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
    made = [_StartableSide(name, settings, Path(db.path).parent) for name in names]
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


class _StartableSide:
    """A side that can be started: its library, and what is in force in its launches."""

    def __init__(self, name: NamedSide, settings: Settings, beside: Path) -> None:
        self.name = name
        preload = [path for path in name.values.get(PRELOAD, "").split(":") if path]
        if preload:
            settings = settings.but(preload=preload).checked(Document(name.text))
        self.toolchain = find_toolchain(name.prefix, settings=settings, beside=beside)
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
