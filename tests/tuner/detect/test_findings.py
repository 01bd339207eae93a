"""Instances as they are told: folded, in words and as a patch."""

from __future__ import annotations

import gc
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from plumbline.cli import plumbline
from plumbline.detect import findings, read, record, words
from plumbline.detect.analysis import analysis
from plumbline.detect.findings import HandMade
from plumbline.detect.recording import Recording
from plumbline.detect.words import patch_sketch
from plumbline_db.connection import Database
from plumbline_db.findings import detections
from tests.bench.detection import broadcasts, exchanges, negatives, rooted, spmd
from tests.tuner.detect.program import RankProgram


def both(me: spmd.Rank) -> spmd.Waits:
    for _ in range(3):
        yield from broadcasts.binomial(me, me.data(1000), 0)
        yield from rooted.gather_wildcard(me, 10, 2)


def rows(me: spmd.Rank) -> spmd.Waits:
    group = [rank for rank in range(12) if rank // 4 == me.world_rank // 4]
    yield from exchanges.allgather_ring(me.among(group), 7)


@pytest.mark.parametrize("collects", [True, False])
def test_an_analysis_leaves_the_collector_of_circles_as_it_was(
    collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = spmd.run(6, both)
    meanwhile: list[bool] = []

    def uses(_: Recording) -> list[HandMade]:
        meanwhile.append(gc.isenabled())
        return []

    monkeypatch.setattr("plumbline.detect.analysis.uses", uses)
    was = gc.isenabled()
    try:
        gc.enable() if collects else gc.disable()
        analysis(recording)
        assert (meanwhile, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable() if was else gc.disable()


def test_instances_of_a_call_site_are_one_finding() -> None:
    gather, bcast = sorted(analysis(spmd.run(6, both)), key=lambda each: each.bytes)
    assert (bcast.function, bcast.instances, bcast.bytes, bcast.roots) == (
        "MPI_Bcast",
        3,
        8000,
        {0: 3},
    )
    assert (gather.function, gather.instances, gather.roots) == ("MPI_Gather", 3, {2: 3})
    assert any("from any source" in remark for remark in gather.remarks)
    assert bcast.seconds == pytest.approx(sum(bcast.instance_seconds))
    assert {site.role for site in bcast.sites} == {"send", "receive"}


def test_rows_have_a_communicator_to_be_made() -> None:
    (finding,) = analysis(spmd.run(12, rows))
    assert finding.groups == ("0:1:4", "4:1:4", "8:1:4")
    assert finding.split == "MPI_Comm_split(comm, rank / 4, rank % 4, &part)"
    assert (
        "MPI_Allgather(MPI_IN_PLACE, COUNT, TYPE, ALL_BLOCKS, COUNT, TYPE, part);"
        in patch_sketch(finding)
    )


def test_words() -> None:
    found = analysis(spmd.run(6, both))
    lines = words.lines(found)
    assert lines[0] == "made by hand:"
    place = [finding.function for finding in found].index("MPI_Bcast") + 1
    head = f"{place}. MPI_Bcast, 8000 bytes, 6 ranks (0:1:6), root 0: 3 times, "
    assert any(line.startswith(head) for line in lines)
    assert any(line.startswith("   send at broadcasts.py:") for line in lines)
    assert words.lines([]) == ["no collective is made by hand"]


def test_nearly_a_collective_is_told_apart() -> None:
    lines = words.lines(analysis(spmd.run(6, negatives.broadcast_but_one)))
    assert lines[0] == "nearly a collective:"
    assert "83% of the ranks (not 5)" in lines[1]


def test_neighbours() -> None:
    (finding,) = analysis(spmd.run(6, negatives.halo_around))
    assert (finding.category, finding.function) == ("neighbourhood", "MPI_Neighbor_alltoall")
    assert "MPI_Dist_graph_create_adjacent" in patch_sketch(finding)


def test_the_sketch_speaks_the_language_of_the_file() -> None:
    program = RankProgram(4)
    for rank in (1, 2, 3):
        program.message(0, rank, b"panel" * 40, site="solve.f90:77")
    (finding,) = analysis(program.recording())
    assert patch_sketch(finding).splitlines()[-1] == (
        "call MPI_Bcast(BUFFER, COUNT, TYPE, 0, comm, ierror)"
    )
    assert patch_sketch(finding).startswith(
        "! instead of the send at solve.f90:77 (solve), on rank 0"
    )


@pytest.mark.parametrize(
    ("split", "fortran"),
    [
        ("rank / 4, rank % 4", "rank / 4, mod(rank, 4)"),
        ("rank / 8 * 2 + rank % 2, rank", "rank / 8 * 2 + mod(rank, 2), rank"),
        (
            "rank >= 1 && rank <= 3 ? 0 : MPI_UNDEFINED, rank",
            "merge(0, MPI_UNDEFINED, rank >= 1 .and. rank <= 3), rank",
        ),
        (
            "rank == 0 || rank == 3 ? 0 : MPI_UNDEFINED, rank",
            "merge(0, MPI_UNDEFINED, rank == 0 .or. rank == 3), rank",
        ),
    ],
)
def test_a_communicator_in_fortran(split: str, fortran: str) -> None:
    (finding,) = analysis(spmd.run(12, rows))
    sites = [
        msgspec.structs.replace(site, place="/src/SOLVE.F95:7 (solve)") for site in finding.sites
    ]
    finding = msgspec.structs.replace(
        finding, split=f"MPI_Comm_split(comm, {split}, &part)", sites=tuple(sites)
    )
    call = f"call MPI_Comm_split(comm, {fortran}, part, ierror)"
    assert call in patch_sketch(finding).splitlines()
    assert f"   a communicator of its own: {call}" in words.of(finding, 1)


def test_long_fortran_statements_go_on() -> None:
    (finding,) = analysis(spmd.run(6, negatives.halo_around))
    sites = [msgspec.structs.replace(site, place="halo.f:7 (halo)") for site in finding.sites]
    lines = patch_sketch(msgspec.structs.replace(finding, sites=tuple(sites))).splitlines()
    (made,) = [at for at, line in enumerate(lines) if "MPI_Dist_graph_create_adjacent" in line]
    assert lines[made].endswith(" &") and len(lines[made]) <= 132
    assert lines[made + 1] == "    MPI_INFO_NULL, .false., graph, ierror)"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    recording = spmd.run(6, both)

    def unchanged(recording: Recording) -> Recording:
        return recording

    monkeypatch.setattr(read, "read", lambda folder: recording)
    monkeypatch.setattr(record, "resolved", unchanged)
    return tmp_path


def _kept(folder: Path) -> list[str]:
    return ["--db", str(folder / "found.db")]


def test_the_command(recorded: Path) -> None:
    folder = recorded / "sketches"
    given = [*_kept(recorded), "detect", str(recorded), "--output", str(folder)]
    told = CliRunner().invoke(plumbline, given)
    assert told.exit_code == 0, told.output
    assert ". MPI_Bcast, 8000 bytes" in told.output
    assert "--replay measures it" in told.output
    sketches = "".join(path.read_text() for path in folder.glob("*.c"))
    assert "MPI_Bcast(BUFFER, COUNT, TYPE, 0, comm);" in sketches


def test_the_command_as_json(recorded: Path) -> None:
    told = CliRunner().invoke(plumbline, [*_kept(recorded), "--json", "detect", str(recorded)])
    found = msgspec.json.decode(told.output, type=list[HandMade])
    assert {finding.function for finding in found} == {"MPI_Bcast", "MPI_Gather"}
    assert found[0].seconds >= found[1].seconds


def test_what_was_found_is_kept_once_a_recording(recorded: Path) -> None:
    for _ in range(2):
        told = CliRunner().invoke(plumbline, [*_kept(recorded), "detect", str(recorded)])
        assert told.exit_code == 0, told.output
    with Database.open(recorded / "found.db") as db:
        (detection,) = detections(db)
    assert (detection.nprocs, detection.replayed) == (6, False)
    assert {each.function for each in findings.findings(detection)} == {"MPI_Bcast", "MPI_Gather"}
