"""What the daemon says of itself in the database when it begins."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

from plumbline.daemon.configuration import Configuration
from plumbline.daemon.step import Step
from plumbline_db.watch_records import Watch


def begun(configuration: Configuration, file: Path | None, now: str) -> Watch:
    """`file`: where the configuration was read from, at the time of day `now`."""
    return Watch(
        daemon=uuid.uuid4().hex,
        state="running",
        pid=os.getpid(),
        host=socket.gethostname(),
        started=now,
        stepped="",
        step=Step.WAIT.value,
        waits_for="",
        next_canary="",
        error="",
        failed="",
        file="" if file is None else str(file.absolute()),
        configuration=configuration.told,
        read=now,
    )
