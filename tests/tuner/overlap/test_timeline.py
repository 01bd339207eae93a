"""Timelines by hand, their picture and trace file, and the command on the real library."""

from __future__ import annotations

import json
import xml.etree.ElementTree as tree
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.overlap import timeline, timeline_chart
from plumbline.overlap.timeline import beside, clock_of, split, timelines
from plumbline.system import chart
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import (
    ClockError,
    ClockSync,
    Overlap,
    OverlapLatency,
    OverlapTrace,
    ProbeRecord,
)
from tests.tuner.cli.command import plumbline

# Three triples, of which the second is that of the median.
CELL = Overlap(
    *(
        0,
        "receiver",
        1 << 19,
        1 << 19,
        "registers",
        200_000,
        0,
        9,
        1,
        1,
        0,
        "",
        1,
        0,
        False,
        False,
        True,
    ),
    communication_ns=[30_000, 31_000, 32_000],
    computation_ns=[200_000, 201_000, 202_000],
    both_ns=[250_000, 231_000, 225_000],
)
ZERO = 5_000_000


def trace(rank: int, triple: int, events: list[tuple[str, int, int, int]], **how: Any) -> Any:
    names, peers, begin, end = ([event[i] for event in events] for i in range(4))
    stamps = ([ZERO + ns for ns in these] for these in (begin, end))
    part = how.get("part", "both")
    return OverlapTrace(0, rank, triple, part, names, peers, [0] * len(names), *stamps)


def records() -> list[ProbeRecord]:
    """A receiver that computes first, and takes the message in Wait."""
    receiver = [
        ("MPI_Irecv", 1, 100, 300),
        ("signal", 1, 400, 500),
        ("computation", -1, 600, 200_600),
        ("MPI_Wait", -1, 200_700, 231_000),
        ("arrival", 1, 200_600, 231_100),
    ]
    sender = [("await", 0, -90_000, 700), ("MPI_Send", 0, 1_000, 231_050)]
    found = [trace(0, one, receiver) for one in (0, 1, 2)]
    return [
        ClockSync("hca3", 2, 0.5),
        ClockError("start", 1, [0, 40], [0, 900]),
        OverlapLatency("start", [0]),
        CELL,
        *found,
        *(trace(1, one, sender) for one in (0, 1, 2)),
        ClockError("end", 9, [0, 75], [0, 800]),
    ]


def test_the_median_repetition_from_where_its_time_begins() -> None:
    (one,) = timelines(records(), ["both"])
    assert (one.triple, one.zero_ns, one.measured_ns) == (1, ZERO, 231_000)
    assert [event.name for event in one.lanes[0]][2:] == ["computation", "MPI_Wait"]
    assert one.lanes[1][0].begin_ns == -90_000
    (message,) = one.messages
    assert (message.sender, message.receiver) == (1, 0)
    told = (message.begin_ns, message.earliest_ns, message.latest_ns)
    assert told == (1_000, 200_600, 231_100)
    assert (one.clock.domains, one.clock.error_ns, one.clock.bound_ns) == (2, 75, 900)
    assert one.ratio is not None and one.ratio.value == pytest.approx(30 / 31)


def test_where_the_time_went_and_what_computes_beside_a_message() -> None:
    (one,) = timelines(records(), ["both"])
    spent = split(one, 0)
    assert sum(spent.values()) == one.measured_ns
    assert spent == {
        "begin": 200,
        "computation": 200_000,
        "test": 0,
        "wait": 30_300,
        "send": 0,
        "words": 100,
        "between": 400,
    }
    # What lies before the measured time does not count.
    assert split(one, 1)["words"] == 700
    (message,) = one.messages
    assert beside(one, message, 0) == 199_600 and beside(one, message, 1) == 0


def test_nothing_arrives_before_it_is_sent() -> None:
    early = [trace(0, 0, [("MPI_Wait", -1, -50, 900), ("arrival", 1, -60, 910)])]
    early += [trace(1, 0, [("MPI_Send", 0, 300, 800)])]
    cell = msgspec.structs.replace(CELL, both_ns=[900], communication_ns=[9], computation_ns=[9])
    (one,) = timelines([cell, OverlapLatency("start", [0]), *early], ["both"])
    assert (one.messages[0].earliest_ns, one.messages[0].latest_ns) == (300, 910)


def test_system_calls_lie_inside_the_calls_that_make_them() -> None:
    """They take no time of their own, a late one does not end the measured time, and the picture
    has them as bars at the bottom of the lane."""
    copy = ("process_vm_readv", -1, 201_000, 230_000)
    late = ("writev", -1, 240_000, 241_000)
    with_calls = [
        trace(0, one.triple, [*_events(one), copy, late])
        if isinstance(one, OverlapTrace) and one.rank == 0
        else one
        for one in records()
    ]
    (one,), (plain,) = timelines(with_calls, ["both"]), timelines(records(), ["both"])
    assert (one.lanes, one.zero_ns) == (plain.lanes, plain.zero_ns)
    assert split(one, 0) == split(plain, 0)
    assert [(event.name, event.begin_ns) for event in one.inside[0]] == [
        ("process_vm_readv", 201_000),
        ("writev", 240_000),
    ]
    assert one.inside[1] == () and plain.inside == {0: (), 1: ()}
    spec = timeline_chart.sheet("a library", [one])
    blocks = {row["what"]: row for row in spec["vconcat"][0]["layer"][2]["data"]["values"]}
    bar, wait = blocks["the library copies"], blocks["MPI_Wait"]
    assert (bar["low"], bar["label"]) == (wait["low"], "") and bar["high"] < wait["high"]


def _events(of: OverlapTrace) -> list[tuple[str, int, int, int]]:
    begin, end = ([ns - ZERO for ns in stamps] for stamps in (of.begin_ns, of.end_ns))
    return list(zip(of.names, of.peers, begin, end, strict=True))


def test_triples_without_room_are_not_shown() -> None:
    """Nor those after them: of some rank there is nothing."""
    full = [trace(1, 1, [("full", -1, 0, 0)])]
    cells = [one for one in records() if not isinstance(one, OverlapTrace) or one.triple != 1]
    (one,) = timelines([*cells, *full], ["both"])
    assert one.triple == 0
    with pytest.raises(PlumblineError, match="no room"):
        timelines([CELL, trace(0, 0, [("full", -1, 0, 0)])], ["both"])


def test_the_picture_has_lanes_blocks_arrows_and_says_how_clocks_agree() -> None:
    (one,) = timelines(records(), ["both"])
    spec = timeline_chart.sheet("a library", [one])
    (panel,) = spec["vconcat"]
    data = [layer["data"]["values"] for layer in panel["layer"]]
    lanes, measured, blocks, labels, bars, arrows, heads = data
    assert len(lanes) == 2 and [row["begin"] for row in measured] == [0, 231.0]
    by_name = {row["what"]: row for row in blocks}
    assert by_name["computation"]["end"] == 200.6 and by_name["MPI_Send"]["label"] == "MPI_Send"
    assert by_name["MPI_Irecv"]["label"] == ""  # does not fit
    assert by_name["waits for a word"]["begin"] == pytest.approx(-0.015 * 231)  # is cut
    assert {row["what"] for row in labels} == {"computation", "MPI_Wait", "MPI_Send"}
    assert (bars[0]["begin"], bars[0]["end"]) == (200.6, 231.1)
    # The sender is the lower lane: the arrow goes up, and to the right.
    assert arrows == heads and arrows[0]["low"] < arrows[0]["high"]
    assert 0 < arrows[0]["angle"] < 90
    picture = chart.render(spec)
    text = "".join(tree.fromstring(picture).itertext())
    for words in ("a library", "receiver", "512 KiB", "75 ns", "MPI_Wait", "0.97", "both 231.0"):
        assert words in text, words
    assert "All ranks read one clock" in timeline_chart.clock_words(clock_of([]))


def test_a_trace_file_keeps_nanoseconds_and_ties_messages_to_their_ends() -> None:
    traces = [one for one in records() if isinstance(one, OverlapTrace)]
    found = timeline.trace_document("a cell", traces)
    events = found["traceEvents"]
    assert json.loads(json.dumps(found)) == found
    names = {row["args"]["name"] for row in events if row["ph"] == "M"}
    assert names == {"rank 0", "rank 1", "calls and computation", "messages that arrive"}
    slices = [row for row in events if row["ph"] == "X"]
    assert len(slices) == 3 * 7 and all(row["ts"] >= 0 for row in slices)
    wait = next(row for row in slices if row["name"] == "MPI_Wait")
    assert (wait["ts"], wait["dur"]) == (90_000 / 1000 + 200.7, 30.3)
    starts = [row for row in events if row["ph"] == "s"]
    ends = [row for row in events if row["ph"] == "f"]
    assert [row["id"] for row in starts] == [row["id"] for row in ends] == [1, 2, 3]
    for row in (*starts, *ends):
        inside = [
            one["name"]
            for one in slices
            if (one["pid"], one["tid"]) == (row["pid"], row["tid"])
            and one["ts"] <= row["ts"] < one["ts"] + one["dur"]
        ]
        # All three triples are stamped alike here.
        assert set(inside) == {"MPI_Send" if row["ph"] == "s" else "arrival"}


@pytest.mark.mpi
def test_the_command_on_the_real_library(tmp_path: Path, mpirun: None) -> None:
    """Measured once; asked again it is read."""
    words = ["overlap", "timeline", "--benches", "both", "--sizes", "65536", "--work", "50"]
    words += ["--part", "all", "--db", str(tmp_path / "plumbline.db")]
    svg, file = tmp_path / "line.svg", tmp_path / "trace.json"
    said = plumbline(*words, "--json", "--picture", svg, "--output", file)
    assert said.status == 0, said.err
    found = said.json
    assert [one["part"] for one in found["timelines"]] == ["communication", "both"]
    for one in found["timelines"]:
        assert sum(one["split_ns"]["0"].values()) == one["measured_ns"]
        assert [row["receiver"] for row in one["messages"]] == [1, 0]
    assert tree.parse(svg).getroot().tag.endswith("svg")
    phases = {row["ph"] for row in json.loads(file.read_text())["traceEvents"]}
    assert phases == {"M", "X", "s", "f"}
    again = plumbline(*words, "--json")
    assert again.json == found
    text = plumbline(*words).out
    assert "rank 1 (receives, sends)" in text and "message 1 → 0" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--benches", "sideways"], "no benchmark sideways"),
        (["--benches", "multiple:2"], "one thread a rank"),
        (["--benches", "sender,receiver", "--output", "TRACE"], "of one benchmark"),
        (["--knob", "nothing"], "NAME=VALUE"),
        (["--work", "0"], "--work"),
        (["--picture", "missing/line.svg"], "name a file in an existing folder"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    words = [str(tmp_path / "trace.json") if word == "TRACE" else word for word in words]
    database = tmp_path / "plumbline.db"
    done = plumbline("overlap", "timeline", *words, "--db", str(database))
    assert done.status == 2
    assert said in done.err.replace("\n", " "), done.err
    assert not database.exists()
