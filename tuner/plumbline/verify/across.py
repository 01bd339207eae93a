"""Several campaigns in one table (Table 3 of Hunold et al., Euro-Par 2016): a row for each
guideline or function, a column for each library and layout, in each cell at how many sizes it is
violated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from rich.table import Table
from rich.text import Text

from plumbline.core.guidelines import PRECEDES, Guidelines
from plumbline.verify.grid import guideline_label, in_order
from plumbline.verify.kinds import Kind, Row, all_kinds, of_table
from plumbline.verify.table import STYLES, UNICODE, Marks
from plumbline_db.records import Verdict


class KindCount(msgspec.Struct, frozen=True):
    """Functions (monotony, split) or guidelines (pattern): `tested`; of these `violated` at one
    size at least; and `undecided`, not violated, but undecided at one size at least."""

    violated: int
    undecided: int
    tested: int


def summary_counts(verdicts: Sequence[Verdict]) -> dict[str, KindCount]:
    """Counts by kind, in the order of the tables. A kind without cells is counted 0 of 0."""
    counts: dict[str, KindCount] = {}
    for kind in _kinds_of(verdicts):
        of_kind = [verdict for verdict in verdicts if verdict.kind == kind.name]
        tested = {_unit(verdict, kind.row) for verdict in of_kind}
        violated = {
            _unit(verdict, kind.row) for verdict in of_kind if verdict.verdict == "violated"
        }
        undecided = {
            _unit(verdict, kind.row) for verdict in of_kind if verdict.verdict == "undecided"
        }
        counts[kind.name] = KindCount(len(violated), len(undecided - violated), len(tested))
    return counts


def summary_table(
    stages: Mapping[str, Sequence[Verdict]],
    guidelines: Guidelines,
    *,
    title: str = "Violated guidelines",
    marks: Marks = UNICODE,
) -> Table:
    """One column a stage: how many functions or guidelines are violated, of how many."""
    table = Table(
        title=Text(title, style="bold"),
        caption=Text("violated/tested; +n? undecided", style="dim"),
        title_justify="left",
        caption_justify="left",
        box=marks.frame,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
    )
    table.add_column("type")
    for stage in stages:
        table.add_column(stage, justify="right", no_wrap=True)
    counts = {stage: summary_counts(verdicts) for stage, verdicts in stages.items()}
    everything = [verdict for verdicts in stages.values() for verdict in verdicts]
    tested = {verdict.guideline for verdict in everything}
    for kind in _kinds_of(everything):
        cells = [_count_text(counts[stage][kind.name]) for stage in stages]
        table.add_row(f"{kind.letter} {_kind_label(kind.name, guidelines, tested)}", *cells)
    return table


def _kinds_of(verdicts: Sequence[Verdict]) -> list[Kind]:
    names = {verdict.kind for verdict in verdicts}
    return of_table({kind.letter for kind in all_kinds() if kind.name in names})


def _unit(verdict: Verdict, row: Row) -> str:
    return verdict.function if row == "function" else verdict.guideline


def _count_text(count: KindCount) -> Text:
    style = "red" if count.violated else "cyan" if count.undecided else "green"
    unknown = f" +{count.undecided}?" if count.undecided else ""
    return Text(f"{count.violated}/{count.tested}{unknown}", style=style if count.tested else "dim")


def _kind_label(name: str, guidelines: Guidelines, tested: Collection[str]) -> str:
    """Return the label with the guidelines of that kind that were tested."""
    ids = {
        "monotony": guidelines.monotony.id,
        "split": guidelines.split.id,
        "pattern": _patterns([pattern.id for pattern in guidelines.patterns], tested),
        "rank": guidelines.rank.id if guidelines.rank else "none",
        "overlap": guidelines.overlap.id if guidelines.overlap else "none",
        "nonblocking": guidelines.nonblocking.id if guidelines.nonblocking else "none",
    }
    return f"{name} ({ids[name]})"


def _patterns(every: Sequence[str], tested: Collection[str]) -> str:
    """Return what was tested of `every` pattern, and nothing else: GL3-GL17, PL2, where no pattern
    between was left out; their number where there are too many gaps to name."""
    runs: list[list[str]] = []
    before = -1
    for place, name in enumerate(every):
        if name not in tested:
            continue
        follows = place == before + 1 and runs and _code(runs[-1][0]) == _code(name)
        if follows:
            runs[-1].append(name)
        else:
            runs.append([name])
        before = place
    if len(runs) > 4:
        return f"{sum(map(len, runs))} of {len(every)}"
    words = [f"{run[0]}-{run[-1]}" if run[2:] else ", ".join(run) for run in runs]
    return ", ".join(words) or "none"


def _code(guideline: str) -> str:
    return guideline.rstrip("0123456789")


class Column(msgspec.Struct, frozen=True):
    """One campaign. `after` is None where nothing was tuned."""

    head: str
    before: Sequence[Verdict]
    after: Sequence[Verdict] | None = None


class Tally(msgspec.Struct, frozen=True):
    """Sizes of one guideline or function in one campaign: `tested`, `violated` before, and after
    (None: nothing was tuned); `undecided` before."""

    tested: int
    violated: int
    undecided: int
    after: int | None


class TallyRow(msgspec.Struct, frozen=True):
    """`key` is a guideline or a function; one tally a column."""

    kind: str
    letter: str
    key: str
    tallies: list[Tally]

    def remarkable(self) -> bool:
        return any(tally.violated or tally.after for tally in self.tallies)


def rows(columns: Sequence[Column], guidelines: Guidelines) -> list[TallyRow]:
    tally_rows = []
    for kind in all_kinds():
        counted = [_by_row(kind, column.before) for column in columns]
        later = [
            None if column.after is None else _by_row(kind, column.after) for column in columns
        ]
        by_function = kind.row == "function"
        usual_order = (
            guidelines.lhs_functions() if by_function else [g.id for g in guidelines.patterns]
        )
        for key in in_order({key for by_row in counted for key in by_row}, usual_order):
            tallies = [
                _tally(before.get(key, []), None if after is None else after.get(key, []))
                for before, after in zip(counted, later, strict=True)
            ]
            tally_rows.append(TallyRow(kind.name, kind.letter, key, tallies))
    return tally_rows


def across_table(
    columns: Sequence[Column],
    guidelines: Guidelines,
    *,
    title: str,
    all_rows: bool = False,
    marks: Marks = UNICODE,
) -> Table:
    tally_rows = rows(columns, guidelines)
    letters = {row.letter for row in tally_rows}
    table = Table(
        title=Text(title, style="bold"),
        caption=Text(
            "sizes that violate: before, and after tuning (confirmed cold); "
            f"{marks.undecided} some undecided, blank holds, {marks.absent} not tested; "
            + ", ".join(f"{kind.letter} {kind.name}" for kind in of_table(letters)),
            style="dim",
        ),
        title_justify="left",
        caption_justify="left",
        box=marks.frame,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
    )
    table.add_column("", no_wrap=True)
    table.add_column("guideline or function", min_width=20)
    for column in columns:
        table.add_column(column.head, justify="right", overflow="fold")
    shown = [row for row in tally_rows if all_rows or row.remarkable()]
    for number, row in enumerate(shown):
        label = row.key.removeprefix("MPI_")
        if row.kind == "pattern":
            label = guideline_label(row.key, guidelines).replace(PRECEDES, marks.precedes)
        table.add_row(
            row.letter,
            label,
            *(_text(tally, marks) for tally in row.tallies),
            end_section=any(after.letter != row.letter for after in shown[number + 1 : number + 2]),
        )
    if not shown:
        table.add_row("", "every guideline holds")
    return table


def _by_row(kind: Kind, verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    verdicts_by_row: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.kind == kind.name:
            key = verdict.function if kind.row == "function" else verdict.guideline
            verdicts_by_row.setdefault(key, []).append(verdict)
    return verdicts_by_row


def _tally(before: Sequence[Verdict], after: Sequence[Verdict] | None) -> Tally:
    return Tally(
        tested=len(before),
        violated=sum(verdict.verdict == "violated" for verdict in before),
        undecided=sum(verdict.verdict == "undecided" for verdict in before),
        after=None if after is None else sum(verdict.verdict == "violated" for verdict in after),
    )


def _text(tally: Tally, marks: Marks) -> Text:
    if tally.tested == 0:
        return Text(marks.absent, style=STYLES["absent"])
    words = f"{tally.violated}" if tally.violated or tally.after else ""
    if tally.after is not None and words:
        words += f" to {tally.after}"
    violated_now = tally.violated if tally.after is None else tally.after
    style = STYLES["violated"] if violated_now else STYLES["removed"] if words else ""
    if not words and tally.undecided:
        return Text(marks.undecided, style=STYLES["undecided"])
    return Text(words, style=style)
