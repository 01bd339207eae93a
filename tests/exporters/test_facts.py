"""Facts that exporters take from search spaces: where these lie, and what is said of a bad one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_exporters import facts
from plumbline_exporters.family.mpich import coll

SPACES = Path("share", "plumbline", "search-spaces")


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("PLUMBLINE_PREFIX", raising=False)
    facts.functions.cache_clear()
    yield
    facts.functions.cache_clear()


def test_they_lie_where_those_of_the_tuner_lie() -> None:
    assert facts.folder() == paths.layout().search_spaces


@pytest.mark.parametrize(
    ("python", "spaces"),
    [
        ("lib/plumbline/python", SPACES),
        ("site-packages", Path("site-packages", "plumbline", "sources", "search-spaces")),
    ],
    ids=["installed", "wheel"],
)
def test_where_there_is_no_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str, spaces: Path
) -> None:
    (tmp_path / spaces).mkdir(parents=True)
    for module, name in ((facts, "plumbline_exporters/facts.py"), (paths, "plumbline/system/p.py")):
        monkeypatch.setattr(module, "__file__", str(tmp_path / python / name))
    assert facts.folder() == paths.layout().search_spaces == tmp_path / spaces


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(tmp_path))
    (tmp_path / SPACES).mkdir(parents=True)
    (tmp_path / SPACES / "mine.toml").write_text(
        "[[function]]\n"
        'knob = "{name}_algorithm"\n'
        'rows = [{ name = "MPI_Bcast", algorithms = [{ id = 1, name = "a", summary = "x" },\n'
        '    { name = "b", commutative_only = true, min_version = "5.0" }] }]\n'
    )
    found = facts.functions("mine")["MPI_Bcast"]
    assert found.knob == "bcast_algorithm"
    assert found.algorithms == (
        facts.Algorithm("a", id=1),
        facts.Algorithm("b", commutative_only=True, min_version="5.0"),
    )
    assert found.commutative_only() == {"b"}
    assert facts.function("mine", "MPI_Bcast") == found
    assert facts.function("mine", "MPI_Scan").commutative_only() == frozenset()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, r"mine\.toml: No such file .*PLUMBLINE_PREFIX"),
        ("function = 3", r"search space .*mine\.toml: "),
        ("function = [", r"search space .*mine\.toml: "),
        ('[[function]]\nknob = "k"\nname = "f"\nalgorithms = [{ id = "x", name = "y" }]', "`int`"),
        (
            '[[function]]\nknob = "k"\nname = "f"\nalike = "none"',
            r"table \[alike\.none\] is missing",
        ),
    ],
)
def test_a_file_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, said: str
) -> None:
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(tmp_path))
    (tmp_path / SPACES).mkdir(parents=True)
    if text is not None:
        (tmp_path / SPACES / "mine.toml").write_text(text)
    with pytest.raises(PlumblineError, match=said):
        facts.functions("mine")


def test_a_space_that_names_no_needs_writes_no_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of an older Plumbline: its tables would have no guards."""
    text = (paths.layout().search_spaces / "mpich.toml").read_text()
    old = re.sub(r" looks_for = \[[^]]*\],", "", text)
    assert old != text
    (tmp_path / SPACES).mkdir(parents=True)
    (tmp_path / SPACES / "mpich.toml").write_text(old)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(tmp_path))
    with pytest.raises(PlumblineError, match=r"mpich\.toml is older than this Plumbline"):
        coll.guards("MPI_Allreduce", "ring")
