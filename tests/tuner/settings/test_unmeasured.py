"""Which keys of a campaign file make another campaign, and which do not."""

from __future__ import annotations

from collections.abc import Set
from typing import get_args

import msgspec
import pytest

from plumbline.core import unmeasured
from plumbline.core.application import Application
from plumbline.core.guidelines import Guidelines, load
from plumbline.core.reach import Hosts
from plumbline.launch.allocation import JobTable
from plumbline.launch.simulation import Simulation
from plumbline.settings import GROUP_OF, GROUPS, Searching, identity
from plumbline.settings.cases import Keeping, Sampling
from plumbline.settings.ranks import PLACES
from plumbline_db.connection import Database
from tests.tuner import planted
from tests.tuner.simulated import toolchain

JUDGED: dict[type[msgspec.Struct], Set[str]] = {
    **dict.fromkeys(GROUPS.values(), frozenset()),
    Sampling: {"launch_timeout_seconds"},
    Searching: {"budget_seconds", "earlier"},
    Keeping: {"keep_days", "keep_last"},
    Simulation: {"case_seconds"},
    Hosts: {"folder"},
    JobTable: {"account", "minutes", "folder"},
    Application: set(),
    Guidelines: set(),
}
# How one waits, spends and pays is told by these words: a new key of such a name is to be judged.
WORDS = ("budget", "timeout", "poll", "grace", "retries", "resubmissions", "wait", "keep")
# What changes how much is measured, or what is beside it, changes what is found.
MEASURED = {"launches", "launches_max", "rounds", "blocks", "reps", "setup"}


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
    "counts": "linear",
    "guidelines": ["GL12"],
    "guidelines_file": load(),
    "functions": ["MPI_Bcast"],
    "block_sizes": [16, 4096],
    "nrep": "rse:0.025",
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
    "rounds": 2,
    "sizes": [1, 2],
    "nprocs": 8,
    "keep_days": 90.0,
    "keep_last": 10,
    "earlier": "none",
    "limited_to": "ranks",
    "within": "1x8",
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
        "job": JobTable(start="srun", mpi="pmi2"),
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
