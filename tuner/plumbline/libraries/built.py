"""The identity of an installation, beyond what its tools say of it: the program that starts ranks,
and the library itself, byte by byte. Two builds that were configured alike differ in them, and so
does a copy in another place."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from plumbline.system import answers, process
from plumbline_db.errors import PlumblineError

_CAP_BYTES = 16 * 1024 * 1024  # `ompi_info --all` prints more than half a megabyte


def tool_output(
    words: Sequence[str | Path],
    library: str,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 60,
    read: Callable[[str], Iterable[Path]] = lambda _: (),
) -> str:
    """Return what a tool prints on standard output, which a job may remember as long as the tool,
    the library beside it and the files that it has `read` are unchanged. Raises PlumblineError
    where the tool fails."""
    tool = Path(words[0])
    given = os.environ if environment is None else environment
    return answers.ask(
        [*map(str, words), *answers.deciding(given)],
        lambda: _output(words, library, environment, timeout_seconds),
        lambda text: [tool, *files(tool, LIBMPI), *read(text)],
    )


def _output(
    words: Sequence[str | Path],
    library: str,
    environment: Mapping[str, str] | None,
    timeout_seconds: float,
) -> str:
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


# Library folders below a prefix; Debian installs several MPIs under /usr.
_FOLDERS = ("lib64", "lib", "lib/*")

# File names of the library; libmpi.so in /usr/lib may belong to another MPI.
LIBMPI = ("libmpich.so*", "libmpi.so*")


def files(tool: Path, patterns: Sequence[str], folders: Sequence[str] = ()) -> Iterator[Path]:
    """Yield what matches the patterns in the folders of libraries beside a tool, or beside what the
    tool is a link to."""
    for prefix in {tool.parent.parent, tool.resolve().parent.parent}:
        for folder in (*folders, *_FOLDERS):
            for pattern in patterns:
                yield from prefix.glob(f"{folder}/{pattern}")


def facts(
    mpirun: Path,
    names: Sequence[str] = LIBMPI,
    components: Sequence[str] = (),
    folders: Sequence[str] = (),
) -> list[str]:
    """The real path of `mpirun`, and the checksums of the library beside it, or beside what it is a
    link to: of what is called like the first of `names` (patterns) that is there, in `folders`
    (patterns) first, and of `components`, patterns relative to its folder. A library that cannot
    be found adds nothing."""
    real = mpirun.resolve()
    prefixes = (mpirun.parent.parent, real.parent.parent)
    libraries = (_library(prefix, names, components, (*folders, *_FOLDERS)) for prefix in prefixes)
    return [str(real), *_checksums(next(filter(None, libraries), []))]


def _library(
    prefix: Path, names: Sequence[str], components: Sequence[str], folders: Sequence[str]
) -> list[Path]:
    for name in names:
        for folder in folders:
            candidates = sorted(path for path in prefix.glob(f"{folder}/{name}") if path.is_file())
            if candidates:
                folder_found = candidates[0].parent
                more = [
                    path for pattern in components for path in sorted(folder_found.glob(pattern))
                ]
                # Copies of one file under several names are as large as each other.
                sizes = {
                    path.stat().st_size: path for path in candidates if path.parent == folder_found
                }
                return [*sizes.values(), *more]
    return []


def _checksums(files: Sequence[Path]) -> list[str]:
    """Return the checksum of each file once, however many names it has."""
    real = dict.fromkeys(path.resolve() for path in files)
    checksums = []
    for path in real:
        try:
            status = path.stat()
            checksums.append(_checksum(path, status.st_mtime_ns, status.st_size))
        except OSError:
            continue
    return checksums


def fingerprint(facts: Iterable[str]) -> str:
    """Return what tells one build from all others, of all that is known of it."""
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


@cache
def _checksum(path: Path, changed_ns: int, size: int) -> str:
    """Read anew only where the file has changed."""
    del changed_ns, size
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
