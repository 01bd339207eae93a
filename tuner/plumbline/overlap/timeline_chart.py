"""Timelines drawn as figures 5 to 10 of A. Denis and F. Trahay, "MPI Overlap: Benchmark and
Analysis", ICPP 2016, in their colours (section V.C): white computation, red MPI_Wait, blue
MPI_Send, green MPI_Isend, messages as black arrows. Pure: timelines in, a Vega-Lite specification
out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.overlap.timeline import (
    COMPUTATION,
    COPIES,
    SOCKETS,
    Message,
    StampAgreement,
    Timeline,
    TimelineEvent,
)
from plumbline.system import chart
from plumbline_db.probe_records import Overlap

_WIDTH, _LANE = 860, 74  # pixels
_HALF = 0.27  # of a block's height, in lanes
_MARGIN = 0.015  # of the longest time, on either side
_LETTER = 6.6  # pixels of a letter of a label
_BAR = 0.07  # lanes
# What stands in the legend: colours, and whether text on it is white.
_COLOURS = {
    "computation": ("#ffffff", False),
    "MPI_Wait": ("#d62728", True),
    "MPI_Send": ("#2457a6", True),
    "MPI_Isend": ("#2ca02c", True),
    "MPI_Irecv": ("#98d594", False),
    "MPI_Test": ("#f4a742", False),
    "waits for a word": ("#c9c9c9", False),
    "sends a word": ("#5f5f5f", True),
    "the library copies": ("#f7b6d2", False),
    "the library uses a socket": ("#c49c94", False),
}
_SHOWN = {
    COMPUTATION: "computation",
    "await": "waits for a word",
    "signal": "sends a word",
    "MPI_Waitall": "MPI_Wait",
    "MPI_Testall": "MPI_Test",
    **dict.fromkeys(sorted(COPIES), "the library copies"),
    **dict.fromkeys(sorted(SOCKETS), "the library uses a socket"),
}


def sheet(title: str, timelines: Sequence[Timeline]) -> dict[str, Any]:
    """Timelines one below the other, on one ruler; `timelines` is not empty."""
    longest = max(timeline.measured_ns for timeline in timelines) / 1000
    view = (-_MARGIN * longest, (1 + _MARGIN) * longest)
    used = {
        _shown(event.name)
        for timeline in timelines
        for lanes in (timeline.lanes, timeline.inside)
        for lane in lanes.values()
        for event in lane
    }
    shown = [name for name in _COLOURS if name in used]
    strangers = sorted(used - set(_COLOURS))
    return {
        "title": {
            "text": title,
            "subtitle": [
                "A black arrow is a message: from the call that sends it to the first look that "
                "finds its last byte, which came somewhere along the grey bar.",
                "Between the dashed lines lies the measured time. A word is an empty message of "
                f"the benchmark. {clock_words(timelines[0].clock)}",
            ],
            "anchor": "start",
            "subtitleColor": "#555555",
            "offset": 14,
        },
        "background": "white",
        "config": {"font": "sans-serif", "view": {"stroke": None}, "aria": False},
        "spacing": 22,
        "vconcat": [
            _panel(timeline, view, [*shown, *strangers], last=timeline is timelines[-1])
            for timeline in timelines
        ],
        "resolve": {"scale": {"color": "shared"}},
    }


def clock_words(clock: StampAgreement) -> str:
    if clock.domains == 1:
        return "All ranks read one clock."
    return (
        f"Clocks of {clock.domains} domains: they deviated by {clock.error_ns} ns at most, if "
        f"messages take as long both ways; else by {clock.bound_ns} ns."
    )


def cell_words(cell: Overlap) -> str:
    requests = f":{cell.requests}" if cell.requests > 1 else ""
    return f"{cell.bench}{requests}, {in_bytes(cell.bytes)}, {cell.work_ns / 1000:g} µs of work"


def heading(timeline: Timeline) -> str:
    if timeline.part == "both":
        return f"{cell_words(timeline.cell)}: communication beside computation"
    return f"{cell_words(timeline.cell)}: communication alone"


def times(timeline: Timeline) -> str:
    """Return the times of this repetition, and the cell's medians, on the rank that takes the
    time."""
    text = f"{timeline.measured_ns / 1000:.1f} µs"
    if timeline.cell.halves == 2:
        text += ", half of which counts"
    if timeline.ratio is None:
        return text
    communication, computation, both = (
        f"{1e6 * seconds:.1f}"
        for seconds in (
            timeline.ratio.communication,
            timeline.ratio.computation,
            timeline.ratio.both,
        )
    )
    text += (
        f"; medians of the cell, µs: communication alone {communication}, computation alone "
        f"{computation}, both {both}"
    )
    if timeline.ratio.noisy:
        return f"{text}; too noisy for an overhead ratio"
    low, high = timeline.ratio.low, timeline.ratio.high
    return f"{text}; overhead ratio {timeline.ratio.value:.2f} [{low:.2f}, {high:.2f}]"


def in_bytes(size: int) -> str:
    for letter, unit in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {letter}B"
    return f"{size} B"


def role(timeline: Timeline, rank: int) -> str:
    """Return what a rank does with data, in this order."""
    verbs = [
        "sends" if message.sender == rank else "receives"
        for message in timeline.messages
        if rank in (message.sender, message.receiver)
    ]
    roles = ", ".join(dict.fromkeys(verbs))
    return {"sends": "sender", "receives": "receiver"}.get(roles, roles)


def _panel(
    timeline: Timeline, view: tuple[float, float], names: Sequence[str], *, last: bool
) -> dict[str, Any]:
    places = _places(timeline)
    x, y, color = _over_time(view, last), _by_rank(timeline, places), _by_name(names)
    at = {"x": x, "x2": {"field": "end"}, "y": y, "y2": {"field": "high"}}
    blocks = _blocks(timeline.lanes, places, view)
    blocks += [
        row | {"high": row["low"] + _HALF / 2, "label": ""}
        for row in _blocks(timeline.inside, places, view)
    ]
    arrows = [
        _arrow(message, places, view)
        for message in timeline.messages
        if message.latest_ns / 1000 <= view[1]
    ]
    measured = [{"begin": 0}, {"begin": timeline.measured_ns / 1000}]
    return {
        "title": {
            "text": heading(timeline),
            "subtitle": times(timeline),
            "anchor": "start",
            "fontSize": 12,
            "subtitleFontSize": 11,
            "subtitleColor": "#555555",
            "frame": "group",
        },
        "width": _WIDTH,
        "height": _LANE * len(places),
        "layer": [
            _marks([_lane(place, view) for place in places.values()], "rect", at, fill="#f1f1f1"),
            _marks(measured, "rule", {"x": x}, color="#888888", strokeDash=[3, 3], strokeWidth=1),
            # The outline is seen where a block is thinner than a pixel.
            _marks(
                blocks,
                "rect",
                at | {"color": color, "stroke": {"field": "outline", "scale": None}},
                strokeWidth=1.2,
            ),
            _marks(
                [row for row in blocks if row["label"]],
                "text",
                {
                    "x": x | {"field": "middle"},
                    "y": y | {"field": "centre"},
                    "text": {"field": "label"},
                    "color": {
                        "condition": {"test": "datum.white", "value": "white"},
                        "value": "#222222",
                    },
                },
                fontSize=11,
            ),
            *_drawn_arrows(arrows, at),
        ],
    }


def _drawn_arrows(arrows: list[dict[str, Any]], at: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of messages: when they may have come, their lines, their heads."""
    tip = {"x": at["x"] | {"field": "end"}, "y": at["y"] | {"field": "high"}}
    tip["angle"] = {"field": "angle", "type": "quantitative", "scale": None}
    head = {"shape": "M0,0L-0.28,0.85L0,0.68L0.28,0.85Z", "filled": True, "size": 420}
    return [
        _marks([row["unknown"] for row in arrows], "rect", at, fill="black", fillOpacity=0.4),
        _marks(arrows, "rule", at, color="black", strokeWidth=1.6),
        _marks(arrows, "point", tip, color="black", opacity=1, **head),
    ]


def _over_time(view: tuple[float, float], last: bool) -> dict[str, Any]:
    return {
        "field": "begin",
        "type": "quantitative",
        "scale": {"domain": list(view), "nice": False, "zero": False},
        "axis": {
            "title": "µs" if last else None,
            "grid": False,
            "labels": last,
            "tickCount": 10,
            "domainColor": "#888888",
            "tickColor": "#888888",
        },
    }


def _by_rank(timeline: Timeline, places: Mapping[int, int]) -> dict[str, Any]:
    labels = {place: [role(timeline, rank), f"rank {rank}"] for rank, place in places.items()}
    return {
        "field": "low",
        "type": "quantitative",
        "scale": {"domain": [-0.5, len(places) - 0.5], "nice": False, "zero": False},
        "axis": {
            "title": None,
            "values": sorted(labels),
            "grid": False,
            "ticks": False,
            "domain": False,
            "labelExpr": f"{{{', '.join(f'{k}: {v}' for k, v in labels.items())}}}[datum.value]",
            "labelFontSize": 12,
            "labelPadding": 8,
            "labelOffset": -7,
        },
    }


def _by_name(names: Sequence[str]) -> dict[str, Any]:
    return {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": list(names), "range": [_colour(name) for name in names]},
        "legend": {
            "title": None,
            "orient": "bottom",
            "direction": "horizontal",
            "columns": len(names),
            "symbolType": "square",
            "symbolStrokeColor": "#444444",
            "symbolStrokeWidth": 0.8,
            "symbolSize": 160,
        },
    }


def _marks(values: list[Any], mark: str, encoding: dict[str, Any], **how: Any) -> dict[str, Any]:
    return {"data": {"values": values}} | chart.layer(mark, encoding, clip=mark != "point", **how)


def _places(timeline: Timeline) -> dict[int, int]:
    """Lanes from below: the first rank that sends, then the others."""
    first = timeline.messages[0].sender if timeline.messages else timeline.rank
    ranks = sorted(timeline.lanes, key=lambda rank: (rank != first, rank))
    return {rank: place for place, rank in enumerate(ranks)}


def _colour(name: str) -> str:
    return _COLOURS.get(name, ("#b39ddb", False))[0]


def _shown(name: str) -> str:
    return _SHOWN.get(name, name)


def _lane(place: int, view: tuple[float, float]) -> dict[str, float]:
    return {"begin": view[0], "end": view[1], "low": place - _HALF, "high": place + _HALF}


def _blocks(
    lanes: Mapping[int, Sequence[TimelineEvent]], places: dict[int, int], view: tuple[float, float]
) -> list[dict[str, Any]]:
    rows = (_block(event, places[rank], view) for rank, lane in lanes.items() for event in lane)
    return [row for row in rows if row is not None]


def _block(event: TimelineEvent, place: int, view: tuple[float, float]) -> dict[str, Any] | None:
    """Return what of an event can be seen; None: nothing."""
    begin, end = max(event.begin_ns / 1000, view[0]), min(event.end_ns / 1000, view[1])
    if begin >= end:
        return None
    name = _shown(event.name)
    fits = len(name) * _LETTER < (end - begin) / (view[1] - view[0]) * _WIDTH
    return _lane(place, (begin, end)) | {
        "what": name,
        "outline": "#666666" if name == COMPUTATION else _colour(name),
        "middle": (begin + end) / 2,
        "centre": place,
        "label": name if fits else "",
        "white": _COLOURS.get(name, ("", False))[1],
    }


def _arrow(message: Message, places: dict[int, int], view: tuple[float, float]) -> dict[str, Any]:
    """Return the arrow of a message, from the edge of the sender's lane to the edge of the
    receiver's, and the angle of its head: degrees, clockwise from upwards."""
    come, go = places[message.receiver], places[message.sender]
    up = 1 if come > go else -1
    begin, end = message.begin_ns / 1000, message.latest_ns / 1000
    low, high = go + up * _HALF, come - up * _HALF
    right = (end - begin) / (view[1] - view[0]) * _WIDTH
    upwards = (high - low) * _LANE
    earliest = message.earliest_ns / 1000
    bar = {"low": high, "high": high - up * _BAR}
    return {
        "begin": begin,
        "end": end,
        "low": low,
        "high": high,
        "angle": math.degrees(math.atan2(right, upwards)),
        "unknown": {"begin": earliest, "end": end} | bar,
    }
