"""One run of a user's command with every rank recorded into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.detect.read import ABOUT, About
from plumbline.detect.record_file import SUFFIX
from plumbline.results.profiling import library_of, recorded_run, usual_environment
from plumbline.system import paths, version
from plumbline_db import scratch
from plumbline_db.errors import UsageError

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
    with scratch.folder(folder.absolute()) as own:
        environment = usual_environment(family, installation)
        run = recorded_run(command, installation, recorder, variables, own, environment)
    run.require(any(folder.glob(f"rank-*{SUFFIX}")))
    about = About(1, version.PLUMBLINE, list(command), run.started, run.status)
    with scratch.replacing(folder / ABOUT) as path:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=2))
    return about


def _require_empty(folder: Path) -> None:
    if folder.is_dir() and next(folder.iterdir(), None) is not None:
        raise UsageError(f"{folder} is not empty; name another folder for the recording")
