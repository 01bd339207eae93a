"""Our lines among those of others: put in, found again, taken out, and never anybody else's; values
that are there already."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.applied import conflicts
from plumbline.applied.blocks import block, find, put, without
from plumbline_db.errors import PlumblineError
from plumbline_exporters import families
from tests.db import build

OURS = block("openmpi", 3, ["a = 1", "b = 2"])


def test_what_a_block_looks_like() -> None:
    assert OURS.splitlines() == [
        "# >>> plumbline openmpi 3 >>> written by plumbline apply, taken out by plumbline rollback",
        "a = 1",
        "b = 2",
        "# <<< plumbline openmpi <<<",
    ]


def test_it_takes_the_place_of_the_one_before() -> None:
    text = put("first\nsecond\n", "openmpi", OURS) + "third\n"
    new = put(text, "openmpi", block("openmpi", 4, ["c = 3"]))
    assert new.splitlines()[:2] == ["first", "second"] and new.endswith("third\n")
    found = find(new, "openmpi")
    assert found is not None and found.number == 4
    assert without(new, "openmpi") == "first\nsecond\nthird\n"


def test_blocks_of_others_stay() -> None:
    text = put(OURS, "intelmpi", block("intelmpi", 1, ["x"]))
    assert without(text, "openmpi") == block("intelmpi", 1, ["x"])
    assert find(text, "open") is None and find(text, "openmpi 3") is None


@pytest.mark.parametrize(
    "text",
    [
        OURS + OURS,
        OURS.splitlines()[0],
        OURS.splitlines()[-1],
        "\n".join(reversed(OURS.splitlines())),
        OURS + OURS.splitlines()[-1],
    ],
)
def test_damaged_marks_are_refused(text: str) -> None:
    for work in (find, without, lambda text, name: put(text, name, OURS)):
        with pytest.raises(PlumblineError, match=r"marks of plumbline openmpi are damaged \(line"):
            work(text, "openmpi")


LINES = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=20), max_size=6)


@given(lines=LINES, ended=st.booleans(), following=LINES)
def test_what_others_write_is_theirs(lines: list[str], ended: bool, following: list[str]) -> None:
    """Whatever it is, up to the line break that a last line has to get."""
    text = "\n".join(lines) + ("\n" if ended else "")
    whole = put(text, "openmpi", OURS)
    grown = text if not text or text.endswith("\n") else text + "\n"
    assert without(whole, "openmpi") == grown
    after = "".join(f"{line}\n" for line in following)
    assert without(whole + after, "openmpi") == grown + after
    assert put(whole, "openmpi", OURS) == whole


# --- values that are there already ----------------------------------------------------------------


OLD = build.LIBRARY
FILE = families.parameter_file(OLD)
WANTED = {
    "coll_tuned_use_dynamic_rules": "1",
    "coll_tuned_dynamic_rules_filename": "/s/ompi-rules.conf",
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", []),
        ("# coll_tuned_use_dynamic_rules = 0\nbtl = self,vader\n", []),
        ("coll_tuned_use_dynamic_rules=1\n", []),
        (
            "--mca coll_tuned_use_dynamic_rules 0\n",
            ["line 1 sets coll_tuned_use_dynamic_rules = 0, wanted is 1"],
        ),
        (
            "\n  coll_tuned_use_dynamic_rules = 0 # off\n",
            ["line 2 sets coll_tuned_use_dynamic_rules = 0 # off, wanted is 1"],
        ),
        (
            "coll_tuned_dynamic_rules_filename = /home/me/rules",
            [
                "line 1 sets coll_tuned_dynamic_rules_filename = /home/me/rules, wanted is "
                "/s/ompi-rules.conf"
            ],
        ),
    ],
)
def test_in_a_parameter_file(text: str, said: list[str]) -> None:
    assert conflicts.in_parameters(text, WANTED, FILE, OLD) == said


def test_a_forced_algorithm_silences_rules_in_open_mpi_5() -> None:
    text = "coll_tuned_bcast_algorithm = 1\ncoll_tuned_reduce_algorithm = ignore\n"
    assert conflicts.in_parameters(text, WANTED, FILE, OLD) == []
    (said,) = conflicts.in_parameters(text, WANTED, FILE, None)
    assert said.startswith("line 1 forces coll_tuned_bcast_algorithm = 1")
    assert conflicts.in_parameters(text, {"btl_sm_eager_limit": "1"}, FILE, None) == []


def test_in_a_shell_s_file() -> None:
    ours = {"I_MPI_ADJUST_BCAST": "3"}
    text = "export I_MPI_ADJUST_BCAST=1\n# I_MPI_ADJUST_BCAST=2\nsetenv I_MPI_ADJUST_BCAST 4\n"
    assert [one.split()[1] for one in conflicts.in_shell(text, ours)] == ["1", "3"]
    assert conflicts.in_shell("I_MPI_ADJUST_BCAST_LIST=1\nMY_I_MPI_ADJUST_BCAST=1", ours) == []


def test_in_the_environment() -> None:
    ours = {"OMPI_MCA_a": "1", "OMPI_MCA_b": "2"}
    assert conflicts.in_environment({"OMPI_MCA_a": "1", "OMPI_MCA_b": "3"}, ours) == [
        "OMPI_MCA_b is set in this shell to 3, which is heard first"
    ]
