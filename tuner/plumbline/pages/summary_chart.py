"""Two pictures in one: violated cells of each function before and after, and how many times as fast
each winner makes the calls that it is for. Pure: numbers in, a Vega-Lite specification out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from plumbline_db.records import EVERY_FUNCTION, Winner
from plumbline_exporters.bundle import sizes

_MOST = 24  # winners, those that gain most
_BEFORE, _AFTER = "#a33b12", "#2f6f9f"


class FunctionSummary(msgspec.Struct, frozen=True):
    """Cells and violations of one function, before and after; `after` None: there is no last table.
    `best`: the winner that gains most, of the function's own where there are any."""

    function: str
    cells: int
    before: int
    after: int | None
    winners: int
    best: Winner | None


def specification(
    functions: Sequence[FunctionSummary], winners: Sequence[Winner]
) -> dict[str, Any]:
    panels = [_violations(functions)]
    if winners:
        panels.append(_gains(winners))
    return {
        "vconcat": panels,
        "resolve": {"scale": {"color": "independent"}},  # the legend stands below its own panel
        # A browser's letters are wider than those that the picture was laid out for.
        "padding": {"left": 50, "right": 10, "top": 5, "bottom": 5},
        "config": {"background": "white", "font": "sans-serif", "view": {"stroke": None}},
    }


def _violations(functions: Sequence[FunctionSummary]) -> dict[str, Any]:
    rows = [
        {"function": summary.function, "table": table, "cells": count}
        for summary in functions
        if summary.before or summary.after
        for table, count in (("before", summary.before), ("after", summary.after))
        if count is not None
    ]
    most = max((max(summary.before, summary.after or 0) for summary in functions), default=0)
    y = {"field": "function", "type": "nominal", "sort": None, "title": None}
    return {
        "title": {"text": "Violated cells, before and after", "anchor": "start", "fontSize": 12},
        "width": 460,
        "height": {"step": 10},
        "data": {"values": rows},
        "mark": "bar",
        "encoding": {
            "y": y,
            "yOffset": {"field": "table", "sort": ["before", "after"]},
            "x": {"field": "cells", "type": "quantitative", "title": "violated cells",
                  "axis": {"format": "d", "tickCount": min(10, max(1, most))}},
            "color": {"field": "table", "type": "nominal", "title": None,
                      "scale": {"domain": ["before", "after"], "range": [_BEFORE, _AFTER]}},
            "tooltip": [{"field": "function"}, {"field": "table"}, {"field": "cells"}],
        },
    }  # fmt: skip


def _gains(winners: Sequence[Winner]) -> dict[str, Any]:
    best = sorted(winners, key=lambda winner: -winner.speedup)[:_MOST]
    rows = [
        {
            "winner": f"{_name(winner)}, {sizes(winner).partition(' (')[0]}",
            "times": winner.speedup,
            "low": winner.speedup_low,
            "high": winner.speedup_high,
        }
        for winner in best
    ]
    y = {"field": "winner", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelLimit": 320}}  # fmt: skip
    x = {"field": "low", "type": "quantitative", "title": "times as fast, with intervals",
         "scale": {"zero": False}}  # fmt: skip
    tooltip = [{"field": name, "format": ".3f"} for name in ("times", "low", "high")]
    interval = {"x": x, "x2": {"field": "high"}}
    once = {"x": {"field": "once", "type": "quantitative"}, "y": None, "tooltip": None}
    return {
        "title": {"text": "What winners gain", "anchor": "start", "fontSize": 12},
        "width": 460,
        "height": {"step": 15},
        "data": {"values": rows},
        "encoding": {"y": y, "tooltip": [{"field": "winner"}, *tooltip]},
        "layer": [
            {"mark": {"type": "rule", "color": _AFTER}, "encoding": interval},
            {
                "mark": {"type": "point", "filled": True, "size": 45, "color": _AFTER},
                "encoding": {"x": x | {"field": "times"}},
            },
            {
                "data": {"values": [{"once": 1}]},
                "mark": {"type": "rule", "strokeDash": [3, 3]},
                "encoding": once,
            },
        ],
    }


def _name(winner: Winner) -> str:
    return "every function" if winner.function == EVERY_FUNCTION else winner.function
