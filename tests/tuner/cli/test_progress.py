"""What is said while a command measures."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from plumbline.cli.progress import Bar
from plumbline_db.records import Run
from tests.db import build
from tests.tuner.cli.command import plumbline
from tests.tuner.cli.conftest import SMALL
from tests.tuner.simulated import SimulatedStarter

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
    assert re.fullmatch(
        TIME + r"searching 3 cells \(20 % of the time limit, 10 launches, up to 2:00 left\)", second
    )
    assert re.fullmatch(
        TIME + r"confirming \(25 % of the time limit, 10 launches, up to 1:30 left\)", third
    )


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
    assert said[1].endswith("search-1 (4 % of the time limit, 20 launches, up to 24:00 left)")


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
        of = " of the time limit" if command == "campaign" else ""
        assert re.search(rf" \(\d+ %{of}, \d+ launches, up to [\d:]+ left\)$", line), line
