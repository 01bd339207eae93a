"""A measured comparison as a file that other tools read, by its ending: JUnit (.xml), a Markdown
table (.md) or the JSON of the command (.json); and as a picture. Text out; writes nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from plumbline.results.compare import MatchedCell, Sample, SideComparison
from plumbline.results.compared_now import BAD, Change, MeasuredComparison, Regression
from plumbline.results.sides import ComparedSide
from plumbline.system import chart
from plumbline_db.errors import UsageError

ENDINGS = (".xml", ".md", ".json")


def require(path: Path) -> None:
    """Raises UsageError for an ending that says no format."""
    if path.suffix not in ENDINGS:
        raise UsageError(
            f"{path}: a comparison is written as JUnit, Markdown or JSON: "
            f"name a file that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )


def text(comparison: MeasuredComparison, path: Path) -> str:
    if path.suffix == ".xml":
        return junit(comparison)
    if path.suffix == ".md":
        return markdown(comparison)
    return msgspec.json.format(msgspec.json.encode(document(comparison)), indent=2).decode() + "\n"


def words_of(line: Regression) -> str:
    """`slower by 12.3 % [9.1, 15.4]`; of what is not shown, what the change may be."""
    if line.verdict == "lost":
        return "no result of B"
    if line.verdict == "only in B":
        return "no result of A"
    if line.change is None:
        return "not shown: too few launches"
    if line.low is None or line.high is None:
        return f"not shown: {100 * line.change:+.1f} %, too few launches"
    if line.verdict == "faster":
        low, high = sorted((-line.low, -line.high))
        return f"faster by {-100 * line.change:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
    interval = f"{100 * line.change:+.1f} % [{100 * line.low:+.1f}, {100 * line.high:+.1f}]"
    if line.verdict == "slower":
        return f"slower by {interval.replace('+', '')}"
    return f"{line.verdict}: {interval}"


def document(comparison: MeasuredComparison) -> dict[str, Any]:
    return {
        "comparison": comparison.comparison,
        "claim": msgspec.to_builtins(comparison.claim),
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "cells": [
            msgspec.to_builtins(line.cell)
            | {key: value for key, value in msgspec.to_builtins(line).items() if key != "cell"}
            | {"words": words_of(line)}
            for line in comparison.cells
        ],
        "summary": summary(comparison.cells),
    }


def summary(cells: Sequence[Regression]) -> dict[str, int]:
    counts = {
        word.lower().replace(" ", "_"): sum(line.verdict == word for line in cells)
        for word in get_args(Change)
    }
    return {"cells": len(cells)} | counts


def _side(side: ComparedSide) -> dict[str, Any]:
    return {
        "name": side.name.text,
        "campaign": side.campaign.id,
        "library": msgspec.to_builtins(side.library),
        "machine": side.machine.host,
        "nprocs": side.campaign.nprocs,
        "launches": len(side.launches),
        "suites": side.suites,
    }


def markdown(comparison: MeasuredComparison) -> str:
    lines = [
        f"A: {_escaped(comparison.a.name.text)}, {_escaped(comparison.a.library.version_string)}  ",
        f"B: {_escaped(comparison.b.name.text)}, {_escaped(comparison.b.library.version_string)}",
        "",
        "| function | bytes | A µs | B µs | launches | B |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for line in comparison.cells:
        times = [
            "" if sample is None else f"{1e6 * sample.median:.2f}" for sample in (line.a, line.b)
        ]
        cell = line.cell
        words = [cell.function, str(cell.bytes), *times, str(line.pairs), words_of(line)]
        lines.append("| " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def _escaped(words: str) -> str:
    return words.replace("|", "\\|")


def junit(comparison: MeasuredComparison) -> str:
    """A test case a cell: what is slower or has no result of B any more has failed, what is not
    decided was skipped."""
    bad = [line for line in comparison.cells if line.verdict in BAD]
    open_cells = [line for line in comparison.cells if line.verdict in ("not shown", "only in B")]
    root = ElementTree.Element(
        "testsuite",
        name=f"plumbline compare {comparison.a.name.text} {comparison.b.name.text}",
        tests=str(len(comparison.cells)),
        failures=str(len(bad)),
        skipped=str(len(open_cells)),
        errors="0",
    )
    for line in comparison.cells:
        cell = line.cell
        case = ElementTree.SubElement(
            root,
            "testcase",
            classname=cell.function,
            name=f"{cell.bytes} B, {cell.nprocs} ranks",
            time="0" if line.b is None else f"{line.b.median:.9f}",
        )
        if line in bad:
            ElementTree.SubElement(case, "failure", message=words_of(line))
        elif line in open_cells:
            ElementTree.SubElement(case, "skipped", message=words_of(line))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


# A comparison as figure 10 of Hunold and Carpen-Amarie, TPDS 2016, draws it: run times of both
# sides by message size (of curves over ranks by these), above them the asterisks of the test where
# both sides were measured together. Pure: a comparison in, a Vega-Lite specification out (chart.py
# renders it).

# The sides can be distinguished without colour too: by shape, and by position within a size.
_COLOURS = ["#1b6ca8", "#d1761f"]
_SHAPES = ["circle", "square"]


def chart_specification(comparison: SideComparison, a: str, b: str) -> dict[str, Any]:
    """`a`, `b`: what the sides are called. A point is the median over launches, a line reaches from
    the lower to the upper quartile."""
    names = [f"A: {a}", f"B: {b}"]
    values: list[dict[str, Any]] = []
    over_ranks = _over_ranks(comparison)
    for line in comparison.lines:
        panel = _panel(line.cell)
        on = line.cell.ranks or line.cell.nprocs
        place = {"panel": panel, "place": on if panel in over_ranks else line.cell.bytes}
        values += [
            place | _row(name, sample) for name, sample in zip(names, (line.a, line.b), strict=True)
        ]
        if line.stars:
            values.append(place | {"stars": line.stars})
    side = {"field": "side", "type": "nominal", "sort": names}
    axes = {"ranks" if _panel(line.cell) in over_ranks else "bytes" for line in comparison.lines}
    title = " or ".join(sorted(axes))
    axis = {"labelAngle": -45, "labelOverlap": True}
    x = {"field": "place", "type": "ordinal", "title": title, "axis": axis}
    colour = side | {
        "scale": {"domain": names, "range": _COLOURS},
        "legend": {"title": None, "orient": "top", "labelLimit": 500},
    }
    y = {"type": "quantitative", "scale": {"type": "log"}, "title": "run time, µs"}
    across = {"x": x, "xOffset": side, "color": colour}
    quartiles = across | {"y": y | {"field": "low"}, "y2": {"field": "high"}}
    shape = side | {"scale": {"domain": names, "range": _SHAPES}}
    medians = across | {"shape": shape, "y": y | {"field": "median"}}
    stars = {"x": x, "y": {"value": 2}, "text": {"field": "stars"}}
    layers = [
        chart.layer("rule", quartiles, valid="side", opacity=0.6),
        chart.layer("point", medians, valid="side", filled=True, size=28),
        chart.layer("text", stars, valid="stars", baseline="top"),
    ]
    average = comparison.how.average.capitalize()
    paired = "paired by launch" if comparison.paired else "unpaired"
    signs = (
        "adjusted p: * ≤ 0.05, ** ≤ 0.01, *** ≤ 0.001"
        if comparison.together
        else "the sides were measured at different times, so no asterisks"
    )
    return {
        "title": {
            "text": f"{average}s of launches: their median and quartiles",
            "subtitle": f"{comparison.test}, {paired}, {comparison.how.alternative}; {signs}",
            "anchor": "start",
        },
        "data": {"values": values},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": _panels(comparison)},
        "columns": 2,
        "spec": {"width": 380, "height": 180, "layer": layers},
        # Each panel with its own sizes below it: one axis below all is far from the first ones.
        "resolve": {"scale": dict.fromkeys(("x", "xOffset", "y"), "independent")},
        "config": {"background": "white", "font": "sans-serif"},
    }


def _panel(cell: MatchedCell) -> str:
    variant = "" if cell.variant in ("", "default") else f" {cell.variant}"
    return f"{cell.function.removeprefix('MPI_')}{variant} {cell.settings}".strip()


def _panels(comparison: SideComparison) -> list[str]:
    """Return the panels, those with the most cells that differ first."""
    differing: dict[str, int] = {}
    for line in comparison.lines:
        panel = _panel(line.cell)
        differs = line.verdict not in ("not shown", "not compared")
        differing[panel] = differing.get(panel, 0) + differs
    return sorted(differing, key=lambda panel: (-differing[panel], panel))


def _over_ranks(comparison: SideComparison) -> set[str]:
    """The panels whose cells differ in their ranks."""
    ranks: dict[str, set[int]] = {}
    for line in comparison.lines:
        ranks.setdefault(_panel(line.cell), set()).add(line.cell.ranks)
    return {panel for panel, rank_counts in ranks.items() if len(rank_counts) > 1}


def _row(name: str, sample: Sample) -> dict[str, Any]:
    return {
        "side": name,
        "median": 1e6 * sample.median,
        "low": 1e6 * sample.low_quartile,
        "high": 1e6 * sample.high_quartile,
    }
