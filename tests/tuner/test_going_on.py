"""A campaign that is asked for again with other limits goes on with what is there; which keys make
another one, and what a campaign does next."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from plumbline.campaign import loop
from plumbline.campaign.going_on import GoingOn, go_on
from plumbline.campaign.states import Standing, Step, after
from plumbline.core import unmeasured
from plumbline.core.application import Application
from plumbline.core.reach import Hosts
from plumbline.launch.flux import FluxTable
from plumbline.launch.lsf import LsfTable
from plumbline.launch.pbs import PbsTable
from plumbline.launch.simulation import Simulation
from plumbline.launch.slurm import SlurmTable
from plumbline.measure.launches import LaunchStore
from plumbline.search.budget import NO_TIME, Budget
from plumbline.settings import GROUP_OF, GROUPS, Settings, identity
from plumbline.settings.campaign_file import load
from plumbline.settings.keeping import Keeping
from plumbline.settings.ranks import PLACES
from plumbline.settings.sampling import Sampling
from plumbline.settings.search import Searching
from plumbline_db import campaigns, events, runs, searches, suites, verdicts
from plumbline_db.connection import Database
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Campaign, Failure, Run
from tests.tuner import planted
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, Interrupted, SimulatedStarter, failed, toolchain

FEW: dict[str, Any] = {"guidelines": ["GL12", "GL13"], "sizes": [4096, 16384]}


def settings(**changes: Any) -> Settings:
    return planted.settings(**FEW | changes)


def asked(db: Database, folder: Path, starter: SimulatedStarter, wanted: Settings) -> Campaign:
    """As the command does it."""
    going = begun(db, starter, wanted)
    if going.campaign.state == "finished":
        return going.campaign
    store = LaunchStore(db, going.campaign.id, starter)
    within, earlier = going.settings, going.earlier
    return loop.Loop(store, toolchain(), going.campaign, within, folder, earlier=earlier).run()


def begun(db: Database, starter: SimulatedStarter, wanted: Settings) -> GoingOn:
    there = identity.begin(db, toolchain(), wanted, new=False)
    return go_on(db, there, wanted, starter)


def own(db: Database, campaign: Campaign) -> list[Run]:
    found, known = runs.listing(db, campaign.id), suites.get(db, campaign.id)
    return [one for one in found if not known[one.suite].parted]


def places(db: Database, campaign: Campaign) -> list[tuple[str, int, str]]:
    return [(one.suite, one.sequence, one.plan) for one in own(db, campaign)]


@pytest.fixture(scope="module")
def from_the_start(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, str]]:
    """The launches of a campaign that had all the time from its beginning."""
    folder = tmp_path_factory.mktemp("fresh")
    with Database.open(folder / "plumbline.db", write=True) as db:
        return places(db, asked(db, folder, machine(), settings(budget_seconds=1000.0)))


def machine(**more: Any) -> SimulatedStarter:
    return SimulatedStarter(planted.costs(), **more)


def test_a_budget_that_rises_goes_on_with_what_is_there(
    tmp_path: Path, db: Database, from_the_start: list[tuple[str, int, str]]
) -> None:
    """What it comes to is what it would have been with that budget from the start."""
    short = asked(db, tmp_path, machine(), settings(budget_seconds=5.0))
    before = own(db, short)
    assert short.state == "finished" and not searches.all_searches(db, short.id)
    starter = machine()
    longer = asked(db, tmp_path, starter, settings(budget_seconds=1000.0))
    assert (longer.id, longer.state) == (short.id, "finished")
    assert own(db, longer)[: len(before)] == before
    assert all(suite.partition("-")[0] != "before" for suite, _ in starter.launches)
    assert verdicts.get(db, longer.id, "after") and searches.all_searches(db, longer.id)
    assert places(db, longer) == from_the_start
    # Again, with less, and with none that is named: nothing is done anew.
    for less in ({"budget_seconds": 7.0}, {"budget_seconds": 1000.0}):
        again = asked(db, tmp_path, machine(stop_after=0), settings(**less))
        assert again == longer


def test_what_the_budget_leaves_over_is_said_with_what_it_would_take(
    tmp_path: Path, db: Database
) -> None:
    """With the budget that is named the cells are searched."""

    def said(campaign: Campaign) -> list[str]:
        return [event.text for event in events.get(db, campaign.id) if event.kind == NO_TIME]

    short = asked(db, tmp_path, machine(), planted.settings(budget_seconds=20.0))
    (text,) = said(short)
    found = re.fullmatch(
        r"(\d+) cells not searched, about \d+ s of launches; --budget (\d+) goes on from here", text
    )
    assert found is not None
    searched = len(searches.all_searches(db, short.id))
    wanted = planted.settings(budget_seconds=float(found[2]))
    longer = asked(db, tmp_path, machine(), wanted)
    assert said(longer) == []
    assert len(searches.all_searches(db, longer.id)) >= searched + int(found[1])


@pytest.mark.parametrize("kept", [0, 3])
def test_interrupted_on_the_other_way_it_goes_on_there(
    tmp_path: Path, db: Database, from_the_start: list[tuple[str, int, str]], kept: int
) -> None:
    """Fourteen seconds see the table and some of the search; the rest was decided upon without
    more time, and stays under another name."""
    first = asked(db, tmp_path, machine(), settings(budget_seconds=14.0))
    done = own(db, first)
    assert any(one.suite.startswith("confirm") for one in done)
    wanted = settings(budget_seconds=1000.0)
    with pytest.raises(Interrupted):
        asked(db, tmp_path, machine(stop_after=kept), wanted)
    found = asked(db, tmp_path, machine(), wanted)
    assert found.id == first.id
    assert places(db, found) == from_the_start
    parted = {one.suite for one in runs.listing(db, found.id)} - {
        one.suite for one in own(db, found)
    }
    assert all(name.startswith("parted-1-") for name in parted) and parted


def test_what_a_time_out_has_ended_is_launched_again(tmp_path: Path, db: Database) -> None:
    class Slow(SimulatedStarter):
        """Launches that end when their time is up, from the fourth on."""

        def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
            if run.sequence < 3:
                return run, records
            return failed(run, Failure("too long", "not at its end after 120 s, but going on"))

    with pytest.raises(Interrupted):
        asked(db, tmp_path, Slow(planted.costs(), stop_after=5), settings())
    (there,) = campaigns.all_campaigns(db)
    assert [one.finished for one in own(db, there)] == [True] * 3 + [False] * 2
    going = begun(db, machine(), settings(launch_timeout_seconds=60.0))
    assert going.settings.sampling.launch_timeout_seconds == 120.0 and len(own(db, there)) == 5
    found = asked(db, tmp_path, machine(), settings(launch_timeout_seconds=600.0))
    assert found.id == there.id and "600" in found.settings
    assert all(one.finished for one in own(db, found))
    assert [one.sequence for one in own(db, found)][:5] == [0, 1, 2, 3, 4]


# --- the usual budget -----------------------------------------------------------------------------


def test_the_usual_budget_grows_with_what_launches_cost(lab: Lab) -> None:
    for place, least in (({}, 180.0), ({"simulate": "ompi"}, 900.0)):
        store = lab.store(SimulatedStarter(Costs()))
        budget = Budget(store, load(None, {"nprocs": 4} | place))
        store.spent_seconds = 10.0
        budget.measured()
        store.spent_seconds = least - 1
        assert budget.left()
        store.spent_seconds = least
        assert not budget.left()
    # Nine launches of a minute: a table of 540 s.
    budget = Budget(store, load(None, {"nprocs": 4}))
    store.spent_seconds = 540.0
    budget.measured()
    assert budget.left() and budget.has_room(1000.0)
    store.spent_seconds = 4 * 540.0
    assert not budget.left()
    budget.earned()
    assert budget.left()
    named = Budget(store, load(None, {"nprocs": 4, "budget_seconds": 600.0}))
    named.measured()
    assert not named.left()


def test_dear_launches_do_not_keep_a_campaign_from_searching(tmp_path: Path, db: Database) -> None:
    """Twenty seconds a launch: the table alone takes more than was the budget."""
    usual = settings().but(budget_seconds=None)
    finished = asked(db, tmp_path, machine(seconds=20.0), usual)
    assert searches.all_searches(db, finished.id)
    assert not any(one.verdict == "violated" for one in verdicts.get(db, finished.id, "after"))


# --- which keys make another campaign -------------------------------------------------------------


JOBS = {"folder", "keep", "resubmissions", "grace_seconds", "poll_seconds"}
JUDGED: dict[type[msgspec.Struct], Set[str]] = {
    **dict.fromkeys(GROUPS.values(), frozenset()),
    Sampling: {"launch_timeout_seconds"},
    Searching: {"budget_seconds"},
    Keeping: {"keep_days", "keep_last"},
    Simulation: {"case_seconds"},
    Hosts: {"folder"},
    SlurmTable: JOBS | {"account", "qos"},
    PbsTable: JOBS | {"account"},
    FluxTable: JOBS | {"bank"},
    LsfTable: JOBS | {"project"},
    Application: set(),
}
# How one waits, spends and pays is told by these words: a new key of such a name is to be judged.
WORDS = ("budget", "timeout", "poll", "grace", "retries", "resubmissions", "wait", "keep")
# What changes how much is measured, or what is beside it, changes what is found.
MEASURED = {"launches", "launches_max", "rounds", "blocks", "reps", "at_once", "setup"}


def test_every_key_is_judged() -> None:
    for table, names in JUDGED.items():
        assert unmeasured.names(table) == names, table
        assert not names & MEASURED
        told = {one for one in table.__struct_fields__ if any(word in one for word in WORDS)}
        assert told <= names
    values = [one for group in GROUPS.values() for one in msgspec.structs.fields(group)]
    inner = {
        one for value in values for one in get_args(value.type) if hasattr(one, "__struct_fields__")
    }
    assert inner == JUDGED.keys() - GROUPS.values()


# Another value of each key, where what is derived from its own does not do.
OTHERS = {
    "type": "MPI_INT",
    "op": "MPI_SUM",
    "guidelines": ["GL12"],
    "functions": ["MPI_Bcast"],
    "block_sizes": [16, 4096],
    "launches_max": 50,
    "variants": ["gather_binomial"],
    "use": "loop",
    "sync": "window",
    "nodes": 2,
    "bind": "core",
    "map_by": "node",
    "environment": {"A": "b"},
    "preload": [__file__],
    "settings": True,
    "all": True,
    "sizes": [1, 2],
    "nprocs": 8,
    "keep_days": 90.0,
    "keep_last": 10,
}


def other(name: str, value: object) -> object:
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return not value
    return value / 2 if isinstance(value, float) else value + 1  # type: ignore[operator]


def test_those_that_measure_nothing_leave_the_campaign_what_it_is(db: Database) -> None:
    settings = planted.settings()
    own = identity.begin(db, toolchain(), settings, new=False)
    for name, value in settings.keys().items():
        if name in (*PLACES, "profile"):
            continue
        changed = settings.but(**{name: other(name, value)})
        found = identity.begin(db, toolchain(), changed, new=False)
        assert (found.id == own.id) == (name in JUDGED[GROUPS[GROUP_OF[name]]]), name


@pytest.mark.parametrize("place", [*PLACES])
def test_the_same_in_tables(place: str) -> None:
    made = {
        "simulate": Simulation(library="ompi"),
        "hosts": Hosts(names=["a"]),
        "slurm": SlurmTable(start="srun", mpi="pmi2"),
        "pbs": PbsTable(),
        "flux": FluxTable(),
        "lsf": LsfTable(),
    }[place]
    settings = planted.settings().but(**{place: made})
    own = identity.identifying(settings)
    assert own != identity.identifying(planted.settings())
    for name in made.__struct_fields__:
        value = getattr(made, name)
        if name == "file" or (not isinstance(value, bool | int | float) and value != ""):
            continue
        text = {"platform": "a.xml"}.get(name, "/x" if name == "folder" else "x")
        table = msgspec.structs.replace(made, **{name: text if value == "" else other(name, value)})
        changed = identity.identifying(settings.but(**{place: table}))
        assert (changed == own) == (name in JUDGED[type(made)]), name


# --- what comes next ------------------------------------------------------------------------------


NOTHING = Standing(
    winners=False, changed=False, stands=True, opened=False, may_search=True, may_set=False
)


def every() -> Iterator[tuple[Step, Standing, bool, Step]]:
    """Each step, standing and answer of the clock, with what comes next. Without winners the
    library as it is stands."""
    for done in set(Step) - {Step.END}:
        for values in itertools.product([False, True], repeat=6):
            now = Standing(*values)
            if now.winners or now.stands:
                for time in (False, True):
                    yield done, now, time, after(done, now, lambda time=time: time)


def test_what_a_step_needs_is_there() -> None:
    for done, now, time, step in every():
        assert step is not Step.BEFORE
        if step is Step.SEARCH:
            assert now.may_search and time and done is not Step.SETTINGS
        if step is Step.SETTINGS:
            assert now.may_set and time and now.stands and not now.changed
        if step is Step.CONFIRM:
            assert now.winners and now.changed
        if step is Step.UNDO:
            assert now.winners and not now.stands


def test_what_changed_is_confirmed_before_the_end() -> None:
    for done, now, _, step in every():
        if step is Step.END and done is not Step.UNDO:
            assert now.stands and not (now.changed and now.winners)


def test_without_time_only_what_changed_is_measured() -> None:
    for _, now, time, step in every():
        if not time:
            assert step in (Step.CONFIRM, Step.UNDO, Step.END)
            assert step is not Step.CONFIRM or now.changed


@pytest.mark.parametrize(
    ("done", "now", "wanted"),
    [
        (Step.BEFORE, {}, Step.SEARCH),
        (Step.BEFORE, {"may_search": False}, Step.END),
        (Step.SEARCH, {}, Step.END),
        (Step.SEARCH, {"opened": True}, Step.SEARCH),  # nothing was better: the next cells
        (Step.SEARCH, {"opened": True, "winners": True, "changed": True}, Step.CONFIRM),
        (Step.SEARCH, {"may_set": True}, Step.SETTINGS),
        (Step.CONFIRM, {"winners": True, "may_search": False, "stands": False}, Step.UNDO),
        (Step.UNDO, {"winners": True}, Step.END),
        (Step.UNDO, {"winners": True, "changed": True, "may_search": False}, Step.CONFIRM),
    ],
)
def test_steps_by_hand(done: Step, now: dict[str, bool], wanted: Step) -> None:
    fields = {name: getattr(NOTHING, name) for name in NOTHING.__struct_fields__}
    assert after(done, Standing(**(fields | now)), lambda: True) is wanted


def test_time_is_asked_for_only_where_it_matters() -> None:
    """A larger budget parts a campaign from what is stored at the first other answer."""

    def nobody() -> bool:
        raise AssertionError

    changed = Standing(
        winners=True, changed=True, stands=False, opened=True, may_search=True, may_set=True
    )
    assert after(Step.SEARCH, changed, nobody) is Step.CONFIRM
    spent = Standing(
        winners=True, changed=False, stands=True, opened=False, may_search=False, may_set=False
    )
    assert after(Step.CONFIRM, spent, nobody) is Step.END
