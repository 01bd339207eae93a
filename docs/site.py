"""A hook of mkdocs: pages are written as GitHub reads them, where a list may follow a sentence
without an empty line, and may lead to files outside docs/."""

from __future__ import annotations

import re
from typing import Any

_ITEM = re.compile(r"(\*|-|\d+\.) ")
_OUTSIDE = re.compile(r"\[([^]]+)\]\((?:\.\./)+(?:README|CONTRIBUTING|CHANGELOG)\.md(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, **given: Any) -> str:
    """Return the page with an empty line before each list, and without links to the outside."""
    del given
    lines: list[str] = []
    is_code = False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        before = lines[-1] if lines else ""
        begins = _ITEM.match(line) and before.strip() and not _ITEM.match(before.lstrip())
        if begins and not is_code and not before.startswith((" ", "|")):
            lines.append("")
        lines.append(line if is_code else _OUTSIDE.sub(r"\1", line))
    return "\n".join(lines)
