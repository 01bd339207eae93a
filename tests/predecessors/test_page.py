"""Check that defects.md names tests that exist, and all tests of this folder."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.probes.launch import ROOT

PAGE = Path(__file__).with_name("defects.md").read_text()
# (section, what ours does, its tests): `## Section`, and items whose last line names the tests.
ROWS = [
    (section, *item.rsplit("\n  ", 1))
    for section, text in re.findall(r"^## Section (.*)\n((?:(?!##).*\n)*)", PAGE, re.MULTILINE)
    for item in re.findall(r"^- (.*(?:\n  .*)+)", text, re.MULTILINE)
]
# The marks of the study, in its order; 3c-6 is not marked, and is tested all the same.
SECTIONS = ["0", "1c", "1d", "2a", "2b", "2c", "3b-1", "3b-2", "3b-4", "3b-5", "3c-2", "3c-3"]
SECTIONS += ["3c-4", "3c-5", "3c-6", "3c-7", "4", "6"]


def functions_of(path: Path) -> dict[str, str]:
    """Test functions of a file and their docstrings."""
    body = ast.parse(path.read_text()).body
    functions = [one for one in body if isinstance(one, ast.FunctionDef)]
    return {one.name: ast.get_docstring(one) or "" for one in functions if one.name[:4] == "test"}


def named() -> list[tuple[str, str, str]]:
    """(section, file, test or nothing) of every row."""
    found = []
    for section, _, tests in ROWS:
        for word in re.findall(r"`([^`]+)`", tests):
            file, _, test = word.partition("::")
            found.append((section, file, test))
    return found


def test_every_row_names_a_test_that_exists() -> None:
    assert len(ROWS) > 50 and len(ROWS) == PAGE.count("\n- ")
    assert all(re.fullmatch(r"`[^` ]+`(, `[^` ]+`)*", tests) for _, _, tests in ROWS)
    for _, file, test in named():
        path = ROOT / "tests" / file
        assert path.is_file(), file
        assert not test or test in functions_of(path), (file, test)


def test_every_section_is_there_in_order() -> None:
    assert list(dict.fromkeys(row[0] for row in ROWS)) == SECTIONS


def test_every_test_is_named_and_names_its_section() -> None:
    rows = {(file, test): section for section, file, test in named()}
    for path in sorted((ROOT / "tests" / "predecessors").glob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        for test, text in functions_of(path).items():
            section = rows.get((f"predecessors/{path.name}", test))
            assert section is not None, f"{path.name}::{test} is not on the page"
            if "can_fail" not in test:
                assert re.match(rf"{section}( \[run\])?: ", text), (path.name, test)
