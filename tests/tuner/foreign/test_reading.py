"""What other programs have printed: read as it is, or refused with the line that is wrong; in a
database shown, marked, and compared with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core import printed_text as text_module
from plumbline.foreign import storing, table
from plumbline.foreign.table import GivenOutput, GivenTable, GivenTime
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner.foreign import printed

EVERY = {
    "osu": printed.OSU,
    "imb": printed.IMB,
    "skampi": printed.SKAMPI,
    "reprompi": printed.REPROMPI,
    "madmpi": printed.MADMPI,
}


def read(text: str, nprocs: Sequence[int] = (4,)) -> tuple[str, GivenOutput]:
    (program,) = storing.of(text.encode(), nprocs, "file")
    return program.format.name, program.output


def by_function(output: GivenOutput) -> dict[tuple[str, int], GivenTable]:
    return {(each.function, each.nprocs): each for each in output.tables}


@pytest.mark.parametrize("name", EVERY)
def test_each_is_recognised(name: str) -> None:
    assert read(EVERY[name])[0] == name


def test_osu() -> None:
    _, output = read(printed.OSU)
    found = by_function(output)
    reduced = found["MPI_Allreduce", 4]
    assert reduced.columns == {
        "avg": [GivenTime(4, 2.5e-6, 1000), GivenTime(8, 2.75e-6, 1000)],
        "min": [GivenTime(4, 2e-6, 1000), GivenTime(8, 2.25e-6, 1000)],
        "max": [GivenTime(4, 3e-6, 1000), GivenTime(8, 3.25e-6, 1000)],
    }
    assert reduced.op == "MPI_SUM" and output.version == "5.3"
    gathered = found["MPI_Gather", 4].columns["avg"]
    assert [row.bytes for row in gathered] == [32, 64]  # a volume: the blocks of all ranks
    assert found["MPI_Barrier", 4].columns["avg"] == [GivenTime(0, 3.25e-6)]
    assert set(found["MPI_Ibcast", 4].columns) == {"overall", "compute", "coll-init"}
    assert found["osu_latency", 2].columns["avg"][0] == GivenTime(0, pytest.approx(2.5e-7))
    assert output.left_out == [
        "times of 0: non-blocking broadcast latency mpi-test",
        "no times of calls: bandwidth",
    ]


def test_osu_does_not_say_on_how_many_ranks() -> None:
    with pytest.raises(UsageError, match="give it with --nprocs"):
        read(printed.OSU, [])


def test_imb() -> None:
    _, output = read(printed.IMB, [])
    found = by_function(output)
    assert set(found) == {("IMB-PingPong", 2), ("MPI_Gather", 2), ("MPI_Gather", 4),
                          ("MPI_Barrier", 4)}  # fmt: skip
    assert found["MPI_Gather", 4].columns["max"] == [
        GivenTime(32, pytest.approx(0.9e-6), 1000), GivenTime(64, pytest.approx(0.95e-6), 500)
    ]  # fmt: skip
    assert found["MPI_Gather", 2].columns["avg"][0].bytes == 16
    assert set(found["IMB-PingPong", 2].columns) == {"t"}  # and no bandwidth
    assert output.started == "2026-11-24T10:40:18" and output.version == "2021.7"
    assert found["MPI_Gather", 4].type == "MPI_BYTE"


def test_skampi() -> None:
    _, output = read(printed.SKAMPI)
    found = by_function(output)
    assert found["MPI_Bcast", 2].columns["mean"] == [GivenTime(4, pytest.approx(6.6e-6), 54)]
    assert [row.bytes for row in found["MPI_Bcast", 4].columns["mean"]] == [4, 8]
    assert found["MPI_Barrier", 4].columns["mean"] == [GivenTime(0, pytest.approx(5.5e-6), 16)]
    assert ("skampi-Pingpong_Send_Recv", 2) in found
    with pytest.raises(UsageError, match="--nprocs"):
        read(printed.SKAMPI.replace("Pingpong_Send", "Exchange"), [])  # does not say it


def test_reprompi() -> None:
    _, output = read(printed.REPROMPI, [])
    (only,) = output.tables
    assert only.function == "MPI_Allreduce" and only.nprocs == 4
    assert only.columns["median"] == [
        GivenTime(1, pytest.approx(2.7941e-6), 10), GivenTime(10, pytest.approx(3.046e-6), 8)
    ]  # fmt: skip
    assert set(only.columns) == {"mean", "median", "min", "max"}
    assert (only.type, only.op) == ("MPI_BYTE", "MPI_BOR")
    _, raw = read(printed.REPROMPI_RAW, [])
    (only,) = raw.tables
    assert only.columns == {"median": [GivenTime(32, pytest.approx(4e-6), 3)]}


def test_madmpi() -> None:
    _, output = read(printed.MADMPI, [])
    (only,) = output.tables
    assert only.function == "madmpi-mpi_bench_sendrecv" and only.nprocs == 2
    assert only.columns["median"] == [
        GivenTime(0, pytest.approx(0.6e-6)), GivenTime(8, pytest.approx(0.65e-6))
    ]  # fmt: skip
    assert set(only.columns) == {"min", "median", "q1", "q3", "d1", "d9", "avg", "max"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "neither output of"),
        ("hello\n", "neither output of"),
        ("# OSU MPI Bandwidth Test v5.3\n# Size      Bandwidth (MB/s)\n1   4.00\n", "no times"),
        (printed.IMB.replace("# #processes = 2", "#"), "on how many ranks"),
        (printed.IMB.replace("= 4", "= 99999999999"), "is not a valid number"),
        (printed.IMB.replace("= 4", "= 0"), "number of ranks is 0"),
        (printed.OSU.replace("\n8  ", "\nx  ").replace("4   ", "x   ")[:300], "no times of calls"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(PlumblineError, match=words):
        read(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (printed.OSU.replace("2.50", "2" * 60), 4),
        (printed.OSU.replace("2.50", "9e99"), 4),
        (printed.OSU.replace("\n4  ", "\n99999999999999999999  "), 4),
        (printed.SKAMPI.replace("6.6       0.1       54       3.1       6.6", "6.6"), 4),
        (printed.SKAMPI.replace("nodes= 2", "nodes= x"), 4),
        (printed.REPROMPI.replace("1         10         10 ", "1 "), 10),
        (printed.REPROMPI.replace("0.0000038767", "nan"), 10),
        (printed.MADMPI.replace(" 0.500 ", " x.500 "), 4),
    ],
)
def test_a_row_that_cannot_be_read_is_named_and_no_other_lost(text: str, line: int) -> None:
    name = read(text)[0]
    output, whole = read(text)[1], read(EVERY[name])[1]
    assert f"rows that cannot be read: line {line}" in output.left_out
    (first, *others), (whole_first, *whole_others) = output.tables, whole.tables
    assert others == whole_others[-len(others) :] if others else True
    for column, rows in whole_first.columns.items():
        assert first.columns.get(column, []) in (rows[1:], rows) or name == "skampi"


def until(text: str, words: str) -> str:
    return text[: text.index(words)]


@pytest.mark.parametrize(
    ("text", "missing", "rows"),
    [
        (until(printed.IMB, "        16     "), ["breaks off in Gather", "Barrier"], 1),
        (until(printed.IMB, "0.85\n"), ["breaks off", "Barrier", "end of line 37"], 1),
        (until(printed.IMB, "\n# Benchmarking Bar"), ["breaks off", "Barrier"], 2),
        (until(printed.OSU, "3.25        1000"), ["end of line 5"], 1),
        (printed.OSU + until(printed.OSU, "4      "), ["all numbers of Allreduce"], 0),
        (until(printed.SKAMPI, "end result"), ["end of result MPI_Bcast-nod"], 2),
        (until(printed.SKAMPI, "7.0  8.0\nend"), ["end of result", "line 6"], 1),
        (printed.REPROMPI[:-8], ["end of line 11"], 1),
        (until(printed.MADMPI, "# bench: mpi_bench_sendrecv end"), ["bench mpi"], 2),
        *((text, [], 0) for text in EVERY.values()),
        *((text.rstrip("\n"), [], 0) for name, text in EVERY.items() if name in ("imb", "skampi")),
    ],
)  # fmt: skip
def test_what_a_text_that_is_cut_off_lacks_is_said(
    text: str, missing: list[str], rows: int
) -> None:
    _, output = read(text)
    assert len(output.missing) == len(missing)
    for said, words in zip(output.missing, missing, strict=True):
        assert words in said
    if rows:
        first = next(iter(output.tables[-1].columns.values()))
        assert len(first) == rows


@pytest.mark.parametrize("name", EVERY)
def test_cut_off_anywhere_a_text_is_read_or_refused_and_numbers_are_whole(name: str) -> None:
    whole = by_function(read(EVERY[name])[1])
    for at in range(len(EVERY[name])):
        try:
            _, output = read(EVERY[name][:at])
        except PlumblineError:
            continue
        for each in output.tables:
            for column, rows in each.columns.items():
                full = whole[each.function, each.nprocs].columns[column]
                assert rows == full[: len(rows)], (at, each.function)
        if name == "imb" and "entering MPI_Finalize" not in EVERY[name][:at]:
            assert output.missing, at


@given(name=st.sampled_from(sorted(EVERY)), data=st.data())
def test_whatever_is_changed_it_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = EVERY[name]
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(len(text), at + 40)))
    changed = text[:at] + data.draw(st.text(max_size=20)) + text[end:]
    try:
        _, output = read(changed)
    except PlumblineError as error:
        assert len(str(error)) < 600
        return
    for each in output.tables:
        assert each.nprocs >= 1 and each.columns
        for rows in each.columns.values():
            assert all(row.bytes >= 0 and row.seconds > 0 and row.n >= 1 for row in rows)


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "MOST_BYTES", 100)
    (tmp_path / "imb.txt").write_text(printed.IMB)
    with pytest.raises(PlumblineError, match="is larger than"):
        text_module.read(tmp_path / "imb.txt")
    monkeypatch.setattr(table, "MOST_ROWS", 3)
    with pytest.raises(PlumblineError, match="more than 3 numbers"):
        read(printed.IMB)
