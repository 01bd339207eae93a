"""The findings in a recording, as the database keeps it for pages."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.detect.findings import HandMade
from plumbline.detect.recording import Recording
from plumbline.settings.identity import now
from plumbline_db.detections import Detection


def kept(
    recording: Recording, folder: Path, found: Sequence[HandMade], *, replayed: bool
) -> Detection:
    begin = min(rank.begin_ns for rank in recording.ranks)
    end = max(rank.end_ns for rank in recording.ranks)
    return Detection(
        id=_id(recording),
        recording=str(folder.absolute()),
        command=shlex.join(recording.command),
        library=recording.library,
        nprocs=recording.nprocs,
        seconds=max(0, end - begin) / 1e9,
        looked=now(),
        replayed=replayed,
        findings=msgspec.json.encode(found).decode(),
    )


def _id(recording: Recording) -> str:
    """No two runs have the same times."""
    digest = hashlib.sha256(shlex.join(recording.command).encode())
    for rank in recording.ranks:
        digest.update(f"{rank.rank} {rank.host} {rank.begin_ns} {rank.end_ns}\n".encode())
    digest.update(recording.events["end_ns"].tobytes())
    return digest.hexdigest()[:12]


def findings(detection: Detection) -> list[HandMade]:
    """Raises ValueError where they are of another version."""
    return msgspec.json.decode(detection.findings, type=list[HandMade])
