"""An acceptance as JSON (docs/uses.md)."""

from __future__ import annotations

from typing import Any

import msgspec

from .acceptance import Acceptance
from .judge import CellSeen, WinnerInLoop


def of(found: Acceptance) -> dict[str, Any]:
    return {
        "campaign": found.campaign,
        "pairs": found.pairs,
        "seed": found.seed,
        "slower": found.slower(),
        "loops": [
            {
                "loop": loop,
                "faster": found.count(loop, "faster"),
                "unclear": found.count(loop, "unclear"),
                "slower_at_times": found.count(loop, "slower at times"),
                "slower": found.count(loop, "slower"),
                "unseen": len(found.unseen[loop]),
            }
            for loop in found.loops
        ],
        "winners": [
            {
                "function": winner.function,
                "bytes_from": winner.bytes_from,
                "bytes_to": winner.bytes_to,
                "variant": winner.variant,
                "configuration": winner.configuration,
                "promised": {
                    "speedup": winner.speedup,
                    "low": winner.speedup_low,
                    "high": winner.speedup_high,
                },
                "seen": [_in_loop(loop) for loop in found.seen if loop.winner == number],
            }
            for number, winner in enumerate(found.winners)
        ],
        "cells": [_cell(cell) for cell in found.cells],
        "notes": found.notes,
    }


def _in_loop(one: WinnerInLoop) -> dict[str, Any]:
    return {
        "loop": one.loop,
        "word": one.word,
        **msgspec.to_builtins(one.seen),
        "again": msgspec.to_builtins(one.again),
        "cells": one.cells,
        "worst": msgspec.to_builtins(one.worst) | {"speedup": one.worst_speedup},
        "slower": [msgspec.to_builtins(cell) for cell in one.slower],
    }


def _cell(one: CellSeen) -> dict[str, Any]:
    return {
        "winner": one.winner,
        "loop": one.loop,
        **msgspec.to_builtins(one.cell),
        "word": one.word,
        **msgspec.to_builtins(one.seen),
        "again": msgspec.to_builtins(one.again),
    }
