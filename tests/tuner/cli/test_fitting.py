"""What is shown on a terminal of any width, and what is said while a command measures."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.cli import common
from plumbline.cli.fitting import fitted
from plumbline.cli.progress import Bar
from plumbline.verify.table import natural_width
from plumbline_db.records import Run
from tests.db import build
from tests.tuner.cli.command import plumbline
from tests.tuner.cli.conftest import SMALL
from tests.tuner.simulated import SimulatedStarter

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


# --- while a command measures ---------------------------------------------------------------------


TIME = r"plumbline: \d\d:\d\d:\d\d "
LAUNCH = msgspec.structs.replace(build.run(), seconds=2.0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def launched(bar: Bar, clock: Clock, count: int, run: Run = LAUNCH) -> None:
    for _ in range(count):
        clock.now += 3.0  # one of them between launches
        bar.launched("search-1", run)


def test_a_step_has_the_time_per_cent_launches_and_what_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with Bar(100.0, clock=clock) as bar:
        bar.step("measuring the library as it is")
        launched(bar, clock, 10)
        bar.step("searching 3 cells")
        bar.expect(60.0)  # 20 of 80 s are spent: 90 s of this clock are left
        bar.step("confirming")
    first, second, third = lines(capsys)
    assert re.fullmatch(TIME + "measuring the library as it is", first)
    assert re.fullmatch(TIME + r"searching 3 cells \(20 %, 10 launches, up to 2:00 left\)", second)
    assert re.fullmatch(TIME + r"confirming \(25 %, 10 launches, up to 1:30 left\)", third)


def test_of_a_number_of_launches(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bar(in_all=12, clock=clock) as bar:
        launched(bar, clock, 3)
        bar.step("look 2")
        launched(bar, clock, 9)
        bar.step("done")
    first, second = lines(capsys)
    assert "look 2 (25 %, 3 launches, up to 0:27 left)" in first
    assert "done (100 %, 12 launches, up to 0:00 left)" in second


def test_behind_the_budget_nothing_is_promised(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bar(10.0, clock=clock) as bar:
        launched(bar, clock, 6)
        bar.step("confirming")
    (line,) = lines(capsys)
    assert line.endswith("confirming (6 launches)")


def test_what_is_not_known_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bar(clock=clock) as bar:
        launched(bar, clock, 1)
        bar.expect(100.0)
        bar.step("on")
    (line,) = lines(capsys)
    assert line.endswith("on (1 launch)")


def test_a_long_step_says_every_minute_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bar(1000.0, clock=clock) as bar:
        bar.step("searching")
        launched(bar, clock, 45)
    said = lines(capsys)
    assert len(said) == 3
    assert said[1].endswith("search-1 (4 %, 20 launches, up to 24:00 left)")


def test_the_bar_of_a_terminal_fits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    clock = Clock()
    bar = Bar(100.0, clock=clock)
    bar.step("confirming 12 winners")
    launched(bar, clock, 12)
    drawn = io.StringIO()
    Console(file=drawn, width=80).print(bar._progress.get_renderable())
    (line,) = drawn.getvalue().splitlines()
    assert "confirming 12 winners" in line and "24%" in line and "12 launches, up to 1:54" in line


@pytest.mark.parametrize("command", ["campaign", "verify"])
def test_commands_say_it(starter: SimulatedStarter, tmp_path: Path, command: str) -> None:
    del starter
    said = plumbline(command, *SMALL[:-2], "--db", tmp_path / "plumbline.db").err.splitlines()
    first, *steps = [line for line in said if re.match(TIME, line)]
    assert first.endswith(" measuring the library as it is")
    assert len(steps) > (2 if command == "campaign" else 0)
    for line in steps:
        assert re.search(r" \(\d+ %, \d+ launches, up to [\d:]+ left\)$", line), line
