"""Recognition of the program that has printed a text, and of what it says."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from plumbline_db import regular
from plumbline_db.errors import PlumblineError, UsageError

from .imb import Imb
from .madmpi import Madmpi
from .osu import Osu
from .reprompi import Reprompi
from .skampi import Skampi
from .table import MOST_ROWS, GivenOutput, OutputFormat

FORMATS: tuple[OutputFormat, ...] = (Imb(), Osu(), Skampi(), Reprompi(), Madmpi())
MOST_BYTES = 64 * 2**20
_HEAD = 1_000_000  # characters in which a program must have named itself
_NO_NUMBERS = re.compile(r"\s*(#|end result|\Z)")


def read(path: Path, nprocs: int | None) -> tuple[OutputFormat, GivenOutput, bytes]:
    """The program, what it says, and the bytes of the file. Raises PlumblineError for what is none,
    and UsageError where the number of ranks is wanted."""
    try:
        with regular.open_file(path) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}; name another file") from error
    if len(data) > MOST_BYTES:
        raise PlumblineError(f"{path} is larger than {MOST_BYTES // 2**20} MiB: take a part of it")
    format, text = of(data, nprocs, str(path))
    return format, text, data


def of(data: bytes, nprocs: int | None, name: str) -> tuple[OutputFormat, GivenOutput]:
    text, cut = _without_a_cut_line(data.decode("utf-8", errors="replace"))
    format = next((candidate for candidate in FORMATS if candidate.recognises(text[:_HEAD])), None)
    if format is None:
        titles = ", ".join(candidate.title for candidate in FORMATS)
        raise PlumblineError(
            f"{name} is neither output of {titles} nor a file of plumbline db export"
        )
    try:
        output = format.read(text, nprocs)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    except PlumblineError as error:
        raise PlumblineError(f"{name}, {format.title}: {error}") from error
    if not output.tables:
        unused = f" ({', '.join(output.left_out[:5])} are none)" if output.left_out else ""
        raise PlumblineError(f"{name}, {format.title}: the output has no times of calls{unused}")
    count = sum(len(rows) for table in output.tables for rows in table.columns.values())
    if count > MOST_ROWS:
        raise PlumblineError(f"{name}: more than {MOST_ROWS} numbers; take a part of it")
    return format, msgspec.structs.replace(output, missing=[*output.missing, *cut])


def _without_a_cut_line(text: str) -> tuple[str, list[str]]:
    """Return the text without a last line that does not end, as its last number may go on; and that
    it lacks an end."""
    before, _, last = text.rpartition("\n")
    if _NO_NUMBERS.match(last):
        return text, []
    number = before.count("\n") + 2 if before else 1
    return f"{before}\n", [f"the end of line {number}, {last.strip()[:60]!r}, which is left out"]
