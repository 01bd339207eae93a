"""Which calls a rule of a profile is for: classes, nodes, the nearest number of ranks, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build, mpiexec, mpirun
from tests.collectives_alt.started import Started, forced, profile_text, rule, turns

pytestmark = pytest.mark.mpi

ALL = "nprocs=1-inf bytes=0-inf"
TREE, RING = "allreduce_as_reduce_plus_bcast", "allreduce_ring"


def decided(build: Build, folder: Path, classes: str) -> dict[str, str]:
    """What becomes of each call where a canary is for these classes."""
    canary = rule("MPI_Allreduce", "canary", f"{ALL} {classes}")
    run = Started(build, folder, canary, program="decides", nprocs=2)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    lines = [line.rsplit(" ", 1) for line in run.done.stdout.splitlines()]
    assert len(lines) == 22
    assert all(outcome != "failed" for _, outcome in lines)
    return {name: outcome for name, outcome in lines}


def replaced(outcomes: dict[str, str]) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome == "replaced"}


OPS = {
    "sum": {"MPI_INT MPI_SUM", "MPI_DOUBLE MPI_SUM", "MPI_UINT64_T MPI_SUM"}
    | {"MPI_C_DOUBLE_COMPLEX MPI_SUM", "real MPI_SUM"},
    "minmax": {"MPI_INT MPI_MIN", "MPI_INT MPI_MAX", "MPI_FLOAT MPI_MAX"},
    "logical": {"MPI_INT MPI_LAND", "MPI_INT MPI_LXOR", "MPI_C_BOOL MPI_LOR"},
    "bitwise": {"MPI_INT MPI_BOR", "MPI_INT MPI_BXOR", "MPI_BYTE MPI_BAND"},
    "loc": {"MPI_2INT MPI_MINLOC", "MPI_DOUBLE_INT MPI_MAXLOC"},
    "prod,max": {"MPI_INT MPI_PROD", "MPI_INT MPI_MAX", "MPI_FLOAT MPI_MAX"},
    "user": {"MPI_INT user", "MPI_INT ordered", "MPI_CHAR user", "derived user", "copy user"},
}
TYPES = {
    "floating": {"MPI_DOUBLE MPI_SUM", "MPI_FLOAT MPI_MAX", "real MPI_SUM"},
    "complex": {"MPI_C_DOUBLE_COMPLEX MPI_SUM"},
    "logical": {"MPI_C_BOOL MPI_LOR"},
    "byte": {"MPI_BYTE MPI_BAND"},
    "pair": OPS["loc"],
    "derived": {"derived user", "copy user"},
}


def test_classes_of_operations(build: Build, tmp_path: Path) -> None:
    for words, members in OPS.items():
        assert replaced(decided(build, tmp_path, f"op={words}")) == members, words


def test_classes_of_datatypes(build: Build, tmp_path: Path) -> None:
    taken: set[str] = set()
    for words, members in TYPES.items():
        assert replaced(decided(build, tmp_path, f"type={words}")) == members, words
        taken |= members
    outcome = decided(build, tmp_path, "type=integer")
    assert replaced(outcome) == set(outcome) - taken - {"MPI_CHAR user"}


def test_both_classes_and_those_that_commute(build: Build, tmp_path: Path) -> None:
    both = replaced(decided(build, tmp_path, "op=sum type=integer,complex"))
    assert both == {"MPI_INT MPI_SUM", "MPI_UINT64_T MPI_SUM", "MPI_C_DOUBLE_COMPLEX MPI_SUM"}
    outcome = decided(build, tmp_path, "op=commutative")
    assert outcome.keys() - replaced(outcome) == {"MPI_INT ordered"}


IF_EQUAL = "\n".join(
    rule(f"MPI_{name}", "canary", f"{ALL} counts=equal")
    for name in ("Allgatherv", "Reduce_scatter")
)


def require_equal_counts_alone(stdout: str) -> None:
    lines = [line.split(" ", 1)[1].rsplit(" ", 1) for line in stdout.splitlines()]
    assert {name for name, outcome in lines if outcome == "replaced"} == {
        *("equal", "again", "odd", "mixed", "derived")
    }
    assert {name for name, outcome in lines if outcome == "left"} == {
        *("growing", "last", "half", "mixed odd", "derived odd")
    }
    assert len(lines) == 2 * 2 * 7 + 6


@pytest.mark.parametrize("nprocs", [3, 4])
def test_equal_counts(build: Build, tmp_path: Path, nprocs: int) -> None:
    """A rule for equal counts leaves all other calls, whatever the call before was; ranks that
    write the same counts in other types decide alike."""
    run = Started(build, tmp_path, IF_EQUAL, program="counts", nprocs=nprocs)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    require_equal_counts_alone(run.done.stdout)
    assert [one["counts"] for one in run.report["rules"]] == ["equal", "equal"]


def test_equal_counts_under_mpich(under_mpich: Build, tmp_path: Path) -> None:
    path = tmp_path / "site.profile"
    path.write_text(profile_text(IF_EQUAL))
    env = {"LD_PRELOAD": str(under_mpich.preload), "PLUMBLINE_PROFILE": str(path)}
    done = mpiexec(3, under_mpich.program("counts"), env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    require_equal_counts_alone(done.stdout)


def test_calls_that_a_rule_for_equal_counts_leaves_are_right(build: Build, tmp_path: Path) -> None:
    """The library computes them, and the variant the others."""
    rules = [
        rule("MPI_Allgatherv", "allgatherv_ring", f"{ALL} counts=equal"),
        rule("MPI_Reduce_scatter", "reduce_scatter_as_reduce_plus_scatterv", f"{ALL} counts=equal"),
    ]
    run = Started(build, tmp_path, "\n".join(rules), program="counts", nprocs=3)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    assert {line.rsplit(" ", 1)[1] for line in run.done.stdout.splitlines()} == {"left"}
    replaced, functions = run.replaced(), ("MPI_Allgatherv", "MPI_Reduce_scatter")
    assert [run.function(name)["fallen_through"] for name in functions] == [8, 7]
    assert list(replaced.values()) == [10, 9]


@pytest.fixture(scope="module")
def split_nodes(build: Build) -> Path:
    return build.program("split_nodes.so")


@pytest.mark.parametrize(
    ("nprocs", "ppn", "where", "matches"),
    [
        (4, 2, "nodes=2-2 ppn=2-2", True),
        (4, 2, "nodes=1-1", False),
        (4, 2, "ppn=3-inf", False),
        (4, 4, "nodes=1-1 ppn=4-4", True),
        (4, 3, "nodes=2-2 ppn=1-3", True),
        (4, 3, "nodes=2-2 ppn=2-3", False),  # the second node has one rank
        (4, 3, "nodes=2-2 ppn=1-2", False),
        (4, 1, "nodes=4-8", True),
    ],
)
def test_nodes(
    build: Build,
    tmp_path: Path,
    split_nodes: Path,
    nprocs: int,
    ppn: int,
    where: str,
    matches: bool,
) -> None:
    run = Started(
        build,
        tmp_path,
        rule("MPI_Allreduce", TREE, f"nprocs=4-4 bytes=0-inf {where}"),
        nprocs=nprocs,
        env={"PL_TEST_PPN": str(ppn)},
        preload=[split_nodes],
    )
    assert (run.done.returncode, run.done.stderr) == (0, "")
    assert run.replaced() == {2: 4 if matches else 0}


@pytest.mark.parametrize(
    ("nprocs", "there", "factor", "nearest"),
    [
        (3, ["2-2", "4-4", "16-inf"], 2, "4-4"),
        (5, ["1-4", "7-7"], 2, "1-4"),
        (4, ["2-2", "8-8"], 2, "2-2"),  # equally near: the smaller
        (4, ["1-1", "9-inf"], 2, None),
        (4, ["1-1", "9-inf"], 3, "9-inf"),
        (4, ["4-4", "5-5"], 9, "4-4"),
        (3, ["4-4"], None, None),
    ],
)
def test_the_nearest_number_of_ranks(
    build: Build,
    tmp_path: Path,
    nprocs: int,
    there: list[str],
    factor: int | None,
    nearest: str | None,
) -> None:
    rules = [rule("MPI_Bcast", "bcast_binomial", f"nprocs={one} bytes=0-inf") for one in there]
    if factor:
        rules.append(f"nearest nprocs factor={factor}")
    run = Started(build, tmp_path, "\n".join(rules), nprocs=nprocs)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    assert run.replaced() == {line: int(one == nearest) for line, one in enumerate(there, start=2)}
    own = any(one.startswith(f"{nprocs}-") for one in there)
    stood_in = {one["line"]: one["nearest"] for one in run.report["rules"]}
    assert stood_in == ({line: 0 for line in stood_in} if own else run.replaced())


def test_the_order_of_rules_does_not_matter(build: Build, tmp_path: Path) -> None:
    rules = [
        rule("MPI_Allreduce", variant, f"nprocs=4-4 bytes={volumes}")
        for variant, volumes in ((TREE, "4000-inf"), (RING, "40-400"), (TREE, "0-4"))
    ]
    run = Started(build, tmp_path, "\n".join(rules))
    assert (run.done.returncode, run.done.stderr) == (0, "")
    assert run.replaced() == {2: 1, 3: 2, 4: 1}


RANGES = ((3, 3), (16, 32), (64, 100))
SIZED = (
    *("MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Allgather", "MPI_Alltoall", "MPI_Reduce"),
    *("MPI_Allreduce", "MPI_Scan", "MPI_Exscan", "MPI_Reduce_scatter_block"),
)


@pytest.mark.parametrize("nprocs", [2, 3])
def test_volumes(build: Build, tmp_path: Path, nprocs: int) -> None:
    """Those within a range, however the call is written, and no others."""
    inside = {volume for low, high in RANGES for volume in range(low, high + 1)}
    rules = [
        rule(name, "canary", f"nprocs=1-inf bytes={low}-{high}")
        for name in SIZED
        for low, high in RANGES
    ]
    run = Started(build, tmp_path, "\n".join(rules), program="ranges", nprocs=nprocs)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    lines = [line.split() for line in run.done.stdout.splitlines()]
    assert {name for name, _, _ in lines} == set(SIZED)
    wrong = [
        (name, volume, what)
        for name, volume, what in lines
        if what != ("replaced" if int(volume) in inside else "left")
    ]
    assert not wrong
    assert {what for _, _, what in lines} == {"replaced", "left"}


@pytest.mark.parametrize(
    ("said", "op", "type_"),
    [
        ("op=sum type=byte", "sum", "byte"),
        ("op=max,min nodes=1-4", "minmax", "any"),
        ("op=user,predefined ppn=2-inf", "commutative,user", "any"),
        ("op=user,any type=pair,floating,complex", "any", "pair,complex,floating"),
    ],
)
def test_the_report_says_what_a_rule_says(
    build: Build, tmp_path: Path, said: str, op: str, type_: str
) -> None:
    run = Started(build, tmp_path, rule("MPI_Reduce", "canary", f"nprocs=9-9 bytes=0-1 {said}"))
    reported = run.report["rules"][0]
    assert (reported["op"], reported["type"]) == (op, type_)
    nodes = (1, 4) if "nodes" in said else (1, None)
    assert (reported["nodes_from"], reported["nodes_to"]) == nodes
    assert (reported["ppn_from"], reported["ppn_to"]) == (2 if "ppn" in said else 1, None)


def test_parameters(build: Build, tmp_path: Path) -> None:
    spec = "allreduce_segmented_ring:segment_bytes=64"
    run = Started(build, tmp_path, rule("MPI_Allreduce", spec), "all")
    plain = mpirun(4, build.program("application"), "all")
    assert (run.done.stdout, run.done.stderr) == (plain.stdout, "")
    assert run.report["rules"][0]["variant"] == spec
    assert run.replaced()[2] > 0


MOVERS = {
    *("MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgather"),
    *("MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv"),
}


def test_an_empty_signature_is_the_same_in_any_type(build: Build, tmp_path: Path) -> None:
    for chosen in turns(build):
        run = Started(build, tmp_path, forced(chosen), program="empty", nprocs=3)
        assert (run.done.returncode, run.done.stdout, run.done.stderr) == (0, "ok\n", ""), chosen
        fallen = {one["function"]: one["fallen_through"] for one in run.report["functions"]}
        assert {name: count for name, count in fallen.items() if name in MOVERS} == dict.fromkeys(
            MOVERS, 0
        ), chosen


@pytest.mark.parametrize(
    ("cap", "standard"), [(0, False), (5000, False), (70_000, False), (300_000, False), (0, True)]
)
def test_the_cap_of_memory(build: Build, tmp_path: Path, cap: int, standard: bool) -> None:
    profile = tmp_path / "profile"
    line = "" if standard else f"memory bytes={cap}\n"
    variants = {
        "MPI_Bcast": "bcast_scatter_ring_allgather",
        "MPI_Alltoall": "alltoall_bruck",
        "MPI_Allgather": "allgather_bruck",
    }
    profile.write_text(f"plumbline-profile 1\n{line}{forced(variants)}\n")
    most, env = str(64 << 20 if standard else cap), {"PLUMBLINE_PROFILE": str(profile)}
    done = mpirun(3, build.program("memory"), most, env=env)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    fields = dict(token.split("=") for token in done.stdout.split()[1:])
    replaced, left, largest = (int(fields[key]) for key in ("replaced", "left", "largest"))
    assert int(fields["others"]) == (8 if cap >= 5000 else 0)
    assert replaced + left == 40
    if standard:
        assert left == 0 and largest >= 1 << 16
    elif cap == 0:
        assert replaced == largest == 0
    else:
        assert replaced > 0 and 0 < largest <= cap
        assert left > 0 or cap > 200_000
