"""`plumbline reproducibility factors` over the simulated library: what is launched, printed, stored
and shown later."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from plumbline.results import compared_now
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import ProbeRecord
from tests.db import build
from tests.tuner import planted, simulated
from tests.tuner.cli import conftest
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.simulated import ROOT, Interrupted, SimulatedStarter

WORDS = ("reproducibility", "factors", "MPI_Allreduce", "-n", "4", "--sizes", "8,4096")


class FactorStarter(SimulatedStarter):
    """Launches take a fifth longer while SLOW is set, and die while DEADLY is."""

    def _records(self, text: str, extra: Mapping[str, str]) -> list[ProbeRecord]:
        self._crashes = lambda *_: "DEADLY" in extra
        before, self._costs = self._costs, _costs(slow="SLOW" in extra)
        try:
            return super()._records(text, extra)
        finally:
            self._costs = before


def _costs(*, slow: bool) -> simulated.Costs:
    factor = 1.2 if slow else 1.0
    return simulated.Costs(everything={("MPI_Allreduce", size): factor for size in (8, 4096)})


@pytest.fixture
def starter(monkeypatch: pytest.MonkeyPatch) -> FactorStarter:
    one = FactorStarter(planted.costs(), launch_noise=0.01)
    _install(monkeypatch, one)
    return one


def _install(monkeypatch: pytest.MonkeyPatch, one: SimulatedStarter) -> None:
    conftest.install(monkeypatch, one)
    monkeypatch.setattr(compared_now, "find_toolchain", lambda *_, **__: simulated.toolchain())


def suites_of(done: Sequence[tuple[str, int]]) -> set[str]:
    return {suite for suite, _ in done}


def test_levels_take_turns_with_the_base_and_are_judged(
    tmp_path: Path, starter: FactorStarter
) -> None:
    picture = tmp_path / "factors.svg"
    words = (*WORDS, "SLOW=1", "IDLE=1", "DEADLY=1", "cache", "--db", tmp_path / "f.db")
    done = plumbline(*words, "--picture", picture)
    assert done.status == 0, done.err
    text = " ".join(done.out.split())
    for part in (
        "MPI_Allreduce, 4 ranks",
        "base: cache warm",
        "SLOW=1 8",
        "matters",
        "DEADLY=1: no result: ",
        "of 4 levels 1 matter, 2 idle, 0 undecided; effects below 3 % do not count",
        str(picture),
    ):
        assert part in text, part
    assert "SLOW=1" in "".join(ElementTree.parse(picture).getroot().itertext())
    for factor, levels in (
        ("cache", ("cache warm (base)", "cache=overwrite")),
        ("SLOW", ("SLOW not set (base)", "SLOW=1")),
    ):
        of_factor = picture.with_name(f"factors-{factor}.svg")
        assert str(of_factor) in text
        drawn = "".join(ElementTree.parse(of_factor).getroot().itertext())
        for words_drawn in (*levels, "8 B", "4096 B", "Density of all run times"):
            assert words_drawn in drawn, words_drawn
    first = [suite for suite, _ in starter.launches]
    turns = [suite for suite in first if suite in ("factors-base", "factors-level1")]
    assert turns.count("factors-base") == turns.count("factors-level1") == 12
    # A turn has a launch of each, and its order changes.
    pairs = {tuple(turns[at : at + 2]) for at in range(0, len(turns), 2)}
    assert pairs == {
        ("factors-base", "factors-level1"),
        ("factors-level1", "factors-base"),
    }
    launched = len(first)
    assert plumbline(*words, "--picture", picture).out == done.out
    assert len(starter.launches) == launched
    plumbline(*words, "--new")
    assert len(starter.launches) > launched


def test_an_interrupted_experiment_goes_on(
    tmp_path: Path, starter: FactorStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*WORDS, "SLOW=1", "IDLE=1", "--json", "--db")
    whole = plumbline(*words, tmp_path / "whole.db")
    in_all = len(starter.launches)
    _install(monkeypatch, FactorStarter(planted.costs(), launch_noise=0.01, stop_after=17))
    with pytest.raises(Interrupted):
        plumbline(*words, tmp_path / "parts.db")
    rest = FactorStarter(planted.costs(), launch_noise=0.01)
    _install(monkeypatch, rest)
    done = plumbline(*words, tmp_path / "parts.db")
    assert len(rest.launches) == in_all - 17
    assert done.json["levels"] == whole.json["levels"]


def test_json_has_the_documented_fields(tmp_path: Path, starter: FactorStarter) -> None:
    done = plumbline(*WORDS, "SLOW=1", "cache", "--json", "--db", tmp_path / "f.db")
    assert done.status == 0, done.err
    documented = (ROOT / "docs" / "measurement.md").read_text()
    slow = done.json["levels"][0]
    for fields in (done.json, slow, slow["cells"][0]):
        for name in fields:
            assert f"`{name}`" in documented, name
    assert [cell["verdict"] for cell in slow["cells"]] == ["matters", "matters"]
    for cell in slow["cells"]:
        assert cell["low"] < 0.2 < cell["high"] and math.isclose(cell["change"], 0.2, abs_tol=0.03)
        assert cell["base"]["launches"] == cell["of_level"]["launches"] == cell["pairs"]


def test_later_results_of_this_machine_and_library_name_what_was_found(
    tmp_path: Path, starter: FactorStarter
) -> None:
    database = tmp_path / "f.db"
    assert plumbline(*WORDS, "SLOW=1", "IDLE=1", "--db", database).status == 0
    with Database.open(database, write=True) as db:
        row = campaigns.every(db)[0]
        assert runs.listing(db, row.id)
        changes = {"machine": row.machine, "library_fingerprint": row.library_fingerprint}
        campaigns.put(db, msgspec.structs.replace(build.CAMPAIGN, **changes))
    text = " ".join(plumbline("results", "--db", database).out.split())
    assert f"MPI_Allreduce, 4 ranks, {row.started[:10]}: SLOW=1: slower by" in text
    assert "idle: IDLE=1" in text
    told = plumbline("results", "--json", "--db", database).json["factors"]
    assert [(effect["function"], effect["verdict"]) for effect in told] == [
        ("MPI_Allreduce", "matters"),
        ("MPI_Allreduce", "idle"),
    ]
    # They are no campaigns.
    assert plumbline("results", "--list", "--db", database).out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pining",), "did you mean pinning"),
        (("cache=warm",), "the base has this level already"),
        (("frequency=hyperspeed",), "frequency=hyperspeed: "),
        (("--set", "tolerance=0"), "not in the range 0<x<1"),
        (("SLOW=1", "--sizes", "0"), "--sizes"),
        (("SLOW=1", "-n", "2,4"), "--nprocs takes one number with factors"),
        (("SLOW=1", "--quick"), "--quick has no effect with factors"),
        (("SLOW=1", "--set", "effects=5"), "effects has no effect with factors"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_a_launch(
    tmp_path: Path, starter: FactorStarter, words: tuple[str, ...], message: str
) -> None:
    done: Result = plumbline(*WORDS, *words, "--db", tmp_path / "f.db")
    assert done.status == 2 and message in done.err, done.err
    assert starter.launches == []


def test_words_that_name_no_function_and_keys_without_factors(
    tmp_path: Path, starter: FactorStarter
) -> None:
    for words, message in (
        (("factors",), "name a function and its factors"),
        (("MPI_Bcast",), "name a function and its factors"),
        (("--set", "tolerance=0.1"), "tolerance has no effect without factors"),
        (("--bind", "core"), "bind has no effect without factors"),
    ):
        done = plumbline("reproducibility", *words, "--db", tmp_path / "f.db")
        assert done.status == 2 and message in done.err, done.err
    assert starter.launches == []
