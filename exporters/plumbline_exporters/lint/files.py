"""Files of the disk: one that is named, and those that it names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from plumbline_db import user_files
from plumbline_db.errors import UsageError
from plumbline_exporters.families import Context
from plumbline_exporters.finding import Finding, NamedFile, in_order
from plumbline_exporters.lint.formats import Format, check, choose, formats

_MOST_BYTES = 16 * 1024 * 1024
_HEAD = 4096
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")


class Linted(msgspec.Struct, frozen=True):
    """One file. `named_in` is the one that names it, with the line; empty for one asked for."""

    path: str
    format: str
    findings: list[Finding]
    named_in: str = ""

    @property
    def wrong(self) -> list[Finding]:
        """Return the findings without what was not looked at."""
        return [finding for finding in self.findings if finding.effect != "unchecked"]


def lint(path: Path, context: Context, format_name: str = "") -> list[Linted]:
    """The file, then those that it puts in force. Raises UsageError where it cannot be read, or is
    of no format that is known."""
    text = _read(path)
    format = choose(path.name, text, format_name)
    file_findings = check(text, format, context)
    others: list[Linted] = []
    for named in dict.fromkeys(format.named_files(text)):
        other_file = _found(named.path, path)
        if other_file is None:
            file_findings += _not_looked_at(named)
            continue
        if not named.kind.formats:
            continue
        try:
            inner = _read(other_file)
        except UsageError as error:
            file_findings.append(_unknown(named, error))
            continue
        inner_format = _of_kind(named, inner)
        where = f"{path}:{named.line}"
        inner_findings = check(inner, inner_format, context)
        others.append(Linted(str(other_file), inner_format.name, inner_findings, where))
    return [Linted(str(path), format.name, in_order(file_findings)), *others]


def _found(name: str, path: Path) -> Path | None:
    """Return the file of that name; a relative one is looked for beside `path`."""
    if not name or "\0" in name:
        return None
    file = path.parent / os.path.expanduser(name)
    return file if os.path.isfile(file) else None


def _of_kind(named: NamedFile, text: str) -> Format:
    """Whatever is in it, the library takes the file for what the parameter says."""
    candidates = [formats()[name] for name in named.kind.formats]
    return next((format for format in candidates if format.recognises("", text)), candidates[-1])


def _not_looked_at(named: NamedFile) -> Iterator[Finding]:
    if not named.path:
        yield Finding(
            named.line, "unchecked", "path-not-known",
            "the name of this file is known only when the script runs: it was not looked at",
            "give the file to lint by its name",
        )  # fmt: skip
    elif os.path.isabs(os.path.expanduser(named.path)):
        effect, what = named.kind.missing
        yield Finding(
            named.line, effect, "no-such-file",
            f"{named.path} is not there (on this machine): {what}",
            "put it there, or leave this out",
        )  # fmt: skip
    else:
        yield Finding(
            named.line, "unchecked", "path-not-known",
            f"{named.path} is not beside this file: it was not looked at",
            "give the file to lint by its name",
        )  # fmt: skip


def _unknown(named: NamedFile, error: UsageError) -> Finding:
    return Finding(
        named.line, "ignored", "unknown-file", f"{named.path} is not read: {error}",
        "write rules into it, or leave this out",
    )  # fmt: skip


def _read(path: Path) -> str:
    try:
        with user_files.open_file(path) as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES} bytes, too many for such a file")
        if b"\0" in data[:_HEAD] or data.startswith(_PACKED):
            raise UsageError(
                f"{path} is no text in UTF-8, which is what shells and libraries read: unpack it, "
                "or write it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
            )
        return data.decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; name a file") from error
