"""The places of pages that are filled from the files in docs/figures.

A place is `<!--=NAME-->…<!--/-->`; the text between the marks is the value of NAME. In blocks of
commands, where a mark would be shown, lines of `plumbline doctor` are known by their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.figures.measured import Campaign, Figures, least_and_greatest
from tests.probes.launch import ROOT

PLACE = re.compile(r"(<!--=([\w.-]+)-->)(.*?)(<!--/-->)", re.DOTALL)
_IN_BLOCKS = {
    "variants": re.compile(r"(?<=probe, )\d+(?= variants;)"),
    "parameters": re.compile(r"(?<=all )\d+(?= parameters agree)"),
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LOOPS = {
    "osu": "a copy of OSU's loop",
    "imb": "a copy of IMB's loop",
    "stream": "back-to-back calls",
    "osu_*": "the OSU Micro-Benchmarks",
    "IMB": "the Intel MPI Benchmarks",
}


def every(root: Path = ROOT) -> list[Path]:
    """Return the pages that may have such places."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a page with its places filled. Raises KeyError for a name without a value."""
    text = PLACE.sub(lambda place: place[1] + values[place[2]] + place[4], text)
    for name, places in _IN_BLOCKS.items():
        text = places.sub(values[name], text)
    return text


def values(figures: Figures) -> dict[str, str]:
    """Return the text of each name."""
    shown = figures.campaigns[0]
    return {
        "variants": str(figures.product.variants),
        "parameters": str(figures.product.parameters),
        **_of_shown(shown),
        **_of_all(figures.campaigns),
        "check": _of_check(figures, shown),
        "results": _block("plumbline results", _short(shown)),
        "results-end": _block("plumbline results", ["…", *_summary(shown)]),
        "campaign-end": _block("make campaign", ["…", *_in_checkout(_summary(shown))]),
    }


def _of_shown(shown: Campaign) -> dict[str, str]:
    return {
        "library": shown.library,
        "processor": f"{shown.processor}, {shown.cores} cores",
        "ranks": str(shown.ranks),
        "day": shown.started[:10],
        "cells": str(shown.cells),
        "minutes": _minutes(shown.seconds),
        "before": str(shown.violated_before),
        "removed": str(shown.removed),
        "undecided": str(shown.undecided),
        "after": str(shown.violated_after),
        "winners": str(shown.winners),
        "median": f"{shown.median_speedup:.2f}",
        "best": f"{shown.best_speedup:.2f}",
        "best-function": shown.best_function,
    }


def _of_all(campaigns: list[Campaign]) -> dict[str, str]:
    def span(name: str, digits: int = 0) -> str:
        return least_and_greatest([getattr(each, name) for each in campaigns], digits)

    seconds = [each.seconds for each in campaigns]
    return {
        "campaigns": _NUMBERS[len(campaigns)],
        "all-before": span("violated_before"),
        "all-removed": span("removed"),
        "all-after": span("violated_after"),
        "all-winners": span("winners"),
        "all-median": span("median_speedup", 2),
        "all-minutes": f"{_minutes(min(seconds))} to {_minutes(max(seconds))}",
    }


def _of_check(figures: Figures, shown: Campaign) -> str:
    """Return a sentence for each program that looked at the winners; none without a check."""
    return "\n".join(
        f"In {_LOOPS[each.loop]} {each.faster} of {shown.winners} winners are faster, "
        f"{each.unclear} unclear, {each.slower_at_times} slower at times and {each.slower} slower."
        for each in figures.loops
        if each.loop in _LOOPS
    )


def _minutes(seconds: float) -> str:
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"


def _short(shown: Campaign) -> list[str]:
    """Return the head of the output, some winners, and what it ends with."""
    lines = shown.digest
    winners = next(place for place, line in enumerate(lines) if line.startswith("Winners, cold"))
    return [*lines[:2], "…", *lines[winners : winners + 4], "  …", "", *_summary(shown)]


def _summary(shown: Campaign) -> list[str]:
    return shown.digest[len(shown.digest) - shown.digest[::-1].index("") :]


def _in_checkout(lines: list[str]) -> list[str]:
    """Return lines as a program prints them that was started by its path in a checkout."""
    return [re.sub(r"(?<=:  )plumbline ", ".venv/bin/plumbline ", line) for line in lines]


def _block(command: str, lines: list[str]) -> str:
    return "\n".join(["\n```", f"$ {command}", *lines, "```\n"])
