"""Pictures of what factors change: the effects of all levels, and for each factor the run times of
its levels (figures 1 to 8 of TPDS 2016). Pure: an experiment in, Vega-Lite specifications out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plumbline.results import sample_figures
from plumbline.results.factor_effects import FactorExperiment, samples, verdict_of
from plumbline_db.connection import Database

_COLOURS = {"matters": "#b52a2c", "idle": "#1b6ca8", "undecided": "#8a8a8a", "no result": "#222222"}

_REACH = 3  # times the largest change: longer intervals are cut off


def of_effects(experiment: FactorExperiment) -> dict[str, Any]:
    """Return a Vega-Lite specification: the change by each level with its interval, a panel for
    each size. A level without an interval has an empty row."""
    tolerance = 100 * experiment.claim.tolerance
    names = [effect.level.text for effect in experiment.levels]
    lines = [line for effect in experiment.levels for line in effect.cells]
    reach = max([_REACH * 100 * abs(line.change or 0.0) for line in lines] + [10 * tolerance])
    values = [
        {
            "level": effect.level.text,
            "bytes": f"{line.cell.bytes} B",
            "change": 100 * line.change,
            "low": max(-reach, 100 * (line.change if line.low is None else line.low)),
            "high": min(reach, 100 * (line.change if line.high is None else line.high)),
            "verdict": verdict_of(line),
        }
        for effect in experiment.levels
        for line in effect.cells
        if line.change is not None
    ]
    y = {"field": "level", "type": "nominal", "scale": {"domain": names}, "title": None}
    x = {"field": "low", "type": "quantitative", "title": "change of the run time (%)"}
    colour = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": list(_COLOURS)[:3], "range": list(_COLOURS.values())[:3]},
        "legend": {"title": None, "orient": "top"},
    }
    band = {
        "mark": {"type": "rect", "color": "#edf0f3"},
        "encoding": {"x": {"datum": -tolerance}, "x2": {"datum": tolerance}},
    }
    rule = {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, "x2": {"field": "high"}, "y": y, "color": colour},
    }
    point = {
        "mark": {"type": "point", "filled": True, "size": 60},
        "encoding": {"x": x | {"field": "change"}, "y": y, "color": colour},
    }
    sizes = list(dict.fromkeys(value["bytes"] for value in values))
    return {
        "title": {
            "text": f"{experiment.function} on {experiment.nprocs} ranks: effects of factors",
            "subtitle": f"against the base, with intervals up to {reach:.0f} %; shaded: below "
            f"{tolerance:g} %",
            "anchor": "start",
        },
        "data": {"values": values},
        "facet": {"column": {"field": "bytes", "type": "nominal", "title": None, "sort": sizes}},
        "spec": {"width": 220, "layer": [band, rule, point]},
        "config": {"background": "white", "font": "sans-serif"},
    }


def drawings(
    db: Database, experiment: FactorExperiment, file: Path
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the files and specifications of the pictures: `file` has the effects, and FILE-FACTOR
    the run times of the levels of each factor that has some."""
    yield file, of_effects(experiment)
    where = f"{experiment.function} on {experiment.nprocs} ranks"
    for factor, sizes in samples(db, experiment).items():
        if all(len(levels) < 2 for levels in sizes.values()):
            continue
        specification = sample_figures.of_levels(sizes, f"{where}: levels of {factor}")
        yield file.with_stem(f"{file.stem}-{factor}"), specification
