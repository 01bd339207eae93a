"""Files of the disk: one that is named, and those that it names."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from plumbline_db import user_files
from plumbline_db.errors import UsageError
from plumbline_exporters.finding import Context, Finding, NamedFile, in_order
from plumbline_exporters.lint.formats import check, choose

_MOST_BYTES = 16 * 1024 * 1024


class Linted(msgspec.Struct, frozen=True):
    """One file. `named_in` is the one that names it, with the line; empty for one asked for."""

    path: str
    format: str
    findings: list[Finding]
    named_in: str = ""


def lint(path: Path, context: Context, format_name: str = "") -> list[Linted]:
    """The file, then those that it puts in force. Raises UsageError where it cannot be read, or is
    of no format that is known."""
    text = _read(path)
    format = choose(path.name, text, format_name)
    file_findings = check(text, format, context)
    others: list[Linted] = []
    for named in format.refers(text):
        line, name = named.line, named.path
        other_file = Path(os.path.expanduser(name) if "\0" not in name else name)
        if not other_file.is_absolute():
            continue
        if not os.path.isfile(other_file):
            file_findings.append(_missing(named))
            continue
        try:
            inner = _read(other_file)
            inner_format = choose(other_file.name, inner)
        except UsageError as error:
            file_findings.append(_unknown(line, name, error))
            continue
        others.append(
            Linted(
                str(other_file),
                inner_format.name,
                check(inner, inner_format, context),
                f"{path}:{line}",
            )
        )
    return [Linted(str(path), format.name, in_order(file_findings)), *others]


def _missing(named: NamedFile) -> Finding:
    effect, what = named.missing
    return Finding(
        named.line, effect, "no-such-file",
        f"{named.path} is not there (on this machine): {what}",
        "put it there, or leave this out",
    )  # fmt: skip


def _unknown(line: int, name: str, error: UsageError) -> Finding:
    return Finding(
        line, "ignored", "unknown-file", f"{name} is nothing that is known here: {error}",
        "write rules into it, or leave this out",
    )  # fmt: skip


def _read(path: Path) -> str:
    try:
        with user_files.open_file(path) as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES} bytes, too many for such a file")
        return data.decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; name a file") from error
