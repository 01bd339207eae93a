"""plumbline.sh for simulated programs: options of smpirun, and the profile where it is needed."""

from __future__ import annotations

import pytest

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Winner
from plumbline_exporters.family.simgrid import files
from plumbline_exporters.plumbline_sh import FILE_NAME
from tests.exporters.bundles import bundle, variant, winner

LIBRARY = Library("simgrid-3.32-impi", "simgrid", "3.32", "SMPI", "/usr", "f", {"selector": "impi"})


def chosen(knob: str, algorithm: str) -> Winner:
    return winner("MPI_Gather", {knob: algorithm})


def exported(*winners: Winner) -> list[str]:
    text = files(bundle(*winners, library=LIBRARY))[FILE_NAME]
    return [line for line in text.splitlines() if line.startswith("export ")]


def test_options_stand_in_one_variable_after_the_selector() -> None:
    two = (chosen("smpi/gather", "mpich"), chosen("smpi/bcast", "NTSL"))
    words = "--cfg=smpi/coll-selector:impi --cfg=smpi/gather:mpich --cfg=smpi/bcast:NTSL"
    assert exported(*two) == [f"export PLUMBLINE_SMPIRUN='{words}'"]


def test_the_profile_is_there_where_variants_are() -> None:
    lines = exported(variant("MPI_Scan", "scan_linear", 1, 9))
    assert [line.partition("=")[0] for line in lines] == [
        "export PLUMBLINE_PROFILE",
        "export PLUMBLINE_SMPIRUN",
        "export PLUMBLINE_SAY",
    ]


def test_a_simulation_has_one_value_of_an_option() -> None:
    with pytest.raises(PlumblineError, match="smpi/gather:mpich, another winner wants ompi"):
        exported(chosen("smpi/gather", "ompi"), chosen("smpi/gather", "mpich"))
