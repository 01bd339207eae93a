"""Numbers that mean nothing are refused before anything is launched: at every option of every
command that takes numbers, as the command line itself tells them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.types import FloatParamType, IntParamType

from plumbline.cli.options import Numbers, Option
from tests.tuner.cli.command import plumbline, taken
from tests.tuner.cli.test_help import EVERY
from tests.tuner.simulated import SimulatedStarter

# What a command wants besides.
ARGUMENTS = {
    "advise": ["MPI_Bcast", "--bytes", "8"],
    "compare": ["--measure", "default", "default"],
    "db import": ["table.csv"],
    "detect": ["recording"],
    "measure": ["MPI_Bcast"],
    "record": ["true"],
}
# Those that any number of bytes, of seconds or of draws may be.
LARGE = {"--sizes", "--bytes", "--seed", "--budget"}
HUGE = ("1000000000000000000000000", "1e400")


def takes_zero(option: click.Option) -> bool:
    """It is a number of them, or the help says what it stands for."""
    unset = option.unset if isinstance(option, Option) else ""
    least = getattr(option.type, "min", None)
    without = getattr(option.type, "min_open", False)
    return (least == 0 and not without) or unset == "0" or "0:" in str(option.help)


def numbers() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """A command, an option, and what it does not take."""
    for name in filter(None, EVERY):
        for option in taken(*name.split())[1]:
            if isinstance(option.type, IntParamType | FloatParamType | Numbers):
                least = () if takes_zero(option) else ("0",)
                large = () if option.opts[-1] in LARGE else ("1000000000000",)
                yield name, option.opts[-1], ("-1", "nan", "inf", *HUGE, *least, *large)


def arguments(command: str, given: str) -> list[str]:
    """What was given stands last, but before the name of a program."""
    own = ARGUMENTS.get(command, [])
    return [given, *own] if command == "record" else [*own, given]


def test_there_are_such_options() -> None:
    found = {(command, option): wrong for command, option, wrong in numbers()}
    assert "0" in found["campaign", "--nprocs"] and "nan" in found["overlap tune", "--limit"]


@pytest.mark.parametrize(("command", "option", "wrong"), list(numbers()))
def test_refused(
    starter: SimulatedStarter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    option: str,
    wrong: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))
    (tmp_path / "table.csv").touch()
    key = option.removeprefix("--").replace("-", "_")
    for one in wrong:
        said = plumbline(*command.split(), *arguments(command, f"{option}={one}"))
        assert said.status == 2, (one, said.out, said.err)
        assert option in said.err or key in said.err, (one, said.err)
        assert starter.launches == [], one


def test_no_ranks_are_not_all_of_them(starter: SimulatedStarter) -> None:
    said = plumbline("campaign", "-n", "0")
    assert said.status == 2
    assert "--nprocs 0: it takes 1 to " in said.err and "leave it out" in said.err
