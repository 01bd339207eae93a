"""What the linter knows of parameters is what the search spaces say: it never speaks against what
Plumbline itself would set."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.libraries import space_file
from plumbline.libraries.space import Space
from plumbline.libraries.space_file import load
from plumbline.system import version
from plumbline_exporters.families import Context, linted
from plumbline_exporters.finding import Assignment, LintTarget
from plumbline_exporters.lint import parameters

FOLDER = Path(__file__).parents[3] / "search-spaces"
KNOWN = space_file.known_parameters(FOLDER)
SPACES = [
    space
    for path in sorted(FOLDER.glob("*.toml"))
    for space in load(path)
    if space.family in linted()
]


def target(space: Space) -> LintTarget:
    """The newest version that the space holds: an older one may lack what it names."""
    versions = [one.minimum for one in KNOWN if one.family == space.family]
    newest = max((one for one in versions if one < version.key(space.below_version)), default=())
    named = ".".join(map(str, newest)) if newest else space.min_version
    return Context(f"{space.family}-{named}", KNOWN).target(space.family)


@pytest.mark.parametrize("space", SPACES, ids=lambda one: f"{one.family}-{one.min_version}")
def test_nothing_to_say_of_what_is_searched(space: Space) -> None:
    given: list[tuple[str, str]] = []
    for entry in space.function:
        given += [(entry.knob, one.name) for one in entry.algorithms]
        given += [(one.knob, str(value)) for one in entry.parameters for value in one.values]
        given += list((entry.needs | entry.needs_nodes).items())
    for setting in space.setting:
        given += [(setting.knob, str(value)) for value in setting.values]
        given += [(setting.knob, setting.default)] if setting.default is not None else []
    assert len(given) > 20
    known = target(space)
    for name, value in given:
        assert list(parameters.check([Assignment(1, name, value)], known)) == [], name


def test_every_family_of_the_linter_has_a_space() -> None:
    assert {one.family for one in KNOWN} == set(linted())
    for family in linted():
        assert Context("", KNOWN).target(family).known


def test_dead_parameters_are_those_of_the_version() -> None:
    """MVAPICH2's gather is dead from 2.3.6 on."""
    for release, is_dead in (("2.3.5", False), ("2.3.7", True)):
        (one,) = Context(f"mvapich2-{release}", KNOWN).target("mvapich2").known
        assert bool(one.parameters["MV2_INTER_GATHER_TUNING"].dead) is is_dead
    (one,) = Context("openmpi-4.1.4", KNOWN).target("openmpi").known
    assert one.parameters["coll_tuned_alltoall_small_msg"].dead
