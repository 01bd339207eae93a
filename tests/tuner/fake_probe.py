"""The probe's place in scripts of tests: PLAN OUT [LINES]. Answers a plan with records that are as
it asks for; only the first LINES, as a probe that dies. No package is imported: it starts often."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

COMMAND = f"{sys.executable} -S {__file__}"


def records(plan: str) -> list[dict[str, Any]]:
    lines = [line.split() for line in plan.splitlines() if line]
    pairs = [(words[0], dict(w.split("=", 1) for w in words[1:] if "=" in w)) for words in lines]
    known = next((values for word, values in pairs if word == "set"), {})
    blocks = int(known.get("blocks", 5))
    warmup, rewarm = int(known.get("warmup", 16)), int(known.get("rewarm", 1))
    found: list[dict[str, Any]] = [
        {
            "record": "header",
            "schema": 2,
            "run": known.get("run", ""),
            "probe": "0.1.0",
            "library": "Open MPI v4.1.4",
            "mpi": "3.1",
            "nprocs": 4,
            "nodes": 1,
            "ppn": 4,
            "hosts": ["node1"],
            "processing_units": 2,
            "oversubscribed": True,
            "binding": ["0-1"] * 4,
            "sync": known.get("sync", "barrier"),
            "clock": {"name": "monotonic_raw", "resolution_ns": 1, "cost_ns": 21},
            "seed": int(known.get("seed", 1)),
            "blocks": blocks,
            "warmup": warmup,
            "rewarm": rewarm,
            "environment": {},
        }
    ]
    for word, values in pairs:
        if word == "config":
            knobs = {k: {"wanted": v, "read": v} for k, v in values.items() if k != "id"}
            found.append(
                {
                    "record": "config",
                    "id": values["id"],
                    "in_force": True,
                    "reason": "",
                    "knobs": knobs,
                }
            )
    cases = {int(values["id"]): values for word, values in pairs if word == "case"}
    for number, values in cases.items():
        numbers = {k: int(values[k]) for k in ("bytes", "root", "reps", "ranks") if k in values}
        words = {k: values[k] for k in ("function", "variant", "config", "type", "op")}
        moved = {"case": number, "bytes_moved": numbers["bytes"]}
        found.append({"record": "case"} | moved | words | numbers)
    for number in cases:
        found.append({"record": "begin", "case": number})
        found.append({"record": "check", "case": number, "outcome": "ok", "detail": ""})
    for block in range(blocks):
        found.append({"record": "order", "block": block, "cases": list(cases)})
    warmups = [rewarm if block else warmup for block in range(blocks)]
    for number, values in cases.items():
        reps = int(values["reps"])
        found.append(
            {
                "record": "samples",
                "case": number,
                "blocks": list(range(blocks)),
                "warmups": warmups,
                "samples": [reps] * blocks,
                "warmup_ns": [9] * sum(warmups),
                "ns": [1000 + number] * reps * blocks,
            }
        )
    timed = sum(sum(one["warmup_ns"]) + sum(one["ns"]) for one in found if "ns" in one)
    spent = {"start_ns": 0, "checks_ns": timed, "warmup_ns": 0}
    footer = {"record": "footer", "cases": len(cases), "timed_ns": timed, "wall_ns": 2 * timed}
    found.append(footer | spent)
    return found


def main(plan: str, out: str, lines: int | None = None) -> None:
    text = "".join(json.dumps(one) + "\n" for one in records(Path(plan).read_text())[:lines])
    if lines is not None:
        Path(f"{out}.part").write_text(text)
        return
    mine = Path(f"{out}.{os.getpid()}")  # ranks that all write
    mine.write_text(text)
    mine.rename(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
