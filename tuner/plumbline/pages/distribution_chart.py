"""The run times of variants side by side, as a picture: half of the samples lie within the thick
bar, nine of ten within the thin one, and a tick is the median of a launch. Pure: times in, a
Vega-Lite specification out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_NAME = 60  # characters of a variant's name


class Distribution(msgspec.Struct, frozen=True):
    """The distribution of one variant, µs. `quantiles` at _SHARES; empty where samples were thrown
    away."""

    name: str
    samples: int
    medians: list[float]
    quantiles: list[float]


def of(
    name: str, medians: Sequence[float], samples: Sequence[NDArray[np.int64]] | None
) -> Distribution:
    """`medians` in seconds, a launch each; `samples` in nanoseconds, an array a launch."""
    joined = np.concatenate(samples) if samples else np.array([], dtype=np.int64)
    quantiles = np.quantile(joined, _SHARES) / 1e3 if len(joined) else np.array([])
    return Distribution(name, len(joined), [1e6 * median for median in medians], quantiles.tolist())


def specification(times: Sequence[Distribution], title: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for distribution in times:
        name = _short(distribution.name)
        about = {
            "variant": name,
            "launches": len(distribution.medians),
            "samples": distribution.samples,
        }
        if distribution.quantiles:
            names = ("low", "quartile_1", "middle", "quartile_3", "high")
            rows.append(about | dict(zip(names, distribution.quantiles, strict=True)))
        rows += [about | {"launch_median": median} for median in distribution.medians]
    y = {
        "field": "variant",
        "type": "nominal",
        "sort": [_short(variant.name) for variant in times],
        "title": None,
        "axis": {"labelLimit": 400},
    }
    x = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "title": "run time, µs",
    }
    tooltip = [
        {"field": "variant", "title": "variant"},
        {"field": "launches", "title": "launches"},
        {"field": "samples", "title": "samples"},
        {"field": "middle", "title": "median of all, µs", "format": ".4g"},
        {"field": "quartile_1", "title": "a quarter below, µs", "format": ".4g"},
        {"field": "quartile_3", "title": "a quarter above, µs", "format": ".4g"},
    ]
    whole = [{"filter": "isValid(datum.middle)"}]
    layers = [
        {
            "transform": whole,
            "mark": {"type": "rule", "color": "#5b87ad"},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "transform": whole,
            "mark": {"type": "rule", "strokeWidth": 10, "color": "#9dbcd6"},
            "encoding": {
                "x": x | {"field": "quartile_1"},
                "x2": {"field": "quartile_3"},
                "tooltip": tooltip,
            },
        },
        {
            "transform": [{"filter": "isValid(datum.launch_median)"}],
            "mark": {"type": "tick", "color": "#8a3b12", "size": 16, "thickness": 1.5},
            "encoding": {
                "x": x | {"field": "launch_median"},
                "tooltip": [
                    {"field": "variant", "title": "variant"},
                    {"field": "launch_median", "title": "median of a launch, µs", "format": ".4g"},
                ],
            },
        },
    ]
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 12},
        "width": 560,
        "height": {"step": 24},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": layers,
        "config": {"background": "white", "font": "sans-serif"},
    }


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"
