"""A site with a bad rules file: for every function and size the slowest algorithm of the library,
as measured here. A campaign finds the violations that this causes, and removes them: on the real
Open MPI, with four ranks.

Minutes, so it is not among the tests that pytest finds: `make test-campaigns`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.libraries.openmpi import RULES
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace, index
from plumbline.settings import Settings, identity, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.records import EVERY_FUNCTION, Suite
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES, parameter_prefix
from tests.exporters import rules_reader
from tests.tuner.started import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(3600)]

NPROCS = 4
SIZES = [1024, 8192, 65536]
GUIDELINES = ["GL3", "GL7", "GL8", "GL10", "GL11", "GL12"]
# Where everything is slow, right sides are too, and fewer guidelines are violated.
EVERYWHERE = ["MPI_Allgather", "MPI_Allreduce", "MPI_Bcast", "MPI_Gather", "MPI_Reduce"]
EVERYWHERE += ["MPI_Scatter"]
SOME = ["MPI_Bcast", "MPI_Reduce"]
SETTINGS = {"nprocs": NPROCS, "sizes": SIZES, "guidelines": GUIDELINES, "budget_seconds": 1800.0}
SETTINGS |= {"launches": 12, "launches_max": 24, "blocks": 3, "reps": 3}
SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"

SMALL_SEGMENT = "64"

Rule = tuple[int, Candidate]


def tried(candidate_space: CandidateSpace, function: str) -> list[Candidate]:
    """The library's algorithms, those with segments also with small ones."""
    found = []
    segment = f"{parameter_prefix(function)}_segmentsize"
    for one in candidate_space.first(function):
        found.append(one)
        if segment in one.configuration.as_dict() and not candidate_space.one_for_all_sizes(
            function
        ):
            knobs = one.configuration.as_dict() | {segment: SMALL_SEGMENT}
            found.append(Candidate(configuration=Configuration.of(knobs)))
    return found


def slowest(
    toolchain: Toolchain, settings: Settings, functions: Sequence[str], folder: Path
) -> dict[str, list[Rule]]:
    """Of each function and size the slowest safe algorithm; for Gather and Scatter one for all."""
    candidate_space = CandidateSpace(toolchain, NPROCS, tried=[])
    plan = msgspec.structs.replace(
        tables.plan(settings, []),
        cases=tuple(
            one.case(function, size)
            for function in functions
            for size in SIZES
            for one in [DEFAULT, *tried(candidate_space, function)]
        ),
    )
    with Database.open(folder / "slowest.db", write=True) as db:
        started = identity.begin(db, toolchain, settings, new=False)
        store = LaunchStore(db, started.id, starting.starter(toolchain, settings))
        Series(store, Suite("slowest"), plan, toolchain.space.hot_environment).advance(3)
        times = index(runs.medians(db, started.id, ["slowest"]))
    over: dict[str, dict[int, dict[Candidate, float]]] = {}
    for (target, one), found in times.items():
        if one != DEFAULT:
            here = over.setdefault(target.function, {}).setdefault(target.bytes, {})
            here[one] = min(found.values())
    result: dict[str, list[Rule]] = {}
    for function, by_size in over.items():
        if candidate_space.one_for_all_sizes(function):
            every = set.intersection(*(set(one) for one in by_size.values()))
            worst = max(every, key=lambda one: sum(by_size[size][one] for size in SIZES))
            result[function] = [(0, worst)]
        else:
            worst_at = {size: max(one, key=one.__getitem__) for size, one in by_size.items()}
            result[function] = [(0 if size == SIZES[0] else size, worst_at[size]) for size in SIZES]
    return result


def rules_file(chosen: Mapping[str, list[Rule]], toolchain: Toolchain) -> str:
    lines = ["# What a site has had in force for years.", f"{len(chosen)} # collectives"]
    for function, rules in chosen.items():
        collective = COLLECTIVES[function]
        lines += [
            f"{collective.rule_id} # {function}",
            "1",
            "0 # any communicator",
            str(len(rules)),
        ]
        for size, one in rules:
            knobs = one.configuration.as_dict()
            number = collective.id_of(
                knobs[parameter_prefix(function)], toolchain.installation.library
            )
            segment = knobs.get(f"{parameter_prefix(function)}_segmentsize", "0")
            lines.append(f"{size} {number} 4 {segment}")
    return "\n".join(lines) + "\n"


@dataclass
class Done:
    functions: list[str]
    site: str
    clean: dict[str, Any]
    results: dict[str, Any]


def violations(stage: Mapping[str, Any]) -> set[tuple[str, str, int]]:
    return {(one["guideline"], one["function"], one["bytes"]) for one in stage["violations"]}


@pytest.fixture(scope="module", params=[SOME, EVERYWHERE], ids=["some", "everywhere"])
def done(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, mpirun: None
) -> Done:
    folder = tmp_path_factory.mktemp("bad-rules")
    settings = load(None, SETTINGS)
    toolchain = find_toolchain(settings=settings)
    if toolchain.installation.library.family != "openmpi":
        pytest.skip("the mpirun on PATH is not Open MPI's")
    site = folder / "site-rules.conf"
    site.write_text(rules_file(slowest(toolchain, settings, request.param, folder), toolchain))
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in SETTINGS.items())
    (folder / "clean.toml").write_text(text)
    (folder / "site.toml").write_text(
        f'{text}[environment]\n{SWITCH} = "1"\n{RULES} = {json.dumps(str(site))}\n'
    )
    clean = plumbline(
        "verify", folder / "clean.toml", "--json", "--db", folder / "clean.db", seconds=900
    )
    assert clean.returncode in (0, 3), clean.stderr
    database = folder / "plumbline.db"
    said = plumbline("campaign", folder / "site.toml", "--db", database, seconds=3000)
    assert said.returncode == 0, said.stderr
    results = plumbline("results", "--json", "--db", database)
    return Done(
        request.param, site.read_text(), json.loads(clean.stdout), json.loads(results.stdout)
    )


def test_what_the_rules_cause_is_found_and_removed(done: Done) -> None:
    """At least 95 % of the violations that are there because of the rules file."""
    caused = violations(done.results["before"]) - violations(done.clean["before"])
    left = caused & violations(done.results["after"])
    cost = done.results["cost"]
    print(
        f"\n{len(violations(done.clean['before']))} violations without the rules file, "
        f"{len(violations(done.results['before']))} with it, {len(caused)} caused by it, "
        f"{len(left)} of these left; {len(violations(done.results['after']))} in all; "
        f"{cost['launches']} launches, {cost['seconds']:.0f} s"
    )
    assert len(caused) >= (4 if done.functions == SOME else 1)
    assert len(left) <= 0.05 * len(caused), sorted(left)


def test_it_is_said_plainly(done: Done) -> None:
    (said,) = [one["text"] for one in done.results["events"] if one["kind"] == "site"]
    assert "site-rules.conf, by the settings, is in force in the library as it is" in said


def test_the_exported_rules_take_the_place_of_the_sites(done: Done) -> None:
    """Winners' sizes have theirs, all others what the site has. Where no winner is an algorithm of
    the library, no rules are exported, and the site's stay."""
    paths = [
        Path(one["path"])
        for one in done.results["exports"]
        if Path(one["path"]).name == ompi_rules.RULES_FILE_NAME
    ]
    tuned = {
        (one["function"], size)
        for one in done.results["winners"]
        for size in SIZES
        if one["variant"] == "default"
        and one["function"] != EVERY_FUNCTION
        and one["bytes_from"] <= size <= (one["bytes_to"] or size)
    }
    assert len(paths) == bool(tuned)
    if not paths:
        return
    ours, theirs = (rules_reader.read(one) for one in (paths[0].read_text(), done.site))
    for function in done.functions:
        for size in SIZES:
            id = COLLECTIVES[function].rule_id
            here, there = (one.decision(id, NPROCS, size) for one in (ours, theirs))
            if (function, size) not in tuned:
                assert here == there, (function, size)


def test_every_winner_was_shown_to_be_in_force(done: Done) -> None:
    said = [one["text"] for one in done.results["events"] if one["kind"] == "in force"]
    for one in done.results["winners"]:
        whole = one["function"] == EVERY_FUNCTION
        words = [*one["configuration"], "read back"] if whole else [one["function"], "decides"]
        assert any(all(word in text for word in words) for text in said)
