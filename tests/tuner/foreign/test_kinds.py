"""Further cases of the kinds of tests/cases/foreign: different things are different curves, what is
not taken is named, and the way a text came here changes nothing."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline.core import printed_text
from plumbline.foreign import storing
from plumbline.foreign.storing import ProgramOutput
from plumbline.foreign.table import GivenTable
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner.foreign import printed
from tests.tuner.foreign.printed_more import (
    PICO,
    PICO_SINGLE,
    REFRAME,
    REFRAME_OLD,
    imb,
    osu,
    row,
    section,
)

RANGE = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]"


def read(text: str | bytes, *nprocs: int) -> list[ProgramOutput]:
    data = text.encode() if isinstance(text, str) else text
    return storing.of(data, nprocs or (4,), "file")


def tables(text: str | bytes, *nprocs: int) -> list[GivenTable]:
    return [table for each in read(text, *nprocs) for table in each.output.tables]


def left_out(text: str) -> list[str]:
    return [sentence for each in read(text) for sentence in each.output.left_out]


def microseconds(table: GivenTable, column: str = "avg") -> list[tuple[int, float]]:
    return [(each.bytes, round(each.seconds * 1e6, 3)) for each in table.columns[column]]


@pytest.mark.parametrize(
    ("title", "function", "way"),
    [
        ("MPI Allreduce Latency", "MPI_Allreduce", ""),
        ("MPI-ROCM Allreduce Latency", "MPI_Allreduce", "rocm"),
        ("MPI-CUDA MANAGED Broadcast Latency", "MPI_Bcast", "cuda_managed"),
        ("MPI Non-Blocking Broadcast Latency", "MPI_Ibcast", ""),
        ("MPI Non-blocking All-to-Allw Personalized Exchange Latency", "MPI_Ialltoallw", ""),
        ("MPI Non-blocking All-to-Allw Personalized ExchangeLatency", "MPI_Ialltoallw", ""),
        ("MPI All-to-Allv Personalized Exchange Persistent Latency", "MPI_Alltoallv_init", ""),
        ("MPI Broadcast Persistent Latency", "MPI_Bcast_init", ""),
        ("MPI Reduce_scatter_block Latency", "MPI_Reduce_scatter_block", ""),
        ("MPI_Bcast Latency", "MPI_Bcast", ""),
        ("MPI Neighborhood Allgather Latency", "osu_neighborhood_allgather_latency", ""),
        ("MPI Fast Allreduce Latency", "osu_fast_allreduce_latency", ""),
        ("MPI Allreduce Bandwidth Latency", "osu_allreduce_bandwidth_latency", ""),
        ("MPI_Get Multi Latency", "osu_get_multi_latency", ""),
    ],
)
def test_all_words_of_a_title_decide(title: str, function: str, way: str) -> None:
    (table,) = tables(osu(title, row(8, 2.0)))
    assert (table.function, table.way, table.nprocs) == (function, way, 4)


@pytest.mark.parametrize(
    "title",
    [
        *("MPI Latency", "MPI Latency Persistent", "MPI Multi-threaded Latency", "MPI_Put Latency"),
        *("MPI_Get_accumulate latency", "MPI-CUDA Latency", "MPI_Compare_and_swap latency"),
        *("MPI Partitioned Latency", "MPI Latency Test"),
    ],
)
def test_tests_between_two_ranks_have_two(title: str) -> None:
    (table,) = storing.of(osu(title, row(8, 2.0)).encode(), [], "file")[0].output.tables
    assert table.nprocs == 2


@pytest.mark.parametrize("library", ["OpenSHMEM", "NCCL", "RCCL", "UPC", "UPC++"])
def test_tables_of_other_libraries_are_named(library: str) -> None:
    text = osu("MPI Reduce Latency", row(8, 2.0)) + osu(f"{library} Reduce Latency", row(8, 9.0))
    assert [microseconds(table) for table in tables(text)] == [[(8, 2.0)]]
    assert left_out(text) == [f"tables of other libraries: OSU {library} Reduce Latency Test v7.4"]


def test_windows_and_places_of_buffers_are_ways() -> None:
    window = "# Window creation: MPI_Win_create\n# Synchronization: MPI_Win_fence"
    places = "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)"
    header = "# Size          Latency (us)"
    put = tables(osu("MPI_Put Latency", row(8, 2.0), comments=window, header=header))
    device = tables(osu("MPI-CUDA Latency", row(8, 2.0), comments=places, header=header))
    assert [put[0].way, device[0].way] == ["MPI_Win_create-MPI_Win_fence", "cuda-d-h"]


@pytest.mark.parametrize(
    ("launches", "nprocs"),
    [
        (["srun -n2 osu_gather", "srun --ntasks=8 osu_gather"], [2, 8]),
        (["mpiexec -n 2 ./osu_gather -m 8", "time mpirun --np 8 x/osu_gather -f"], [2, 8]),
        (["srun -N2 --ntasks-per-node=3 osu_gather", "flux run -N4 --tasks-per-node=2 osu_gather"],
         [6, 8]),
    ],
)  # fmt: skip
def test_ranks_that_a_log_states(launches: list[str], nprocs: list[int]) -> None:
    text = "".join(f"$ {each}{osu('MPI Gather Latency', row(8, 2.0))}" for each in launches)
    assert [table.nprocs for table in tables(text, 64)] == nprocs
    assert all(not each.output.doubts for each in read(text, 64))


def test_a_launch_of_another_program_states_nothing() -> None:
    text = f"$ mpirun -np 2 osu_bcast{osu('MPI Gather Latency', row(8, 2.0))}"
    assert tables(text, 64)[0].nprocs == 64


def test_equal_tables_without_ranks_are_never_one_curve(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(osu("MPI Gather Latency", row(8, 1.0)) + osu("MPI Gather Latency", row(8, 3.0)))
    with pytest.raises(UsageError, match="2,4 for a scaling log"):
        storing.take(tmp_path / "none.db", log)
    curves: dict[tuple[int, ...], list[tuple[str, int, int]]] = {}
    for nprocs in ([4], [2, 4], [4, 4]):
        taken = storing.take(tmp_path / "one.db", log, nprocs)
        assert len(taken.doubts) == (nprocs == [4])
        with Database.open(tmp_path / "one.db") as db:
            suites = dict.fromkeys(run.suite for run in runs.listing(db, taken.run))
            curves[tuple(nprocs)] = [
                (suite, each.case.bytes, len(each.runs))
                for suite in suites
                for each in runs.medians(db, taken.run, [suite])
            ]
    first, second = "osu-MPI_Gather-4-avg", "osu-MPI_Gather-4-avg-2"
    assert curves[4,] == [(first, 32, 1), (second, 32, 1)]
    assert curves[2, 4] == [("osu-MPI_Gather-2-avg", 16, 1), (first, 32, 1)]
    assert curves[4, 4] == [(first, 32, 2)]
    with pytest.raises(UsageError, match="3 tables are called MPI_Gather, but --nprocs has 2"):
        log.write_text(log.read_text() + osu("MPI Gather Latency", row(8, 4.0)))
        storing.take(tmp_path / "one.db", log, [2, 4])


@pytest.mark.parametrize(
    "between",
    [
        "a warning of the library\n",
        "--------\nA help text of Open MPI\n\nwith 2 lines\n--------\n",
        "# a comment of a script\n",
        "\n",
    ],
)
def test_warnings_between_rows_lose_none(between: str) -> None:
    whole = osu("MPI Reduce Latency", row(8, 2.0), row(16, 3.0), row(32, 4.0))
    for place in (row(8, 2.0), row(16, 3.0), row(32, 4.0)):
        (table,) = tables(whole.replace(place, between + place))
        assert microseconds(table) == [(8, 2.0), (16, 3.0), (32, 4.0)]


@pytest.mark.parametrize(
    "after",
    [
        "hosts\n101 0.37\n102 0.41\n",
        "\n101 0.37\n102 0.41\n",
        f"another program\n{row(8, 9.0)}\n{row(16, 9.5)}\n{row(32, 9.75)}\n",
        "#  size  count  type  time  wrong\n#   (B)   (elements)   (us)\n 64  16  float  9.5  0\n",
    ],
)
def test_what_follows_a_table_is_no_row_of_it(after: str) -> None:
    text = osu("MPI Reduce Latency", row(8, 2.0)) + after
    assert [microseconds(table) for table in tables(text)] == [[(8, 2.0)]]
    assert len(left_out(text)) == 1


def test_imb_modes_types_and_calls_are_curves_of_their_own(tmp_path: Path) -> None:
    plain = section("Allreduce", RANGE, "8 1000 0.5 0.7 0.6")
    double = imb(plain).replace("MPI_FLOAT", "MPI_DOUBLE")
    other_call = imb(plain, call="IMB-MPI1 -sync off Allreduce")
    device = imb(plain, call="IMB-MPI1-GPU -mem_alloc_type device Allreduce")
    (tmp_path / "imb.txt").write_text(imb(plain) + double + other_call + device + imb(plain))
    taken = storing.take(tmp_path / "one.db", tmp_path / "imb.txt")
    with Database.open(tmp_path / "one.db") as db:
        suites = [run.suite for run in runs.listing(db, taken.run)]
    averages = [suite for suite in suites if suite.endswith("avg") or "avg-" in suite]
    names = [f"imb-MPI_Allreduce-4-{end}" for end in ("avg", "avg-2", "avg-3", "device-avg")]
    assert averages == [*names, names[0]]  # the same call again is a second launch


def test_imb_names_what_it_calls_wrong_or_has_not_measured() -> None:
    defects = section("Allreduce", f"{RANGE} defects", "8 9 1 2 3 0.00", "16 9 1 2 3 1.00")
    mode = section("Unidir_put", "#bytes #repetitions t[usec] Mbytes/sec", "8 9 1 0",
                   about="# #processes = 2").replace("       #bytes", "#    MODE: AGGREGATE\n  #bytes")  # fmt: skip  # noqa: E501
    none = section("Bcast", RANGE, "8 9 1 2 3", "16 int-overflow of ranks")
    text = imb(defects, mode, none)
    assert [(table.function, table.way) for table in tables(text)] == [
        ("MPI_Allreduce", ""),
        ("IMB-Unidir_put", "aggregate"),
        ("MPI_Bcast", ""),
    ]
    assert microseconds(tables(text)[0], "max") == [(8, 2.0)]
    assert left_out(text) == [
        "results that the program calls wrong: Allreduce 16 B, defects 1.00",
        "sizes that the program did not measure: Bcast 16 B (int-overflow)",
    ]


@pytest.mark.parametrize(
    ("title", "function"),
    [
        ("Intel (R) MPI Benchmark Suite V3.2.4, MPI-1 part", "MPI_Reduce_scatter"),
        ("Intel (R) MPI Benchmarks 4.0 Update 2, MPI-1 part", "MPI_Reduce_scatter"),
        ("PALLAS MPI Benchmark Suite V2.2.1, MPI-1 part", "MPI_Reduce_scatter"),
    ],
)
def test_old_versions(title: str, function: str) -> None:
    """A size of Reduce_scatter was the whole vector until 2018."""
    text = imb(section("Reduce_scatter", RANGE, "64 9 1 2 3"))
    old = text.replace("Intel(R) MPI Benchmarks 2021.7, MPI-1 part", title)
    assert microseconds(tables(old)[0]) == [(64, 3.0)] and tables(old)[0].function == function
    assert microseconds(tables(text)[0]) == [(256, 3.0)]


def test_ranks_as_pallas_printed_them() -> None:
    text = imb(section("Bcast", RANGE, "8 9 1 2 3", about="# ( #processes = 3 )"))
    assert [(table.function, table.nprocs) for table in tables(text)] == [("MPI_Bcast", 3)]


def test_a_mode_between_rows_begins_another_curve() -> None:
    text = imb(
        section(
            "Unidir_put",
            "#bytes #repetitions t[usec]",
            "8 9 1",
            "#    MODE: NON-AGGREGATE",
            "#bytes #repetitions t[usec]",
            "8 9 2",
            about="# #processes = 2\n#    MODE: AGGREGATE",
        )
    )
    assert [(table.way, microseconds(table, "t")) for table in tables(text)] == [
        ("aggregate", [(8, 1.0)]),
        ("non-aggregate", [(8, 2.0)]),
    ]


@pytest.mark.parametrize("defects", ["nan", "x", "1e9999999", "-"])
def test_defects_that_are_no_number_lose_one_row(defects: str) -> None:
    rows = ("4 9 1 2 3 0.00", f"8 9 1 2 3 {defects}", "16 9 1 2 3 0.00")
    text = imb(section("Allreduce", f"{RANGE} defects", *rows))
    (table,) = tables(text)
    assert [size for size, _ in microseconds(table)] == [4, 16]
    assert len(left_out(text)) == 1


def test_calls_that_differ_in_their_second_line_are_curves_of_their_own() -> None:
    plain = section("Allreduce", RANGE, "8 1000 0.5 0.7 0.6")
    calls = ("IMB-MPI1 -npmin 4\n#          -sync on", "IMB-MPI1 -npmin 4\n#          -sync off")
    on, off = (tables(imb(plain, call=call))[0].apart for call in calls)
    assert on != off and "-sync off" in off
    without_blanks = imb(plain, call=calls[1]).replace("\n\n", "\n")
    assert tables(without_blanks)[0].apart == off


def test_benchmarks_that_are_listed_for_groups_and_missing_are_named() -> None:
    listed = "\n# List of Benchmarks to run:\n\n# (Multi-)Bcast\n# (Multi-)Gather\n"
    text = imb(listed, section("Bcast", RANGE, "8 9 1 2 3")).partition("\n# All processes")[0]
    (output,) = read(text)
    assert output.output.missing[1:] == ["all of Gather"]


def test_groups_of_multi_are_columns_of_their_own() -> None:
    groups = section(
        "Multi-Bcast", f"Group {RANGE}", "0 8 9 1 2 3", "1 8 9 4 5 6", "", "0 16 9 1 2 3",
        about="# ( 2 groups of 2 processes each running simultaneous )",
    )  # fmt: skip
    (table,) = tables(imb(groups))
    assert (table.function, table.nprocs, table.way) == ("IMB-Multi-Bcast", 2, "2-groups")
    assert microseconds(table, "avg-group-0") == [(8, 3.0), (16, 3.0)]
    assert microseconds(table, "avg-group-1") == [(8, 6.0)]


def test_reprompi_with_a_global_clock_takes_the_first_start_and_the_last_end() -> None:
    text = (
        "#@reproMPIcommitSHA1=0\n#@nprocs=2\n"
        "process test nrep count errorcode loc_tstart_sec loc_tend_sec gl_tstart_sec gl_tend_sec\n"
        "0 MPI_Bcast 0 8 0 1.0 1.000002 0.000001 0.000003\n"
        "1 MPI_Bcast 0 8 0 1.0 1.000002 0.000002 0.000005\n"
        "0 MPI_Bcast 1 8 0 1.0 1.000002 0.000001 0.000003\n"
        "1 MPI_Bcast 1 8 1 1.0 1.000002 0.000002 0.000009\n"
    )
    (table,) = tables(text)
    assert microseconds(table, "median") == [(8, 4.0)]  # the second one has an error code


def test_repetitions_of_no_time_are_named() -> None:
    text = (
        "#@reproMPIcommitSHA1=0\n#@nprocs=2\ntest nrep count runtime_sec\n"
        "MPI_Bcast 0 8 0.0\nMPI_Bcast 1 8 0.000002\n"
    )
    assert microseconds(tables(text)[0], "median") == [(8, 2.0)]
    assert left_out(text) == ["times of 0: MPI_Bcast 8 B"]


def test_pico() -> None:
    found = {(table.function, table.nprocs, table.way): table for table in tables(PICO)}
    assert set(found) == {
        ("MPI_Allreduce", 16, "ring_ompi"),
        ("MPI_Allreduce", 16, "bine_lat"),
        ("MPI_Allgather", 8, "ring_ompi"),
    }
    ring = found["MPI_Allreduce", 16, "ring_ompi"]
    assert microseconds(ring, "median") == [(32, 2.4), (64, 2.45)] and ring.op == "MPI_SUM"
    assert left_out(PICO) == [
        "rows that cannot be read: line 6",
        "columns that are no times of calls: std, iqr",
    ]
    with pytest.raises(PlumblineError, match="without collective and size"):
        read(PICO_SINGLE)


def test_reframe() -> None:
    assert [
        (table.function, table.nprocs, microseconds(table, "latency")) for table in tables(REFRAME)
    ] == [("reframe-osu_latency", 2, [(0, us)]) for us in (1.25, 1.5, 2.5)]
    assert len({table.apart for table in tables(REFRAME)}) == 2  # two environments
    assert left_out(REFRAME) == [
        "no times of calls: bw (MB/s) (3)",
        "results that the program calls wrong: line 4, result fail",
    ]
    (old,) = tables(REFRAME_OLD)
    assert (old.function, old.nprocs) == ("reframe-osu_allreduce", 8)
    assert microseconds(old, "latency") == [(0, 3.25)]


def test_a_log_of_reframe_with_quoted_commas() -> None:
    text = (
        "version,display_name,result,job_nodelist,num_tasks,latency_value,latency_unit\n"
        'x,osu_bcast,pass,"n[1,2]",4,3.5,us\n'
        f"x,osu_bcast,pass,{'n' * 200_000},4,3.5,us\n"
    )
    (table,) = tables(text)
    assert (table.nprocs, microseconds(table, "latency")) == (4, [(0, 3.5)])
    assert left_out(text) == ["rows that cannot be read: line 3"]


COLOURS = "\x1b[1m\x1b[32m"
WAYS: dict[str, Callable[[str], bytes]] = {
    "srun -l": lambda text: "".join(f"0: {line}\n" for line in text.splitlines()).encode(),
    "intel": lambda text: "".join(f"[0] {line}\n" for line in text.splitlines()).encode(),
    "tag": lambda text: "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines()).encode(),
    "prte": lambda text: "".join(
        f"[prterun-n1-17@1,0]<stdout>: {line}\n" for line in text.splitlines()
    ).encode(),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()).encode(),
    "time": lambda text: "".join(
        f"2026-11-24T10:40:18.123Z {line}\n" for line in text.splitlines()
    ).encode(),
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()).encode(),
    "mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "double": lambda text: text.replace("\n", "\r\r\n").encode(),
    "colours": lambda text: text.replace("#", f"{COLOURS}#").replace("\n", "\x1b[0m\n").encode(),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["OSU", "IMB", "SKAMPI", "REPROMPI", "MADMPI"])
def test_how_a_text_came_here_changes_nothing(name: str, way: str) -> None:
    text = getattr(printed, name)
    assert tables(WAYS[way](text)) == tables(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_packed(tmp_path: Path, packer: str, encoding: str) -> None:
    path = tmp_path / "imb.txt"
    path.write_text(printed.IMB, encoding=encoding)
    if packer == "gzip":
        (tmp_path / "packed").write_bytes(gzip.compress(path.read_bytes()))
    else:
        program = shutil.which("zstd")
        assert program, "zstd is missing: apt install zstd"
        subprocess.run([program, "-q", path, "-o", tmp_path / "packed"], check=True)
    assert printed_text.read(tmp_path / "packed") == path.read_bytes()
    (tmp_path / "packed").write_bytes((tmp_path / "packed").read_bytes()[:12] + b"\xff" * 9)
    with pytest.raises(PlumblineError):
        storing.take(tmp_path / "new.db", tmp_path / "packed")


def test_a_packed_file_of_two_parts_is_read_whole_and_half_a_part_is_refused(
    tmp_path: Path,
) -> None:
    parts = [gzip.compress(text.encode()) for text in (printed.IMB, printed.OSU)]
    (tmp_path / "packed").write_bytes(b"".join(parts))
    assert printed_text.read(tmp_path / "packed").decode() == printed.IMB + printed.OSU
    (tmp_path / "packed").write_bytes(parts[0][:-20])
    with pytest.raises(PlumblineError, match="cannot unpack"):
        printed_text.read(tmp_path / "packed")


def test_nodes_are_those_that_a_launch_states(tmp_path: Path) -> None:
    text = "$ srun -N 2 -n 8 ./osu_bcast\n" + osu("MPI Bcast Latency", row(8, 2.0))
    (tmp_path / "osu.txt").write_text(text + text.replace("-N 2", "-N 4"))
    name = storing.take(tmp_path / "one.db", tmp_path / "osu.txt").run
    with Database.open(tmp_path / "one.db") as db:
        campaign = campaigns.get(db, name)
        suites = {run.suite for run in runs.listing(db, name)}
    assert (campaign.nprocs, campaign.nodes, campaign.ppn) == (8, 2, 4)
    assert len(suites) == 2  # on other nodes it is another curve


def test_ranks_that_no_table_needs_make_no_other_import(tmp_path: Path) -> None:
    (tmp_path / "imb.txt").write_text(printed.IMB)
    first = storing.take(tmp_path / "one.db", tmp_path / "imb.txt")
    again = storing.take(tmp_path / "one.db", tmp_path / "imb.txt", [8])
    assert (first.new, again.new, again.run) == (True, False, first.run)


def test_nothing_is_invented(tmp_path: Path) -> None:
    (tmp_path / "osu.txt").write_text(osu("MPI Bcast Latency", row(8, 2.0)))
    name = storing.take(tmp_path / "one.db", tmp_path / "osu.txt", [4]).run
    with Database.open(tmp_path / "one.db") as db:
        campaign = campaigns.get(db, name)
    assert campaign.foreign and campaign.started == campaign.finished == ""
