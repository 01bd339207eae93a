"""What is said while a command measures."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from plumbline.cli.progress import Bar, Forecast
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


def of_campaign(clock: Clock, launches: int = 10) -> Bar:
    return Bar(forecast=Forecast(launches), clock=clock)


def test_a_line_has_the_phase_a_share_launches_and_what_is_likely_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with of_campaign(clock) as bar:
        bar.phase(1, 5, "measure", 0.0)
        bar.step("measuring the library as it is")
        launched(bar, clock, 10)
        bar.phase(3, 5, "search", 20.0)
        bar.step("searching 3 cells")
    first, second = lines(capsys)
    assert re.fullmatch(TIME + "1 of 5: measure: measuring the library as it is", first)
    # 20 s of launches so far, 1.6 + 2.3 + 1.7 times as many to come, and half of that between them.
    assert re.fullmatch(
        TIME + r"3 of 5: search: searching 3 cells \(15 %, 10 launches, about 2:48 left\)", second
    )


def test_the_share_never_falls(capsys: pytest.CaptureFixture[str]) -> None:
    """Even where a limit comes nearer or goes away, and phases take longer than usual."""
    clock, shares = Clock(), [0.0]
    with of_campaign(clock, 3) as bar:
        for phase, seconds, count in ((1, 2.0, 30), (2, 9.0, 2), (3, 0.1, 5), (4, 30.0, 3)):
            bar.phase(phase, 5, "name", bar._seconds)
            bar.expect(1e6 if phase % 2 else 10.0)
            for _ in range(count):
                launched(bar, clock, 1, msgspec.structs.replace(LAUNCH, seconds=seconds))
                shares.append(bar._share())
    assert shares == sorted(shares) and 0.5 < shares[-1] < 1
    assert lines(capsys)  # once a minute


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


def test_what_is_not_known_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bar(clock=clock) as bar:
        launched(bar, clock, 1)
        bar.expect(100.0)
        bar.step("on")
    (line,) = lines(capsys)
    assert line.endswith("on (1 launch)")


def test_a_long_step_says_every_minute_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """A bar has the words of the step: names of suites are for the database."""
    clock = Clock()
    with of_campaign(clock) as bar:
        bar.phase(3, 5, "search", 100.0)
        bar.step("searching 3 cells")
        launched(bar, clock, 45)
    said = lines(capsys)
    assert len(said) == 3
    assert all("3 of 5: search: searching 3 cells (" in line for line in said[1:])
    assert not any("search-1" in line for line in said)


def test_a_launch_that_failed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    broken = msgspec.structs.replace(LAUNCH, seconds=60.0, failure=build.EXIT)
    with of_campaign(clock) as bar:
        bar.step("searching")
        clock.now += 60
        bar.launched("search-1", broken)
    assert "searching; a launch failed: exit status 1" in lines(capsys)[-1]


LONG = "before: 6 cells undecided after 9 launches, 3 more, in other ways of use"


@pytest.mark.parametrize("phase", ["measure", "further rounds"])
def test_the_bar_of_a_terminal_is_one_line_with_room_for_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    clock = Clock()
    bar = of_campaign(clock, 4000)
    bar.phase(5, 5, phase, 0.0)
    bar.step(LONG)
    launched(bar, clock, 12)
    drawn = io.StringIO()
    Console(file=drawn, width=bar._progress.console.width).print(bar._progress.get_renderable())
    (line,) = drawn.getvalue().splitlines()
    assert len(line) <= 77
    assert line.startswith(f"5 of 5: {phase} ") and "…" in line
    assert re.search(r" \d+% 0:00:00 about [\d:]+ left ", line)


@pytest.mark.parametrize("command", ["campaign", "verify"])
def test_commands_say_it(starter: SimulatedStarter, tmp_path: Path, command: str) -> None:
    del starter
    said = plumbline(command, *SMALL[:-2], "--db", tmp_path / "plumbline.db").err.splitlines()
    first, *steps = [line for line in said if re.match(TIME, line)]
    phase = "1 of 5: measure: " if command == "campaign" else ""
    assert first.endswith(f" {phase}measuring the library as it is")
    assert len(steps) > (2 if command == "campaign" else 0)
    for line in steps:
        assert re.search(r" \(\d+ %, \d+ launches, about [\d:]+ left\)$", line), line
    shares = [int(share) for line in steps for share in re.findall(r"\((\d+) %", line)]
    assert shares == sorted(shares)
