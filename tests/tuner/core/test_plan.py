"""Plans as text, which sizes are cells, and how many samples a launch has room for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.core.configuration import Configuration
from plumbline.core.plan import (
    MESSAGE_FUNCTIONS_IN_BLOCKS,
    TYPE_BYTES,
    Data,
    OverlapCell,
    Plan,
    PlanCase,
    RoundTrips,
    StoppingRule,
    is_same,
    measurable,
    rounding,
)
from plumbline_db.errors import UsageError
from tests.tuner import simulated

WORD = st.from_regex(r"[A-Za-z0-9_.,:/-]+", fullmatch=True)
KNOBS = st.dictionaries(WORD.filter(lambda word: word != "id"), WORD, max_size=3).map(
    Configuration.of
)
CASES = st.builds(
    PlanCase,
    function=st.sampled_from(sorted(simulated.LATENCY)),
    bytes=st.integers(0, 2**30),
    variant=st.sampled_from(["default", "library"]),
    configuration=KNOBS,
    plain_duplicate=st.booleans(),
    ranks=st.integers(0, 9),
)
PLANS = st.builds(
    Plan,
    name=WORD,
    seed=st.integers(0, 2**64 - 1),
    cases=st.lists(CASES, unique=True, max_size=12).map(tuple),
    data=st.builds(Data, type=st.sampled_from(sorted(TYPE_BYTES)), root=st.integers(0, 7)),
    blocks=st.integers(1, 9),
    reps=st.integers(1, 99),
)
FUNCTIONS = st.sampled_from(sorted(simulated.LATENCY))
SIZES = st.lists(st.integers(1, 300), max_size=40)


def test_a_plan_is_complete() -> None:
    plan = Plan("r", 7, (PlanCase("MPI_Bcast", 8),))
    assert plan.text() == (
        "plumbline-plan 1\n"
        "set run=r seed=7 blocks=12 warmup=16 rewarm=2 sync=barrier clock=monotonic_raw "
        "knobs=communicator cache=warm clock_sync=hca3 clock_fit_ms=500 clock_multiple=10 "
        "runtime=local window_us=0\n"
        "case id=0 function=MPI_Bcast variant=default config=default bytes=8 type=MPI_BYTE "
        "op=MPI_BOR root=0 counts=equal reps=4\n"
    )
    other = msgspec.structs.replace(
        plan,
        sync="window",
        clock="tsc",
        clock_sync="jk",
        runtime="global",
        window_us=50,
        clock_multiple=20,
        budget_ms=300,
    )
    assert other.text().splitlines()[1] == (
        "set run=r seed=7 blocks=12 warmup=16 rewarm=2 sync=window clock=tsc knobs=communicator "
        "cache=warm clock_sync=jk clock_fit_ms=500 clock_multiple=20 runtime=global window_us=50 "
        "budget_ms=300"
    )
    late = PlanCase("MPI_Bcast", 8, use="late")
    assert " budget_ms=2000\n" in msgspec.structs.replace(plan, cases=(late,)).text()


def test_a_launch_from_before_plans_were_complete_is_known_again() -> None:
    case = "case id=0 function=MPI_Bcast variant=default config=default bytes=8 type=MPI_BYTE "
    stored = (
        "plumbline-plan 1\nset run=r seed=7 blocks=12 warmup=16 rewarm=2 sync=window clock=tsc\n"
        f"{case}op=MPI_BOR root=0 reps=4\n"
        "overlap id=0 bench=sender bytes=8 work_ns=9 kernel=registers test_ns=0 triples=50\n"
    )
    cells = (OverlapCell("sender", 8, 9),)
    plan = Plan("r", 7, (PlanCase("MPI_Bcast", 8),), sync="window", clock="tsc", overlaps=cells)
    assert is_same(stored, plan.text())
    for changed in ({"clock": "wtime"}, {"cache": "cycle"}, {"window_us": 1}, {"seed": 8}):
        assert not is_same(stored, msgspec.structs.replace(plan, **changed).text())


@given(PLANS)
def test_the_text_says_all_of_it(plan: Plan) -> None:
    found, configs, cases = simulated.parse(plan.text())
    assert {key: found[key] for key in ("run", "seed", "blocks", "warmup", "rewarm", "sync")} == {
        "run": plan.name,
        "seed": str(plan.seed),
        "blocks": str(plan.blocks),
        "warmup": str(plan.warmup),
        "rewarm": str(plan.rewarm),
        "sync": plan.sync,
    }
    assert len(cases) == len(plan.cases)
    for number, (case, wanted) in enumerate(zip(cases, plan.cases, strict=True)):
        assert case.case == number
        assert (case.function, case.variant, case.bytes) == (
            wanted.function,
            wanted.variant,
            wanted.bytes,
        )
        assert case.ranks == wanted.ranks
        assert (case.type, case.root, case.reps) == (plan.data.type, plan.data.root, plan.reps)
        if wanted.plain_duplicate:
            assert case.config == "plain"
            assert configs["plain"] == {}
        else:
            assert configs.get(case.config, {}) == wanted.configuration.as_dict()
            assert (case.config == "default") == (not wanted.configuration)
    assert len(set(map(tuple, (sorted(one.items()) for one in configs.values())))) == len(configs)


RULES = st.builds(
    StoppingRule,
    criteria=st.sampled_from(["rse:0.025", "cov_mean:0.01/20,median_ci:0.02"]),
    least=st.integers(1, 20),
    step=st.integers(1, 99),
    most=st.integers(20, 10**6),
)
MORE = st.builds(
    lambda plan, **more: msgspec.structs.replace(plan, data=Data(), **more),
    PLANS,
    cache=st.sampled_from(["warm", "cycle", "overwrite"]),
    nrep=st.none() | RULES,
    precision=st.sampled_from([0.0, 0.0125]),
    budget_ms=st.integers(0, 10**6),
    pingpongs=st.lists(
        st.builds(RoundTrips, st.integers(0, 2**31 - 1), st.integers(1, 999)),
        min_size=1,
        unique_by=lambda one: one.bytes,
    ).map(tuple),
)


@given(MORE)
def test_what_differs_from_the_defaults_is_said(plan: Plan) -> None:
    settings = simulated.parse(plan.text())[0]
    assert settings["cache"] == plan.cache
    assert settings.get("budget_ms", "0") == str(plan.budget_ms)
    assert ("nrep" in settings) == bool(plan.nrep or plan.precision)
    assert ("blocks" in settings) == (plan.nrep is None)
    assert ("reps=" in plan.text().partition("pingpong")[0]) == bool(not plan.nrep and plan.cases)
    if plan.nrep:
        assert settings["nrep"] == plan.nrep.criteria
        bounds = [int(settings[f"nrep_{name}"]) for name in ("min", "step", "max")]
        assert bounds == [plan.nrep.least, plan.nrep.step, plan.nrep.most]
    elif plan.precision:
        assert settings["nrep"] == "block_medians:0.0125"
    lines = [line for line in plan.text().splitlines() if line.startswith("pingpong")]
    assert lines == [f"pingpong bytes={p.bytes} reps={p.reps}" for p in plan.pingpongs]


@settings(max_examples=15)
@given(plan=MORE)
def test_the_probe_reads_all_of_it(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("plan") / "plan"
    file.write_text(plan.text())
    done = subprocess.run(
        [probe(), "--check-plan", file], capture_output=True, text=True, timeout=20, check=False
    )
    idle = bool(plan.budget_ms and not plan.nrep)  # with sync=barrier nothing heeds it
    assert done.returncode == (2 if idle else 0), (done.stderr, plan.text())
    assert ("token 'budget_ms=" in done.stderr) == idle


@pytest.mark.parametrize("word", ["", "a b", "a=b", "#", "line\nfeed"])
def test_words_that_cannot_stand_in_a_plan(word: str) -> None:
    with pytest.raises(UsageError, match="is not allowed in a plan"):
        Plan(word, 1, ()).text()
    with pytest.raises(UsageError, match="is not allowed in a plan"):
        Plan(
            "p", 1, (PlanCase("MPI_Bcast", 1, configuration=Configuration.of({"knob": word})),)
        ).text()


@given(FUNCTIONS, SIZES, st.integers(2, 9), st.sampled_from(sorted(TYPE_BYTES)))
def test_measurable(function: str, sizes: list[int], nprocs: int, type_: str) -> None:
    """Distinct cells, in order, out of the sizes that were asked for, those of reductions in whole
    elements, none below one element (one block where blocks are equal); every size has its cell."""
    data = Data(type=type_)
    found = measurable(function, sizes, nprocs, data)
    sizes = [data.whole(function, size) for size in sizes]
    unit = TYPE_BYTES[type_] * (nprocs if function in MESSAGE_FUNCTIONS_IN_BLOCKS else 1)
    padded = [-(-size // unit) for size in found]
    assert found == sorted(found)
    assert len(set(padded)) == len(padded)
    assert set(found) <= set(sizes)
    assert all(size >= unit for size in found)
    for size in sizes:
        if size >= unit:
            assert -(-size // unit) in padded
    # A size that is moved as it stands is preferred to one that is padded to it.
    assert all(size % unit == 0 for size in found if -(-size // unit) * unit in sizes)


def test_reductions_add_floats_and_the_others_send_bytes() -> None:
    """As OSU and IMB do; a type that is named is that of every function."""
    reduced = Data("MPI_FLOAT", "MPI_SUM", 2)
    assert Data(root=2).of("MPI_Allreduce") == Data(root=2).of("MPI_Ireduce") == reduced
    assert Data().of("MPI_Reduce_local") == Data("MPI_FLOAT", "MPI_SUM")
    assert Data().of("MPI_Gather").type == "MPI_BYTE"
    assert Data("MPI_BYTE").of("MPI_Scan") == Data("MPI_BYTE", "MPI_BOR")
    assert Data(op="MPI_MAX").of("MPI_Scan") == Data("MPI_FLOAT", "MPI_MAX")
    assert {Data("MPI_DOUBLE").of(name).type for name in ("MPI_Scan", "MPI_Bcast")} == {
        "MPI_DOUBLE"
    }
    plan = Plan("r", 7, (PlanCase("MPI_Allreduce", 8), PlanCase("MPI_Bcast", 8)))
    first, second = plan.text().splitlines()[2:]
    assert "type=MPI_FLOAT op=MPI_SUM" in first and "type=MPI_BYTE op=MPI_BOR" in second


def test_sizes_of_reductions_are_multiples_of_the_element() -> None:
    assert measurable("MPI_Allreduce", [1, 2, 5, 8, 13], 4, Data()) == [4, 8, 16]
    assert measurable("MPI_Bcast", [1, 2, 5, 8, 13], 4, Data()) == [1, 2, 5, 8, 13]
    assert measurable("MPI_Allreduce", [5, 13], 4, Data("MPI_BYTE")) == [5, 13]
    assert measurable("MPI_Reduce_scatter", [5, 13], 4, Data("MPI_DOUBLE")) == [8, 16]


def test_what_is_rounded_is_told_once() -> None:
    asked = {"MPI_Scan": [8, 5], "MPI_Allreduce": [5, 13], "MPI_Bcast": [7]}
    assert rounding(asked, Data()) == (
        "sizes of reductions are multiples of the element (MPI_FLOAT): rounded up 5 B to 8 B, "
        "13 B to 16 B for MPI_Allreduce, MPI_Scan; --type MPI_BYTE measures every size"
    )
    assert rounding(asked, Data("MPI_BYTE")) == rounding({"MPI_Scan": [8]}, Data()) == ""


def test_a_barrier_has_one_cell() -> None:
    assert measurable("MPI_Barrier", [1, 1024], 4, Data()) == [0]


def probe() -> Path:
    # The newest of them, if several MPI libraries have one.
    built = sorted(simulated.ROOT.glob("build/openmpi-4*/probe"), key=os.path.getmtime)
    if not built:
        pytest.skip("no probe is built: make build")
    return built[-1]


@settings(max_examples=15)
@given(plan=PLANS.filter(lambda plan: plan.cases))
def test_the_probe_reads_it(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("plan") / "plan"
    plan = msgspec.structs.replace(plan, data=Data())  # an operator that the type has
    file.write_text(plan.text())
    done = subprocess.run(
        [probe(), "--check-plan", file], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, (done.stderr, plan.text())
    assert f"{len(plan.cases)} cases" in done.stdout


def test_when_knobs_are_written_is_said_where_there_are_any() -> None:
    plain = PlanCase("MPI_Bcast", 8)
    plan = Plan("p", 1, (plain,), knobs="call")
    assert " knobs=communicator " in plan.text()
    tuned = msgspec.structs.replace(
        plain, configuration=Configuration.of({"MPIR_CVAR_BCAST_TREE_KVAL": "4"})
    )
    assert " knobs=call" in msgspec.structs.replace(plan, cases=(tuned,)).text()
    assert " knobs=communicator " in Plan("p", 1, (tuned,)).text()
