"""What may be tried: everything that is safe and can be exported, once, and nothing else."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.configuration import Configuration
from plumbline.core.plan import is_form
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.settings.toolchain import Variant, VariantParameter
from plumbline_db.records import Winner
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import global_knobs
from tests.db import build
from tests.exporters.bundles import bundle
from tests.tuner.simulated import SPACE, installed_knobs, variants, variants_of, with_variants

FUNCTIONS = [entry.name for entry in SPACE.function]


def candidate_space(
    nprocs: int = 4, *, version: str = "4.1.4", unsafe: bool = False
) -> CandidateSpace:
    library = msgspec.structs.replace(build.LIBRARY, version=version)
    toolchain = with_variants(variants(), library=library, knobs=installed_knobs())
    return CandidateSpace(toolchain, nprocs, unsafe=unsafe)


def algorithms(found: list[Candidate], function: str) -> set[str]:
    knob = f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm"
    return {one.configuration[knob] for one in found if one.is_knobs}


def test_algorithms_with_the_library_s_own_parameters_then_variants() -> None:
    installed = installed_knobs()
    name = "coll_tuned_bcast_algorithm_segmentsize"
    installed[name] = msgspec.structs.replace(installed[name], value="777")
    found = CandidateSpace(with_variants(variants(), knobs=installed), 4).first("MPI_Bcast")
    assert found[-1] == Candidate(variant="bcast_as_scatter_plus_allgather")
    by_name = {one.configuration["coll_tuned_bcast_algorithm"]: one for one in found[:-1]}
    assert len(by_name) == len(found) - 1 == 9
    assert by_name["chain"].configuration.as_dict() == {
        "coll_tuned_bcast_algorithm": "chain",
        "coll_tuned_bcast_algorithm_chain_fanout": "0",
        name: "777",
    }
    assert by_name["basic_linear"].configuration.as_dict() == {
        "coll_tuned_bcast_algorithm": "basic_linear"
    }


def test_a_function_the_library_cannot_tune_has_our_variants() -> None:
    bare = msgspec.structs.replace(SPACE, function=[])
    listed = [Variant("gather_binomial", "MPI_Gather", "algorithm", [], "")]
    found = CandidateSpace(with_variants(listed, bare), 4)
    assert found.first("MPI_Gather") == [Candidate(variant="gather_binomial")]
    assert found.first("MPI_Bcast") == []
    assert found.choices("MPI_Gather", Candidate(variant="gather_binomial"), 64) == {}
    assert candidate_space().without_knobs().first("MPI_Reduce") == [
        Candidate(variant=name) for name in variants_of()["MPI_Reduce"]
    ]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("nprocs", [2, 3, 4, 8])
@pytest.mark.parametrize("version", ["4.1.4", "4.1.8"])
def test_everything_on_the_menu_can_be_exported(function: str, nprocs: int, version: str) -> None:
    """Also with every choice of parameters; nothing is defined twice, the default never."""
    offered = candidate_space(nprocs, version=version)
    library = msgspec.structs.replace(build.LIBRARY, version=version)
    found = offered.first(function)
    assert DEFAULT not in found
    assert len(set(found)) == len(found)
    whole = offered.one_for_all_sizes(function)
    for candidate in found:
        choices = offered.choices(function, candidate, 65536)
        pinned = [{knob: values[0]} for knob, values in choices.items()]
        pinned += [{knob: values[-1]} for knob, values in choices.items()]
        for values in [{}, *pinned]:
            one = offered.with_parameters(candidate, values) if candidate.is_knobs else candidate
            if not one.is_knobs:
                continue
            winner: Winner = build.winner(
                function=function,
                nprocs=nprocs,
                ppn=nprocs,
                configuration=one.configuration.as_dict(),
                restrictions=offered.restrictions(function, one),
                **({"bytes_from": 0, "bytes_to": 2**63 - 1} if whole else {}),
            )
            if is_form(function):  # variables, of the whole process
                assert global_knobs(bundle(winner)) == one.configuration.as_dict()
            else:
                assert ompi_rules.obstacle(winner, library) is None, one


def test_the_middle_of_an_algorithm_is_one_of_its_own() -> None:
    offered = candidate_space()
    for function in FUNCTIONS:
        for one in offered.first(function):
            middle = offered.centre(function, one, 65536)
            assert offered.offers(function, middle, 65536)
            assert offered.base(function, middle) in offered.first(function)
            assert offered.centre(function, middle, 65536) == middle
    chain = next(
        one for one in offered.first("MPI_Bcast") if "chain" in one.configuration.as_dict().values()
    )
    middle = offered.centre("MPI_Bcast", chain, 65536)
    assert middle != chain and offered.base("MPI_Bcast", middle) == chain
    assert not offered.offers("MPI_Bcast", Candidate("gather_binomial"), 65536)
    alien = offered.with_parameters(chain, {"coll_tuned_bcast_algorithm_segmentsize": 12345})
    assert not offered.offers("MPI_Bcast", alien, 65536)


def test_a_selector_that_is_in_force_anyway_is_not_tried() -> None:
    library = msgspec.structs.replace(build.LIBRARY, build={"selector": "chain"})
    toolchain = with_variants(variants(), library=library, knobs=installed_knobs())
    found = CandidateSpace(toolchain, 4).first("MPI_Bcast")
    assert "chain" not in algorithms(found[:-1], "MPI_Bcast")


def test_what_is_wrong_for_some_operations_needs_to_be_asked_for() -> None:
    safe, unsafe = (
        candidate_space().first("MPI_Reduce"),
        candidate_space(unsafe=True).first("MPI_Reduce"),
    )
    assert algorithms(safe, "MPI_Reduce") == {"linear", "in-order_binary", "rabenseifner"}
    assert algorithms(unsafe, "MPI_Reduce") >= {"chain", "pipeline", "binary", "binomial"}
    offered = candidate_space(unsafe=True)
    for one in unsafe:
        name = one.configuration.get("coll_tuned_reduce_algorithm")
        wrong = name in ("chain", "pipeline", "binary", "binomial")
        assert offered.restrictions("MPI_Reduce", one) == (["commutative"] if wrong else [])


@pytest.mark.parametrize(
    ("nprocs", "present"), [(2, True), (3, False), (4, True), (6, False), (8, True)]
)
def test_algorithms_for_some_numbers_of_ranks(nprocs: int, present: bool) -> None:
    found = algorithms(candidate_space(nprocs).first("MPI_Allgather"), "MPI_Allgather")
    assert ("recursive_doubling" in found) == present
    assert ("two_proc" in found) == (nprocs == 2)
    assert ("neighbor" in found) == (nprocs % 2 == 0)


def test_parameters_that_a_rules_file_cannot_hold_are_left_alone() -> None:
    """Requests need version 2 of the file; the radix of a tree has no place in any."""
    linear_sync = Candidate(
        configuration=Configuration.of({"coll_tuned_alltoall_algorithm": "linear_sync"})
    )
    requests = "coll_tuned_alltoall_algorithm_max_requests"
    assert requests not in candidate_space().choices("MPI_Alltoall", linear_sync, 65536)
    assert requests in candidate_space(version="4.1.8").choices("MPI_Alltoall", linear_sync, 65536)
    for candidate in candidate_space(version="4.1.8").first("MPI_Bcast"):
        assert not any("radix" in knob for knob, _ in candidate.configuration.values)


def test_a_parameter_that_this_library_does_not_have_is_left_out() -> None:
    installed = installed_knobs()
    del installed["coll_tuned_bcast_algorithm_chain_fanout"]
    found = CandidateSpace(with_variants([], knobs=installed), 4)
    chain = next(
        one for one in found.first("MPI_Bcast") if "chain" in one.configuration.as_dict().values()
    )
    assert "coll_tuned_bcast_algorithm_chain_fanout" not in chain.configuration.as_dict()
    assert "coll_tuned_bcast_algorithm_chain_fanout" not in found.choices("MPI_Bcast", chain, 4096)


@given(st.integers(1, 2**21))
def test_segments_are_shorter_than_the_message(size: int) -> None:
    offered = candidate_space()
    for candidate in offered.first("MPI_Bcast"):
        for knob, values in offered.choices("MPI_Bcast", candidate, size).items():
            assert len(values) > 1
            if knob.endswith("segmentsize"):
                assert all(value < size for value in values)


def test_one_choice_for_all_sizes_has_no_search_by_size() -> None:
    offered = candidate_space()
    assert offered.one_for_all_sizes("MPI_Gather") and not offered.one_for_all_sizes("MPI_Bcast")
    assert not offered.one_for_all_sizes("MPI_Reduce_local")
    found = offered.first("MPI_Gather")
    segments = {
        one.configuration["coll_tuned_gather_algorithm_segmentsize"]
        for one in found
        if "linear_sync" in one.configuration.as_dict().values()
    }
    assert segments == {"0", "1024", "8192", "32768"}
    assert all(offered.choices("MPI_Gather", one, 65536) == {} for one in found)


def test_with_parameters_keeps_the_rest() -> None:
    chain = Candidate(configuration=Configuration.of({"a": "1", "z": "2"}))
    found = candidate_space().with_parameters(chain, {"z": 3, "b": 4})
    assert found.configuration == Configuration.of({"a": "1", "b": "4", "z": "3"})


def ours(nprocs: int = 4) -> CandidateSpace:
    """One variant with two parameters, a mock-up, and a naive one."""
    segment = VariantParameter("segment_bytes", 1, 2**31 - 1, 8192, [1024, 8192, 65536], "")
    radix = VariantParameter("radix", 2, 64, 2, [4, 8], "")
    listed = [
        Variant("bcast_tree", "MPI_Bcast", "algorithm", [], "", [segment, radix]),
        Variant("bcast_as_scatter", "MPI_Bcast", "mockup", [], ""),
        Variant("bcast_naive_loop", "MPI_Bcast", "naive", [], ""),
    ]
    bare = msgspec.structs.replace(SPACE, function=[])
    return CandidateSpace(with_variants(listed, bare), nprocs)


def test_naive_variants_are_on_no_menu() -> None:
    names = [one.variant for one in ours().first("MPI_Bcast")]
    assert names == ["bcast_tree", "bcast_as_scatter"]
    assert ours().mockups("MPI_Bcast") == {"bcast_as_scatter"}


def test_values_that_make_no_difference_are_no_choice() -> None:
    """A segment as long as the message, more branches than ranks."""
    tree = Candidate("bcast_tree")
    segments = {size: ours().choices("MPI_Bcast", tree, size) for size in (1024, 1025, 10**6)}
    assert [one.get("segment_bytes") for one in segments.values()] == [
        None,
        [1024],
        [1024, 8192, 65536],
    ]
    radices = [ours(n).choices("MPI_Bcast", tree, 8).get("radix") for n in (2, 4, 8)]
    assert radices == [None, [2, 4], [2, 4, 8]]
    assert ours().choices("MPI_Bcast", Candidate("bcast_as_scatter"), 10**6) == {}


def test_a_variant_with_parameters_is_one_text() -> None:
    """What is standard is left out, so that one configuration has one name."""
    offered, tree = ours(), Candidate("bcast_tree")
    both = offered.with_parameters(tree, {"segment_bytes": 1024, "radix": 4})
    assert both == Candidate("bcast_tree:segment_bytes=1024,radix=4")
    assert offered.with_parameters(both, {"segment_bytes": 8192}) == Candidate("bcast_tree:radix=4")
    assert offered.with_parameters(both, {"segment_bytes": 8192, "radix": 2}) == tree
    assert offered.settings(both) == {
        "variant": "bcast_tree",
        "segment_bytes": "1024",
        "radix": "4",
    }
    assert offered.settings(tree)["segment_bytes"] == "8192"
