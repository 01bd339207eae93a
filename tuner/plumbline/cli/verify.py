"""plumbline verify"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline_db.errors import UsageError

from . import base, campaign, common, options
from . import rules as rule_tables
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.suites.report import MeasuredSuite


@base.command(
    "verify",
    takes=f"{' '.join(campaign.command.takes)} refine rules",
    told=campaign.command.told,
    also=campaign.command.but(*campaign.SEARCHING),
)
@options.all_rows
@click.option(
    "--list", "listing", is_flag=True, help="Explain the guidelines; with --guidelines in full."
)
def command(
    program: ProgramOptions,
    all_rows: bool,
    refine: bool,
    rules: str | None,
    listing: bool,
    wait_for_quiet: bool,
    **asked: Any,
) -> int:
    """Measure the library as it is and print its violation table.

    A campaign that searches nothing. With --refine, sizes are added first where the library's call
    and what guidelines compare it with bend, jump or cross; which and why is a run of suites of its
    own. --list measures nothing. Exit code 3 if a guideline is violated (with --rules, by these
    rules) or a result is wrong.

    \b
    Example:
      plumbline verify --guidelines GL3,GL8 --json
      plumbline verify --guidelines GL8 --sizes 64,4096,65536 --refine
      plumbline verify --guidelines GL3,-GL1,-GL2 --sizes 8192 --launches 10 --rules paper
      plumbline verify --list --guidelines GL12,GL1
    """
    if listing:
        return _list(program, asked["guidelines"] or [], asked["guidelines_file"])
    from plumbline.settings import Searching

    if searching := sorted(set(asked) & set(Searching.__struct_fields__)):
        raise UsageError(f"verify searches nothing: leave out {', '.join(searching)}")
    if refine:
        asked["sizes"] = _refined(program, **asked)
    # All launches belong to one experiment, so that living ranks would not be used twice.
    manner = campaign.Manner(wait_for_quiet, fresh_launches=True)
    ran = campaign.run(program, rounds=0, manner=manner, **asked)
    if rules is not None:
        violated = rule_tables.show(program, ran.ids, rules, all_rows=all_rows)
        campaign.require_all(ran)
        return common.VIOLATIONS_FOUND if violated else 0
    reports = campaign.show(program, ran, all_rows=all_rows)
    violated = any(verdict.verdict == "violated" for report in reports for verdict in report.before)
    wrong = any(report.wrong for report in reports)
    return common.VIOLATIONS_FOUND if violated or wrong else 0


def _list(program: ProgramOptions, ids: Sequence[str], file: Path | None) -> int:
    """Print what each guideline says, what it compares, and where it is from."""
    from plumbline.core import guidelines
    from plumbline.system import mistakes

    ids_asked = [id.upper() for id in ids]
    explained = {rule.id.upper(): rule for rule in guidelines.explained(guidelines.load(file))}
    unknown = [id for id in ids_asked if id not in explained]
    if unknown:
        raise UsageError(
            f"unknown guideline {', '.join(unknown)}{mistakes.instead(unknown, explained)}"
        )
    chosen = [explained[id] for id in ids_asked] or list(explained.values())
    if program.json:
        common.print_json(chosen)
        return 0
    for each in chosen:
        usual = "" if each.default else "  (verified when asked for)"
        click.echo(f"{each.id:5} {each.name}{usual}")
        if ids:
            for line in (each.meaning, f"right side: {each.right_side}", f"from: {each.source}"):
                click.echo(f"      {line}")
    return 0


def _refined(
    program: ProgramOptions, campaign_file: Path | None, *, new: bool, **asked: Any
) -> Any:
    """The sizes that are asked for, and those that a run of suites adds. Raises UsageError where
    several campaigns are asked for, as each would have its own."""
    from plumbline.measure import tables
    from plumbline.settings import campaign_file as files
    from plumbline.settings.cases import SIZES
    from plumbline.settings.identity import chosen
    from plumbline.settings.toolchain import find_toolchain
    from plumbline.suites import description

    from . import suite

    given_settings = {name: value for name, value in asked.items() if value is not None}
    tasks = files.tasks(campaign_file, given_settings, program.mpi)
    if len(tasks) > 1:
        raise UsageError("--refine works with one library and one layout: name them")
    (task,) = tasks
    toolchain = find_toolchain(
        task.mpi_prefix, settings=task.settings, beside=program.database.parent
    )
    settings = task.settings.on(toolchain.launcher.processing_units())
    guidelines = chosen(toolchain, settings)
    suites = description.suites_of_guidelines(guidelines, settings)
    program_there = program._replace(mpi=task.mpi_prefix)
    ran = suite.run(program_there, settings, "sizes of a violation table", suites, new=new)
    added = _added(ran.suites)
    for size, why in added.items():
        common.remark(f"{size} B is added: {why}")
    common.remark(f"{len(added)} sizes were added by run {ran.campaign.id}")
    cases = settings.cases
    if isinstance(cases.sizes, list) and not cases.block_sizes and cases.sizes != sorted(SIZES):
        return sorted({*cases.sizes, *added})
    sizes_by_function = tables.sizes_of(guidelines, settings)
    return {function: sorted({*sizes, *added}) for function, sizes in sizes_by_function.items()}


def _added(suites: list[MeasuredSuite]) -> dict[int, str]:
    return {
        measured.place: f"{measured.why}: {measured.detail}"
        for suite in suites
        for operation in suite.operations
        for measured in operation.measurements
        if measured.why != "asked"
    }
