"""Verdicts for scripts, without what draws tables."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline_db.records import Verdict

# The fields of a verdict in `--json` (docs/verification.md), in their order.
JSON_FIELDS = (
    "guideline",
    "kind",
    "function",
    "lhs",
    "rhs",
    "ranks",
    "nprocs",
    "ppn",
    "bytes",
    "other_bytes",
    "factor",
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p",
    "p_adjusted",
    "launches",
    "reason",
)


def as_json(verdicts: Sequence[Verdict]) -> list[dict[str, object]]:
    """Verdicts as plain objects with the fields JSON_FIELDS; numbers that do not exist are None."""
    return [
        {field: getattr(verdict, field) for field in JSON_FIELDS}
        | {"depends": verdict.depends, "uses": msgspec.to_builtins(verdict.uses)}
        for verdict in verdicts
    ]
