"""Open MPI 5 on two hosts, where coll/han answers before coll/tuned: what a search measures there
is in force, what is exported decides, and a rules file alone does not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.campaign import proof
from plumbline.core.plan import Plan
from plumbline.launch.starter import Starter
from plumbline.libraries import space_file
from plumbline.libraries.space import Space
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.system.placement import Placement
from plumbline_db.probe_records import Check, ConfigRecord
from plumbline_db.records import Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.registry import write
from tests.db import build
from tests.exporters.bundles import bundle
from tests.hosts import Hosts
from tests.tuner.families.installations import prefix_of
from tests.tuner.launch.test_two_hosts import outcomes, several, starter
from tests.tuner.simulated import ROOT, with_variants

pytestmark = pytest.mark.mpi

NAME, FUNCTION, SIZE = "openmpi-5.0", "MPI_Reduce", 4096
LAYOUT = Placement(nodes=2, ppn=2)


@pytest.fixture
def ranks(two_hosts: Hosts, tmp_path: Path) -> Starter:
    prefix_of(NAME)  # skips where it is not there
    return starter(two_hosts, tmp_path, LAYOUT, NAME)


def candidate_space() -> tuple[Space, CandidateSpace]:
    family, found = libraries.find(prefix_of(NAME))
    space = space_file.for_library(ROOT / "search-spaces", found.library).on(LAYOUT.nodes)
    toolchain = with_variants([], space, found.library, family.knobs(found))
    return space, CandidateSpace(toolchain, LAYOUT.nprocs)


def test_candidates_race_without_han_beside_the_default_with_it(ranks: Starter) -> None:
    space, chosen = candidate_space()
    candidates = chosen.first(FUNCTION)
    assert candidates and all(
        one.configuration.get("coll_han_priority") == "0" for one in candidates
    )
    assert not any("coll_han_priority" in one.configuration for one in chosen.first("MPI_Scan"))
    cases = tuple(one.case(FUNCTION, SIZE) for one in (DEFAULT, *candidates))
    plan = Plan("race", 1, cases, blocks=2, reps=2, warmup=1)
    run, records = ranks.start("c", "race", 0, plan.text(), space.hot_environment)
    assert run.finished, run.reason + run.stderr
    assert all(one.in_force for one in records if isinstance(one, ConfigRecord))
    checks = [one.outcome for one in records if isinstance(one, Check)]
    assert set(checks) == {"ok"} and len(checks) > len(cases)


def test_what_is_exported_decides_and_the_rules_alone_do_not(
    two_hosts: Hosts, ranks: Starter, tmp_path: Path
) -> None:
    _, chosen = candidate_space()
    candidate: Candidate = chosen.first(FUNCTION)[0]
    winner: Winner = build.winner(
        function=FUNCTION, nprocs=4, ppn=2, bytes_from=2048, bytes_to=8192, variant="default",
        configuration=candidate.configuration.as_dict(), restrictions=[],
    )  # fmt: skip
    _, found = libraries.find(prefix_of(NAME))
    out = tmp_path / "out"
    write(
        msgspec.structs.replace(bundle(winner, directory=str(out)), library=found.library), ["env"]
    )
    environment = proof.environment_of(out / plumbline_sh.FILE_NAME, ranks.clean_environment())
    assert "OMPI_MCA_coll_han_priority" not in environment

    def problems(given: Mapping[str, str]) -> list[str]:
        plan = Plan("proof", 1, (candidate.case(FUNCTION, SIZE),), blocks=1, reps=1)
        with several(two_hosts, tmp_path).folder("proof") as folder:
            return proof.prove(
                ranks.family,
                partial(outcomes, ranks),
                plan,
                given,
                [winner],
                {FUNCTION: [SIZE]},
                folder,
            ).problems

    assert problems(environment) == []
    alone = {name: value for name, value in environment.items() if "coll_han" not in name}
    (problem,) = problems(alone)
    assert "ompi-rules.conf does not decide" in problem
