"""Forms of collectives: what they are forms of, and that they are like it."""

from __future__ import annotations

import pytest

from plumbline.core.plan import (
    REDUCTIONS,
    Data,
    blocking,
    is_form,
    least_bytes,
    measurable,
    part_bytes,
    with_forms,
)


@pytest.mark.parametrize(
    ("form", "function"),
    [
        ("MPI_Ibcast", "MPI_Bcast"),
        ("MPI_Ireduce_scatter_block", "MPI_Reduce_scatter_block"),
        ("MPI_Iallgatherv", "MPI_Allgatherv"),
        ("MPI_Bcast_init", "MPI_Bcast"),
        ("MPI_Reduce_scatter_block_init", "MPI_Reduce_scatter_block"),
    ],
)
def test_forms(form: str, function: str) -> None:
    assert blocking(form) == function == blocking(function)
    assert is_form(form) and not is_form(function)
    assert form in with_forms({function})


def test_they_have_the_volumes_of_their_function() -> None:
    for form in ("MPI_Igather", "MPI_Gather_init"):
        assert least_bytes(form, 4, Data()) == 4
        assert measurable(form, [1, 5, 8], 4, Data()) == [8]
        assert part_bytes(form, 16, 4, 2, Data("MPI_BYTE")) == 8
    for form in ("MPI_Ibarrier", "MPI_Barrier_init"):
        assert measurable(form, [1, 2], 4, Data()) == [0]
    assert {"MPI_Iallreduce", "MPI_Scan_init"} < REDUCTIONS
