"""Heat maps, sheets and difference maps: what they show of which cells, and `overlap compare`."""

from __future__ import annotations

import xml.etree.ElementTree as tree
from pathlib import Path
from typing import Any

import pytest

from plumbline.overlap import difference, heatmap, sheet
from plumbline.overlap.heatmap import GREY, RATIO, SLOWDOWN, TIMES
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult
from plumbline.system import chart
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from tests.tuner.cli.command import plumbline
from tests.tuner.overlap import two_campaigns as made


def told(value: float, *, noisy: bool = False, both: float = 2e-5) -> Ratio:
    """Intervals: 0.1 and 1 % to either side."""
    span = (value - 0.1, value + 0.1)
    return Ratio(1e-5, 1e-5, both, value, *span, noisy, 0.99 * both, 1.01 * both)


def cell(size: int, work: int, value: float, bench: str = "sender", **more: Any) -> OverlapResult:
    launches, rank, threads = (more.pop(name, 0) for name in ("launches", "rank", "threads"))
    return OverlapResult(bench, size, work, launches or 1, told(value, **more), rank, threads)


def boxes(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["layer"][0]["data"]["values"]
    return found


# --- colours ------------------------------------------------------------------------------------


def channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def test_the_colours_of_ratios_are_those_of_the_paper() -> None:
    assert RATIO.of(0) == RATIO.of(-0.5) == "#000000"
    red, green, blue = channels(RATIO.of(0.25))
    assert blue > red > green  # purple
    red, green, blue = channels(RATIO.of(1))
    assert red > 200 and max(green, blue) < 60
    red, green, blue = channels(RATIO.of(2))
    assert min(red, green) > 220 and blue < 80
    assert RATIO.of(17.0) == RATIO.of(2)


def test_slowdowns_go_by_decades_and_quotients_to_both_sides() -> None:
    assert [SLOWDOWN.of(one) for one in (0.5, 1)] == ["#000000"] * 2
    assert SLOWDOWN.of(100) not in (SLOWDOWN.of(10), SLOWDOWN.of(1000))
    assert SLOWDOWN.of(1e6) == SLOWDOWN.of(1000)
    assert TIMES.of(1) == "#ffffff" and TIMES.of(0) == TIMES.of(0.25) != TIMES.of(4)
    assert channels(TIMES.of(0.5))[2] > channels(TIMES.of(0.5))[0]  # A is shorter: blue


# --- one map ------------------------------------------------------------------------------------


def test_a_map_shows_what_was_measured_and_greys_what_says_nothing() -> None:
    cells = [cell(64, 1000, 0.0), cell(64, 2000, 1.0), cell(128, 1000, 3.0, noisy=True)]
    cells += [OverlapResult("sender", 128, 2000, 1, None)]
    found = heatmap.of("sender", cells, 200)
    assert [row["colour"] for row in boxes(found)] == ["#000000", RATIO.of(1), GREY]
    for row in boxes(found):
        assert row["x2"] / row["x"] == pytest.approx(2)
        assert row["y2"] / row["y"] == pytest.approx(2)
    lines = [one for one in found["layer"] if one["mark"]["type"] == "line"]
    assert [one["mark"]["color"] for one in lines] == ["#000000", "#ffffff"]
    assert lines[1]["data"]["values"] == [{"x": 64, "y": 10}, {"x": 128, "y": 10}]
    assert lines[1]["mark"]["clip"]  # 10 us lie outside of the map


def test_no_bytes_stand_below_the_smallest_message() -> None:
    found = heatmap.of("sender", [cell(size, 1000, 0.5) for size in (0, 64, 256)], 200)
    assert [row["x"] for row in boxes(found)] == pytest.approx([8, 32, 128])
    assert "datum.value == 16.0 ? '0'" in found["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    alone = heatmap.of("sender", [cell(0, 1000, 0.5)], 200)
    assert boxes(alone)[0]["x"] > 0


def test_of_several_ranks_the_one_in_the_middle() -> None:
    cells = [cell(64, 1000, value, rank=rank) for rank, value in enumerate((0.9, 0.0, 0.4, 0.5))]
    found = heatmap.of("sender", cells, 200)
    assert [row["colour"] for row in boxes(found)] == [RATIO.of(0.4)]
    assert found["title"]["subtitle"] == "median of 4 ranks, up to 0.9 apart"


def test_load_goes_up_by_threads_and_has_colours_and_a_legend_of_its_own() -> None:
    cells = [cell(64, 0, 1 + 10.0 * n, "load", threads=n) for n in (0, 1, 8)]
    found = heatmap.of("load", cells, 200)
    assert [(row["y"], row["y2"]) for row in boxes(found)] == [(-0.5, 0.5), (0.5, 1.5), (1.5, 2.5)]
    assert boxes(found)[1]["colour"] == SLOWDOWN.of(11)
    axis = found["layer"][0]["encoding"]["y"]["axis"]
    assert axis["labelExpr"] == "[0, 1, 8][datum.value]" and "threads" in axis["title"]
    assert [one["mark"]["type"] for one in found["layer"]] == ["rect"]  # no line of a time
    picture = chart.render(sheet.of_one("loaded", cells))
    assert "1000 times or more" in picture and "one after the other" not in picture


def test_inferred_cells_look_the_same_and_are_told_on_request() -> None:
    cells = [cell(64, 1000, 0.5), OverlapResult("sender", 128, 1000, 0, told(0.5))]
    plain, dotted = (heatmap.of("sender", cells, 200, dots=dots) for dots in (False, True))
    assert boxes(plain) == boxes(dotted)
    assert [row["colour"] for row in boxes(plain)] == [RATIO.of(0.5)] * 2
    assert dotted["layer"][:-1] == plain["layer"]
    assert [row["x"] for row in dotted["layer"][-1]["data"]["values"]] == [64]
    assert "1 of 2 cells inferred" in chart.render(sheet.of_one("a library", cells))


# --- sheets and files ---------------------------------------------------------------------------


def test_a_sheet_has_a_row_a_campaign_and_a_column_a_benchmark() -> None:
    one = [cell(64, 1000, 0.0), cell(64, 1000, 0.5, "both", noisy=True)]
    other = [cell(64, 1000, 1.0, "receiver"), cell(64, 1000, 1.0)]
    spec = sheet.of_several("a page", [("one <b>", one), ("other", other)])
    rows = spec["hconcat"][0]["vconcat"]
    assert [row["title"]["text"] for row in rows] == ["one <b>", "other"]
    drawn = [[row_map.get("title", {}).get("text") for row_map in row["hconcat"]] for row in rows]
    assert drawn == [["sender", "both", None], ["sender", None, "receiver"]]
    root = tree.fromstring(chart.render(spec))
    words = [text.strip() for text in root.itertext()]
    for expected in ("one <b>", "not measured", "0: perfect overlap", "scatters too much to say"):
        assert expected in words
    assert "message, bytes" in words and "computation, µs" in words


@pytest.mark.parametrize(
    ("ending", "begins"), [(".svg", b"<svg"), (".png", b"\x89PNG\r\n"), (".pdf", b"%PDF-")]
)
def test_the_ending_says_which_kind_of_picture(ending: str, begins: bytes) -> None:
    assert ending in chart.ENDINGS
    page = sheet.of_one("a library", [cell(64, 1000, 0.0)])
    assert chart.drawn(page, Path(f"x{ending}")).startswith(begins)


def test_legends_show_the_ends_of_their_scales() -> None:
    for scale in (RATIO, SLOWDOWN, heatmap.APART, TIMES):
        bar, words = (layer["data"]["values"] for layer in scale.bar()["layer"])
        ends = [scale.of(scale.words[at][0]) for at in (0, -1)]
        for shown, end in zip((bar[0]["colour"], bar[-1]["colour"]), ends, strict=True):
            assert channels(shown) == pytest.approx(channels(end), abs=16)
        assert [row["text"] for row in words] == [text for _, text in scale.words]


# --- differences --------------------------------------------------------------------------------


def test_what_is_told_apart() -> None:
    ours = [cell(64, 1000, 0.0), cell(128, 1000, 0.5), cell(256, 1000, 0.0, noisy=True)]
    theirs = [cell(64, 1000, 1.0, both=1e-5), cell(128, 1000, 0.6), cell(256, 1000, 1.0)]
    found = difference.find([*ours, cell(512, 1000, 0.0)], theirs)
    assert (found.only_a, found.only_b) == (1, 0)
    assert [one.overlap for one in found.lines] == pytest.approx([-1, -0.1, -1])
    assert [one.overlap_told for one in found.lines] == [True, False, False]
    assert [one.times for one in found.lines] == pytest.approx([2, 1, 1])
    assert [one.times_told for one in found.lines] == [True, False, False]
    (total,) = found.totals
    assert (total.cells, total.a_shorter, total.b_shorter) == (3, 0, 1)
    assert (total.a_overlaps_more, total.b_overlaps_more) == (1, 0)
    assert total.furthest == found.lines[0]
    above, below = sheet.difference_sheet(found, "one", "other")["hconcat"][0]["vconcat"]
    shown = [[row["colour"] for row in boxes(one["hconcat"][0])] for one in (above, below)]
    assert shown == [[heatmap.APART.of(-1), GREY, GREY], [TIMES.of(2), GREY, GREY]]


def test_slowdowns_are_compared_by_their_quotient() -> None:
    sides = ([cell(64, 0, value, "load", threads=2)] for value in (4.0, 2.0))
    found = difference.find(*sides)
    assert found.lines[0].overlap == pytest.approx(2) and found.lines[0].overlap_told
    (total,) = found.totals
    assert (total.a_overlaps_more, total.b_overlaps_more, total.work) == (0, 1, None)
    drawn = sheet.difference_sheet(found, "one", "other")["hconcat"][0]["vconcat"]
    assert boxes(drawn[0]["hconcat"][0])[0]["colour"] == TIMES.of(2)


def test_inferred_cells_are_drawn_and_not_counted() -> None:
    ours = [cell(64, 1000, 0.0), OverlapResult("sender", 128, 1000, 0, told(0.0))]
    found = difference.find(ours, [cell(64, 1000, 1.0), cell(128, 1000, 1.0)])
    assert len(found.lines) == 2 and found.totals[0].cells == 1


def test_without_a_common_cell_nothing_is_compared() -> None:
    with pytest.raises(UsageError, match=r"no cell is on both sides.*A has sender; B has both"):
        difference.find([cell(64, 1000, 0.0)], [cell(64, 1000, 0.0, "both")])


# --- plumbline overlap compare ------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "plumbline.db"
    made.store(path)
    return path


def test_the_list_of_what_is_stored(stored: Path, tmp_path: Path) -> None:
    said = plumbline("overlap", "compare", "--db", stored)
    assert said.status == 0
    _, first, second = said.out.splitlines()
    assert first.split()[:3] == [made.FIRST, "openmpi-4.1.4", "4"]
    assert "default" in first and "sender,receiver" in first and "finished" in first
    assert "kernel memory" in second
    found = plumbline("overlap", "compare", "--db", stored, "--json").json["campaigns"]
    assert [one["id"] for one in found] == [made.FIRST, made.SECOND]
    Database.open(tmp_path / "empty.db", write=True).close()
    assert (
        "no overlap campaign" in plumbline("overlap", "compare", "--db", tmp_path / "empty.db").out
    )


def test_two_campaigns_compared(stored: Path, tmp_path: Path) -> None:
    """Messages of 1 MiB take 1.05 ms in A, half of that in B; A hides the shorter of the two."""
    files = [tmp_path / "difference.png", tmp_path / "page.pdf"]
    words = ("overlap", "compare", made.FIRST, made.SECOND, "--db", stored)
    said = plumbline(*words, "--picture", files[0])
    assert plumbline(*words, "--sheet", "--picture", files[1]).out == said.out.replace(
        str(files[0]), str(files[1])
    )
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("A  first: openmpi-4.1.4, 4 ranks (oversubscribed), on node1, 2 la")
    assert any("measured at different times" in line for line in lines)
    assert "  setting kernel: A registers; B memory" in lines
    (sender,) = [line.split() for line in lines if line.startswith("sender")]
    assert sender[:6] == ["sender", "4", "2", "2", "1.06", "1"] and sender[9:11] == ["4", "0"]
    assert sender[7] == "/" and all(float(sender[one]) > 1 for one in (6, 8))  # regrets
    assert "the time of communication and computation together is shorter in A in 4, in B in 4" in (
        said.out
    )
    assert "faster" not in said.out  # measured apart
    assert files[0].read_bytes().startswith(b"\x89PNG") and files[1].read_bytes()[:4] == b"%PDF"
    found = plumbline(*words, "--benches", "sender", "--json").json
    assert found["together"] is False and len(found["lines"]) == 4
    assert {one["bench"] for one in found["lines"]} == {"sender"}
    assert {"factor": "setting kernel", "a": "registers", "b": "memory"} in found["differences"]
    large = [one for one in found["lines"] if one["bytes"] == 1 << 20 and one["work_ns"] == 50_000]
    assert large[0]["times"] == pytest.approx(1.049 / 0.574, rel=0.01)
    assert large[0]["overlap"] == pytest.approx(-1, abs=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["first", "third"],
            "contains no overlap campaign third; it contains: first, second<script>",
        ),
        (["first", "first"], "nothing to compare"),
        (["first"], "name two campaigns to compare, or any number with --sheet"),
        (["first", "--picture", "x.svg"], "name two"),
        (["first", made.SECOND, "--benches", "vector"], "no benchmark vector in these campaigns"),
        (["first", made.SECOND, "--picture", "x.jpg"], "ends in .svg, .png or .pdf"),
        (["missing.db#first", made.SECOND], "missing.db"),
    ],
)
def test_what_cannot_be_compared(
    stored: Path, words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = plumbline("overlap", "compare", *words, "--db", stored)
    assert done.status in (1, 2) and said in done.err
    assert list(tmp_path.iterdir()) == []
