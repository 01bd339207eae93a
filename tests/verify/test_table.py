"""Tables as they are printed, against golden files.

`PLUMBLINE_UPDATE_GOLDEN=1 pytest tests/verify` writes the files anew; read the difference before
committing it.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console, RenderableType

from plumbline.verify import grid
from plumbline.verify.across import KindCount, summary_counts, summary_table
from plumbline.verify.grid import JSON_FIELDS, as_json
from plumbline.verify.table import (
    ASCII,
    STYLES,
    UNICODE,
    before_after_table,
    natural_width,
    violation_table,
)
from plumbline_db.records import Verdict
from tests.db import build
from tests.verify.simulated import PAPER

GOLDEN = Path(__file__).with_name("golden")
SIZES = [1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 1500, 2048, 4096, 5000, 8192, 10000]
SIZES += [16384, 32768, 102400]


def verdict(
    kind: str, function: str, size: int, word: str, guideline: str = "GL1", stage: str = "before"
) -> Verdict:
    what = {"kind": kind, "function": function, "rhs": function, "bytes": size}
    return build.verdict(stage, guideline=guideline, other_bytes=size, verdict=word, **what)


def printed(renderable: RenderableType, width: int = 120, encoding: str = "utf-8") -> str:
    """What a pipe gets: no colour, no terminal."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    Console(file=file, width=width, color_system=None).print(renderable)
    file.flush()
    return "\n".join(line.rstrip() for line in raw.getvalue().decode(encoding).split("\n"))


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("PLUMBLINE_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def before() -> list[Verdict]:
    """A full table of 9 functions, 15 patterns and 21 sizes with some marks in it."""
    marks = {
        ("GL1", "MPI_Allreduce", 64): "violated",
        ("GL1", "MPI_Scatter", 2): "undecided",
        ("GL2", "MPI_Gather", 102400): "violated",
        **{("GL12", "MPI_Allreduce", n): "violated" for n in SIZES if n <= 2048},
        ("GL12", "MPI_Allreduce", 4096): "undecided",
        ("GL13", "MPI_Allreduce", 16384): "violated",
        ("GL4", "MPI_Gather", 8): "violated",
    }
    cells = [("monotony", f, n, "GL1") for f in reversed(PAPER.lhs_functions()) for n in SIZES[:-1]]
    cells += [("split", f, n, "GL2") for f in PAPER.lhs_functions() for n in SIZES[1:]]
    cells += [("pattern", g.lhs, n, g.id) for g in PAPER.patterns for n in SIZES]
    return [verdict(k, f, n, marks.get((i, f, n), "holds"), i) for k, f, n, i in cells]


def after() -> list[Verdict]:
    """GL12 is removed but for 1 byte, undecided at 2; GL11 is new; GL4 at 8 B was not measured."""
    marks = {
        ("GL12", 1): "violated",
        ("GL12", 2): "undecided",
        ("GL12", 4096): "violated",
        ("GL11", 1500): "violated",
    }
    return [
        verdict("pattern", g.lhs, n, marks.get((g.id, n), "holds"), g.id, "after")
        for g in PAPER.patterns
        for n in SIZES
        if (g.id, n) != ("GL4", 8)
    ]


BEFORE, AFTER = before(), after()


def test_violation_table() -> None:
    table = violation_table(
        BEFORE, PAPER, title="before: Open MPI 4.1.4, 4 ranks", oversubscribed=True
    )
    assert natural_width(table) <= 132
    check_golden("violations.txt", printed(table, width=132))


def test_all_rows() -> None:
    table = violation_table(BEFORE, PAPER, title="before", all_rows=True)
    assert natural_width(table) <= 132
    check_golden("all-rows.txt", printed(table, width=132))


def test_before_and_after() -> None:
    patterns = [v for v in BEFORE if v.kind == "pattern"]
    table = before_after_table(patterns, AFTER, PAPER, title="Open MPI 4.1.4, before to after")
    check_golden("before-after.txt", printed(table))


def test_a_narrow_console_folds_and_hides_nothing() -> None:
    table = violation_table(BEFORE, PAPER, title="before")
    text = printed(table, width=80)
    check_golden("folded.txt", text)
    assert max(map(len, text.splitlines())) <= 80
    signs = printed(table, width=200).count(UNICODE.violated)
    assert text.count(UNICODE.violated) == signs > 15


@pytest.mark.parametrize("width", [natural for natural in range(60, 125)])
def test_every_size_is_there_at_every_width(width: int) -> None:
    text = printed(violation_table(BEFORE, PAPER, title="t"), width=width)
    heads = " ".join(line for line in text.splitlines() if line.strip().startswith("bytes")).split()
    assert [head for head in heads if head != "bytes"] == grid.size_heads(SIZES)


def test_ascii_terminals() -> None:
    table = violation_table(BEFORE, PAPER, title="before", marks=ASCII, oversubscribed=True)
    check_golden("ascii.txt", printed(table, encoding="ascii"))
    summary = summary_table({"before": BEFORE}, PAPER, marks=ASCII)
    assert "3/15" in printed(summary, encoding="ascii")


def test_colour_only_repeats_what_the_signs_say() -> None:
    for marks in (UNICODE, ASCII):
        signs = [marks.of(state).plain for state in STYLES]  # type: ignore[arg-type]
        assert len(set(signs)) == len(signs) == 7
    file = io.StringIO()
    table = before_after_table(BEFORE, AFTER, PAPER, title="t")
    Console(file=file, width=130, force_terminal=True, color_system="standard").print(table)
    for code, sign in ((32, "○"), (31, "•"), (33, "▲")):
        assert re.search(rf"{code}m *{sign}", file.getvalue())


def test_nothing_wrong_and_nothing_measured() -> None:
    fine = [verdict("monotony", "MPI_Bcast", 1, "holds")]
    text = printed(violation_table(fine, PAPER, title="after"))
    assert "every guideline holds" in text
    assert "nothing was verified" in printed(violation_table([], PAPER, title="after"))


def test_states_of_two_tables() -> None:
    words = ("violated", "undecided", "holds", None)
    expected = {
        ("violated", "violated"): "violated",
        ("violated", "undecided"): "undecided",
        ("violated", "holds"): "removed",
        ("violated", None): "undecided",
        ("undecided", "violated"): "violated",
        ("undecided", "undecided"): "undecided",
        ("undecided", "holds"): "holds",
        ("undecided", None): "undecided",
        ("holds", "violated"): "new",
        ("holds", "undecided"): "undecided",
        ("holds", "holds"): "holds",
        ("holds", None): "undecided",
        (None, "violated"): "violated",
        (None, "undecided"): "undecided",
        (None, "holds"): "holds",
    }
    for was in words:
        for now in words:
            if (was, now) == (None, None):
                continue
            old = [verdict("monotony", "MPI_Bcast", 1, was)] if was else []
            new = [verdict("monotony", "MPI_Bcast", 1, now, stage="after")] if now else []
            found = grid.of_before_and_after(old, new, PAPER)
            assert found.rows[0].states == [expected[was, now]], (was, now)


def test_rows_follow_the_guidelines_and_unknown_ones_come_last() -> None:
    functions = ["MPI_Scan", "MPI_Alltoall", "MPI_Barrier", "MPI_Gather"]
    verdicts = [verdict("monotony", f, 8, "violated") for f in functions]
    verdicts += [verdict("pattern", "MPI_Scan", 8, "violated", name) for name in ("GL99", "GL3")]
    labels = [row.label for row in grid.of_table(verdicts, PAPER).rows]
    assert labels == ["Gather", "Scan", "Alltoall", "Barrier", "Gather ⪯ Allgather", "GL99"]


def test_one_table_shows_one_stage_and_one_number_of_ranks() -> None:
    cell = verdict("monotony", "MPI_Bcast", 1, "holds")
    with pytest.raises(ValueError, match="two verdicts for"):
        violation_table([cell, cell], PAPER, title="t")
    other = msgspec.structs.replace(cell, nprocs=8, bytes=2)
    with pytest.raises(ValueError, match="one number of ranks"):
        violation_table([cell, other], PAPER, title="t")


@pytest.mark.parametrize(
    ("sizes", "heads"),
    [
        ([0, 512, 1000, 1024, 2048, 102400], "0 512 1000 1k 2k 100k"),
        ([1024, 1048576, 1572864], "1k 1M 1536k"),
        ([8192, 10000, 16384], "8192 10000 16384"),
        ([1, 1023], "1 1023"),
        ([], ""),
    ],
)
def test_size_heads_have_one_style(sizes: list[int], heads: str) -> None:
    assert " ".join(grid.size_heads(sizes)) == heads


def test_the_legend_explains_k_where_it_is_used() -> None:
    for sizes, used in (([1024, 2048], True), ([1024, 1500], False), ([1, 512], False)):
        cells = [verdict("split", "MPI_Gather", size, "violated", "GL2") for size in sizes]
        text = " ".join(printed(violation_table(cells, PAPER, title="t")).split())
        assert ("k = 1024" in text) == used


def test_the_summary_names_the_patterns_that_were_tested_and_no_others() -> None:
    def label(*tested: str) -> str:
        those = [verdict for verdict in BEFORE if verdict.guideline in tested]
        return printed(summary_table({"before": those}, PAPER), width=80)

    assert "pattern (GL3, GL4, GL12)" in label("GL3", "GL4", "GL12")
    assert "pattern (GL3-GL6, GL12)" in label("GL3", "GL4", "GL5", "GL6", "GL12")
    many = label("GL3", "GL5", "GL7", "GL9", "GL11")
    assert f"pattern (5 of {len(PAPER.patterns)})" in many


def test_summary() -> None:
    counts = summary_counts(BEFORE)
    assert counts == {
        "monotony": KindCount(violated=1, undecided=1, tested=9),
        "split": KindCount(violated=1, undecided=0, tested=9),
        "pattern": KindCount(violated=3, undecided=0, tested=15),
        "rank": KindCount(0, 0, 0),
    }
    assert summary_counts(AFTER)["split"] == KindCount(0, 0, 0)
    table = summary_table({"before": BEFORE, "after": AFTER}, PAPER)
    check_golden("summary.txt", printed(table, width=60))


def test_json_has_the_fields_of_the_contract() -> None:
    found = as_json([v for v in BEFORE if v.verdict == "violated"])
    assert len(found) == 1 + 1 + 14 + 1 + 1
    assert tuple(found[0]) == (*JSON_FIELDS, "depends", "uses")
    contract = ["guideline", "kind", "function", "nprocs", "ppn", "bytes", "ratio", "ratio_low"]
    contract += ["ratio_high", "p", "p_adjusted", "launches"]
    assert set(contract) <= set(JSON_FIELDS)
    assert found[0] == {
        "guideline": "GL1",
        "kind": "monotony",
        "function": "MPI_Allreduce",
        "lhs": "default",
        "rhs": "MPI_Allreduce",
        "ranks": 0,
        "nprocs": 4,
        "ppn": 4,
        "bytes": 64,
        "other_bytes": 64,
        "factor": 1,
        "verdict": "violated",
        "ratio": 1.84,
        "ratio_low": 1.7,
        "ratio_high": 1.9,
        "p": 1e-5,
        "p_adjusted": 4e-4,
        "launches": 12,
        "reason": "",
        "depends": False,
        "uses": [],
    }
