"""`make count-foreign`: lints every file of one folder and imports every file of another, for files
that others have published and that are no part of the project. Each finding is printed with its
line, so that people can judge it; each number that was read is looked for in its file."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec

from plumbline.core import printed_text, profile_file
from plumbline.foreign import storing
from plumbline.foreign.storing import ProgramOutput
from plumbline.libraries import space_file
from plumbline_db.errors import PlumblineError
from plumbline_exporters.families import Context
from plumbline_exporters.lint import formats

SPACES = Path(__file__).parents[1] / "search-spaces"
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_UNITS_IN_A_SECOND = (1.0, 1e3, 1e6, 1e9)


class Counts(msgspec.Struct):
    """Counts for the files of one kind: what was read, and what of it is not in the file."""

    files: int = 0
    findings: Counter[str] = msgspec.field(default_factory=Counter)
    numbers: int = 0
    strange: int = 0
    left_out: Counter[str] = msgspec.field(default_factory=Counter)


Table = dict[str, Counts]


@click.command()
@click.option("--configurations", type=click.Path(exists=True, path_type=Path))
@click.option("--outputs", type=click.Path(exists=True, path_type=Path))
@click.option("--nprocs", default=4, show_default=True, help="For tables that do not say theirs.")
def main(configurations: Path | None, outputs: Path | None, nprocs: int) -> None:
    """Count what is read of the two folders, by kind. Exit code 1 where a number that was read does
    not stand in its file."""
    context = Context("", space_file.known_parameters(SPACES))
    strange = 0
    if configurations is not None:
        strange += _count(configurations, lambda path, table: _linted(path, context, table))
    if outputs is not None:
        strange += _count(outputs, lambda path, table: _imported(path, nprocs, table))
    sys.exit(bool(strange))


def _count(folder: Path, take: Callable[[Path, Table], None]) -> int:
    """Print the counts of each kind, and how many files were refused for each reason. Return how
    many numbers are not in their file."""
    table: Table = {}
    refused: Counter[str] = Counter()
    for path in printed_text.files([folder]):
        try:
            take(path, table)
        except PlumblineError as error:
            bare = str(error).replace(str(path), "").replace(path.name, "").lstrip(":, ")
            refused[_kind(bare, " (")] += 1
    for kind, counts in sorted(table.items()):
        findings = f"{counts.findings.total()} findings, {counts.numbers} numbers"
        click.echo(f"{kind}: {counts.files} files, {findings}, {counts.strange} not in the file")
        _print_each(counts.findings + counts.left_out)
    click.echo(f"refused: {refused.total()} files")
    _print_each(refused)
    return sum(counts.strange for counts in table.values())


def _print_each(counts: Counter[str]) -> None:
    for kind, count in counts.most_common():
        click.echo(f"    {count} {kind}")


def _kind(message: str, end: str = ":") -> str:
    """Return a message up to `end`, without what differs from file to file."""
    return re.sub(r"[\d.]+|'.*?'", "N", message).partition(end)[0][:150]


def _linted(path: Path, context: Context, table: Table) -> None:
    for linted in formats.lint(path, context):
        counts = table.setdefault(linted.format, Counts())
        counts.files += 1
        for finding in linted.findings:
            counts.findings[f"{finding.effect} ({finding.trap})"] += 1
            click.echo(f"{linted.path}:{finding.line}: {finding.effect}: {finding.reason}")


def _imported(path: Path, nprocs: int, table: Table) -> None:
    data = printed_text.read(path)
    try:
        outputs = storing.of(data, [nprocs], path.name)
    except PlumblineError as error:
        _profiled(path, table, error)
        return
    tokens = {float(token) for token in _NUMBER.findall(_text(data))}
    for output in outputs:
        counts = table.setdefault(output.format.title, Counts())
        counts.files += 1
        counts.numbers += output.output.numbers
        counts.left_out.update(map(_kind, (*output.output.left_out, *output.output.missing)))
        for seconds in _seconds(output):
            if not any(_stands(seconds * unit, tokens) for unit in _UNITS_IN_A_SECOND):
                counts.strange += 1
                click.echo(f"{path}: {seconds} s is not a number of this file")


def _profiled(path: Path, table: Table, refusal: PlumblineError) -> None:
    """Count a profile. Raises `refusal`, which is of the same file as a benchmark's output, where
    it is none."""
    try:
        profile = profile_file.read_with_remarks(path)
    except PlumblineError:
        raise refusal from None
    counts = table.setdefault("profile", Counts())
    counts.files += 1
    counts.numbers += len(profile.application.calls)
    counts.left_out.update(map(_kind, profile.left_out))


def _text(data: bytes) -> str:
    return "\n".join(line.text for line in printed_text.lines(data))


def _seconds(output: ProgramOutput) -> Iterator[float]:
    for table in output.output.tables:
        for name, rows in table.columns.items():
            if (output.format.name, name) != ("reprompi", "median"):  # computed where rows are raw
                yield from (row.seconds for row in rows)


def _stands(value: float, tokens: set[float]) -> bool:
    return value in tokens or float(f"{value:.12g}") in tokens


if __name__ == "__main__":
    main()
