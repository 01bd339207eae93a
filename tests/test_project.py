"""The files at the root say what pyproject.toml and the Makefile say; pages lead to each other."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.figures import measured
from tests.page_commands import FENCED

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["abstract"] == PROJECT["description"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["authors"] == PROJECT["authors"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    for paper in citation["references"]:
        names = ", ".join(author["family-names"] for author in paper["authors"])
        assert f"{names}, *{paper['title']}*" in readme


def test_the_version_is_in_the_changelog() -> None:
    versions = re.findall(r"^## \[(\S+)\] - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == PROJECT["version"]


def test_the_licence() -> None:
    (name,) = PROJECT["license-files"]
    text = (ROOT / name).read_text()
    (author,) = PROJECT["authors"]
    assert text.startswith("BSD 3-Clause License") and author["name"] in text


def links(page: Path) -> list[tuple[Path, str]]:
    """The pages that a page names, each with the heading."""
    found = re.findall(r"\]\(([\w./-]*\.md)?(?:#([^)]*))?\)", page.read_text())
    return [((page.parent / name).resolve() if name else page, heading) for name, heading in found]


def test_every_page_is_found_from_the_readme() -> None:
    seen: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in seen:
            seen.add(page)
            ahead += [other for other, _ in links(page)]
    assert set((ROOT / "docs").rglob("*.md")) <= seen


def test_every_heading_that_is_linked_is_there() -> None:
    def anchors(page: Path) -> set[str]:
        headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}

    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for other, heading in links(page):
            assert not heading or heading in anchors(other), (page.name, other.name, heading)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_a_hook_is_part_of_make_check(hook: dict[str, Any]) -> None:
    makefile = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")
    recipe = makefile.partition("\ncheck:")[2].partition("\n\n")[0].replace("\t@", "\t")
    assert hook["language"] == "system"
    assert re.search(rf"^\t{re.escape(hook['entry'])}(?= |$)", recipe, re.MULTILINE)


def test_editors_and_formatters_agree() -> None:
    config = configparser.ConfigParser(delimiters="=")
    config.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    style = dict(
        line.split(": ") for line in (ROOT / ".clang-format").read_text().splitlines() if line
    )
    code = config["*.{c,h,def,inc,py}"]
    assert config["*"]["indent_size"] == style["IndentWidth"]
    assert code["max_line_length"] == style["ColumnLimit"]
    assert int(code["max_line_length"]) == PYPROJECT["tool"]["ruff"]["line-length"]
    assert config["{Makefile,*.mk}"]["indent_style"] == "tab"


# What is no page of one task: the house itself, and all recipes.
LONG = {"architecture.md", "extend.md"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_a_page_is_short_and_its_lines_are(page: Path) -> None:
    lines = page.read_text().splitlines()
    task = page.parent.name == "docs" and page.name not in LONG
    assert len(lines) <= 150 or not task
    assert [line for line in lines if len(line) > 160] == []
    command = next((number for number, line in enumerate(lines) if line.startswith("```")), 0)
    assert 0 < command <= 12 or not task, "begin with a command"


def test_commands_of_the_readme_can_be_pasted() -> None:
    """PATH leads to no `plumbline` of a checkout; Open MPI starts no more ranks than there are
    cores; a shell takes `<name>` for a file."""
    blocks = FENCED.findall((ROOT / "README.md").read_text())
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    commands = [line for line in lines if re.match(r"(\S*/)?(plumbline|make|python3|pip) ", line)]
    assert len(commands) >= 10
    assert [line for line in commands if line.startswith("plumbline ")] == []
    assert [line for line in lines if re.search(r"<\w+>", line)] == []
    (shown, *_) = measured.read().campaigns
    ranks = {int(number) for line in lines for number in re.findall(r"-np (\d+)", line)}
    assert ranks == {shown.ranks} and shown.ranks <= shown.cores
