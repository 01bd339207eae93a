"""Output of the tools of a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from plumbline.system import process
from plumbline_db.errors import PlumblineError

_CAP_BYTES = 16 * 1024 * 1024  # `ompi_info --all` prints more than half a megabyte


def by(
    words: Sequence[str | Path],
    library: str,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 60,
) -> str:
    """On standard output. Raises PlumblineError where the tool fails."""
    done = process.run(
        words,
        timeout_seconds=timeout_seconds,
        environment=environment,
        cap_bytes=_CAP_BYTES,
    )
    if done.status != 0:
        raise PlumblineError(
            f"{' '.join(map(str, words))} failed with status {done.status}: "
            f"{done.stderr.strip()[-300:]}; check the {library} installation"
        )
    return done.stdout
