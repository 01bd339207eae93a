"""Every record of every function, at several numbers of ranks, against docs/plan-and-records.md."""

from __future__ import annotations

import itertools
import re

import pytest

from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    Footer,
    Header,
    Load,
    Order,
    Samples,
    UnderWay,
)
from tests.probes.launch import Launch, Probe
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

BLOCKS, WARMUP, REWARM = 2, 3, 1
LETTERS = {
    Header: "h",
    CaseRecord: "C",
    Begin: "b",
    Check: "c",
    Order: "o",
    Samples: "s",
    UnderWay: "u",
    Load: "l",
    Footer: "f",
}
VECTORS = ("Bcast", "Reduce", "Allreduce", "Scan", "Exscan", "Reduce_local")
EQUAL_BLOCKS = ("Gather", "Scatter", "Allgather", "Alltoall", "Reduce_scatter_block")
UNEVEN_BLOCKS = ("Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Reduce_scatter")
FUNCTIONS = ("Barrier", *VECTORS, *EQUAL_BLOCKS, *UNEVEN_BLOCKS)
REDUCTIONS = (*VECTORS[1:], "Reduce_scatter", "Reduce_scatter_block")
SHAPES = ("linear", "last", "half")
SIZES = (0, 1, 7, 100, 4096)
TYPES = {"MPI_BYTE": 1, "MPI_INT": 4, "MPI_DOUBLE": 8, "MPI_FLOAT": 4, "MPI_INT64_T": 8}
OPS = {
    "MPI_BYTE": ("MPI_BOR",),
    "MPI_INT": ("MPI_SUM", "MPI_MAX"),
    "MPI_DOUBLE": ("MPI_SUM",),
    "MPI_FLOAT": ("MPI_PROD",),
    "MPI_INT64_T": ("MPI_MIN",),
}


def all_cases(ranks: int) -> list[str]:
    cases: list[str] = []
    for function, size, kind in itertools.product(FUNCTIONS, SIZES, TYPES):
        ops = OPS[kind] if function in REDUCTIONS else ("MPI_BOR",)
        for op in ops:
            root = len(cases) % ranks
            cases.append(
                f"case id={len(cases)} function=MPI_{function} bytes={size} type={kind} op={op} "
                f"root={root} reps={1 + len(cases) % 3}"
            )
    for function, size, counts in itertools.product(UNEVEN_BLOCKS, SIZES, SHAPES):
        kind = list(TYPES)[len(cases) % len(TYPES)]
        cases.append(
            f"case id={len(cases)} function=MPI_{function} bytes={size} type={kind} "
            f"op={OPS[kind][0]} root={len(cases) % ranks} counts={counts} reps=1"
        )
    return cases


def bytes_moved(case: CaseRecord, ranks: int) -> int:
    """The volume table of docs/plan-and-records.md."""
    name, width = case.function.removeprefix("MPI_"), TYPES[case.type]
    if name == "Barrier":
        return 0
    elements = -(-case.bytes // width)
    if name in EQUAL_BLOCKS:
        elements = -(-elements // ranks) * ranks
    return elements * width


def check_shape(launch: Launch, ranks: int, case_count: int) -> None:
    """Which records there are, and in which order."""
    kinds = "".join(LETTERS[type(record)] for record in launch.records)
    checks = f"(bc){{{case_count}}}"
    between = f"(bc){{0,{case_count}}}".join(["ou", *["o"] * (BLOCKS - 1)])
    between += f"s{{{case_count}}}"
    assert re.fullmatch(f"hC{{{case_count}}}{checks}{between}{checks}lf", kinds)
    assert list(launch.cases) == list(range(case_count))
    begun = [record.case for record in launch.records if isinstance(record, Begin)]
    checked = [record.case for record in launch.records if isinstance(record, Check)]
    assert begun == checked
    assert begun[:case_count] == sorted(begun[-case_count:]) == list(range(case_count))
    assert launch.header.nprocs == launch.header.ppn == len(launch.header.binding) == ranks


def check_samples(launch: Launch) -> None:
    samples = iter(launch.samples)
    for block, order in enumerate(launch.orders):
        assert sorted(order) == list(launch.cases)
        for number in order:
            record = next(samples)
            assert (record.case, record.block) == (number, block)
            assert len(record.warmup_ns) == (REWARM if block else WARMUP)
            assert len(record.ns) == launch.cases[number].reps
            assert all(value >= 0 for value in record.warmup_ns + record.ns)
    assert launch.orders[0] != launch.orders[1]
    total = sum(sum(record.warmup_ns) + sum(record.ns) for record in launch.samples)
    footer, warmup = launch.footer, sum(sum(record.warmup_ns) for record in launch.samples)
    assert (footer.cases, footer.timed_ns, footer.warmup_ns) == (len(launch.cases), total, warmup)
    assert footer.start_ns > 0 and footer.checks_ns > 0
    assert footer.start_ns + footer.checks_ns + footer.timed_ns < footer.wall_ns


def test_the_lists_have_every_function(probe: Probe) -> None:
    assert {each["name"] for each in probe.known()["functions"]} == {
        f"MPI_{name}" for name in FUNCTIONS
    }


@pytest.mark.parametrize("ranks", by_default([1, 2, 5], [3, 4]))
def test_all_functions(probe: Probe, ranks: int) -> None:
    cases = all_cases(ranks)
    settings = f"set run=contract seed=42 blocks={BLOCKS} warmup={WARMUP} rewarm={REWARM}\n"
    launch = probe.good(settings + "\n".join(cases), ranks, {"PLUMBLINE_TEST": 'a "b"'})
    assert launch.stderr == ""
    assert not launch.out.with_name(launch.out.name + ".part").exists()
    check_shape(launch, ranks, len(cases))
    bad = [check for check in launch.checks.values() if check.outcome != "ok"]
    assert bad == []
    check_samples(launch)
    for case in launch.cases.values():
        assert case.bytes_moved == bytes_moved(case, ranks), case
        line = cases[case.case].split()[1:]
        given = dict(token.split("=") for token in line)
        got = {name: str(getattr(case, name)) for name in given if name != "id"}
        assert got == {name: value for name, value in given.items() if name != "id"}


@pytest.mark.parametrize("ranks", by_default([3], [2, 4]))
def test_all_variants_in_all_count_shapes(probe: Probe, ranks: int) -> None:
    """Each result is compared with what the ranks compute by themselves."""
    lines = [
        f"case id={{}} function={each['function']} variant={each['name']} bytes={size} "
        f"type={kind} op={op} root={ranks - 1} counts={counts} reps=1"
        for each in probe.known()["variants"]
        if each["function"].removeprefix("MPI_") in UNEVEN_BLOCKS
        for size, (kind, op) in ((7, ("MPI_BYTE", "MPI_BOR")), (4096, ("MPI_INT", "MPI_SUM")))
        for counts in ("equal", *SHAPES)
    ]
    plan = "\n".join(line.format(number) for number, line in enumerate(lines))
    launch = probe.good(f"set blocks=1 warmup=1\n{plan}", ranks, {})
    assert len(launch.checks) == len(lines) > 200
    assert [check for check in launch.checks.values() if check.outcome != "ok"] == []
    assert {case.counts for case in launch.cases.values()} == set(probe.known()["counts"])


def test_header(probe: Probe) -> None:
    lines = (
        "set run=head seed=18446744073709551615 blocks=0\ncase id=5 function=MPI_Barrier bytes=0"
    )
    launch = probe.run(lines, 4, {"PLUMBLINE_TEST": 'a "b"\n'})
    header = launch.header
    assert (header.schema, header.run, header.seed) == (2, "head", 2**64 - 1)
    assert (header.blocks, header.warmup, header.rewarm) == (0, 16, 1)
    assert (header.sync, header.clock.name) == ("barrier", "monotonic_raw")
    assert 0 < header.clock.cost_ns < 10_000
    assert 0 < header.clock.resolution_ns < 10_000_000
    assert header.library.startswith("Open MPI v") and header.mpi[0].isdigit()
    assert (header.nodes, header.ppn, len(header.hosts)) == (1, 4, 1)
    assert header.processing_units > 0
    assert header.oversubscribed == (header.processing_units < 4)
    assert all(binding for binding in header.binding)
    assert header.environment["PLUMBLINE_TEST"] == 'a "b"\n'
    assert "PATH" not in header.environment
    assert launch.orders == [] and launch.footer.timed_ns == 0


@pytest.mark.parametrize("kind", ["MPI_SIGNED_CHAR", "MPI_UNSIGNED_SHORT", "MPI_LONG"])
def test_all_operations_on_integers(probe: Probe, kind: str) -> None:
    ops = ["MAX", "MIN", "SUM", "PROD", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"]
    pairs = itertools.product(("MPI_Allreduce", "MPI_Exscan", "MPI_Reduce_local"), ops)
    launch = probe.good(
        "set blocks=1 warmup=1\n"
        + "\n".join(
            f"case id={i} function={function} bytes=1000 type={kind} op=MPI_{op} reps=1"
            for i, (function, op) in enumerate(pairs)
        ),
        3,
    )
    assert {check.outcome for check in launch.checks.values()} == {"ok"}
    assert len(launch.samples) == 30


def test_variants_of_the_catalogue(probe: Probe) -> None:
    known = probe.known()
    functions = {function["name"] for function in known["functions"]}  # not those with neighbours
    variants = [variant for variant in known["variants"] if variant["function"] in functions]
    launch = probe.good(
        "set blocks=1 warmup=1\n"
        + "\n".join(
            f"case id={i} function={variant['function']} variant={variant['name']} bytes=1000 "
            "type=MPI_INT op=MPI_SUM root=1 reps=2"
            for i, variant in enumerate(variants)
        ),
        3,
    )
    assert len(launch.checks) == len(variants) > 0
    assert [check for check in launch.checks.values() if check.outcome != "ok"] == []


@pytest.mark.parametrize(("sync", "clock"), [("none", "monotonic"), ("barrier", "wtime")])
def test_schemes_and_timers(probe: Probe, sync: str, clock: str) -> None:
    launch = probe.good(
        f"set sync={sync} clock={clock} blocks=1\ncase id=0 function=MPI_Allreduce bytes=64 reps=50"
    )
    assert (launch.header.sync, launch.header.clock.name) == (sync, clock)
    assert len(launch.samples[0].ns) == 50 and max(launch.samples[0].ns) > 0


@pytest.mark.parametrize("slow", by_default([0, 4], [1, 2, 3]))
def test_a_sample_is_the_maximum_over_ranks(probe: Probe, slow: int) -> None:
    launch = probe.good(
        "set blocks=1 warmup=2\ncase id=0 function=MPI_Reduce_local bytes=8 reps=3",
        5,
        probe.slow(slow),
    )
    assert min(launch.samples[0].warmup_ns + launch.samples[0].ns) >= 3_000_000
    assert launch.header.environment["LD_PRELOAD"] == str(probe.faulty)
