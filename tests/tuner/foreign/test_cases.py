"""Outputs of the kinds that people publish (tests/cases/foreign), each with its right answer: what
is read, what is left out and named, and what is in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from plumbline.core import printed_text as text
from plumbline.foreign import storing

CASES = Path(__file__).parents[2] / "cases" / "foreign"


class Answer(NamedTuple):
    """`curves`: by function, ranks and name of the curve, the bytes and µs of each row. `said`:
    words that must be in what is left out, missing or in doubt; nothing else may be said."""

    curves: dict[tuple[str, int, str], list[tuple[int, float]]]
    said: Sequence[str] = ()


REDUCED = {
    ("MPI_Allreduce", 4, "imb-min"): [(8, 0.7)],
    ("MPI_Allreduce", 4, "imb-max"): [(8, 0.9)],
    ("MPI_Allreduce", 4, "imb-avg"): [(8, 0.8)],
}
OSU_AVG = ("MPI_Allreduce", 4, "osu-avg")
ANSWERS = {
    "i01_multi0": Answer(
        {
            ("IMB-Multi-Allreduce", 2, "imb-2-groups-min"): [(8, 0.5)],
            ("IMB-Multi-Allreduce", 2, "imb-2-groups-max"): [(8, 0.6)],
            ("IMB-Multi-Allreduce", 2, "imb-2-groups-avg"): [(8, 0.55)],
            **REDUCED,
        }
    ),
    "i02_version4": Answer(REDUCED),
    "i04_aggregate": Answer(
        {
            ("IMB-Unidir_Put", 2, "imb-aggregate-t"): [(8, 0.1)],
            ("IMB-Unidir_Put", 2, "imb-non-aggregate-t"): [(8, 2.1)],
        }
    ),
    "i05_nbc": Answer(
        {
            ("MPI_Igather", 4, "imb-ovrl"): [(32, 2.5)],
            ("MPI_Igather", 4, "imb-pure"): [(32, 1.5)],
            ("MPI_Igather", 4, "imb-cpu"): [(32, 1.25)],
            ("MPI_Igather", 4, "imb-pure-min"): [(32, 1.25)],
            ("MPI_Igather", 4, "imb-pure-max"): [(32, 1.75)],
            ("MPI_Igather", 4, "imb-pure-avg"): [(32, 1.5)],
        }
    ),
    "i06_biband_and_allreduce": Answer(REDUCED, ["no times of calls: Biband"]),
    "i07_timeout": Answer(
        {
            ("MPI_Alltoall", 4, "imb-min"): [(32, 0.7)],
            ("MPI_Alltoall", 4, "imb-max"): [(32, 0.9)],
            ("MPI_Alltoall", 4, "imb-avg"): [(32, 0.8)],
        },
        ["Alltoall 16 B (time-out), Alltoall 32 B (out-of-mem)"],
    ),
    "i09_two_types": Answer(
        {
            **REDUCED,
            ("MPI_Allreduce", 4, "imb-min MPI_DOUBLE"): [(8, 0.7)],
            ("MPI_Allreduce", 4, "imb-max MPI_DOUBLE"): [(8, 0.9)],
            ("MPI_Allreduce", 4, "imb-avg MPI_DOUBLE"): [(8, 5.8)],
        }
    ),
    "i11_labelled": Answer(REDUCED, ["breaks off in Allreduce"]),
    "o01_barrier_full": Answer(
        {
            ("MPI_Barrier", 4, "osu-avg"): [(0, 4.25)],
            ("MPI_Barrier", 4, "osu-min"): [(0, 4.0)],
            ("MPI_Barrier", 4, "osu-max"): [(0, 4.5)],
        }
    ),
    "o02_ibarrier_v7": Answer(
        {
            ("MPI_Ibarrier", 4, "osu-overall"): [(0, 9.5)],
            ("MPI_Ibarrier", 4, "osu-compute"): [(0, 4.25)],
            ("MPI_Ibarrier", 4, "osu-pure-comm"): [(0, 4.0)],
        }
    ),
    "o05_persistent": Answer({("MPI_Allreduce_init", 4, "osu-avg"): [(8, 3.5), (16, 3.75)]}),
    "o07_host_and_device": Answer(
        {OSU_AVG: [(8, 2.0)], ("MPI_Allreduce", 4, "osu-cuda-avg"): [(8, 40.0)]}
    ),
    "o08_version2": Answer({("osu_latency", 2, "osu-avg"): [(0, 4.25), (1, 4.5)]}),
    "o09_srun_label": Answer({OSU_AVG: [(8, 2.0), (16, 2.25)]}),
    "o11_indented": Answer({OSU_AVG: [(8, 2.0)]}),
    "o13_hello_init": Answer({("MPI_Barrier", 4, "osu-avg"): [(0, 4.25)]}),
    "o14_validation_fail": Answer({OSU_AVG: [(8, 2.0)]}, ["16 B, validation Fail"]),
    "o15_warning_in_row": Answer(
        {OSU_AVG: [(8, 2.0), (32, 2.5)]}, ["rows that cannot be read: line 6, line 7"]
    ),
    "o16_pt2pt_and_coll": Answer(
        {("osu_latency", 2, "osu-avg"): [(8, 0.5)], OSU_AVG: [(8, 2.0)]},
    ),
    "o17_scaling_log": Answer(
        {("MPI_Gather", 2, "osu-avg"): [(16, 1.0)], ("MPI_Gather", 4, "osu-avg"): [(32, 3.0)]}
    ),
    "o18_ddt_transmit": Answer({("MPI_Allgather", 4, "osu-avg"): [(16, 2.0), (32, 2.25)]}),
    "o21_utf16": Answer({OSU_AVG: [(8, 2.0)]}),
    "o23_other_table_after": Answer(
        {OSU_AVG: [(8, 2.0)]}, ["numbers after text of another kind: line 7, line 8"]
    ),
    "o24_alltoallw": Answer({("MPI_Alltoallw", 4, "osu-avg"): [(32, 2.0)]}),
    "o27_other_library_after": Answer(
        {OSU_AVG: [(8, 2.0)]}, ["tables of other libraries: OSU OpenSHMEM Reduce"]
    ),
    "r01_two_nprocs": Answer(
        {
            ("MPI_Gather", 2, "reprompi-median"): [(16, 1.0)],
            ("MPI_Gather", 4, "reprompi-median"): [(32, 3.0)],
        }
    ),
    "r02_errorcode": Answer(
        {("MPI_Allreduce", 4, "reprompi-median"): [(8, 2.0)]},
        ["calls wrong: MPI_Allreduce 8 B, errorcode (3)"],
    ),
    "r03_msize_bytes": Answer({("MPI_Allreduce", 4, "reprompi-mean"): [(64, 2.0)]}),
    "r04_verbose": Answer({("MPI_Allreduce", 4, "reprompi-median"): [(8, 2.1)]}),
    "r06_stddev": Answer(
        {("MPI_Allreduce", 4, "reprompi-mean"): [(8, 2.0)]}, ["var_sec, stddev_sec"]
    ),
    "r08_raw_then_summary": Answer(
        {
            ("MPI_Allreduce", 4, "reprompi-median"): [(8, 2.0)],
            ("MPI_Allreduce", 4, "reprompi-mean"): [(8, 4.0)],
            ("MPI_Allreduce", 4, "reprompi-median 2"): [(8, 4.0)],
        }
    ),
    "s01_parameters": Answer(
        {
            ("skampi-Pingpong_Send_Recv-iterations", 2, f"skampi-iterations-{count}-mean"): [
                (4, us)
            ]
            for count, us in ((1, 6.0), (8, 3.0), (64, 2.0))
        }
    ),
    "s02_indented": Answer({("MPI_Bcast", 4, "skampi-mean"): [(4, 8.5)]}),
    "x01_imb_and_osu": Answer(
        {
            **REDUCED,
            ("MPI_Allreduce", 4, "imb-min MPI_DOUBLE"): [(8, 0.7)],
            ("MPI_Allreduce", 4, "imb-max MPI_DOUBLE"): [(8, 0.9)],
            ("MPI_Allreduce", 4, "imb-avg MPI_DOUBLE"): [(8, 5.8)],
            OSU_AVG: [(8, 2.0)],
            ("MPI_Allreduce_init", 4, "osu-avg"): [(8, 6.0)],
        }
    ),
}


def curves(outputs: list[storing.ProgramOutput]) -> dict[tuple[str, int, str], list[object]]:
    """Return the rows by what a curve is called; the name ends with what tells it from an earlier
    one: another type, or its number."""
    read: dict[tuple[str, int, str], list[object]] = {}
    types: dict[tuple[str, int, str], str] = {}
    for each in outputs:
        for table in each.output.tables:
            for column, rows in table.columns.items():
                words = [each.format.name, table.way, column]
                name = "-".join(word for word in words if word)
                place = (table.function, table.nprocs, name)
                if types.setdefault(place, table.type) != table.type:
                    place = (*place[:2], f"{name} {table.type}")
                elif place in read:
                    place = (*place[:2], f"{name} 2")
                read[place] = [(row.bytes, pytest.approx(row.seconds * 1e6)) for row in rows]
    return read


@pytest.mark.parametrize("name", ANSWERS)
def test_the_right_answer(name: str) -> None:
    path = CASES / f"{name}.txt"
    outputs = storing.of(text.read(path), [4], name)
    answer = ANSWERS[name]
    assert curves(outputs) == answer.curves
    said = [
        sentence
        for each in outputs
        for sentence in (*each.output.left_out, *each.output.missing, *each.output.doubts)
    ]
    assert len(said) == len(answer.said), said
    for sentence, words in zip(said, answer.said, strict=True):
        assert words in sentence


def test_every_case_has_an_answer() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == set(ANSWERS)
