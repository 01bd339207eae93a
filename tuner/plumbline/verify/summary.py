"""The summary of a table (Table 2 of Hunold et al., Euro-Par 2016)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from rich.table import Table
from rich.text import Text

from plumbline.core.guidelines import Guidelines
from plumbline.verify.drawing import UNICODE, Marks
from plumbline.verify.kinds import Kind, Row, all_kinds, of_table
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
