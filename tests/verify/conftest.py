"""Synthetic campaigns: per-launch medians as the database hands them over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from plumbline.core.guidelines import Guidelines, load
from plumbline_db.records import Case, Medians, Verdict
from tests.db import build

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
        return build.verdict(
            stage,
            guideline=guideline or ids[kind],
            kind=kind,
            function=function,
            rhs=function,
            bytes=size,
            other_bytes=size,
            verdict=word,
        )

    return make
