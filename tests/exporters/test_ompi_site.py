"""An exported file in the place of the site's: winners' rules where there are winners, the site's
everywhere else, and nothing of it that is not safe."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from plumbline.libraries import gate
from plumbline.libraries.openmpi import NO_SUCH_ALGORITHM, rules_canary
from plumbline_db.connection import Database
from plumbline_db.records import Winner
from plumbline_exporters.bundle import load_bundle
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from tests.db import build
from tests.exporters.bundles import bundle, tuned
from tests.exporters.rules_reader import read

BCAST, GATHER, ALLREDUCE, ALLGATHER = 7, 9, 2, 0
SITE = """4 # collectives
7 # Bcast
2
2
2
0 1 0 0
1024 5 0 0
8
1
0 6 0 4096
9 # Gather, switched by size
1
0
2
0 2 0 0
512 1 0 0
2 # Allreduce: wrong for operators that do not commute
1
0
2
0 4 0 0
4096 6 0 0
0 # Allgather, switched by size: calls in place hang
1
0
2
0 4 0 0
4096 2 0 0
"""


def text(*winners: Winner, site: str = SITE) -> str:
    given = bundle(*winners, site_rules=site)
    (found,) = ompi_rules.rules_files(given).values()
    return found


@given(
    st.integers(0, 5000),
    st.integers(0, 5000),
    st.sampled_from(["chain", "ignore"]),
    st.integers(1, 12),
    st.integers(0, 6000),
)
def test_the_winner_decides_its_sizes_and_the_site_all_others(
    low: int, length: int, name: str, nprocs: int, size: int
) -> None:
    found = read(text(tuned("MPI_Bcast", name, low, low + length)))
    own = nprocs == 4 and low <= size <= low + length
    wanted = {"chain": [2, 4, 0, 0], "ignore": [0, 0, 0, 0]}[name]
    theirs = read(SITE).decision(BCAST, nprocs, size)
    assert found.decision(BCAST, nprocs, size) == (wanted if own else theirs)


def test_what_is_not_safe_is_left_to_the_library() -> None:
    found = read(text(tuned("MPI_Bcast", "chain", 1, 9)))
    for size in (0, 600, 5000):
        assert found.decision(GATHER, 4, size) == [0, 0, 0, 0]
        assert found.decision(ALLGATHER, 4, size) == [0, 0, 0, 0]
    assert found.decision(ALLREDUCE, 4, 64) == [0, 0, 0, 0]
    assert found.decision(ALLREDUCE, 4, 5000) == [6, 0, 0, 0]
    allowed = bundle(tuned("MPI_Bcast", "chain", 1, 9), site_rules=SITE, unsafe=True)
    (unsafe,) = ompi_rules.rules_files(allowed).values()
    assert read(unsafe).decision(ALLREDUCE, 4, 64) == [4, 0, 0, 0]


def test_one_algorithm_for_all_sizes_stays_one() -> None:
    found = read(text(tuned("MPI_Gather", "binomial")))
    assert found.collectives[GATHER][4] == [[0, 2, 4, 0, 0]]


def test_a_canary_stands_for_winners_alone() -> None:
    """Also for the library's own decision, whose number is 0."""
    exported = text(tuned("MPI_Bcast", "ignore", 100, 199), tuned("MPI_Bcast", "chain", 300, 399))
    corrupted = read(rules_canary(exported))
    bad = [int(NO_SUCH_ALGORITHM), 4, 0, 0]
    for size in (0, 99, 100, 199, 200, 299, 300, 399, 400, 2000):
        own = 100 <= size <= 199 or 300 <= size <= 399
        assert corrupted.decision(BCAST, 4, size) == (
            bad if own else read(SITE).decision(7, 4, size)
        )


def test_a_file_that_the_library_drops_has_no_rules() -> None:
    found = read(text(tuned("MPI_Bcast", "chain", 1, 9), site="1\n7\n1\n0\n1\n64 1 0 0\n"))
    assert found.decision(BCAST, 4, 5) == [2, 4, 0, 0]
    assert found.decision(BCAST, 4, 100) == [0, 0, 0, 0]


def test_without_a_winner_nothing_takes_its_place(tmp_path: Path) -> None:
    assert ompi_rules.rules_files(bundle(site_rules=SITE)) == {}
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        build.finished(db)
        db.rows("UPDATE campaign SET site_rules = :text", {"text": SITE})
        assert (
            load_bundle(db, None, Path("/out"), gate.of_library, created="now").site_rules == SITE
        )
