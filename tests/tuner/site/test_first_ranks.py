"""The A/A check of the shared ranks of a site: what it compares and what follows from it."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from plumbline.core.cell import Target
from plumbline.core.plan import Plan
from plumbline.measure.comparison import Arm
from plumbline.measure.launches import IN_COMPANY, OWN_RANKS, Silent
from plumbline.settings import campaign_file
from plumbline.settings.campaign_file import Task
from plumbline.site import first_ranks
from plumbline.site.first_ranks import FirstRanks, some_cells
from plumbline.system import machine
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Run, Suite
from tests import busy
from tests.probes.launch import ROOT
from tests.tuner.campaign.test_end_to_end import kill
from tests.tuner.started import plumbline, start

LAUNCHES = "SELECT id FROM run"


def task(nprocs: int, **more: object) -> Task:
    asked = {"nprocs": nprocs, "sizes": [64, 4096], "guidelines": ["GL3", "GL12"], **more}
    (own,) = campaign_file.tasks(None, asked, None)
    return own


def test_cells_are_drawn_from_all_functions_and_sizes() -> None:
    sizes = {f"MPI_{letter}": [1, 8, 64, 512, 4096] for letter in "ABCDEFGH"}
    cells = some_cells(sizes | {"MPI_Barrier": [0], "MPI_Empty": []})
    assert 6 <= len(cells) <= 15
    assert {cell.bytes for cell in cells if cell.function == "MPI_A"} == {1, 64, 4096}
    assert len({cell.function for cell in cells}) >= 3
    assert some_cells({"MPI_A": [1, 2]}) == [Target("MPI_A", 1), Target("MPI_A", 2)]


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[FirstRanks]:
    try:
        opened = first_ranks.first_ranks(task(machine.processing_units() + 2), tmp_path)
    except PlumblineError as error:
        pytest.skip(str(error))
    assert opened is not None
    yield opened
    opened.close()


@pytest.mark.mpi
@pytest.mark.slow
def test_first_ranks_are_compared_once(ranks: FirstRanks, tmp_path: Path) -> None:
    """The comparison is stored. Its ratio is what the machine says; each answer has its reason."""
    with Database.open(tmp_path / "a.db", write=True) as db:
        largest = ranks.check(db, task(machine.processing_units() + 2), Silent())
        assert largest.shared and largest.ratio is None and not db.rows(LAUNCHES)
        smaller = task(machine.processing_units() + 1)
        used = ranks.check(db, smaller, Silent())
        launches = len(db.rows(LAUNCHES))
        assert used.ratio is not None and launches >= 12 and used.why
        assert used.shared == (used.why.endswith("alike within 10%"))
        assert ranks.check(db, smaller, Silent()) == used
        assert len(db.rows(LAUNCHES)) == launches


@pytest.mark.mpi
def test_ranks_that_are_not_oversubscribed_measure_for_themselves(
    ranks: FirstRanks, tmp_path: Path
) -> None:
    """Libraries wait otherwise where ranks share processing units."""
    with Database.open(tmp_path / "a.db", write=True) as db:
        used = ranks.check(db, task(2), Silent())
        assert not used.shared and "processing units" in used.why and not db.rows(LAUNCHES)


def delayed(by_stage: Mapping[str, int], usual_ns: int) -> Callable[[Suite, Plan], Arm]:
    """Return what makes arms whose cases have a planted delay, in nanoseconds."""

    def arm(suite: Suite, plan: Plan) -> Arm:
        delay_ns = by_stage.get(suite.stage, usual_ns)
        cases = tuple(msgspec.structs.replace(case, delay_ns=delay_ns) for case in plan.cases)
        return Arm(suite, msgspec.structs.replace(plan, cases=cases))

    return arm


@pytest.mark.mpi
@pytest.mark.slow
def test_first_ranks_that_are_slower_are_not_used(
    ranks: FirstRanks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every case on the shared ranks has a planted delay."""
    monkeypatch.setattr(first_ranks, "Arm", delayed({OWN_RANKS: 0}, 300_000))
    with Database.open(tmp_path / "a.db", write=True) as db:
        used = ranks.check(db, task(machine.processing_units() + 1), Silent())
    assert not used.shared and used.ratio is not None and used.ratio.ratio > 1.1
    assert str(used).startswith("its own: ")


@pytest.fixture
def sleeping(tmp_path: Path) -> str:
    library = tmp_path / "libsleeping.so"
    source = ROOT / "tests" / "tuner" / "launch" / "sleeping.c"
    words = ["mpicc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-o", library, source]
    subprocess.run(words, check=True, timeout=60)
    return str(library)


@pytest.mark.mpi
@pytest.mark.slow
def test_groups_that_do_not_disturb_each_other_measure_at_the_same_time(
    mpirun: None, sleeping: str, tmp_path: Path
) -> None:
    """Calls sleep, so that ranks need no processor. Each group measures one of two functions; what
    is stored is a launch of both, in the members that other launches visit."""
    nprocs = machine.processing_units() + 1
    more = {"preload": [sleeping], "use": "after_barrier", "blocks": 4, "reps": 2}
    ranks = first_ranks.first_ranks(task(2 * nprocs, **more), tmp_path)
    assert ranks is not None
    with contextlib.closing(ranks), Database.open(tmp_path / "a.db", write=True) as db:
        used = ranks.check(db, task(nprocs, **more), Silent())
        assert ranks.check(db, task(nprocs, **more), Silent()) == used
        (row,) = campaigns.every(db)
        suites = ("one-group", "in-company")
        launches = [runs.listing(db, row.id, [suite]) for suite in suites]
        alone, together = (runs.medians(db, row.id, [suite]) for suite in suites)
    assert check(tmp_path / "a.db") == []
    if not ranks.panel.side_by_side:
        busy.undecided(str(used))
    assert used.shared and used.company.startswith("2 groups measure at the same time")
    assert ranks.panel.side_by_side == {nprocs}
    assert all(run.finished and run.member for each in launches for run in each)
    assert len(alone) == 4 and [each.case for each in alone] == [each.case for each in together]
    # What one group has measured one after the other, two have measured at the same time.
    timed = [statistics.median(run.timed_seconds for run in each) for each in launches]
    assert timed[1] < timed[0]


@pytest.mark.mpi
@pytest.mark.alone
def test_groups_that_disturb_each_other_measure_one_at_a_time(
    mpirun: None, sleeping: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delay is planted into every case of several groups."""
    monkeypatch.setattr(first_ranks, "Arm", delayed({IN_COMPANY: 1_000_000}, 0))
    nprocs = machine.processing_units() + 1
    more = {"preload": [sleeping], "use": "after_barrier", "blocks": 4, "reps": 2}
    ranks = first_ranks.first_ranks(task(2 * nprocs, **more), tmp_path)
    assert ranks is not None
    with contextlib.closing(ranks), Database.open(tmp_path / "a.db", write=True) as db:
        used = ranks.check(db, task(nprocs, **more), Silent())
    if not used.shared:
        busy.undecided(str(used))
    assert used.company.startswith("one group at a time: ") and not ranks.panel.side_by_side


def test_the_answer_is_a_sentence() -> None:
    assert str(first_ranks.RanksUsed(shared=True, why="the largest layout")) == "the largest layout"


SITE = f"""
sizes = [64]
guidelines = ["GL12"]
variants = ["allreduce_as_reduce_plus_bcast"]
launches = 6
launches_max = 6
blocks = 1
reps = 2
rounds = 1
budget_seconds = 5
use = "synchronised"
precision = 0
bind = "plain"

[site]
ranks = [{machine.processing_units() + 1}, {machine.processing_units() + 2}]
samples = 0
"""


def launches(database: Path) -> list[Run]:
    """Return the launches of all campaigns and checks so far, in the order of their campaigns."""
    try:
        with Database.open(database) as db:
            return [run for row in campaigns.every(db) for run in runs.listing(db, row.id)]
    except PlumblineError:  # the first moments of a database
        return []


@pytest.mark.mpi
@pytest.mark.slow
def test_a_killed_site_of_shared_ranks_goes_on_and_repeats_nothing(
    mpirun: None, tmp_path: Path
) -> None:
    """The site is killed while ranks are compared, and again in a campaign on shared ranks."""
    file, database = tmp_path / "site.toml", tmp_path / "site.db"
    file.write_text(SITE)
    words = ("campaign", file, "--site", "--json", "--db", database)
    before_kills: list[Run] = []
    for least in (4, 20):
        command = start(*words)
        limit = time.monotonic() + 120
        while len(launches(database)) < least and command.poll() is None:
            assert time.monotonic() < limit
            time.sleep(0.1)
        assert command.poll() is None, command.communicate()[1].decode()
        kill(command)
        before_kills += [run for run in launches(database) if run not in before_kills]
    done = plumbline(*words)
    assert done.returncode == 0, done.stderr
    after = launches(database)
    assert check(database) == [] and len(after) > len(before_kills) >= 20
    assert all(run in after for run in before_kills)
    assert len({run.id for run in after}) == len(after)
    site = json.loads(done.stdout)
    assert len(site["members"]) == len(site["ranks"]) == 2
    again = plumbline(*words)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert launches(database) == after
