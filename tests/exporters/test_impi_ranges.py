"""Values of I_MPI_ADJUST_*: read as Intel MPI reads them, and by Intel MPI itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.libraries import Installation
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family.intelmpi import LAST, knob, value_of_ranges
from tests.impi import FAMILY, run, tuned
from tests.sampled import by_default

# Presets that do not apply on two ranks of one node: with FAILURE_ON_COLL_FALLBACK the launch ends
# where one is reached.
NOT_FIT = {
    "MPI_Allgather": 6,
    "MPI_Allgatherv": 5,
    "MPI_Allreduce": 7,
    "MPI_Alltoall": 4,
    "MPI_Bcast": 16,
    "MPI_Gather": 5,
    "MPI_Reduce": 13,
    "MPI_Reduce_scatter": 6,
    "MPI_Reduce_scatter_block": 2,
    "MPI_Scatter": 5,
}
NO_SIZE = {"MPI_Alltoallv": 3, "MPI_Gatherv": 4, "MPI_Scatterv": 4}


def preset_at(text: str, size: int) -> str:
    """As the library reads it: the first entry whose upper end is not below the size, else the
    last one. The lower ends are not looked at."""
    entries = [entry.partition(":") for entry in text.split(";")]
    for preset, _, sizes in entries:
        if size <= int(sizes.partition("-")[2]):
            return preset
    return entries[-1][0]


def test_what_is_not_ours_is_the_library_s_own() -> None:
    text = value_of_ranges([tuned("MPI_Bcast", 3, 64, 4096), tuned("MPI_Bcast", 5, 8192, 8192)])
    assert text == f"0:0-63;3:64-4096;0:4097-8191;5:8192-8192;0:8193-{LAST}"
    assert value_of_ranges([tuned("MPI_Bcast", 3, 0, 63)]) == f"3:0-63;0:64-{LAST}"
    assert value_of_ranges([tuned("MPI_Bcast", 3, 64)]) == f"0:0-63;3:64-{LAST}"


def test_one_preset_for_all_sizes_is_for_these_ranks_alone() -> None:
    text = f"0:0-{LAST}@0-3;3:0-{LAST}@4-4;0:0-{LAST}@5-{LAST}"
    assert value_of_ranges([tuned("MPI_Scan", 3, nprocs=4)]) == text


def test_sizes_that_the_library_cannot_tell_apart_are_refused() -> None:
    """On four ranks blocks of one byte are one, two or four bytes in all."""
    small = [tuned("MPI_Alltoall", 3, 1, 1, nprocs=4), tuned("MPI_Alltoall", 2, 2, 2, nprocs=4)]
    assert value_of_ranges(small[:1]).startswith("3:0-1;0:2-")
    with pytest.raises(PlumblineError, match="2 bytes: the library cannot tell calls"):
        value_of_ranges(small)


def test_blocks_are_those_of_one_process() -> None:
    text = value_of_ranges(
        [tuned("MPI_Allgather", 3, 4096, 8192), tuned("MPI_Allgather", 4, 8193, 9001)]
    )
    assert text == f"0:0-2047;3:2048-4096;4:4097-4501;0:4502-{LAST}"


@pytest.mark.parametrize("function", ["MPI_Barrier", "MPI_Scan", *NO_SIZE])
def test_where_the_library_knows_no_size_there_is_one_preset(function: str) -> None:
    with pytest.raises(PlumblineError, match="knows no size"):
        value_of_ranges([tuned(function, 1, 8, 64)])


@given(
    st.sets(st.integers(0, 10**6), min_size=2, max_size=8).filter(lambda ends: len(ends) % 2 == 0),
    st.sampled_from(["MPI_Bcast", "MPI_Alltoall"]),
    st.integers(0, 10**6),
)
def test_every_measured_size_has_its_winner_and_every_other_none(
    ends: set[int], function: str, size: int
) -> None:
    p = 2 if function == "MPI_Alltoall" else 1
    bounds = sorted(p * end for end in ends)
    winners = [
        tuned(function, number + 1, low, high)
        for number, (low, high) in enumerate(zip(bounds[::2], bounds[1::2], strict=True))
    ]
    text = value_of_ranges(winners)
    inside = [one for one in winners if one.bytes_from <= p * size <= one.bytes_to]
    expected = inside[0].configuration[knob(function)] if inside else "0"
    assert preset_at(text, size) == expected


def reached(found: Installation, folder: Path, winner: Winner, *sizes: int) -> bool:
    """Whether a launch with these volumes ends at the winner's preset."""
    knobs = {knob(winner.function): value_of_ranges([winner])}
    cells = [(winner.function, size) for size in sizes]
    done, samples = run(found, folder, FAMILY.in_environment(knobs), *cells)
    output = done.stdout + done.stderr
    assert FAMILY.complaint(output) is None, output
    assert (done.status == 0) == (len(samples) == len(sizes)), output
    if done.status != 0:
        assert f"{winner.function.removeprefix('MPI_').upper()}: algo #" in output, output
    return done.status != 0


UNFIT = {name: tuned(name, preset, 4096, 4096) for name, preset in NOT_FIT.items()}
FEW = ("MPI_Alltoall", "MPI_Bcast", "MPI_Reduce_scatter_block")


@pytest.mark.mpi
@pytest.mark.parametrize("function", by_default(FEW, [name for name in NOT_FIT if name not in FEW]))
def test_the_library_takes_a_range_for_what_we_mean(
    function: str, intel_mpi: Installation, tmp_path: Path
) -> None:
    assert reached(intel_mpi, tmp_path, UNFIT[function], 4096)


@pytest.mark.mpi
def test_ranges_end_where_we_mean(intel_mpi: Installation, tmp_path: Path) -> None:
    """All in one launch, which would end at the first that is reached."""
    knobs = {knob(name): value_of_ranges([winner]) for name, winner in UNFIT.items()}
    cells = [(name, size) for name in UNFIT for size in (64, 2048, 4094, 4098, 8192)]
    done, samples = run(intel_mpi, tmp_path, FAMILY.in_environment(knobs), *cells)
    assert done.status == 0 and len(samples) == len(cells), done.stdout + done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("function", NO_SIZE)
def test_the_library_knows_no_size_of_some(
    function: str, intel_mpi: Installation, tmp_path: Path
) -> None:
    """On most processors: all calls go with the last range."""
    name, preset = knob(function), NO_SIZE[function]

    def ends(text: str, size: int = 4096) -> bool:
        knobs = FAMILY.in_environment({name: text})
        return run(intel_mpi, tmp_path, knobs, (function, size))[0].status != 0

    assert ends(str(preset))
    text = f"{preset}:0-{2**20};0:{2**20 + 1}-{LAST}"
    if ends(text) and not ends(text, 2**22):
        pytest.skip(f"on this processor the library knows the sizes of {function}")
    assert not ends(text)


@pytest.mark.mpi
def test_other_numbers_of_ranks_keep_the_library_s_own(
    intel_mpi: Installation, tmp_path: Path
) -> None:
    preset = NOT_FIT["MPI_Bcast"]
    assert reached(intel_mpi, tmp_path, tuned("MPI_Bcast", preset, nprocs=2), 64)
    for nprocs in (1, 3):
        assert not reached(intel_mpi, tmp_path, tuned("MPI_Bcast", preset, nprocs=nprocs), 64)


@pytest.mark.mpi
def test_ranges_of_sizes_replace_one_another_where_ranks_are_named_too(
    intel_mpi: Installation, tmp_path: Path
) -> None:
    """Why a value with ranges of sizes holds for any number of ranks."""
    text = f"16:0-64@2-2;0:65-{LAST}@2-2"
    knobs = FAMILY.in_environment({"I_MPI_ADJUST_BCAST": text})
    assert run(intel_mpi, tmp_path, knobs, ("MPI_Bcast", 64))[0].status == 0
