"""plumbline check: tables, JSON, exit codes; what cannot be asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.campaign import in_force
from plumbline.check.programs import COLUMNS
from plumbline.system import paths
from tests.tuner import simulated
from tests.tuner.check.pretended import Cost, Pretended, halved
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.simulated import SimulatedStarter

Finished = tuple[Path, Result]


@pytest.fixture(autouse=True)
def loops_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths.Layout, "loops", lambda *_: Path("/opt/plumbline/loops"))


def check(
    monkeypatch: pytest.MonkeyPatch, finished: Finished, *words: str, cost: Cost = halved
) -> Result:
    launcher = Pretended(cost)
    toolchain = msgspec.structs.replace(simulated.toolchain(), launcher=launcher)
    monkeypatch.setattr(in_force, "find_toolchain", lambda *_, **__: toolchain)
    others = [f"{option}=none" for option in ("--osu", "--imb") if option not in words]
    return plumbline("check", *words, *others, "--no-proof", "--db", finished[0])


def slow(tuned: bool, loop: str, case: str, number: int) -> float:
    odd = tuned and loop == "imb" and case.startswith("MPI_Allreduce:16384:MPI_FLOAT")
    return 140.0 if odd else halved(tuned, loop, case, number)


def test_tables(
    finished: Finished, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = check(monkeypatch, finished, "--launches", "6")
    assert done.status == 0, done.err
    for column in ("promised", *COLUMNS.values()):
        assert column in done.out
        assert column == "promised" or f"in {column}: " in done.out
    assert "none is found slower in any loop or type" in done.out
    assert "2.0" in done.out and "▲ slower" in done.out
    assert "loops, first: " in done.err and "6 pairs of launches" in done.err


def test_a_winner_that_is_slower_somewhere(
    finished: Finished, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = check(monkeypatch, finished, cost=slow)
    assert done.status == 3
    assert "Slower, and measured again in fresh launches" in done.out
    assert "MPI_Allreduce 16384 B MPI_FLOAT MPI_SUM  imb loop" in done.out
    assert "slower in some loop or type" in done.out
    assert "once more what looks slower" in done.err


def test_json(
    finished: Finished, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = check(monkeypatch, finished, "--json", "--functions", "MPI_Allreduce", cost=slow)
    assert done.status == 3
    found: dict[str, Any] = done.json
    assert set(found) == {
        *("campaign", "pairs", "seed", "slower", "loops", "winners", "cells", "notes")
    }
    assert {one["function"] for one in found["winners"]} == {"MPI_Allreduce"}
    (number,) = found["slower"]
    winner = found["winners"][number]
    seen = {one["loop"]: one for one in winner["seen"]}
    assert set(seen) == set(COLUMNS)
    assert seen["imb"]["word"] == "slower" and seen["osu"]["word"] == "faster"
    assert [cell["type"] for cell in seen["imb"]["slower"]] == ["MPI_FLOAT"]
    assert seen["imb"]["worst"]["bytes"] == 16384
    assert winner["promised"]["low"] <= winner["promised"]["speedup"]
    by_loop = {one["loop"]: one for one in found["loops"]}
    assert by_loop["imb"]["slower"] == 1 and by_loop["stream"]["slower"] == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--launches", "5"], 2, "at least 6 are needed"),
        (["--bind", "thread"], 2, "--bind thread: choose one of core"),
        (["--functions", "MPI_Foo"], 2, "has no winner of MPI_Foo"),
        (["--functions", ""], 2, "has no winner of "),
        (["--osu", "/nowhere"], 2, "name the folder that OSU"),
        (["--imb", "/nowhere"], 2, "is no program"),
        (["--seed", "-1"], 2, "-1"),
        (["--campaign", "no-such-campaign"], 1, "no-such-campaign"),
    ],
)
def test_what_cannot_be_asked_for(
    finished: Finished,
    starter: SimulatedStarter,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    status: int,
    said: str,
) -> None:
    done = check(monkeypatch, finished, *words)
    assert done.status == status, done.err
    assert said in done.err
    assert done.out == ""
