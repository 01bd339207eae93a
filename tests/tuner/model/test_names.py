"""names.toml speaks of what there is: algorithms of the search spaces, variants, schedules."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from plumbline.libraries import space_file
from plumbline.model import schedules
from plumbline.model.names import find, followed, names

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


WRITTEN = [
    *((f, text) for f, variants in names().variants.items() for text in variants.values()),
    *(
        (entry.name, algorithm.schedule)
        for space in SPACES
        for entry in space.function
        for algorithm in entry.algorithms
        if algorithm.schedule
    ),
]


def test_every_variant_is_in_the_catalogue() -> None:
    named = [name for variants in names().variants.values() for name in variants]
    assert set(named) <= VARIANTS and max(Counter(named).values()) == 1
    algorithms = [one for space in SPACES for entry in space.function for one in entry.algorithms]
    assert {one.sends_as for one in algorithms if one.sends_as} <= VARIANTS
    assert not [one for one in algorithms if one.sends_as and one.schedule]


WITHOUT_MODEL = re.compile(r".*_(as_\w+|shared_memory|hierarchical\w*|node_aware|multileader)")
"""Names of mock-ups, and of variants in shared memory or for nodes (docs/design/advice.md)."""


def test_only_algorithms_that_send_messages_of_their_own_have_a_model() -> None:
    """Not the other way round: a model is no part of the recipe of a variant (docs/extend.md)."""
    named = [name for variants in names().variants.values() for name in variants]
    assert not [name for name in named if WITHOUT_MODEL.fullmatch(name)]


def test_families_with_names_of_algorithms_have_schedules() -> None:
    found = {
        space.family
        for space in SPACES
        if any(one.schedule for entry in space.function for one in entry.algorithms)
    }
    assert found == {"openmpi", "mpich", "mvapich2", "simgrid"}


@pytest.mark.parametrize(("function", "text"), sorted(set(WRITTEN)))
def test_every_schedule_is_in_the_table_and_says_where_it_comes_from(
    function: str, text: str
) -> None:
    name, _, numbers = text.partition(":")
    found = find(function, name)
    assert found.source and found.what
    assert re.fullmatch(r"((segment_bytes|radix|window)=[0-9]+)?", numbers)


def test_two_schedules_of_one_name_are_a_bug() -> None:
    enter = schedules.schedule("ring", "MPI_Allgather", source="again")
    with pytest.raises(ValueError, match="two schedules called ring"):
        enter(lambda shape: find("MPI_Allgather", "ring").cost(shape))


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
