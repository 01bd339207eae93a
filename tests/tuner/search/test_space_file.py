"""The search spaces: against the installed libraries, by version, and every mistake by its name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.core.plan import blocking
from plumbline.libraries.space_file import for_library, load
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES, parameter_prefix
from tests.db import build
from tests.tuner.simulated import ROOT

FOLDER = ROOT / "search-spaces"
SPACES = {space.min_version: space for space in load(FOLDER / "openmpi.toml")}


@pytest.mark.parametrize("version", ["4.1.0", "4.1.4", "5.0.0", "5.0.11"])
def test_what_is_raced_can_be_written_into_a_rules_file(version: str) -> None:
    """Under the number that the version has for it, and by sizes only where a rule has sizes."""
    library = msgspec.structs.replace(build.LIBRARY, version=version)
    functions = [entry for entry in for_library(FOLDER, library).function if not entry.cold]
    for entry in functions:
        collective = COLLECTIVES[entry.name]
        assert entry.knob == parameter_prefix(entry.name)
        assert [collective.id_of(one.name, library) for one in entry.algorithms] == [
            one.id for one in entry.algorithms
        ]
        assert (entry.sizes == "one") == collective.one_for_all_sizes
    assert {entry.name for entry in functions} == set(COLLECTIVES)


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
def test_a_knob_of_forms_stands_once_and_is_read_in_three_places(version: str) -> None:
    """The non-blocking form, the persistent one, and a setting of what goes on beside work."""
    space = for_library(FOLDER, msgspec.structs.replace(build.LIBRARY, version=version))
    cold = {entry.name: entry for entry in space.function if entry.cold}
    assert len(cold) == 12
    for name, entry in cold.items():
        assert entry.sizes == "one" and not space.is_hot(entry.knob)
        setting = space.setting_of(entry.knob)
        assert setting is not None and setting.overlap == "collectives"
        assert setting.default == setting.values[0] == "ignore"
        assert set(setting.values[1:]) == {one.name for one in entry.algorithms if not one.left_out}
        assert blocking(name) in {"MPI_" + entry.knob.split("_i")[-1].split("_")[0].capitalize()}
    knomial = space.setting_of("coll_libnbc_ibcast_knomial_radix")
    assert knomial is not None and knomial.when == {"coll_libnbc_ibcast_algorithm": "knomial"}
    assert cold["MPI_Allreduce_init"].algorithm("ring").left_out


@pytest.mark.parametrize("version", SPACES)
def test_parameters_are_in_order_and_none_is_twice(version: str) -> None:
    for entry in SPACES[version].function:
        for parameter in entry.parameters:
            assert parameter.values == sorted(set(parameter.values))
            assert len(parameter.values) > 1
            assert parameter.knob.startswith(entry.knob.removesuffix("_algorithm"))


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.1.0", "4.1"), ("4.1.8", "4.1"), ("5.0.0rc2", "5.0"), ("5.0.11", "5.0"), ("5.1.0", "5.0")],
)
def test_the_space_of_a_library(version: str, expected: str) -> None:
    assert list(SPACES) == ["4.1", "5.0"]
    library = msgspec.structs.replace(build.LIBRARY, id=f"openmpi-{version}", version=version)
    assert for_library(FOLDER, library) == SPACES[expected]


@pytest.mark.parametrize(
    ("family", "version"),
    [("openmpi", "4.0.7"), ("openmpi", "6.0.0"), ("mpich", "3.4.3"), ("other", "1")],
)
def test_a_library_without_a_space_is_named_with_the_remedy(family: str, version: str) -> None:
    library = msgspec.structs.replace(
        build.LIBRARY, id=f"{family}-{version}", family=family, version=version
    )
    with pytest.raises(PlumblineError, match=rf"fits {family}-{version}; set .* of {family}.toml"):
        for_library(FOLDER, library)


# --- by version -----------------------------------------------------------------------------------

GOOD = """
min_version = "4.1.0"
below_version = "6"
prefixes = ["coll_tuned_", { value = "smsc_", min_version = "5.0" }]
[hot]
switch = "communicator"
environment = { A = "1" }
[[function]]
name = "MPI_Bcast"
knob = "coll_tuned_bcast_algorithm"
sizes = "each"
summary = "s"
algorithms = [
    { id = 1, name = "chain", summary = "s" },
    { id = 2, name = "tree", below_version = "5.0", summary = "s" },
    { id = 2, name = "forest", min_version = "5.0", summary = "s", since."5.1".id = 3 },
]
[[function.parameters]]
knob = "coll_tuned_bcast_algorithm_segmentsize"
algorithms = ["chain"]
values = [0, 1024]
unit = "bytes"
scope = "each"
each_since = "4.1.8"
since."5.0" = { each_since = "5.0.7", knob = "coll_tuned_bcast_algorithm_piece" }
summary = "s"
[[ignored]]
reason = "r"
knobs = ["coll_tuned_priority"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "space.toml"
    path.write_text(GOOD)
    return path


def test_each_range_of_versions_has_its_own(path: Path) -> None:
    old, new, newest = load(path)
    held = [(one.family, one.min_version, one.below_version) for one in (old, new, newest)]
    assert held == [("space", "4.1.0", "5.0"), ("space", "5.0", "5.1"), ("space", "5.1", "6")]
    assert old.of("MPI_Bcast") is not None and old.of("MPI_Reduce") is None
    assert old.knobs() == {
        "coll_tuned_bcast_algorithm": "MPI_Bcast",
        "coll_tuned_bcast_algorithm_segmentsize": "MPI_Bcast",
        "coll_tuned_priority": "r",
    }
    assert new.knobs().keys() - old.knobs().keys() == {"coll_tuned_bcast_algorithm_piece"}
    assert (old.prefixes, new.prefixes) == (["coll_tuned_"], ["coll_tuned_", "smsc_"])
    algorithms = [[(one.name, one.id) for one in x.function[0].algorithms] for x in load(path)]
    assert algorithms == [
        [("chain", 1), ("tree", 2)], [("chain", 1), ("forest", 2)], [("chain", 1), ("forest", 3)],
    ]  # fmt: skip
    assert [one.function[0].parameters[0].each_since for one in (old, new)] == ["4.1.8", "5.0.7"]


EACH = """
[[setting]]
each = ["MPI_Bcast", "MPI_Reduce"]
knob = "han_{name}_module"
unit = "switch"
when = { "HAN_{NAME}" = "1" }
summary = "who answers {function}"
[[ignored]]
each = ["MPI_Scan", "MPI_Exscan"]
knobs = ["{name}_a", "{NAME}_b"]
reason = "r"
"""


def test_a_setting_that_stands_for_each_of_some_functions(path: Path) -> None:
    path.write_text(GOOD + EACH)
    bcast, reduce = load(path)[0].setting
    assert (bcast.knob, bcast.functions) == ("han_bcast_module", ["MPI_Bcast"])
    assert (bcast.when, bcast.summary) == ({"HAN_BCAST": "1"}, "who answers MPI_Bcast")
    assert (bcast.values, bcast.least, bcast.most) == ([0, 1], 0, 1)
    assert (reduce.knob, reduce.when) == ("han_reduce_module", {"HAN_REDUCE": "1"})
    assert load(path)[0].ignored[-1].knobs == ["scan_a", "SCAN_b", "exscan_a", "EXSCAN_b"]


ALIKE = """
[alike.short]
unit = "bytes"
values = [64, 128]
[[setting]]
functions = ["MPI_Bcast"]
rows = [
    { knob = "eager", alike = "short", summary = "s" },
    { knob = "fragment", alike = "short", values = [1024], min_version = "5.1", summary = "s" },
]
[[function]]
knob = "ADJUST_{NAME}"
sizes = "one"
rows = [
    { name = "MPI_Scan", presets = 2, summary = "{function}" },
    { name = "MPI_Barrier", presets = 1, summary = "s", parameters = [
        { knob = "{name}_k", scope = "each", algorithms = ["1"], alike = "short", summary = "s" },
    ] },
]
"""


def test_what_stands_once_for_many(path: Path) -> None:
    path.write_text(GOOD + ALIKE)
    old, _, newest = load(path)
    assert [setting.knob for setting in old.setting] == ["eager"]
    eager, fragment = newest.setting
    assert (eager.unit, eager.values, eager.functions) == ("bytes", [64, 128], ["MPI_Bcast"])
    assert (fragment.unit, fragment.values, fragment.functions) == ("bytes", [1024], ["MPI_Bcast"])
    _, scan, barrier = newest.function
    assert (scan.knob, scan.sizes, scan.summary) == ("ADJUST_SCAN", "one", "MPI_Scan")
    presets = [(preset.id, preset.name, preset.summary) for preset in scan.algorithms]
    assert presets == [(1, "1", "preset 1 of 2"), (2, "2", "preset 2 of 2")]
    assert barrier.parameters[0].knob == "barrier_k"
    assert barrier.parameters[0].values == [64, 128]


LIKE = """
min_version = "1"
below_version = "2"
like = "space-5.0.3"
prefixes = ["own_"]
[[function]]
name = "MPI_Bcast"
algorithms = [{ name = "osu", summary = "s" }]
[[ignored]]
reason = "r"
min_version = "1.5"
knobs = ["own_knob"]
"""


def test_a_file_that_adds_to_another_one(path: Path) -> None:
    other = path.with_name("other.toml")
    other.write_text(LIKE)
    old, new = load(other)
    assert (old.hot, old.setting, len(old.ignored), len(new.ignored)) == (None, [], 0, 1)
    (bcast,) = old.function
    assert (bcast.sizes, bcast.parameters[0].scope) == ("one", "process")
    assert [(one.name, one.id) for one in bcast.algorithms] == [
        ("chain", 0), ("forest", 0), ("osu", 0),
    ]  # fmt: skip
    assert old.prefixes == ["own_", bcast.knob, bcast.parameters[0].knob]


# --- mistakes -----------------------------------------------------------------------------------


MISTAKES = {
    GOOD: [
        ('min_version = "4.1.0"\n', "", "min_version and below_version are missing"),
        ('"4.1.0"', "4.1", "not a version number: 4.1"),
        ('below_version = "6"', 'below_version = "6"\nfamily = "x"', "the file is the family"),
        ('"6"', '"3.0"', "a table is for versions that do not exist"),
        ('below_version = "5.0"', 'below_version = "4.1"', r"versions that do not exist: .*tree"),
        ('"5.1".id', '"6.0".id', r"a table is for versions that do not exist: .*forest"),
        ('"5.1".id = 3', '"5.1".size = 3', "unknown key `size`"),
        ('since."5.1".id = 3', "since.id = 3", "since is not a table of tables"),
        ('{ value = "smsc_", ', '{ word = "smsc_", ', "Expected `str`, got `object`"),
        ('name = "forest", min_version = "5.0"', 'name = "tree"', "lists an algorithm twice: tree"),
        ("[hot]", "[hut]", "unknown key `hut`|key `hot` is missing"),
        ('unit = "bytes"', 'unit = "bytes"\ncolour = "red"', "unknown key `colour`"),
        ("id = 1", 'id = "one"', r"function\[0\]\.algorithms\[0\]\.id: Expected `int`, got"),
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
            "coll_tuned_bcast_algorithm is defined twice",
        ),
        (
            '"coll_tuned_priority"',
            '"coll_tuned_priority", "coll_tuned_priority"',
            "coll_tuned_priority is defined twice",
        ),
        (
            "[[ignored]]",
            '[[function]]\nname = "MPI_Bcast"\nknob = "k"\nsizes = "one"\nsummary = "s"\n'
            "algorithms = []\n[[ignored]]",
            "MPI_Bcast is defined twice",
        ),
        ('"4.1.0"', '"four"', "not a version number: 'four'"),
        ('"4.1.8"', '"v4"', "not a version number: 'v4'"),
        ("[hot]", "[hot", "Expected ']'"),
    ],
    EACH: [
        ("han_{name}_module", "han_module", "each wants a {name} in the knob"),
        ("knob =", 'functions = ["MPI_Bcast"]\nknob =', "each wants .* and no functions"),
        ('["MPI_Bcast", "MPI_Reduce"]', "[1]", "Expected `str`, got `int`"),
        ('"MPI_Bcast", ', '"MPI_Reduce", ', "han_reduce_module is defined twice"),
        ('["{name}_a", "{NAME}_b"]', '["a"]', "each wants a {name} in the knob"),
    ],
    ALIKE: [
        ("[alike.short]", "[alike.long]", r"the table \[alike\.short\] is missing"),
        ("[alike.short]", "[[alike]]", "Expected `object`, got `array`"),
        ("presets = 2", "presets = 0", "Expected `int` >= 1"),
        (
            "values = [1024]",
            "values = [1024], usual = [8]",
            "a usual value is not one of its values",
        ),
        ("presets = 2", 'presets = "2"', "Expected `int`, got `str`"),
        ("presets = 2, ", "", "key `algorithms` is missing"),
        ('"eager", alike = "short"', '"eager"', "key `unit` is missing"),
        ('"fragment"', '"eager"', "eager is defined twice"),
        ('{ knob = "eager", alike = "short", summary = "s" }', "1", "Expected `object`, got `int`"),
    ],
    LIKE: [
        ('"space-5.0.3"', '"space"', "like does not name FAMILY-VERSION of another file: 'space'"),
        ('"space-5.0.3"', '"../space-5"', "like does not name FAMILY-VERSION of another file"),
        ('"space-5.0.3"', '"other-5.0.3"', "like does not name FAMILY-VERSION of another file"),
        ('"space-5.0.3"', '"none-5.0.3"', r"cannot read search space .*none\.toml"),
        ('"space-5.0.3"', '"space-6.1"', r"space\.toml does not contain 6\.1"),
        ('"space-5.0.3"', "5", "Expected `str`, got `int`"),
        ("MPI_Bcast", "MPI_Reduce", r"space-5\.0\.3 has no MPI_Reduce"),
        ('name = "MPI_Bcast"', 'name = "MPI_Bcast"\nneeds = {}', "unknown key `needs`"),
        ('name = "osu"', 'name = "chain"', "MPI_Bcast lists an algorithm twice: chain"),
    ],
}


@pytest.mark.parametrize(
    ("text", "good", "bad", "message"),
    [(text, *row) for text, rows in MISTAKES.items() for row in rows],
)
def test_a_mistake_is_named_with_the_file(
    path: Path, text: str, good: str, bad: str, message: str
) -> None:
    """What stands in a file of its own is read beside the good one."""
    assert text.count(good) == 1
    path = path.with_name("other.toml") if text == LIKE else path
    path.write_text(("" if text in (GOOD, LIKE) else GOOD) + text.replace(good, bad))
    with pytest.raises(UsageError, match=message) as error:
        load(path)
    assert str(path.parent) in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"cannot read search space .*none\.toml: No such"):
        load(tmp_path / "none.toml")
