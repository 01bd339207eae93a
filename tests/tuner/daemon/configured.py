"""Configurations of daemons that tests start: canaries without a pause, a neighbour that gives way
to nobody, and winners that go into a tree of modulefiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

LEARNING = 20
BASE: dict[str, dict[str, object]] = {
    "canary": {"every": "1s", "launches": 1, "launches_max": 1, "learning": LEARNING},
    "neighbour": {"load": 1000.0, "node_seconds_a_day": 1e6, "node_seconds_a_week": 1e7},
    "apply": {"auto": True, "scope": "modules"},
}
# On the simulated library.
SIMULATED: dict[str, object] = {
    **{"launches": 2, "launches_max": 2, "samples": 1, "cells": 24, "references": 12},
    "recheck_launches": 8,
}
# On the real one, with a table of four cells.
REAL: dict[str, Mapping[str, object]] = {
    "canary": {"cells": 4, "references": 12},
    "search": {"budget_seconds": 60.0},
}


def text(modules: Path, campaign: str = "", **tables: Mapping[str, object]) -> str:
    """`tables` beside BASE, key by key."""
    lines = [f"campaign = {json.dumps(campaign)}"]
    for name in dict.fromkeys([*BASE, *tables]):
        table = {**BASE.get(name, {}), **tables.get(name, {})}
        if name == "apply":
            table["modules"] = str(modules)
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"
