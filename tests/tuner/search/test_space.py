"""The search spaces: against the installed libraries, and every mistake by its name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.libraries import Knob
from plumbline.search import space
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters.ompi_tuned import COLLECTIVES, prefix
from tests.db import build
from tests.tuner.families.installations import prefix_of
from tests.tuner.simulated import ROOT, SPACE, installed_knobs

FOLDER = ROOT / "search-spaces"
SPACES = {version: space.load(FOLDER / f"openmpi-{version}.toml") for version in ("4.1", "5.0")}


def agrees(prefix_: Path | None) -> None:
    family, installation = libraries.find(prefix_)
    chosen = space.for_library(FOLDER, installation.library)
    reported = family.knobs(installation)
    assert space.differences(chosen, reported) == []
    own = {name for name in reported if chosen.ours(name)}
    assert own <= set(chosen.knobs())
    for setting in chosen.setting:
        assert setting.default is None or setting.default == reported[setting.knob].value


def test_the_installed_library_has_exactly_what_its_space_says() -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun on PATH")
    agrees(None)


@pytest.mark.parametrize("name", ["openmpi-4.1", "openmpi-5.0"])
def test_so_have_others(name: str) -> None:
    agrees(prefix_of(name))


@pytest.mark.parametrize("version", SPACES)
def test_space_and_exporter_know_the_same_algorithms(version: str) -> None:
    """What can be raced can be written into a rules file under the same number, and what must not
    be exported is not raced."""
    library = msgspec.structs.replace(build.LIBRARY, version=f"{version}.0")
    for entry in SPACES[version].function:
        collective = COLLECTIVES[entry.name]
        assert entry.knob == prefix(entry.name)
        for one in entry.algorithms:
            assert collective.id_of(one.name, library) == one.id
            assert one.commutative_only == (one.name in collective.commutative_only)
        assert (entry.sizes == "one") == collective.one_for_all_sizes
    assert {entry.name for entry in SPACES[version].function} == set(COLLECTIVES)


@pytest.mark.parametrize("version", SPACES)
def test_parameters_are_in_order_and_none_is_twice(version: str) -> None:
    for entry in SPACES[version].function:
        for parameter in entry.parameters:
            assert parameter.values == sorted(set(parameter.values))
            assert len(parameter.values) > 1
            assert parameter.knob.startswith(entry.knob)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.1.0", "4.1"), ("4.1.8", "4.1"), ("5.0.0rc2", "5.0"), ("5.0.11", "5.0"), ("5.1.0", "5.0")],
)
def test_the_space_of_a_library(version: str, expected: str) -> None:
    library = msgspec.structs.replace(build.LIBRARY, id=f"openmpi-{version}", version=version)
    assert space.for_library(FOLDER, library) == SPACES[expected]


@pytest.mark.parametrize(
    ("family", "version"), [("openmpi", "4.0.7"), ("openmpi", "6.0.0"), ("mpich", "3.4.3")]
)
def test_a_library_without_a_space_is_named_with_the_remedy(family: str, version: str) -> None:
    library = msgspec.structs.replace(
        build.LIBRARY, id=f"{family}-{version}", family=family, version=version
    )
    with pytest.raises(PlumblineError, match=rf"fits {family}-{version}; copy the nearest one"):
        space.for_library(FOLDER, library)


def test_spaces_that_overlap_are_named(tmp_path: Path) -> None:
    text = (FOLDER / "openmpi-4.1.toml").read_text()
    (tmp_path / "one.toml").write_text(text)
    (tmp_path / "two.toml").write_text(text.replace('"4.1.0"', '"4.1.3"'))
    with pytest.raises(UsageError, match=r"one\.toml and two\.toml both hold openmpi-4\.1\.4"):
        space.for_library(tmp_path, build.LIBRARY)


# --- differences --------------------------------------------------------------------------------


def without(knobs: dict[str, Knob]) -> None:
    del knobs["coll_tuned_bcast_algorithm_segmentsize"]


def beyond(knobs: dict[str, Knob]) -> None:
    knobs["coll_tuned_sparkle"] = Knob("coll_tuned_sparkle", "1", "int", True, {})


def renamed(knobs: dict[str, Knob]) -> None:
    one = knobs["coll_tuned_gather_algorithm"]
    choices = {"ignore": 0, "basic_linear": 1, "binomial": 3, "quick": 4}
    knobs[one.name] = msgspec.structs.replace(one, choices=choices)


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        (
            without,
            [
                "coll_tuned_bcast_algorithm_segmentsize (MPI_Bcast) stands in the search space "
                "but the library does not report it"
            ],
        ),
        (
            beyond,
            [
                "coll_tuned_sparkle is reported by the library but stands nowhere in the search "
                "space"
            ],
        ),
        (
            renamed,
            [
                "coll_tuned_gather_algorithm: algorithm binomial is 2 in the search space and 3 in "
                "the library",
                "coll_tuned_gather_algorithm: algorithm linear_sync is 3 in the search space and "
                "missing in the library",
                "coll_tuned_gather_algorithm: algorithm quick is missing in the search space and 4 "
                "in the library",
            ],
        ),
    ],
)
def test_differences_are_sentences(
    change: Callable[[dict[str, Knob]], None], sentences: list[str]
) -> None:
    installed = installed_knobs()
    assert space.differences(SPACE, installed) == []
    installed["btl_base_include"] = Knob("btl_base_include", "", "string", True, {})
    assert space.differences(SPACE, installed) == []
    change(installed)
    assert space.differences(SPACE, installed) == sentences


# --- mistakes -----------------------------------------------------------------------------------

GOOD = """
family = "openmpi"
min_version = "4.1.0"
below_version = "5.0.0"
prefixes = ["coll_tuned_"]
[hot]
switch = "communicator"
environment = { A = "1" }
[[function]]
name = "MPI_Bcast"
knob = "coll_tuned_bcast_algorithm"
sizes = "each"
summary = "s"
algorithms = [{ id = 1, name = "chain", summary = "s" }, { id = 2, name = "tree", summary = "s" }]
[[function.parameters]]
knob = "coll_tuned_bcast_algorithm_segmentsize"
algorithms = ["chain"]
values = [0, 1024]
unit = "bytes"
scope = "each"
each_since = "4.1.8"
summary = "s"
[[ignored]]
reason = "r"
knobs = ["coll_tuned_priority"]
"""


def test_the_good_one_is_good(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(GOOD)
    found = space.load(path)
    assert found.of("MPI_Bcast") is not None and found.of("MPI_Reduce") is None
    assert found.knobs() == {
        "coll_tuned_bcast_algorithm": "MPI_Bcast",
        "coll_tuned_bcast_algorithm_segmentsize": "MPI_Bcast",
        "coll_tuned_priority": "r",
    }


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ('family = "openmpi"\n', "", "missing required field `family`"),
        ("[hot]", "[hut]", "unknown field `hut`|missing required field `hot`"),
        ('unit = "bytes"', 'unit = "bytes"\ncolour = "red"', "unknown field `colour`"),
        ("id = 1", 'id = "one"', r"Expected `int`, got `str` - at `\$\.function\[0\]\.algorithms"),
        ('sizes = "each"', 'sizes = "some"', "Invalid enum value 'some'"),
        ('scope = "each"', 'scope = "some"', "Invalid enum value 'some'"),
        (
            '= ["chain"]',
            '= ["chain", "ring", "star"]',
            "_segmentsize names algorithms that MPI_Bcast does not have: ring, star",
        ),
        ('name = "tree"', 'name = "chain"', "MPI_Bcast lists an algorithm twice"),
        (
            '"coll_tuned_priority"',
            '"coll_tuned_bcast_algorithm"',
            "coll_tuned_bcast_algorithm stands there twice",
        ),
        (
            '"coll_tuned_priority"',
            '"coll_tuned_priority", "coll_tuned_priority"',
            "coll_tuned_priority stands there twice",
        ),
        (
            "[[ignored]]",
            '[[function]]\nname = "MPI_Bcast"\nknob = "k"\nsizes = "one"\nsummary = "s"\n'
            "algorithms = []\n[[ignored]]",
            "MPI_Bcast stands there twice",
        ),
        ('"4.1.0"', '"four"', "not a version number: 'four'"),
        ('"4.1.8"', '"v4"', "not a version number: 'v4'"),
        ("[hot]", "[hot", "Expected ']'"),
    ],
)
def test_a_mistake_is_named_with_the_file(
    tmp_path: Path, good: str, bad: str, message: str
) -> None:
    assert GOOD.count(good) == 1
    path = tmp_path / "space.toml"
    path.write_text(GOOD.replace(good, bad))
    with pytest.raises(UsageError, match=message) as error:
        space.load(path)
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"cannot read search space .*none\.toml: No such"):
        space.load(tmp_path / "none.toml")


def test_where_an_algorithm_fits() -> None:
    def fits(**limits: object) -> list[int]:
        one = space.Algorithm(id=1, name="a", summary="", **limits)  # type: ignore[arg-type]
        return [nprocs for nprocs in range(1, 10) if one.fits(nprocs)]

    assert fits() == list(range(1, 10))
    assert fits(power_of_two=True) == [1, 2, 4, 8]
    assert fits(even_processes=True) == [2, 4, 6, 8]
    assert fits(min_processes=2, max_processes=2) == [2]


def test_what_is_left_out_fits_nowhere_and_needs_go_with_a_value() -> None:
    library = msgspec.structs.replace(
        build.LIBRARY, id="mpich-5.0.2", family="mpich", version="5.0.2"
    )
    found = space.for_library(FOLDER, library)
    assert found.switch == "call"
    allreduce = found.of("MPI_Allreduce")
    assert allreduce is not None
    for one in allreduce.algorithms:
        assert one.fits(2) == (one.name not in ("smp", "ccl"))
    knob, device = allreduce.knob, "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE"
    assert found.with_needs(knob, "ring") == {knob: "ring", device: "0"}
    before = msgspec.structs.replace(library, version="4.3.2")
    older = space.for_library(FOLDER, before).of("MPI_Allreduce")
    assert older is not None and "ccl" not in [one.name for one in older.algorithms]
