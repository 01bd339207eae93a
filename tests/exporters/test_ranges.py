"""Winners of a whole site: one rule for a range of ranks, with what it rests on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.libraries import gate, space_file
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters import profile
from plumbline_exporters.bundle import evidence, heading, ranks
from plumbline_exporters.family.mpich import selection
from plumbline_exporters.family.openmpi import mca_params
from tests.exporters.bundles import bundle, library, of_mpich, tuned, variant
from tests.exporters.mpich_walk import met
from tests.exporters.rules_reader import read
from tests.tuner.families.installations import write
from tests.tuner.families.recorded.mpich import ALGORITHMS, FILES

WORDS = ["nprocs=5-7", "nodes=1-1", "ppn=5-7", "carried=1x4,1x8", "checked=1x6"]
SHOWN = "carried over from 1x4 and 1x8, checked on 1x6"


def between(winner: Winner) -> Winner:
    """Return a winner for 5 ranks as one for 5 to 7 of them."""
    return msgspec.structs.replace(winner, restrictions=WORDS)


def measured(winner: Winner) -> Winner:
    return msgspec.structs.replace(winner, restrictions=[f"measured=1x{winner.nprocs}"])


def test_a_rule_of_open_mpi_ends_with_the_range() -> None:
    winners = (
        measured(tuned("MPI_Bcast", "chain", 0, 1023, 4)),
        between(tuned("MPI_Bcast", "binomial", 0, 1023, 5)),
    )
    (text,) = mca_params.rules_files(bundle(*winners)).values()
    assert f"5 # ranks and more: {SHOWN}" in text and "4 # ranks and more: measured on 1x4" in text
    file = read(text)
    assert list(file.collectives[7]) == [0, 4, 5, 8]
    assert [file.decision(7, number, 64)[0] for number in (3, 4, 5, 7, 8)] == [0, 2, 6, 6, 0]


def test_two_answers_for_one_number_of_ranks_are_refused() -> None:
    """A rules file knows no placement; a profile does."""
    winners = between(tuned("MPI_Bcast", "6", nprocs=5)), tuned("MPI_Bcast", "2", nprocs=7)
    with pytest.raises(PlumblineError, match="up to 7 ranks, and other ones from 7"):
        mca_params.rules_files(bundle(*winners))


def test_a_table_of_mpich_has_the_range(tmp_path: Path) -> None:
    prefix = str(write(tmp_path / "mpich", FILES))
    winner = between(of_mpich("MPI_Allreduce", "nb", 8, 64, 5))
    given = bundle(winner, library=library("5.0.2", "mpich", prefix=prefix))
    table = json.loads(selection.files(given)[selection.FILE_NAME])
    for number in range(3, 10):
        call: dict[str, Any] = {"comm_size": number, "avg_msg_size": 8, "is_commutative": "yes"}
        wanted = met(ALGORITHMS, "allreduce", **call)[0]
        if 5 <= number <= 7:
            wanted = "algorithm=MPIR_Allreduce_allcomm_nb"
        assert met(table, "allreduce", **call)[0] == wanted, number


def test_a_profile_has_the_ranges_and_says_what_they_rest_on() -> None:
    winner = between(variant("MPI_Allreduce", "allreduce_ring", 64, 128, 5))
    (text,) = profile.files(bundle(winner)).values()
    *_, comment, rule = text.splitlines()
    assert comment == f"# {SHOWN}"
    assert "nprocs=5-7 nodes=1-1 ppn=5-7 bytes=64-128 variant=allreduce_ring" in rule


def test_heads_of_files_name_the_range() -> None:
    winner = between(tuned("MPI_Bcast", "6", nprocs=5))
    assert (ranks(winner), evidence(winner)) == ("5-7 ranks", SHOWN)
    assert any("MPI_Bcast, 5-7 ranks" in line for line in heading(bundle(winner), "What."))


@pytest.mark.parametrize("word", ["nprocs=5-7 bytes=0-inf", "carried=1x4 x", "ppn=a-b", "nodes=1"])
def test_no_other_word_may_leave(word: str) -> None:
    space = space_file.for_library(paths.layout().search_spaces, library())
    refusal = gate.of_space(space)
    winner = tuned("MPI_Bcast", "6", nprocs=5)
    assert refusal(between(winner)) == ""
    assert "unknown condition" in refusal(msgspec.structs.replace(winner, restrictions=[word]))
