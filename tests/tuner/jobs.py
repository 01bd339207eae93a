"""Jobs for launchers."""

from __future__ import annotations

import os
from pathlib import Path

from plumbline.launch import Job
from plumbline.system.placement import Placement


def job(
    folder: Path,
    program: list[str],
    placement: Placement,
    environment: dict[str, str] | None = None,
    *,
    id: str = "c/s-000",
    extra: dict[str, str] | None = None,
    seconds: float = 60.0,
) -> Job:
    """With the environment that is here, where none is given."""
    return Job(
        id=id,
        program=program,
        placement=placement,
        folder=folder,
        environment=dict(os.environ) if environment is None else environment,
        extra=extra or {},
        timeout_seconds=seconds,
    )
