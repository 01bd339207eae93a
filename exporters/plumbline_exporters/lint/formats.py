"""The formats that the linter knows, and the choice of one for a file.

A format is one module with SUMMARY, `recognises(name, text)` and `findings(text, context)`; where
its files name others, also `refers(text)`, and where a byte-order mark does harm, MARK. Its family
names it in `Linting.formats`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from plumbline_db import user_files
from plumbline_db.errors import UsageError
from plumbline_exporters import families
from plumbline_exporters.families import Context
from plumbline_exporters.finding import Effect, Finding, NamedFile, in_order
from plumbline_exporters.lint import shell_file, shell_statements

# The line with the library in the heads of exported files.
_MADE_FOR = re.compile(
    r"^(?:#|--|[ \t]*\") ?library   "
    r"(?P<id>(?P<family>\w+)-[0-9]{1,9}(?![0-9])[\w.]*), fingerprint ",
    re.M,
)

_MARK = "\ufeff"
# Kinds of files that people have settings in and that are not read: to read one as something else
# would find nothing, and look like an answer.
_SUFFIXES = {
    (".yaml", ".yml"): "YAML",
    (".xml",): "XML",
    (".py", ".ipynb"): "Python",
    (".toml",): "TOML",
    (".service", ".unit", ".ini"): "a file with sections ([…])",
    (".md", ".rst"): "text for people",
}
_CONTENTS = {
    "XML": re.compile(r"\s*<(?:\?xml|!--|[A-Za-z][\w.-]*[\s>/])"),
    "Python": re.compile(
        r"#!.*\bpython|(?:.*\n)*?(?:import [\w.]+(?: as \w+)?$|from [\w.]+ import |def \w+\(.*\):$)"
        r"|(?:.*\n)*?[ \t]*os\.environ\[",
        re.MULTILINE,
    ),
    "a file with sections ([…])": re.compile(
        r"(?:[ \t]*(?:[#;].*)?\n)*\[[A-Za-z][\w .-]*\][ \t]*$", re.MULTILINE
    ),
    "YAML": re.compile(
        r"(?:[ \t]*(?:#.*)?\n)*(?:---[ \t]*$|%YAML|-[ \t]+\w+:|[A-Za-z_][\w.-]*:(?:[ \t]+[^=\n]*)?"
        r"\n(?:[ \t]*\n|[ \t]*#.*\n)*(?:[ \t]+|-[ \t]|[A-Za-z_][\w.-]*:))",
        re.MULTILINE,
    ),
}


class Format(msgspec.Struct, frozen=True):
    name: str
    summary: str
    recognises: Callable[[str, str], bool]
    findings: Callable[[str, Context], Iterable[Finding]]
    refers: Callable[[str], list[NamedFile]]
    mark: tuple[Effect, str] | None = None

    def named_files(self, text: str) -> list[NamedFile]:
        """Return the files that this one puts in force."""
        return self.refers(text.removeprefix(_MARK))


def _nothing(text: str) -> list[NamedFile]:
    del text
    return []


def formats() -> dict[str, Format]:
    """Return them in the order in which they are asked whether a file is theirs: environments at
    last."""
    modules = {name: of for lint in families.linted().values() for name, of in lint.formats.items()}
    return {
        name: Format(
            name,
            module.SUMMARY,
            module.recognises,
            module.findings,
            getattr(module, "refers", _nothing),
            getattr(module, "MARK", None),
        )
        for name, module in {**modules, "env": shell_file}.items()
    }


def choose(name: str, text: str, format_name: str = "") -> Format:
    """Return the format `format_name`, or the first one that recognises the file. Raises UsageError
    where that is none, and where the file is of another kind, whatever it is said to be."""
    text = text.removeprefix(_MARK)
    every_format = formats()
    if format_name and format_name not in every_format:
        raise UsageError(f"no format {format_name}; there are {', '.join(every_format)}")
    kind = _other_kind(name, text)
    if kind:
        raise UsageError(
            f"{name}: this is {kind}, which lint does not read: write the variables that it sets "
            "into a file of NAME=VALUE lines, and check that"
        )
    if format_name:
        return every_format[format_name]
    for known_format in every_format.values():
        if known_format.recognises(name, text):
            return known_format
    raise UsageError(
        f"{name}: cannot tell what this is: name its format with --format "
        f"({', '.join(every_format)}), or its variables with their full names"
    )


def _other_kind(name: str, text: str) -> str:
    """Return what a file is, in words for people; nothing where it may be one that is read."""
    for suffixes, kind in _SUFFIXES.items():
        if name.lower().endswith(suffixes):
            return kind
    if text.startswith("#!") and "python" not in text.partition("\n")[0]:
        return ""
    if shell_statements.is_definition(text):
        return ""
    return next((kind for kind, contents in _CONTENTS.items() if contents.match(text)), "")


def check(text: str, format: Format, context: Context) -> list[Finding]:
    """Return the findings in order of lines. A file that says which library it was made for is read
    as that one does, where no other is named and that one is of a family that is known here."""
    made_for = _MADE_FOR.search(text)
    if not context.library and made_for is not None and made_for["family"] in families.linted():
        context = msgspec.structs.replace(context, library=made_for["id"])
    findings = list(format.findings(text.removeprefix(_MARK), context))
    if text.startswith(_MARK) and format.mark is not None:
        effect, what = format.mark
        findings.append(
            Finding(
                1, effect, "byte-order-mark", f"the file begins with a byte-order mark: {what}",
                "write it as UTF-8 without one",
            )
        )  # fmt: skip
    unknown = context.unknown_version()
    if unknown:
        findings.append(
            Finding(
                0, "unchecked", "version-not-known",
                f"nothing is known of {unknown}: names and values were not compared with it",
                "name a version that is known, to see what that one does",
            )
        )  # fmt: skip
    return in_order(findings)


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
