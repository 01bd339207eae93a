"""The record of a job whose replaced calls were compared with the library's own, as the preload
library writes it (`PLUMBLINE_CONTROL_OUT`). It comes from outside, so nothing in it is believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from plumbline_db import user_files
from plumbline_db.errors import PlumblineError

_MOST_BYTES = 16 << 20

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Ranks = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Word = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_.,:=-]{1,500}\Z")]
Seconds = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
Nanoseconds = Annotated[float, msgspec.Meta(ge=0, le=1e18)]


class _Saving(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The saving of each rank in seconds, with the ends of its interval, which is valid whenever
    the job ends; None if too few calls were compared. A negative saving is a cost."""

    saving_seconds: Seconds | None
    saving_from_seconds: Seconds | None
    saving_to_seconds: Seconds | None

    def __post_init__(self) -> None:
        ends = (self.saving_from_seconds, self.saving_seconds, self.saving_to_seconds)
        measured = [value for value in ends if value is not None]
        if len(measured) not in (0, 3):
            raise ValueError("a saving lacks its interval")
        if measured != sorted(measured):
            raise ValueError("a saving lies outside its interval")


class ControlledRule(_Saving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of the profile that replaced calls. `ranks` made such calls; the other numbers are
    means of these ranks. `replaced_ns` and `library_ns` are the mean times of a call of each side.
    `switched_off_at`: after so many calls the rule was switched off, as it was slower."""

    line: Count
    function: Annotated[str, msgspec.Meta(pattern=r"\AMPI_[A-Za-z_]{1,60}\Z")]
    nprocs_from: Count
    nprocs_to: Count | None
    nodes_from: Count
    nodes_to: Count | None
    ppn_from: Count
    ppn_to: Count | None
    bytes_from: Count
    bytes_to: Count | None
    op: Word
    type: Word
    counts: Word
    variant: Word
    ranks: Ranks
    replaced: Count
    controlled: Count
    replaced_ns: Nanoseconds | None
    library_ns: Nanoseconds | None
    switched_off_at: Count | None

    def __post_init__(self) -> None:
        super().__post_init__()
        for start, end in (
            (self.nprocs_from, self.nprocs_to),
            (self.nodes_from, self.nodes_to),
            (self.ppn_from, self.ppn_to),
            (self.bytes_from, self.bytes_to),
        ):
            if end is not None and end < start:
                raise ValueError(f"line {self.line}: a range ends before it begins")
        nothing = self.saving_seconds is None
        if (self.replaced_ns is None) != nothing or (self.library_ns is None) != nothing:
            raise ValueError(f"line {self.line}: times and a saving are known together or not")


class ControlRecord(
    _Saving,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"format": "plumbline_control"},
):
    """The knowledge of a job at its end about the rules that it used. `share` of the calls of a
    rule went to the library. The savings of the rules add up to that of the job."""

    format: Annotated[int, msgspec.Meta(ge=1, le=1)]
    version: Word
    profile: str | None
    nprocs: Ranks
    share: Annotated[float, msgspec.Meta(gt=0, le=0.5)]
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    rules: list[ControlledRule]

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(rule.ranks > self.nprocs for rule in self.rules):
            raise ValueError("a rule was used by more ranks than the job has")
        lines = [rule.line for rule in self.rules]
        if len(set(lines)) < len(lines):
            raise ValueError("a rule appears twice")
        for name in _Saving.__struct_fields__:
            _require_sum(getattr(self, name), [getattr(rule, name) for rule in self.rules])


def _require_sum(whole: float | None, parts: Sequence[float | None]) -> None:
    measured = [part for part in parts if part is not None]
    if (whole is None) != (not measured):
        raise ValueError("the saving of the job is not that of its rules")
    if whole is not None and not math.isclose(
        whole, math.fsum(measured), rel_tol=1e-6, abs_tol=1e-9 * (len(measured) + 1)
    ):
        raise ValueError("the savings of the rules do not add up to that of the job")


def read(path: Path) -> ControlRecord | None:
    """Return the record, or None if the job wrote none: it was killed, or compared no calls. Raises
    PlumblineError for a file that is no such record."""
    try:
        return msgspec.json.decode(user_files.read(path, _MOST_BYTES), type=ControlRecord)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
        raise PlumblineError(
            f"{path}: no record of compared calls ({error}); remove it, or run the job again"
        ) from error
