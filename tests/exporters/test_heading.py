"""What the heads of exported files say of how programs are to be started."""

from __future__ import annotations

import msgspec
import pytest

from plumbline_exporters import modulefile, profile, winners_json
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.family import openmpi
from tests.exporters.bundles import bundle, tuned, variant

WAYS = [
    "measured with mpirun -np 4 --oversubscribe --bind-to core:overload-allowed",
    "confirmed also with mpirun -np 4 --oversubscribe",
]


def started(*ways: str) -> Bundle:
    winners = (tuned("MPI_Gather", "binomial"), variant("MPI_Scan", "x", 1, 9))
    return bundle(*winners, started=list(ways))


def test_what_is_for_all_sizes_says_where_it_was_measured() -> None:
    known = msgspec.structs.replace(
        tuned("MPI_Gather", "binomial"), measured_from=8, measured_to=4 << 20
    )
    for files in (openmpi.files, profile.files, modulefile.files, modulefile.lua_files):
        (text,) = files(bundle(known, variant("MPI_Scan", "x", 1, 9))).values()
        assert "all sizes (measured: 8-4194304 bytes)" in text


@pytest.mark.parametrize("count", [0, 1, 2])
def test_how_programs_are_started(count: int) -> None:
    lines = heading(started(*WAYS[:count]), "What it is.")
    first = next(place for place, line in enumerate(lines) if "MPI_Gather" in line)
    said = [line for line in lines if line.startswith(("# measured", "# confirmed", "# Start"))]
    assert said[:count] == [f"# {way}" for way in WAYS[:count]]
    assert len(said) == count + bool(count)
    assert lines[first - len(said) : first] == said


def test_every_form_of_a_head_says_it() -> None:
    made = started(*WAYS)
    for files in (openmpi.files, profile.files, modulefile.files, modulefile.lua_files):
        (text,) = files(made).values()
        assert all(way in text for way in WAYS)
    (text,) = winners_json.files(made).values()
    assert msgspec.json.decode(text)["started"] == WAYS
