"""The formats that the linter knows, and the choice of one for a file.

A format is one module with SUMMARY, `recognises(name, text)` and `findings(text, context)`; where
its files name others, also `refers(text)`, and where a byte-order mark does harm, MARK. Its family
names it in `Linting.formats`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

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
