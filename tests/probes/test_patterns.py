"""Operations of patterns: each is right on any root and number of ranks, wrong data are seen, and
times are the root's and each rank's where they are asked for."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from plumbline_db.probe_records import RankSamples
from tests.probes.launch import Launch, Probe, listed

pytestmark = pytest.mark.mpi

LAST = "set blocks=2 warmup=2\n"


def operations(probe: Probe) -> list[tuple[str, str, bool]]:
    """Pattern, operation, whether it sends data."""
    return [
        (pattern["name"], operation["name"], operation["data"])
        for pattern in probe.known()["patterns"]
        for operation in pattern["operations"]
    ]


def good(launch: Launch) -> Launch:
    assert launch.code == 0, launch.stderr
    bad = {launch.cases[number].variant: check for number, check in launch.checks.items()}
    assert {name: check for name, check in bad.items() if check.outcome != "ok"} == {}
    return launch


def test_the_probe_names_them_all(probe: Probe) -> None:
    names = [name for _, name, _ in operations(probe)]
    assert names == listed("pattern/operations.def")
    assert all(len(each["summary"]) > 20 for each in probe.known()["patterns"])


@pytest.mark.parametrize(("ranks", "root"), [(2, 0), (3, 1), (4, 3)])
def test_every_operation_is_right(probe: Probe, ranks: int, root: int) -> None:
    lines = []
    for pattern, name, data in operations(probe):
        for size, kind in [(1, "MPI_BYTE"), (40, "MPI_DOUBLE"), (9001, "MPI_INT")][
            : 3 if data else 1
        ]:
            what = f"variant={name} bytes={size} type={kind} root={root} reps=2 by_rank=1"
            lines.append(f"case id={len(lines)} function={pattern} {what}\n")
    launch = good(probe.run(LAST + "".join(lines), ranks))
    assert len(launch.samples) == 2 * len(lines)
    by_rank = launch.of(RankSamples)
    assert len(by_rank) == len(launch.samples)
    for samples, times in zip(launch.samples, by_rank, strict=True):
        assert (samples.case, samples.block) == (times.case, times.block)
        assert len(times.ns) == ranks
        assert [max(together) for together in zip(*times.ns, strict=True)] == samples.ns


def test_default_is_the_first_operation_and_a_message_may_be_empty(probe: Probe) -> None:
    lines = "".join(
        f"case id={number} function={pattern} bytes={size} reps=1\n"
        for number, (pattern, size) in enumerate(
            [("point_to_point", 0), ("master_worker", 8), ("simple", 0)]
        )
    )
    good(probe.run(LAST + lines, 3))


@pytest.mark.parametrize("rank", [0, 1])
def test_what_the_root_takes(probe: Probe, rank: int) -> None:
    """One rank of two sleeps 3 ms."""
    case = "function=MPI_Reduce_local bytes=8 reps=4 root=0 use=at_root by_rank=1"
    launch = good(probe.run(f"set blocks=1 warmup=1\ncase id=0 {case}\n", 2, probe.slow(rank)))
    (samples,), (times,) = launch.samples, launch.of(RankSamples)
    assert samples.ns == times.ns[0]
    assert min(times.ns[rank]) > 2_900_000
    assert (statistics.median(samples.ns) > 2_900_000) == (rank == 0)


def test_wrong_data_are_seen(probe: Probe, lossy: Path) -> None:
    names = ["send_recv", "send_recv_any_tag", "ssend_recv", "sendrecv", "sendrecv_replace"]
    lines = [f"function=point_to_point variant={name}" for name in names]
    names = ["contiguous_send", "contiguous_vector_send", "unpacked_send"]
    lines += [f"function=point_to_point variant={name}" for name in names]
    for pattern in ("vector", "struct"):
        lines += [f"function={pattern}", f"function={pattern} variant={pattern}_pack_send"]
    lines += ["function=exchange", "function=exchange variant=exchange_isend_irecv"]
    lines += ["function=master_worker variant=any_source"]
    plan = "".join(f"case id={n} {line} bytes=64 reps=2\n" for n, line in enumerate(lines))
    launch = probe.good(LAST + plan, 3, {"LD_PRELOAD": str(lossy)})
    assert [check.outcome for check in launch.checks.values()] == ["wrong"] * len(lines)
    assert launch.samples == []


def test_more_communicators_than_a_library_has_are_made_one_after_the_other(probe: Probe) -> None:
    case = "case id=0 function=simple variant=comm_split bytes=0 reps=3000\n"
    launch = good(probe.run("set blocks=1 warmup=1\n" + case, 2))
    assert len(launch.samples[0].ns) == 3000


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("function=point_to_point variant=comm_dup bytes=8", "no operation of point_to_point"),
        ("function=MPI_Gather variant=send_recv bytes=8", "not a variant of MPI_Gather"),
        ("function=point_to_point bytes=8 ranks=1", "it takes 2 ranks"),
        ("function=master_worker bytes=0", "ends a worker's part"),
        ("function=point_to_point bytes=8 calls=5", "a trial is only checked"),
        ("function=simple bytes=0 use=stream", "given back after each call"),
        ("function=MPI_Gather bytes=8 by_rank=1 use=stream", "no time of their own"),
        ("function=MPI_Gather bytes=8 by_rank=2", "0 to 1"),
        ("function=point_to_points bytes=8", "functions, patterns"),
        ("function=point_to_point bytes=99999999999", "more than"),
    ],
)
def test_what_is_refused(probe: Probe, line: str, why: str) -> None:
    probe.refuses(f"case id=0 {line}\n", why)


def test_plain_loops_and_cold_caches_are_of_collectives(probe: Probe) -> None:
    case = "case id=0 function=point_to_point bytes=8\n"
    for line, why in (
        ("plain=each clock=wtime", "plain loops"),
        ("cache=cycle", "keep their buffers"),
    ):
        probe.refuses(f"set {line}\n{case}", why)
