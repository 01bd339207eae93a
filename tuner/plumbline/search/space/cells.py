"""Cells under search, and what was measured or found wrong there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline_db.probe_records import Check
from plumbline_db.records import Medians

from .candidates import Candidate


class Flaw(msgspec.Struct, frozen=True):
    """The reason why a candidate has no place in a cell."""

    state: Literal["wrong", "failed", "not_in_force", "unsupported", "slower"]
    detail: str

    @classmethod
    def of(cls, check: Check) -> Flaw:
        """Return the flaw of a check that is not ok."""
        if check.outcome == "ok":
            raise ValueError("nothing is wrong")
        return cls("failed" if check.outcome == "error" else check.outcome, check.detail)


def index(medians: Iterable[Medians]) -> dict[tuple[Target, Candidate], dict[int, float]]:
    """Seconds by launch, by cell and candidate; the default is MPI_COMM_WORLD's, untouched."""
    seconds_by_case: dict[tuple[Target, Candidate], dict[int, float]] = {}
    for median in medians:
        case = median.case
        if case.config == "plain" or case.variant == "library" or case.ranks:
            continue
        candidate = Candidate(case.variant, Configuration.of(case.knobs))
        times = seconds_by_case.setdefault((Target(case.function, case.bytes), candidate), {})
        times.update(zip(median.runs, median.seconds, strict=True))
    return seconds_by_case
