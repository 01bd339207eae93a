"""Figures 1 to 8 of Hunold and Carpen-Amarie (TPDS 2016) for samples: the density of run times,
sample means against a normal distribution, the mean of each launch, the course over time for one
cell; and these with the medians of launches for the levels of a factor. Pure: samples in, a
Vega-Lite specification out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbline.results.compare import tukey_filter
from plumbline.system import chart
from plumbline.verify.significance.distributions import student_quantile

MOST_VARIANTS = 4
SAMPLE_SIZES = (30, 500)  # of the paper's figure 2
DRAWN_SAMPLES = 500
BINS = 50
_GRID = 200
_SHOWN = 0.99  # the share of the samples within the axis of the density
_REACH = 10  # interquartile ranges
_SEED = 1
MOST_LEVELS = 8
# Okabe and Ito's, on white.
_COLOURS = (
    *("#0072b2", "#d55e00", "#007a5a", "#b0508c"),
    *("#222222", "#e69f00", "#56b4e9", "#8a8a8a"),
)
_WIDTH, _HEIGHT = 560, 170
_LEVELS_WIDTH = 430  # of panels beside each other
_BESIDE = 0.1  # launches, from one variant to the next

Samples = NDArray[np.int64]
Row = dict[str, Any]


def specification(launches: Mapping[str, Sequence[Samples]], title: str) -> dict[str, Any]:
    """Return four panels below each other. `launches`: nanoseconds by variant, an array for each
    launch in the order of measurement. The first variant alone has the second and fourth panel; of
    the others the first MOST_VARIANTS - 1 are shown."""
    shown = dict(list(launches.items())[:MOST_VARIANTS])
    first = dict(list(shown.items())[:1])
    panels = [
        _density_panel(shown),
        _means_panel(first),
        _launches_panel(shown),
        _course_panel(first),
    ]
    return _framed(title) | {"vconcat": panels}


def of_levels(sizes: Mapping[int, Mapping[str, Sequence[Samples]]], title: str) -> dict[str, Any]:
    """Return five panels below each other for each size in bytes: those of `specification` and
    the medians of launches, with all levels in each panel, of which the first MOST_LEVELS are
    shown. `sizes`: nanoseconds by size and level, an array for each launch."""
    columns = []
    for size, launches in sizes.items():
        shown = dict(list(launches.items())[:MOST_LEVELS])
        panels = [
            _density_panel(shown),
            _medians_panel(shown),
            _launches_panel(shown),
            _means_panel(shown),
            _course_panel(shown),
        ]
        heading = {"text": f"{size} B", "anchor": "start", "fontSize": 12}
        narrow = [panel | {"width": _LEVELS_WIDTH} for panel in panels]
        resolve = {"scale": {"strokeDash": "independent"}}
        columns.append({"title": heading, "vconcat": narrow, "resolve": resolve})
    return _framed(title) | {"hconcat": columns}


def _framed(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 12},
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "config": {"background": "white", "font": "sans-serif"},
    }


def density(samples: Sequence[float]) -> list[tuple[float, float]]:
    """Return the density of run times (places and values in their unit) by Gaussian kernels, of the
    bandwidth of Silverman's rule of thumb, as R's `density` does (nrd0). The places end before
    the largest 1 % of the samples, and ten interquartile ranges above the quartiles."""
    values = np.sort(np.asarray(samples, dtype=float))
    first, third, high = np.quantile(values, [0.25, 0.75, _SHOWN])
    low = values[0]
    if third > first:
        high = min(high, third + _REACH * (third - first))
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    spread = min(deviation, float(third - first) / 1.34)
    spread = spread or deviation or 0.01 * max(float(values[0]), 1e-9)
    width = 0.9 * spread * len(values) ** -0.2
    places = np.linspace(max(0.0, low - 3 * width), high + 3 * width, _GRID)
    below = np.searchsorted(values, places[:, None] + 4 * width * np.array([-1, 1]))
    heights = [
        float(np.exp(-0.5 * ((values[start:end] - place) / width) ** 2).sum())
        for place, (start, end) in zip(places, below, strict=True)
    ]
    scale = 1 / (len(values) * width * math.sqrt(2 * math.pi))
    return [(float(place), height * scale) for place, height in zip(places, heights, strict=True)]


def sample_means(samples: Sequence[float], size: int) -> list[tuple[float, float]]:
    """Return the quantiles of a normal distribution with those of DRAWN_SAMPLES means of `size`
    samples, drawn with replacement; both in standard deviations from their mean."""
    random = np.random.default_rng(_SEED)
    values = np.asarray(samples, dtype=float)
    means = np.sort(random.choice(values, (DRAWN_SAMPLES, size)).mean(axis=1))
    deviation = float(means.std(ddof=1)) or 1.0
    standard = (means - means.mean()) / deviation
    shares = (np.arange(DRAWN_SAMPLES) + 0.5) / DRAWN_SAMPLES
    normal = NormalDist()
    return [(normal.inv_cdf(float(p)), float(z)) for p, z in zip(shares, standard, strict=True)]


def mean_of_launch(samples: Samples) -> tuple[float, float, float]:
    """Return the mean of what Tukey's filter leaves, with its interval of 95 %, in the samples'
    unit. One sample has no interval: all three are equal."""
    kept = np.asarray(tukey_filter(samples))
    mean = float(kept.mean())
    if len(kept) < 2:
        return mean, mean, mean
    error = float(kept.std(ddof=1)) / math.sqrt(len(kept))
    reach = student_quantile(len(kept) - 1, 0.975) * error
    return mean, mean - reach, mean + reach


def course(launches: Sequence[Samples]) -> list[tuple[int, float, float]]:
    """Return mean and median of bins of repetitions in the order of measurement, after Tukey's
    filter on all, each with its last repetition; at most BINS bins."""
    kept = np.asarray(tukey_filter(np.concatenate(list(launches))))
    bins = np.array_split(kept, min(BINS, len(kept)))
    ends = np.cumsum([len(part) for part in bins])
    return [
        (int(end), float(part.mean()), float(np.median(part)))
        for end, part in zip(ends, bins, strict=True)
    ]


def _density_panel(shown: Mapping[str, Sequence[Samples]]) -> dict[str, Any]:
    rows = [
        {"variant": name, "us": place / 1e3, "density": 1e3 * height}
        for name, launches in shown.items()
        for place, height in density(np.concatenate(list(launches)).tolist())
    ]
    encoding = {
        "x": _axis("us", "run time, µs", zero=False),
        "y": _axis("density", "density"),
        "color": _colour("variant", list(shown)),
    }
    means = [
        {"variant": name, "us": mean_of_launch(np.concatenate(list(launches)))[0] / 1e3}
        for name, launches in shown.items()
    ]
    at_mean = {
        "data": {"values": means},
        "mark": {"type": "rule", "strokeDash": [5, 4]},
        "encoding": {name: encoding[name] for name in ("x", "color")},
    }
    title = "Density of all run times; outliers lie beyond the axis. Dashed: means without them"
    panel = _panel(title, rows, "line", encoding)
    return panel | {"layer": [*panel["layer"], at_mean]}


def _means_panel(shown: Mapping[str, Sequence[Samples]]) -> dict[str, Any]:
    sizes = [f"means of {size}" for size in SAMPLE_SIZES]
    rows = [
        {"variant": name, "samples": of, "normal": normal, "mean": mean}
        for name, launches in shown.items()
        for of, size in zip(sizes, SAMPLE_SIZES, strict=True)
        for normal, mean in sample_means(np.concatenate(list(launches)).tolist(), size)
    ]
    encoding = {
        "x": _axis("normal", "quantiles of a normal distribution", zero=False)
        | {"axis": {"tickCount": 6}},
        "y": _axis("mean", "quantiles of means", zero=False),
        **_told_apart("samples", sizes, list(shown)),
    }
    line = {"mark": {"type": "line", "color": "#8a8a8a"}, "data": {"values": _DIAGONAL}}
    line["encoding"] = {key: encoding[key] for key in ("x", "y")}
    of = f" of {next(iter(shown))}" if len(shown) == 1 else ""
    title = f"{DRAWN_SAMPLES} means of samples{of}, against a normal distribution"
    panel = _panel(title, rows, "point" if len(shown) == 1 else "line", encoding)
    return panel | {"layer": [line, *panel["layer"]]}


def _told_apart(field: str, words: list[str], variants: list[str]) -> dict[str, Any]:
    """Return the encoding of two `words`: by colours for one variant, else by dashes beside the
    variants' colours."""
    if len(variants) == 1:
        return {"color": _colour(field, words)}
    scale = {"domain": words, "range": [[3, 3], [1, 0]]}
    legend = {"title": None, "orient": "top", "symbolType": "stroke"}
    dashes = {"field": field, "type": "nominal", "scale": scale, "legend": legend}
    return {"color": _colour("variant", variants), "strokeDash": dashes}


_DIAGONAL = [{"normal": end, "mean": end} for end in (-3, 3)]


def _launches_panel(shown: Mapping[str, Sequence[Samples]]) -> dict[str, Any]:
    rows: list[Row] = []
    for place, (name, launches) in enumerate(shown.items()):
        beside = _BESIDE * (place - (len(shown) - 1) / 2)
        for number, samples in enumerate(launches, 1):
            mean, low, high = (value / 1e3 for value in mean_of_launch(samples))
            about: Row = {"variant": name, "launch": number + beside}
            rows.append(about | {"mean": mean, "low": low, "high": high})
    low, high = _reach(rows, "mean")
    rows = [
        row | {"low": max(low, row["low"]), "high": min(high, row["high"])}
        for row in rows
        if low <= row["mean"] <= high
    ]
    encoding = {
        "x": _axis("launch", "launch", zero=False) | {"axis": {"tickMinStep": 1, "format": "d"}},
        "y": _axis("mean", "mean, µs", zero=False),
        "color": _colour("variant", list(shown)),
    }
    interval = encoding | {"y": encoding["y"] | {"field": "low"}, "y2": {"field": "high"}}
    title = "Mean of each launch with its 95 % interval, after Tukey's filter"
    panel = _panel(title, rows, "point", encoding)
    bars = chart.layer("rule", interval, valid="low")
    return panel | {"layer": [bars, *panel["layer"]]}


def _reach(rows: Sequence[Row], field: str) -> tuple[float, float]:
    """Return what is shown of an axis: ten interquartile ranges beyond the quartiles of each
    variant, where there are values."""
    by_variant: dict[str, list[float]] = {}
    for row in rows:
        by_variant.setdefault(row["variant"], []).append(row[field])
    shown: list[float] = []
    for values in by_variant.values():
        first, third = np.quantile(values, [0.25, 0.75])
        reach = _REACH * ((third - first) or 0.1 * first)
        shown += [value for value in values if first - reach <= value <= third + reach]
    low, high = min(shown), max(shown)
    return float(low - 0.1 * (high - low)), float(high + 0.1 * (high - low))


def _course_panel(shown: Mapping[str, Sequence[Samples]]) -> dict[str, Any]:
    rows = [
        {"variant": name, "of": word, "at": end / unit, "us": value / 1e3}
        for name, launches in shown.items()
        for unit in [sum(map(len, launches)) / len(launches) if len(shown) > 1 else 1]
        for end, mean, median in course(launches)
        for word, value in (("mean", mean), ("median", median))
    ]
    encoding = {
        "x": _axis("at", "repetitions" if len(shown) == 1 else "launches", zero=False),
        "y": _axis("us", "run time, µs", zero=False),
        **_told_apart("of", ["mean", "median"], list(shown)),
    }
    of = f" of {next(iter(shown))}" if len(shown) == 1 else ""
    return _panel(f"Mean and median{of} over time, in bins", rows, "line", encoding)


def _medians_panel(shown: Mapping[str, Sequence[Samples]]) -> dict[str, Any]:
    rows = [
        {"variant": name, "us": float(np.median(samples)) / 1e3}
        for name, launches in shown.items()
        for samples in launches
    ]
    names = list(shown)
    low, high = _reach(rows, "us")
    scale = {"domain": [low, high], "zero": False}
    encoding = {
        "y": {"field": "variant", "type": "nominal", "sort": names, "axis": None},
        "x": _axis("us", "median of a launch, µs") | {"scale": scale},
        "color": _colour("variant", names),
    }
    title = "Medians of launches: quartiles, whiskers of 1.5 of their range, and others"
    return _panel(title, rows, "boxplot", encoding)


def _panel(
    title: str, rows: Sequence[Row], mark: str, encoding: Mapping[str, Any]
) -> dict[str, Any]:
    styles: dict[str, Any] = {
        "point": {"filled": True, "size": 18},
        "line": {"strokeWidth": 1.5},
        "boxplot": {"extent": 1.5, "size": 14, "clip": True, "median": {"color": "white"}},
    }
    return {
        "title": {"text": title, "anchor": "start", "frame": "group", "fontSize": 11},
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": rows},
        "layer": [{"mark": {"type": mark, **styles[mark]}, "encoding": encoding}],
    }


def _axis(field: str, title: str, *, zero: bool = True) -> dict[str, Any]:
    scale = {"zero": zero, "nice": True}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale}


def _colour(field: str, names: list[str]) -> dict[str, Any]:
    legend = {"title": None, "orient": "top", "labelLimit": 400, "columnPadding": 24}
    scale = {"domain": names, "range": list(_COLOURS[: len(names)])}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}
