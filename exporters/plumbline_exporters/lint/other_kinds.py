"""Kinds of files that people have settings in and that the linter does not read: to read one as
something else would find nothing, and look like an answer."""

from __future__ import annotations

import re

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


def of(name: str, text: str) -> str:
    """Return what a file is, in words for people; nothing where it may be one that is read."""
    for suffixes, kind in _SUFFIXES.items():
        if name.lower().endswith(suffixes):
            return kind
    if text.startswith("#!") and "python" not in text.partition("\n")[0]:
        return ""
    return next((kind for kind, contents in _CONTENTS.items() if contents.match(text)), "")
