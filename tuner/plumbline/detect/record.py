"""One run of a user's command with every rank recorded into a folder."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.detect.read import ABOUT, About
from plumbline.detect.record_file import SUFFIX
from plumbline.libraries import into_ranks
from plumbline.results.profiling import library_of
from plumbline.system import paths, process, version
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError

LIMIT_BYTES = 256 << 20


def record(
    command: Sequence[str],
    program: Path,
    mpi_prefix: Path | None,
    folder: Path,
    limit_bytes: int = LIMIT_BYTES,
) -> About:
    """Runs `command` to its end; `program` is where its first word was found. Each rank writes at
    most `limit_bytes` into `folder`, which all nodes must see. Raises PlumblineError where no rank
    was recorded."""
    _require_empty(folder)
    family, installation = library_of(program.absolute(), mpi_prefix)
    recorder = paths.layout().recorder(paths.build_id(installation.library))
    folder.mkdir(parents=True, exist_ok=True)
    variables = {
        "PLUMBLINE_RECORD": str(folder.absolute()),
        "PLUMBLINE_RECORD_BYTES": str(limit_bytes),
    }
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with scratch.folder(folder.absolute()) as own:
        given = os.environ | installation.environment | family.environment(installation)
        added = into_ranks.environment(installation, recorder, variables, given, own)
        status = process.in_foreground(command, given | added)
    if not any(folder.glob(f"rank-*{SUFFIX}")):
        raise PlumblineError(
            f"no rank was recorded (the command ended with status {status}): it starts no ranks of "
            f"{installation.library.id}, or its program is linked statically, or mpirun was told "
            "another LD_PRELOAD"
        )
    about = About(1, version.PLUMBLINE, list(command), started, status)
    with scratch.replacing(folder / ABOUT) as path:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=2))
    return about


def _require_empty(folder: Path) -> None:
    if folder.is_dir() and next(folder.iterdir(), None) is not None:
        raise UsageError(f"{folder} is not empty; name another folder for the recording")
