"""Answers that a job remembers from earlier jobs of this user: the output of a library's tools, and
that winners were shown to be active. A question names all that its answer depends on.

Answers are files in one folder, named after a hash of the question. Only a file counts that belongs
to this user, that nobody else can write, and that is at most a day old."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import socket
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from plumbline_db import scratch, user_files
from plumbline_db.errors import PlumblineError

_LIFETIME_SECONDS = 86400.0
_MOST_BYTES = 16 << 20
# Variables by which libraries, launchers and the loader decide, but for the names of a single job.
_DECIDES = re.compile(
    r"(OMPI|OPAL|ORTE|PMIX|PRTE|PMI|MPICH|MPIR|MPIEXEC|HYDRA|I_MPI|MV2|MVP|FI|UCX|HWLOC|LD"
    r"|PLUMBLINE|SLURM|PBS|LSB|FLUX)_|(HOME|PATH)\Z"
)
_OF_A_JOB = re.compile(
    r"(SLURM|PBS|LSB|FLUX)_.*(ID|IDS|PID|TIME|NAME|DIR|ADDR|HOST|PORT|URI|COOKIE|LOCALID)\Z"
)

_folder: Path | None = None

State = list[int] | None


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer, and the states of the files that it was read from."""

    text: str
    files: dict[str, State]


@contextmanager
def remembered(folder: Path) -> Iterator[None]:
    """Remember answers in a folder until the block ends. It is made where it does not exist."""
    global _folder
    _folder = folder
    try:
        yield
    finally:
        _folder = None


def ask(
    question: Sequence[str],
    answer: Callable[[], str],
    read: Callable[[str], Iterable[Path]] = lambda _: (),
    is_kept: Callable[[], bool] = lambda: True,
) -> str:
    """Return the remembered answer to a question, if the files that it was `read` from are
    unchanged; else that of `answer`, which is remembered if it `is_kept`. Raises what `answer`
    raises."""
    if _folder is None:
        return answer()
    words = [*question, *_circumstances()]
    file = _folder / f"{hashlib.sha256(chr(0).join(words).encode()).hexdigest()[:32]}.json"
    earlier = _earlier(file)
    if earlier is not None:
        return earlier
    text = answer()
    if not is_kept():
        return text
    with contextlib.suppress(PlumblineError, OSError):
        _folder.mkdir(exist_ok=True)
        _forget_old(_folder)
        files = {str(path): _state(path) for path in read(text)}
        with scratch.replacing(file) as part:
            part.write_bytes(msgspec.json.encode(_Answer(text, files)))
            part.chmod(0o600)
    return text


def deciding(environment: Mapping[str, str]) -> list[str]:
    """Return the variables of an environment by which libraries and launchers decide."""
    return sorted(
        f"{name}={value}"
        for name, value in environment.items()
        if _DECIDES.match(name) and not _OF_A_JOB.match(name)
    )


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file's content; empty where it cannot be read."""
    try:
        return hashlib.sha256(user_files.read(path)).hexdigest()
    except OSError:
        return ""


def _circumstances() -> list[str]:
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    units = str(sorted(os.sched_getaffinity(0)))
    return [socket.gethostname(), platform.release(), boot, units, str(os.geteuid())]


def _state(path: Path) -> State:
    """Return what changes with a file, or with the names in a folder; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return [facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]


def _earlier(file: Path) -> str | None:
    """Return a remembered answer that still counts."""
    with contextlib.suppress(OSError, ValueError):
        facts = file.lstat()
        own = facts.st_uid == os.geteuid() and stat.S_ISREG(facts.st_mode)
        if not own or facts.st_mode & 0o022 or not _is_young(facts.st_mtime):
            return None
        kept = msgspec.json.decode(user_files.read(file, _MOST_BYTES), type=_Answer)
        if all(_state(Path(path)) == state for path, state in kept.files.items()):
            return kept.text
    return None


def _is_young(changed: float) -> bool:
    return 0 <= time.time() - changed < _LIFETIME_SECONDS


def _forget_old(folder: Path) -> None:
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            if not _is_young(path.lstat().st_mtime):
                path.unlink()
