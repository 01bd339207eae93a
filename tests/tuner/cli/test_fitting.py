"""What is shown on a terminal of any width, and what is said while a command measures."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.cli import common
from plumbline.cli.fitting import fitted
from plumbline.verify.table import natural_width

WORDS = st.text("abc=_⪯", min_size=1, max_size=24)
CELLS = st.lists(WORDS, max_size=4).map(" ".join)


def shown(renderable: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, markup=False, emoji=False, highlight=False)
    for piece in fitted(renderable, width):
        console.print(piece, soft_wrap=not isinstance(piece, Table))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def table(rows: Sequence[Sequence[str]], *, caption: str = "", title: str = "") -> Table:
    found = common.titled(title, [f"column{place}" for place in range(len(rows[0]))])
    for row in rows:
        found.add_row(*row)
    found.caption = Text(caption) if caption else None
    return found


@settings(max_examples=60)
@given(
    st.integers(1, 6).flatmap(
        lambda columns: st.lists(
            st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=4
        )
    ),
    st.integers(40, 120),
)
def test_no_word_is_broken_and_none_is_lost(rows: list[list[str]], width: int) -> None:
    lines = shown(table(rows), width)
    assert all(len(line) <= width for line in lines), lines
    words = sorted(word for row in rows for cell in row for word in cell.split())
    heads = {f"column{place}" for place in range(len(rows[0]))}
    heads |= {f"{head}:" for head in heads}
    printed = sorted(word for line in lines for word in line.split() if word not in heads)
    assert printed == words


def test_a_record_that_fits_is_a_line() -> None:
    rows = [["MPI_Bcast", "1.24 [1.18, 1.27]"], ["MPI_Reduce", "-"]]
    assert len(shown(table(rows), 80)) == 3


def test_a_column_that_does_not_fit_stands_below_its_row() -> None:
    long = "reduce_scatter_block_algorithm=recursive_doubling"
    lines = shown(table([["MPI_Reduce_scatter_block", long], ["MPI_Bcast", long]]), 70)
    assert lines[1:3] == ["MPI_Reduce_scatter_block", f"    column1: {long}"]
    assert lines[3:] == ["MPI_Bcast", f"    column1: {long}"]


def test_titles_and_captions_are_as_wide_as_the_terminal() -> None:
    caption = "violated/tested; +n? undecided, and a sentence that is longer than the table is"
    title = "A title that is longer than its table as well"
    lines = shown(table([["x", "1"]], caption=caption, title=title), 80)
    assert lines == [title, "column0  column1", "x        1", caption]
    assert all(len(line) <= 40 for line in shown(table([["x", "1"]], caption=caption), 40))


def test_lines_that_go_on_are_further_in() -> None:
    assert shown(Text("  warning: one two three\n\nlast"), 16) == [
        "  warning: one",
        "      two three",
        "",
        "last",
    ]


def test_into_a_pipe_a_record_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    wide = table([["a " * 80, "b " * 80], ["c", "d"]])
    assert natural_width(wide) > 300
    common.show(wide)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_on_a_terminal_it_is_as_wide_as_that(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    common.show(table([["word " * 30, "MPI_Reduce_scatter_block " * 3]]), "text " * 40)
    printed = Text.from_ansi(capsys.readouterr().out).plain.splitlines()
    assert max(map(len, printed)) <= 80
    assert sum(line.count("MPI_Reduce_scatter_block") for line in printed) == 3
