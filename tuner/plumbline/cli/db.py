"""plumbline db"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline_db.connection import Database
    from plumbline_db.old_samples import Policy, Pruned
    from plumbline_db.transfer import Moved


# What `db table` writes: of the database as it is, and as the paper of PGMPI has it.
_STORED = ("samples", "medians", "counters", "ranks", "verdicts", "winners")
_PUBLISHED = ("table2", "table3", "table4")


@click.group("db", cls=base.CommandGroup)
def command() -> None:
    """Look after the database, and take data out of it or in.

    \b
    Example:
      plumbline db check && plumbline db backup /safe/plumbline.db
    """


@command.command("check", takes="db json")
def check(program: ProgramOptions) -> int:
    """Say whether the file is whole, and how to get it back if not. Exit code 1 if it is not.

    \b
    Example:
      plumbline db check --json
    """
    from plumbline_db import backups, connection, integrity

    path = program.database
    with connection.Database.open(path) as db:
        problems = integrity.problems(db)
        writer = db.of_another_plumbline() if problems else None
    remedy = str(writer or backups.remedy(path)) if problems else ""
    if program.json:
        common.print_json({"path": str(path), "problems": problems, "remedy": remedy})
    else:
        for problem in problems:
            click.echo(problem)
        click.echo(
            str(writer) if writer else f"{path}: {f'not whole; {remedy}' if remedy else 'whole'}"
        )
    return 1 if problems else 0


@command.command("backup", takes="db json")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(program: ProgramOptions, target: Path) -> None:
    """Copy the database to TARGET while it is in use.

    \b
    Example:
      plumbline db backup /safe/plumbline.db
    """
    from plumbline_db import connection

    connection.backup(program.database, target)
    common.print_json({"path": str(target)}) if program.json else click.echo(str(target))


@command.command("restore", takes="db json")
def restore(program: ProgramOptions) -> None:
    """Put the newest whole backup in the place of a damaged file, which stays beside it.

    \b
    Example:
      plumbline db check || plumbline db restore
    """

    from plumbline_db import transfer

    done = transfer.restore(program.database, datetime.datetime.now(datetime.UTC))
    if program.json:
        common.print_json(
            {
                "path": str(program.database),
                "backup": str(done.backup),
                "kept": str(done.kept) if done.kept else None,
                **{name: getattr(done, name) for name in ("lost", "unreadable", "passed_over")},
            }
        )
        return
    for text in done.passed_over:
        click.echo(f"passed over {text}")
    click.echo(f"{program.database}: restored from {done.backup}")
    for campaign, launches in done.lost.items():
        click.echo(f"lost: {counted(launches, 'launch')} of {campaign}")
    if done.unreadable:
        click.echo("also lost: the unreadable parts of the damaged file")
    elif not done.lost:
        click.echo("lost: no launch")
    if done.kept:
        click.echo(f"the damaged file is {done.kept}")


@command.command("prune", takes="db json")
@click.option(
    "--keep",
    multiple=True,
    metavar="DAYSd|CAMPAIGNS",
    help="Whose samples stay: of campaigns that ended in so many days (90d), of so many last ones "
    "of each machine, library and layout (10); can be repeated.",
)
@options.listing
def prune(program: ProgramOptions, keep: tuple[str, ...], listing: bool) -> None:
    """Throw samples of old campaigns away; n, medians, quantiles and verdicts stay.

    \b
    Example:
      plumbline db prune --keep 90d --keep 10 --list
    """
    from plumbline_db.connection import Database

    policy = _policy_of(keep)
    path = program.database
    Database.open(path).close()  # one that is missing is not made
    before = path.stat().st_size
    with Database.open(path, write=not listing) as db:
        pruned = _pruned(db, policy, listing=listing)
    _show_pruned(program, policy, pruned, before, listing=listing)


@command.command("compact", takes="db json")
def compact(program: ProgramOptions) -> None:
    """Write the file anew without gaps. It needs as much room again meanwhile.

    \b
    Example:
      plumbline db compact
    """
    from plumbline_db import connection

    before, after = connection.compact(program.database)
    if program.json:
        common.print_json({"path": str(program.database), "bytes_before": before, "bytes": after})
    else:
        click.echo(f"{program.database}: {_megabytes(before)} -> {_megabytes(after)}")


@command.command("export", takes="db json")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("runs", nargs=-1, shell_complete=options.complete_campaigns)
def export(program: ProgramOptions, target: Path, runs: tuple[str, ...]) -> None:
    """Write RUNS, else all finished ones, to the file TARGET, for another site.

    A campaign is a run, and so are the suites of a file, and what was imported.

    \b
    Example:
      plumbline db export ours.plumbline openmpi-4.1.4-4x6a3a03
    """
    from plumbline.settings import identity
    from plumbline_db import transfer

    moved = transfer.export(program.database, target, runs, identity.now())
    _show(program, target, moved)


@command.command(
    "import",
    takes="db json nprocs",
    several="nprocs",
    told={
        "nprocs": {
            "help": "Ranks of tables that do not say theirs: one number, or one for each table of "
            "the same title (2,4,8 for a scaling log).",
            "unset": "",
        }
    },
)
@click.argument(
    "sources",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, allow_dash=True),
)
def take(program: ProgramOptions, sources: tuple[Path, ...], nprocs: list[int] | None) -> int:
    """Put into the database what another site has exported, or what OSU, IMB, SKaMPI, ReproMPI,
    MadMPI, PICO or ReFrame have printed.

    SOURCES are files, folders of files, or `-` for the standard input; files may be packed by gzip
    or zstd. Each file becomes a run. Another run of a name that is taken gets the name of its host
    before it. Exit code 1 if a file cannot be read; the other files are taken nevertheless. The
    spool of `plumbline run --tune` is such a folder.

    \b
    Example:
      plumbline db import ours.plumbline
      plumbline db import osu_allreduce.txt --nprocs 4
      plumbline db import logs/ scaling.log.gz --nprocs 2,4,8
    """
    from plumbline.core import printed_text as text
    from plumbline_db import schema, transfer

    files = list(text.files(sources))
    is_named = len(files) == 1 and files == list(sources)
    if is_named and files[0] != text.STANDARD_INPUT and schema.is_database(files[0]):
        if nprocs is not None:
            raise click.UsageError("--nprocs: a file of `plumbline db export` already contains it")
        _show(program, program.database, transfer.take(program.database, files[0]))
        return 0
    return _take_outputs(program, files, nprocs or [])


def _take_outputs(program: ProgramOptions, files: Sequence[Path], nprocs: Sequence[int]) -> int:
    """Import outputs of other programs. A file that cannot be read is an error; of several files it
    is named, and the others are taken."""
    from plumbline.core import printed_text as text
    from plumbline.foreign import storing
    from plumbline_db import schema, spool

    imported: list[storing.Imported] = []
    refused: list[str] = []
    moved: list[Moved] = []
    for file in files:
        try:
            if file != text.STANDARD_INPUT and schema.is_database(file):
                moved += spool.take_file(program.database, file)
                continue
            taken = storing.take(program.database, file, nprocs)
        except PlumblineError as error:
            if len(files) == 1:
                raise
            refused.append(str(error))
            continue
        imported.append(taken)
        if not program.json:
            common.remark(*(f"{file} lacks {lacking}" for lacking in taken.missing))
            common.remark(*(f"{file}: {doubt}" for doubt in taken.doubts))
            already = "" if taken.new else ", which is there already"
            left_out = f"; left out: {'; '.join(taken.left_out)}" if taken.left_out else ""
            click.echo(
                f"{program.database}: {taken.run}, {taken.program}, "
                f"{counted(taken.tables, 'table')}, {counted(taken.numbers, 'number')}, "
                f"the last of {taken.last}{already}{left_out}"
            )
    if program.json:
        document: dict[str, object] = {"path": str(program.database)}
        if len(files) == 1 and imported:
            document |= imported[0]._asdict()
        else:
            runs = [*(run._asdict() for run in moved), *(taken._asdict() for taken in imported)]
            document |= {"runs": runs, "refused": refused}
        common.print_json(document)
    else:
        _show(program, program.database, moved)
        common.remark(*refused)
    return 1 if refused else 0


def _show(program: ProgramOptions, path: Path, moved: Sequence[Moved]) -> None:
    if program.json:
        common.print_json({"path": str(path), "runs": [run._asdict() for run in moved]})
        return
    for each in moved:
        already = "" if each.new else ", which is there already"
        click.echo(f"{path}: {each.run}, sha256 {each.sha256[:16]}{already}")


@command.command("table", takes="db json")
@click.argument("what", type=click.Choice([*_STORED, *_PUBLISHED]), metavar="WHAT")
@click.argument("runs", nargs=-1, shell_complete=options.complete_campaigns)
@click.option(
    "--output",
    type=options.NewFile(),
    help="A file NAME.csv, NAME.tex or NAME.parquet; else CSV is printed.",
)
def table(program: ProgramOptions, what: str, runs: tuple[str, ...], output: Path | None) -> None:
    """Write a table of RUNS, else of all, for other programs.

    WHAT is samples, medians, counters, ranks, verdicts or winners; or table2, table3, table4: the
    tables of those numbers of Hunold et al. (Euro-Par 2016). CSV, LaTeX, or Parquet with the
    extra `parquet`.

    \b
    Example:
      plumbline db table medians --output medians.csv
      plumbline db table table2 --output violations.tex
    """
    from plumbline_exporters import table_files

    if output is not None:
        table_files.require(output)
    with program.open() as db, db.snapshot():
        columns, parts = _table(db, what, runs)
        if output is None:
            table_files.print_csv(columns, parts)
            return
        rows = table_files.write(output, columns, parts)
    if program.json:
        common.print_json({"path": str(output), "rows": rows})
    else:
        click.echo(f"{output}: {rows} rows")


def _table(
    db: Database, what: str, runs: Sequence[str]
) -> tuple[Mapping[str, type], Iterable[Mapping[str, Any]]]:
    """Return the types of the columns by name, and the parts of the table, values by column."""
    from plumbline_db import flat_tables

    if what in _STORED:
        return flat_tables.COLUMNS[what], flat_tables.of(db, what, runs)
    from plumbline.core import guidelines
    from plumbline.results import published, report
    from plumbline_db import campaigns

    ids = list(runs) or [campaign.id for campaign in campaigns.all_campaigns(db)]
    reports = [report.read(db, id, conditions=False) for id in ids]
    columns, rows = published.rows_of(what, reports, guidelines.load(None))
    return columns, [{name: [row[name] for row in rows] for name in columns}] if rows else []


# --- samples that are thrown away -----------------------------------------------------------------


def _policy_of(words: Sequence[str]) -> Policy:
    """`90d` and `10`, as people type them. Raises UsageError."""
    from plumbline_db.old_samples import Policy

    days: list[int] = []
    last: list[int] = []
    for word in words:
        number = word.removesuffix("d")
        if not (number.isdecimal() and number.isascii() and len(number) < 7):
            raise UsageError(f"--keep {word}: give days (90d) or a number of campaigns (10)")
        (days if word.endswith("d") else last).append(int(number))
    if not words:
        raise UsageError("name the campaigns whose samples stay: --keep 90d, --keep 10, or both")
    return Policy(max(days, default=None), max(last, default=None))


def by_policy(db: Database, policy: Policy) -> None:
    """Prune as the settings of a campaign that has ended ask for it."""
    pruned_campaigns = _pruned(db, policy)
    if pruned_campaigns:
        common.remark(f"{_said(pruned_campaigns)}; {policy.said}")


def _pruned(db: Database, policy: Policy, *, listing: bool = False) -> list[Pruned]:
    """One campaign after the other, each for good before the next one; with `listing` nothing goes:
    what would."""
    from plumbline_db import connection, old_samples

    now = datetime.datetime.now(datetime.UTC)
    prune = old_samples.would_go if listing else old_samples.prune
    pruned_campaigns = [
        prune(db, campaign.id, policy.said, now.isoformat(timespec="seconds"))
        for campaign in old_samples.old(db, policy, now)
    ]
    if pruned_campaigns and not listing:
        connection.release(db)
    return pruned_campaigns


def _said(pruned_campaigns: list[Pruned]) -> str:
    """Return the pruned campaigns in words for people."""
    samples = sum(pruned.samples for pruned in pruned_campaigns)
    return (
        f"{counted(samples, 'sample')} of {counted(len(pruned_campaigns), 'campaign')} thrown "
        "away; n, medians, quantiles and verdicts stay"
    )


def _show_pruned(
    program: ProgramOptions,
    policy: Policy,
    pruned_campaigns: list[Pruned],
    before: int,
    *,
    listing: bool,
) -> None:
    after = program.database.stat().st_size
    if program.json:
        common.print_json(
            {
                "path": str(program.database),
                "pruned_now": not listing,
                "pruned": pruned_campaigns,
                "bytes_before": before,
                "bytes": after,
            }
        )
        return
    for pruned in pruned_campaigns:
        click.echo(f"{pruned.campaign}: {pruned.samples} samples of {pruned.series} cases")
    how = " (not yet: --list)" if listing else f"; {policy.said}"
    click.echo(f"{_said(pruned_campaigns)}{how}" if pruned_campaigns else "nothing to throw away")
    if not listing:
        click.echo(f"{program.database}: {_megabytes(before)} -> {_megabytes(after)}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
