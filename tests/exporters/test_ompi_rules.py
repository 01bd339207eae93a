"""The rules file says what the winners say, for every communicator and size, and nothing unsafe."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.mca_params import obstacle
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES
from tests.exporters.bundles import BY_SIZE, bundle, knob, library, tuned
from tests.exporters.rules_reader import RulesFile, read


def exported(*winners: Winner, version: str = "4.1.4") -> RulesFile:
    (text,) = ompi_rules.rules_files(bundle(*winners, version=version)).values()
    return read(text)


def body(*winners: Winner, version: str = "4.1.4") -> str:
    (text,) = ompi_rules.rules_files(bundle(*winners, version=version)).values()
    kept = [line.split(" #")[0] for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(kept)


def test_one_winner_is_closed_on_all_sides() -> None:
    winner = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
    assert body(winner) == (
        "1\n2\n3\n"
        "0\n1\n0 0 0 0\n"
        "4\n3\n0 0 0 0\n8192 1 4 0\n65537 0 0 0\n"
        "5\n1\n0 0 0 0"
    )  # fmt: skip


def test_neighbouring_communicators_need_no_guard_between_them() -> None:
    found = exported(
        tuned("MPI_Bcast", "binomial", 0, 1023, 4), tuned("MPI_Bcast", "chain", 0, 1023, 5)
    )
    assert list(found.collectives[7]) == [0, 4, 5, 6]


def test_winner_for_everything_needs_one_rule() -> None:
    assert exported(tuned("MPI_Bcast", "6")).collectives[7][4] == [[0, 6, 4, 0, 0]]


def test_neighbours_that_say_the_same_are_one_rule() -> None:
    found = exported(tuned("MPI_Bcast", "6", 64, 1023), tuned("MPI_Bcast", "binomial", 1024, 4095))
    assert [rule[0] for rule in found.collectives[7][4]] == [0, 64, 4096]


def test_parameters() -> None:
    found = exported(tuned("MPI_Bcast", "chain", 1024, segmentsize=8192, chain_fanout=8))
    assert found.decision(7, 4, 4096) == [2, 8, 8192, 0]


def test_requests_need_version_2() -> None:
    winner = tuned("MPI_Alltoall", "linear_sync", 1024, max_requests=8)
    for version in ("4.1.8", "5.0.7", "5.0.11"):
        found = exported(winner, version=version)
        assert found.version == 2
        assert found.decision(3, 4, 2048) == [4, 4, 0, 8]
    for version in ("4.1.7", "5.0.6"):
        with pytest.raises(PlumblineError, match="no rules file with a limit of requests"):
            exported(winner, version=version)
    unlimited = tuned("MPI_Alltoall", "linear_sync", 1024, max_requests=0)
    assert exported(unlimited).version == 1


def test_sizes_as_the_library_counts_them() -> None:
    """n = 1000 to 4000 with 3 ranks: equal blocks are padded to 1002 and 4002 (of up to
    eight bytes an element: 4008), averages are n/3."""
    sizes = {
        function: [rule[0] for rule in exported(tuned(function, "1", 1000, 4000, 3)).collectives[
            COLLECTIVES[function].rule_id][3]]
        for function in ("MPI_Bcast", "MPI_Alltoall", "MPI_Reduce_scatter_block",
                         "MPI_Allgatherv", "MPI_Reduce_scatter")
    }  # fmt: skip
    assert sizes == {
        "MPI_Bcast": [0, 1000, 4001],
        "MPI_Alltoall": [0, 1000, 4003],
        "MPI_Reduce_scatter_block": [0, 1000, 4009],
        "MPI_Allgatherv": [0, 333, 1334],
        "MPI_Reduce_scatter": [0, 1000, 4001],
    }


def test_calls_in_place_are_left_to_the_library() -> None:
    """They are looked up under size 0, whatever their size."""
    small = exported(tuned("MPI_Alltoall", "2", 0, 1024))
    assert small.decision(3, 4, 0) == [0, 0, 0, 0]
    assert small.decision(3, 4, 4)[0] == 2
    assert exported(tuned("MPI_Alltoall", "2")).decision(3, 4, 0)[0] == 2


def test_ranks_in_place_may_look_up_different_sizes() -> None:
    """tests/exporters/lint/test_hazards_mpi.py: an Allgather hangs then."""
    winner = tuned("MPI_Allgather", "2", 0, 1024)
    with pytest.raises(PlumblineError, match="may look up different sizes, and hang"):
        exported(winner)
    assert len(ompi_rules.rules_files(bundle(winner, unsafe=True))) == 1
    assert exported(tuned("MPI_Allgather", "2")).decision(0, 4, 0)[0] == 2


def test_padding_does_not_reach_into_the_next_winner() -> None:
    found = exported(
        tuned("MPI_Alltoall", "2", 4, 1023, 3), tuned("MPI_Alltoall", "4", 1024, 4096, 3)
    )
    assert found.collectives[3][3] == [
        [0, 0, 0, 0, 0],
        [4, 2, 4, 0, 0],
        [1024, 4, 4, 0, 0],
        [4099, 0, 0, 0, 0],
    ]


def test_sizes_the_library_cannot_tell_apart() -> None:
    with pytest.raises(PlumblineError, match="cannot tell calls of these sizes"):
        exported(tuned("MPI_Allgatherv", "2", 8192, 8192), tuned("MPI_Allgatherv", "3", 8193, 8193))


WHOLE = ["MPI_Gather", "MPI_Scatter", "MPI_Scan", "MPI_Exscan", "MPI_Alltoallv"]


@pytest.mark.parametrize("function", WHOLE)
@pytest.mark.parametrize("sizes", [(0, 1 << 20), (4, UNBOUNDED_BYTES)])
def test_one_algorithm_for_all_sizes_or_none(function: str, sizes: tuple[int, int]) -> None:
    with pytest.raises(PlumblineError, match="one algorithm must serve all sizes"):
        exported(tuned(function, "1", *sizes))
    assert len(exported(tuned(function, "1")).collectives[COLLECTIVES[function].rule_id][4]) == 1


def test_barrier_has_one_size() -> None:
    assert exported(tuned("MPI_Barrier", "tree", 0, 0)).collectives[6][4] == [[0, 6, 4, 0, 0]]


UNSAFE = {
    "MPI_Allreduce": ["4", "5", "ring", "segmented_ring"],
    "MPI_Reduce": ["2", "3", "4", "5", "chain", "pipeline", "binary", "binomial"],
    "MPI_Reduce_scatter": ["2", "3", "recursive_halving", "ring"],
}


@pytest.mark.parametrize(
    ("function", "algorithm"), [(f, a) for f, many in UNSAFE.items() for a in many]
)
def test_wrong_for_operations_that_do_not_commute(function: str, algorithm: str) -> None:
    winner = tuned(function, algorithm, 1024, 4096)
    with pytest.raises(PlumblineError, match="do not commute"):
        exported(winner)
    asked = bundle(winner, unsafe=True)
    assert len(ompi_rules.rules_files(asked)) == 1


def test_the_search_space_may_forbid_more() -> None:
    winner = tuned("MPI_Reduce_scatter_block", "2", 1024, 4096, restrictions=["commutative"])
    assert "do not commute" in (obstacle(winner, library()) or "")
    assert obstacle(winner, library(), unsafe=True) is None


@pytest.mark.parametrize(
    ("winner", "reason"),
    [
        (tuned("MPI_Gatherv", "1"), "has no rules for this function"),
        (tuned("MPI_Bcast", "99"), "has no algorithm 99"),
        (tuned("MPI_Bcast", "0"), "has no algorithm 0"),
        (tuned("MPI_Bcast", "010"), "has no algorithm 010"),
        (tuned("MPI_Bcast", "nonsense"), "has no algorithm nonsense"),
        (tuned("MPI_Allgather", "sparbit"), "openmpi-4.1.4 has no algorithm sparbit"),
        (tuned("MPI_Allgather", "two_proc"), "do not have 2 ranks"),
        (tuned("MPI_Bcast", "chain", segmentsize=-1), "is not a number"),
        (tuned("MPI_Bcast", "chain", chain_fanout=2, tree_fanout=4), "one fan-out"),
    ],
)
def test_obstacles(winner: Winner, reason: str) -> None:
    assert reason in (obstacle(winner, library()) or "")
    with pytest.raises(PlumblineError, match=f"{winner.function}, 4 ranks"):
        exported(winner)


def test_no_obstacle() -> None:
    assert obstacle(tuned("MPI_Allgather", "two_proc", nprocs=2), library()) is None
    assert obstacle(tuned("MPI_Allgather", "sparbit"), library("5.0.3")) is None


def test_parameter_without_algorithm() -> None:
    winner = knob("coll_tuned_bcast_algorithm_segmentsize", "1024")
    assert obstacle(winner, library()) == "parameters of an algorithm without the algorithm"


@pytest.mark.parametrize(
    ("version", "family"),
    [("7.0.0", "openmpi"), ("3.1.6", "openmpi"), ("5.0.2", "mpich"), ("unknown", "openmpi")],
)
def test_libraries_that_read_no_such_file(version: str, family: str) -> None:
    with pytest.raises(PlumblineError, match=f"{family}-{version}"):
        obstacle(tuned("MPI_Bcast", "1"), library(version, family))


def test_winners_that_claim_the_same_call() -> None:
    with pytest.raises(PlumblineError, match=r"8-64 bytes and 64-128 bytes overlap"):
        exported(tuned("MPI_Bcast", "1", 8, 64), tuned("MPI_Bcast", "2", 64, 128))
    first = tuned("MPI_Bcast", "1", 8, 63)
    second = msgspec.structs.replace(tuned("MPI_Bcast", "2", 64, 128), ppn=2)
    with pytest.raises(PlumblineError, match="ranks per node"):
        exported(first, second)


def test_nothing_to_say() -> None:
    assert ompi_rules.rules_files(bundle()) == {}
    assert ompi_rules.rules_files(bundle(knob("btl_vader_eager_limit", "8192"))) == {}


def test_the_head_says_where_it_comes_from_and_what_it_brings() -> None:
    (text,) = ompi_rules.rules_files(bundle(tuned("MPI_Allreduce", "1", 8192, 65536))).values()
    head = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    for fact in ("node1", "openmpi-4.1.4", "fingerprint 9d1c5f6a", "c-20250301-a",
                 "2025-03-01T12:00:00Z", "oversubscribed", "8192-65536 bytes",
                 "2.00 times as long (interval 1.90-2.10)", "GL12 16384"):  # fmt: skip
        assert fact in head


def test_a_name_with_a_line_break_stays_in_its_comment() -> None:
    sneaky = msgspec.structs.replace(bundle().machine, host="a\n9 9 9 9")
    (text,) = ompi_rules.rules_files(bundle(tuned("MPI_Bcast", "1"), machine=sneaky)).values()
    assert list(read(text).collectives) == [7]


# --- every winner is found where it should be, and nowhere else --------------------------------

SAFE = {
    function: [
        name
        for name in collective.algorithms
        if name != "two_proc" and name not in collective.commutative_only
    ]
    for function, collective in COLLECTIVES.items()
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[Winner]]:
    """Winners of one function for some communicator sizes, with gaps between them or none. Bounds
    are at least p apart, so that the library can tell them from each other."""
    function = draw(st.sampled_from(BY_SIZE))
    winners = []
    for nprocs in draw(st.lists(st.integers(2, 9), unique=True, max_size=3)):
        bounds = draw(st.lists(st.integers(0, 600), unique=True, max_size=6).map(sorted))
        edges = [bound * 2 * nprocs for bound in bounds]
        for low, high in pairwise(edges):
            if not draw(st.booleans()):
                continue
            name = draw(st.sampled_from(SAFE[function]))
            number = str(COLLECTIVES[function].algorithms.index(name) + 1)
            winners.append(
                tuned(
                    function,
                    draw(st.sampled_from([name, number])),
                    low + draw(st.integers(0, nprocs)),
                    high - 1,
                    nprocs,
                    segmentsize=draw(st.sampled_from([0, 1024])),
                    chain_fanout=draw(st.sampled_from([2, 4])),
                )
            )
    return function, draw(st.permutations(winners))


def wanted(function: str, winners: list[Winner], nprocs: int, n: int) -> list[int]:
    """What a call of volume n is to get."""
    for winner in winners:
        if winner.nprocs == nprocs and winner.bytes_from <= n <= winner.bytes_to:
            knobs = list(winner.configuration.values())
            number = COLLECTIVES[function].id_of(knobs[0], library())
            assert number is not None
            return [number, int(knobs[2]), int(knobs[1]), 0]
    return [0, 0, 0, 0]


@given(table=tables(), data=st.data())
def test_every_call_gets_its_winner(table: tuple[str, list[Winner]], data: st.DataObject) -> None:
    function, winners = table
    texts = ompi_rules.rules_files(bundle(*winners))
    assert bool(texts) == bool(winners)
    if not winners:
        return
    found = read(*texts.values())
    collective = COLLECTIVES[function]
    edges = [n for w in winners for n in (w.bytes_from, w.bytes_to)]
    for _ in range(20):
        nprocs = data.draw(st.sampled_from([w.nprocs for w in winners])) + data.draw(
            st.sampled_from([0, 0, 0, -1, 1, 5])
        )
        near = data.draw(st.sampled_from([0, *edges])) + data.draw(st.integers(-20, 20))
        n = max(near, 0)
        expected = wanted(function, winners, nprocs, n)
        match collective.size:
            case "volume":
                size = n
            case "blocks":  # a call's volume is a multiple of p; in a size-0 call nothing is sent
                if nprocs < 1 or n % nprocs or (n == 0 and collective.in_place_is_zero):
                    continue
                size = n
                unit = nprocs * (8 if function == "MPI_Reduce_scatter_block" else 1)
                if expected == [0, 0, 0, 0]:  # the last block of a range may have been padded
                    padded = [
                        wanted(function, winners, nprocs, volume)
                        for volume in range(max(n - unit + 1, 0), n + 1)
                    ]
                    assert found.decision(collective.rule_id, nprocs, size) in padded
                    continue
            case "average":  # ranks cannot tell apart calls that differ by less than p
                if nprocs < 1:
                    continue
                size = n // nprocs
                same = [wanted(function, winners, nprocs, size * nprocs + i) for i in range(nprocs)]
                assert found.decision(collective.rule_id, nprocs, size) in same
                continue
        assert found.decision(collective.rule_id, nprocs, size) == expected


@given(table=tables())
def test_the_library_decides_outside_the_tuned_communicators(
    table: tuple[str, list[Winner]],
) -> None:
    function, winners = table
    for text in ompi_rules.rules_files(bundle(*winners)).values():
        tuned_sizes = {winner.nprocs for winner in winners}
        for nprocs in set(range(1, 40)) - tuned_sizes:
            for size in (0, 1, 1000, 1 << 40):
                id = COLLECTIVES[function].rule_id
                assert read(text).decision(id, nprocs, size) == [0, 0, 0, 0]
