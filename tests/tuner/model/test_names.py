"""names.toml speaks of what there is: algorithms of the search spaces, variants, schedules."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from plumbline.model import schedules
from plumbline.model.names import FAMILIES, followed, names
from plumbline.search import space_file

ROOT = Path(__file__).resolve().parents[3]
SPACES = [
    space
    for path in sorted((ROOT / "search-spaces").glob("*.toml"))
    for space in space_file.load(path)
]
VARIANTS = set(
    re.findall(
        r"^PL_VARIANT\((\w+)\)", (ROOT / "collectives-alt/catalogue.def").read_text(), re.MULTILINE
    )
)
OPENMPI = next(one for one in SPACES if one.family == "openmpi")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_algorithm_is_in_a_search_space(family: str) -> None:
    known = {
        (function.name, algorithm.name)
        for space in SPACES
        if space.family == family
        for function in space.function
        for algorithm in function.algorithms
    }
    named = [(one.function, name) for one in names().schedule for name in one.of(family)]
    if family == "simgrid":
        named += [(one.function, name) for one in names().alike for name in one.simgrid]
    assert named and set(named) <= known
    assert max(Counter(named).values()) == 1


def test_every_variant_is_in_the_catalogue() -> None:
    named = [name for one in names().schedule for name in one.ours]
    assert set(named) <= VARIANTS and max(Counter(named).values()) == 1
    assert {name for one in names().alike for name in one.ours} <= VARIANTS


def test_every_schedule_is_in_the_table_and_says_where_it_comes_from() -> None:
    table = schedules.table()
    for one in names().schedule:
        assert table[one.function, one.name].source and table[one.function, one.name].what


def test_two_schedules_of_one_name_are_a_bug() -> None:
    enter = schedules.schedule("ring", "MPI_Allgather", source="again")
    with pytest.raises(ValueError, match="two schedules called ring"):
        enter(lambda shape: schedules.find("MPI_Allgather", "ring").cost(shape))


def test_the_numbers_of_an_algorithm_reach_its_schedule() -> None:
    prefix = "coll_tuned_bcast_algorithm"
    knobs = {prefix: "chain", f"{prefix}_segmentsize": "4096", f"{prefix}_chain_fanout": "8"}
    found = followed(OPENMPI, "MPI_Bcast", "default", knobs, {})
    assert found is not None
    shape = found.shape(16, 65536)
    assert (shape.segment_bytes, shape.chains) == (4096, 8)
    knomial = followed(OPENMPI, "MPI_Bcast", "default", {prefix: "knomial"}, {})
    assert knomial is not None and knomial.numbers == {"radix": 4}


def test_the_numbers_of_a_variant_reach_its_schedule() -> None:
    standard = {"segment_bytes": 65536}
    plain = followed(OPENMPI, "MPI_Bcast", "bcast_chain", {}, standard)
    short = followed(OPENMPI, "MPI_Bcast", "bcast_chain:segment_bytes=1024", {}, standard)
    assert plain is not None and plain.numbers == {"segment_bytes": 65536}
    assert short is not None and short.numbers == {"segment_bytes": 1024}


def test_of_others_nothing_is_known() -> None:
    nonoverlapping = {"coll_tuned_allreduce_algorithm": "nonoverlapping"}
    assert followed(OPENMPI, "MPI_Allreduce", "default", nonoverlapping, {}) is None
    assert followed(OPENMPI, "MPI_Allreduce", "allreduce_as_reduce_plus_bcast", {}, {}) is None
    assert followed(OPENMPI, "MPI_Allreduce", "default", {}, {}) is None
    assert followed(OPENMPI, "MPI_Gatherv", "default", {"coll_tuned_x": "1"}, {}) is None
