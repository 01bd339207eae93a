"""Lines that a program has printed, without what terminals, launchers, mail programs, editors and
packers have added to them. It knows no benchmark."""

from __future__ import annotations

import gzip
import importlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from plumbline.system import process
from plumbline_db import scratch, user_files
from plumbline_db.errors import PlumblineError

MOST_BYTES = 64 * 2**20  # of a file, unpacked
STANDARD_INPUT = Path("-")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_NO_NUMBERS = re.compile(r"\s*(#|end result|\Z)")
# What launchers (`srun -l`, Intel's `-l`, `--tag-output`), mail and logs put before a line.
_PREFIX = re.compile(
    r"\s*(?:"
    r"(?:\w{3} \w{3} +\d+ [\d:.]+ \d{4})?\[(?:[\w.-]+@)?\d+(?:,\d+)?\](?:<std\w+>)?:? ?"
    r"|\d+:(?: |\Z)"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)? "
    r"|(?:> ?)+"
    r")"
)
_LAUNCHER = re.compile(
    r"(?:^|[\s/;&|(])(mpirun|mpiexec|mpiexec\.hydra|mpirun_rsh|orterun|prun|prterun|srun|aprun"
    r"|ibrun|flux run)(\s.*)"
)
_BENCHMARK = re.compile(r"\s\S*(?:osu_|IMB-)")  # what follows are arguments of the program
_RANKS = re.compile(r"\s(?:-np|-n|--np|--ntasks)(?:\s*=\s*|\s+|(?<=-n))(\d{1,7})(?=\s|\Z)")
_NODES = re.compile(r"\s(?:-N|--nodes)(?:\s*=\s*|\s+|(?<=-N))(\d{1,7})(?=\s|\Z)")
_PER_NODE = re.compile(r"\s--n?tasks-per-node(?:\s*=\s*|\s+)(\d{1,7})(?=\s|\Z)")


class Line(NamedTuple):
    """A line and its number in the file."""

    number: int
    text: str


class Launch(NamedTuple):
    """A command that starts ranks, as the text quotes it. `nodes`: 0 where it does not say."""

    command: str
    nprocs: int
    nodes: int = 0


def files(sources: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that are named: each path itself, and of a folder all files below it, without
    those that a process still writes."""
    for source in sources:
        if source.is_dir():
            yield from sorted(
                path
                for path in source.rglob("*")
                if path.is_file() and not path.parent.name.startswith(scratch.PREFIX)
            )
        else:
            yield source


def read(path: Path) -> bytes:
    """Return the bytes of a file, or of the standard input, unpacked. Raises PlumblineError where
    the file cannot be read, or is too large."""
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with user_files.open_file(path) as file:
                data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}; name another file") from error
    data = unpacked(data, MOST_BYTES)
    if len(data) > MOST_BYTES:
        raise PlumblineError(f"{path} is larger than {MOST_BYTES // 2**20} MiB: take a part of it")
    return data


def lines(data: bytes) -> list[Line]:
    """Return the lines of a text, numbered from 1, with blanks in place of tabs."""
    text = _ESCAPES.sub("", _decoded(data))
    return [
        Line(number, _without_prefix(line).expandtabs())
        for number, line in enumerate(_LINE_ENDS.split(text), 1)
    ]


def without_a_cut_line(read_lines: list[Line]) -> tuple[list[Line], list[str]]:
    """Return the lines without a last one that does not end, as its last number may go on; and a
    sentence that names it."""
    number, last = read_lines[-1]
    if _NO_NUMBERS.match(last):
        return read_lines, []
    cut = f"the end of line {number}, {last.strip()[:60]!r}, which is left out"
    return read_lines[:-1], [cut]


def launch(text: str) -> Launch | None:
    """Return the launch that a line quotes, where it contains the number of ranks."""
    launcher = _LAUNCHER.search(text)
    if not launcher:
        return None
    options = _BENCHMARK.split(launcher[2], maxsplit=1)[0]
    count, nodes, per_node = (each.search(options) for each in (_RANKS, _NODES, _PER_NODE))
    nprocs = int(count[1]) if count else 0
    on_nodes = int(nodes[1]) if nodes and launcher[1] in ("srun", "flux run") else 0
    if on_nodes and per_node:
        nprocs = nprocs or on_nodes * int(per_node[1])
    return Launch(text, nprocs, on_nodes) if nprocs else None


def _without_prefix(line: str) -> str:
    prefix = _PREFIX.match(line)
    return line[prefix.end() :] if prefix else line


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    for encoding, zeros in (("utf-16-le", data[1:400:2]), ("utf-16-be", data[:400:2])):
        if zeros.count(0) > 0.6 * len(zeros) > 1:
            return data.decode(encoding, errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def unpacked(data: bytes, most: int) -> bytes:
    """Return the data without gzip or zstd, where it is used, or `most` and one bytes of it. Raises
    PlumblineError where it cannot be unpacked."""
    try:
        if data.startswith(_GZIP):
            return gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
        return _without_zstd(data, most) if data.startswith(_ZSTD) else data
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise PlumblineError(f"cannot unpack the file: {error}; name another file") from error


def _without_zstd(data: bytes, most: int) -> bytes:
    """Raises EOFError where the data are broken."""
    try:
        zstd = importlib.import_module("compression.zstd")  # Python 3.14
    except ImportError:
        return _by_the_program(data, most)
    try:
        unpacked_data: bytes = zstd.ZstdDecompressor().decompress(data, most + 1)
    except zstd.ZstdError as error:
        raise EOFError(str(error)) from error
    return unpacked_data


def _by_the_program(data: bytes, most: int) -> bytes:
    program = shutil.which("zstd")
    if program is None:
        raise PlumblineError("zstd is missing: install it, or unpack the file yourself")
    with scratch.folder(prefix="plumbline-zstd-") as folder, tempfile.TemporaryFile() as errors:
        packed = folder / "packed.zst"
        packed.write_bytes(data)
        words = [program, "--quiet", "--decompress", "--stdout", str(packed)]
        child = process.start(words, None, out=subprocess.PIPE, err=errors)
        try:
            unpacked_data = child.stdout.read(most + 1) if child.stdout else b""
            if len(unpacked_data) <= most and child.wait():
                errors.seek(0)
                reason = errors.read(200).decode(errors="replace").strip()
                raise EOFError(reason or "zstd ended with an error")
        finally:
            if child.stdout:
                child.stdout.close()
            process.end_session(child)
    return unpacked_data
