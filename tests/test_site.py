"""The hook that turns pages as GitHub reads them into pages as mkdocs does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("site_hook", ROOT / "docs" / "site.py")
assert _spec is not None and _spec.loader is not None
hook = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hook)


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("A sentence:\n* one\n* two", "A sentence:\n\n* one\n* two"),
        ("A sentence:\n1. one\n   more\n2. two", "A sentence:\n\n1. one\n   more\n2. two"),
        ("```\nls\n- x\n```", "```\nls\n- x\n```"),
        ("see [README](../README.md), [it](design/x.md)", "see README, [it](design/x.md)"),
    ],
)
def test_lists_begin_after_an_empty_line_and_links_stay_inside(page: str, wanted: str) -> None:
    assert hook.on_page_markdown(page, page=None) == wanted


def test_every_page_stands_once_in_the_table_of_contents() -> None:
    text = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    listed: list[str] = []
    for entry in yaml.safe_load(text):
        listed += [entry] if isinstance(entry, str) else next(iter(entry.values()))
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    assert sorted(listed) == sorted(pages)
