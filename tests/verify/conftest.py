"""Synthetic campaigns: per-launch medians as the database hands them over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import settings

from plumbline.core.guidelines import Guidelines, load
from plumbline_db.records import Case, Medians, Verdict

# A machine that others use takes its time.
settings.register_profile("plumbline", deadline=None)
settings.load_profile("plumbline")

MakeMedians = Callable[..., Medians]
MakeVerdict = Callable[..., Verdict]


@pytest.fixture(scope="session")
def guidelines() -> Guidelines:
    """Those of the paper."""
    return load().selected([f"GL{n}" for n in range(1, 18)])


@pytest.fixture(scope="session")
def medians() -> MakeMedians:
    def make(
        function: str,
        size: int,
        seconds: Sequence[float],
        *,
        variant: str = "default",
        config: str = "default",
        runs: Sequence[int] | None = None,
        knobs: dict[str, str] | None = None,
        type: str = "MPI_BYTE",
    ) -> Medians:
        case = Case(function, variant, knobs or {}, config, size, type, "MPI_BOR", 0)
        return Medians(case, list(runs or range(len(seconds))), list(seconds))

    return make


@pytest.fixture(scope="session")
def verdict() -> MakeVerdict:
    def make(
        kind: str, function: str, size: int, word: str, guideline: str = "", stage: str = "before"
    ) -> Verdict:
        ids = {"monotony": "GL1", "split": "GL2"}
        return Verdict(
            stage=stage,
            guideline=guideline or ids[kind],
            kind=kind,  # type: ignore[arg-type]
            function=function,
            rhs=function,
            nprocs=4,
            ppn=4,
            bytes=size,
            other_bytes=size,
            factor=1,
            verdict=word,  # type: ignore[arg-type]
            ratio=1.84,
            ratio_low=1.7,
            ratio_high=1.9,
            p=1e-5,
            p_adjusted=4e-4,
            launches=12,
            reason="",
            suites=["before"],
        )

    return make
