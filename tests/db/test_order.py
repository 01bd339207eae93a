"""Names with numbers, as people put them in order."""

from __future__ import annotations

import pytest

from plumbline_db.records import by_number


@pytest.mark.parametrize(
    "names",
    [
        ["GL1", "GL2", "GL10", "OV1"],
        ["openmpi-4.1.4-4xd0", "openmpi-4.1.4-4xd0-2", "openmpi-4.1.4-4xd0-10"],
        ["openmpi-4.1.4-4xd0", "openmpi-4.1.10-4xd0"],
        ["2", "10", "a2", "a10", "a10b", "²"],
    ],
)
def test_two_before_ten(names: list[str]) -> None:
    assert sorted(reversed(names), key=by_number) == names
