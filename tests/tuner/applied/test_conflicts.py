"""Values that are there already."""

from __future__ import annotations

import pytest

from plumbline.applied import apply
from plumbline_exporters import families
from tests.db import build

OLD = build.LIBRARY
FILE = families.parameter_file(OLD)
OURS = {
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
    assert apply.conflicts_in_parameters(text, OURS, FILE, OLD) == said


def test_a_forced_algorithm_silences_rules_in_open_mpi_5() -> None:
    text = "coll_tuned_bcast_algorithm = 1\ncoll_tuned_reduce_algorithm = ignore\n"
    assert apply.conflicts_in_parameters(text, OURS, FILE, OLD) == []
    (said,) = apply.conflicts_in_parameters(text, OURS, FILE, None)
    assert said.startswith("line 1 forces coll_tuned_bcast_algorithm = 1")
    assert apply.conflicts_in_parameters(text, {"btl_sm_eager_limit": "1"}, FILE, None) == []


def test_in_a_shell_s_file() -> None:
    ours = {"I_MPI_ADJUST_BCAST": "3"}
    text = "export I_MPI_ADJUST_BCAST=1\n# I_MPI_ADJUST_BCAST=2\nsetenv I_MPI_ADJUST_BCAST 4\n"
    assert [one.split()[1] for one in apply.conflicts_in_shell(text, ours)] == ["1", "3"]
    assert (
        apply.conflicts_in_shell("I_MPI_ADJUST_BCAST_LIST=1\nMY_I_MPI_ADJUST_BCAST=1", ours) == []
    )


def test_in_the_environment() -> None:
    ours = {"OMPI_MCA_a": "1", "OMPI_MCA_b": "2"}
    assert apply.conflicts_in_environment({"OMPI_MCA_a": "1", "OMPI_MCA_b": "3"}, ours) == [
        "OMPI_MCA_b is set in this shell to 3, which is heard first"
    ]
