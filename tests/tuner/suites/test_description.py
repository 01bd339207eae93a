"""Suite files: those that ship are right, what nobody can mean is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core.plan import StoppingRule
from plumbline.suites import description
from plumbline_db.errors import UsageError

GOOD = 'name = "a"\noperations = ["MPI_Bcast"]\nfrom = 8\nto = 64\n'


def read(folder: Path, *suites: str, head: str = "") -> description.Description:
    path = folder / "suites.toml"
    path.write_text(head + "".join(f"[[suite]]\n{suite}" for suite in suites))
    return description.read(path)


def test_a_file(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD, GOOD.replace('"a"', '"b"'), head='title = "Two"\n')
    assert (found.title, [suite.name for suite in found.suite]) == ("Two", ["a", "b"])
    suite = found.suite[0]
    assert (suite.first, suite.to, suite.pattern, suite.vary) == (8, 64, "collective", "bytes")
    assert (suite.rule, suite.all_points) == (None, 16)


def test_a_standard_error_is_a_stopping_rule(tmp_path: Path) -> None:
    (suite,) = read(tmp_path, GOOD + "standard_error = 0.03\n").suite
    assert suite.rule is not None
    assert suite.rule == StoppingRule("rse:0.03", least=8, step=4, most=33)


@pytest.mark.parametrize(
    ("suite", "why"),
    [
        (GOOD + "color = 1\n", "unknown key `color`"),
        (GOOD.replace('"a"', '"A b"'), "small letters"),
        (GOOD.replace('["MPI_Bcast"]', "[]"), "one at least"),
        (GOOD.replace("from = 8", "from = 80"), "to must not be below from"),
        (GOOD.replace("to = 64\n", ""), "to must say where the axis ends"),
        (GOOD + 'vary = "bits"\n', "Invalid enum value 'bits'"),
        (GOOD.replace("from = 8", 'vary = "ranks"\nfrom = 0'), "1 or more ranks"),
        (GOOD + "at = []\npoints = 0\n", "points must be 1 to 200"),
        (GOOD + "at = [-1]\n", "at must be at most 200 numbers"),
        (GOOD + "most_points = 7\n", "must not be below points"),
        (GOOD + "error = 0.0\n", "error must be"),
        (GOOD + "launches = 0\n", "launches must be"),
        (GOOD + "standard_error = 1.5\n", "standard_error must be"),
        (GOOD + "least = 9\nmost = 8\n", "least must be 2 or more"),
        (GOOD + 'type = "MPI_REAL"\n', "type must be one of"),
        (GOOD + "root = -1\n", "root must be"),
        (GOOD + "to = 99999999999\n", "Cannot overwrite a value"),
    ],
)
def test_what_is_refused(tmp_path: Path, suite: str, why: str) -> None:
    with pytest.raises(UsageError, match="suite file") as refused:
        read(tmp_path, suite)
    assert why in str(refused.value)


def test_names_are_different_ones(tmp_path: Path) -> None:
    for suites in ((), (GOOD, GOOD)):
        with pytest.raises(UsageError, match=r"with different names|key `suite` is missing"):
            read(tmp_path, *suites)


def test_those_that_ship_have_names(tmp_path: Path) -> None:
    assert "simple" in description.standard()
    assert description.named("simple") == description.standard()["simple"]
    with pytest.raises(UsageError, match="suites that ship: collectives, gather-by-rank"):
        description.named("nothing")
    with pytest.raises(UsageError, match="cannot read suite file"):
        description.named(str(tmp_path / "nothing.toml"))
