"""What a recorded sweep answers: the times of cases, with something in force around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.core.plan import PlanCase
from plumbline_db.probe_records import Header

from .around import Around


class Lacking(Exception):
    """A sweep does not know what was asked for."""


class Answer(msgspec.Struct, frozen=True):
    """`ns` by recorded launch: an array of blocks by repetitions. None where `outcome` is not ok
    ("failed": the launch ends with this case under way)."""

    outcome: str
    detail: str = ""
    ns: list[NDArray[np.float64]] = []

    def seconds(self) -> list[float]:
        """Medians, by launch."""
        return [float(np.median(one)) / 1e9 for one in self.ns]


class Answers(Protocol):
    """`launches` were recorded. A launch takes `overhead_seconds` beside its calls, and a call
    `call_factor` times what is timed of it (its start is not)."""

    header: Header
    launches: int
    overhead_seconds: float
    call_factor: float

    def of(self, cases: Sequence[PlanCase], around: Around) -> list[Answer]: ...
