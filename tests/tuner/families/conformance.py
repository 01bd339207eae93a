"""What every family of MPI libraries keeps. A family's test file subclasses `Conformance` with its
facts; recorded/FAMILY.py is its installation, written down."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from plumbline import libraries
from plumbline.campaign.proof import environment_of
from plumbline.libraries import EntersRanks, Family, Installation, into_ranks, space_file
from plumbline.libraries import space as spaces
from plumbline.libraries.space import Space
from plumbline.system import paths, process
from plumbline.system.placement import Placement
from plumbline_db.records import Winner
from plumbline_exporters import families, plumbline_sh
from plumbline_exporters.families import Context
from plumbline_exporters.lint import formats
from plumbline_exporters.registry import exporters
from plumbline_exporters.registry import write as export
from tests.exporters.bundles import bundle, variant
from tests.tuner.families import installations
from tests.tuner.families.installations import ROOT
from tests.tuner.families.started import (
    builds_for,
    counting_mpirun,
    ranks,
    reported,
    started,
    values,
)

SMALL = Placement(nodes=1, ppn=2)
CROWDED = Placement(nodes=1, ppn=5, oversubscribed=True)
HELD = [Placement(nodes=1, ppn=3, bind=bind, map_by="core") for bind in ("core", "socket", "none")]
STARTERS = ("mpirun", "mpiexec", "mpicc")
TOOLS = ("sh", "cat", "sed", "tr", "cc", "env")  # what recorded programs may use
OURS = {
    *("PLUMBLINE_CALLS", "PLUMBLINE_PROFILE", "PLUMBLINE_REPORT", "LD_PRELOAD"),
    *("PLUMBLINE_CONTROL", "PLUMBLINE_CONTROL_OUT"),
}


class Conformance:
    """`same` and `different` are changes (old text, new text) of the recorded files that leave the
    fingerprint as it is, and that must not. `real` are installations to try where they are there:
    names that `make setup-mpis` makes, or PATH. `complaints` are what the library wrote to standard
    error when it did not take a setting, whole; `silence` what it writes when all is well.
    `winners` are configurations that its env exporter puts into variables or files. `own` are the
    beginnings of the variables its mpirun needs here. `loud` are variables that its canaries add,
    so that the library fails where it would choose something else. `whole`: the recorded
    installation reports every knob, so that it is compared with the search space too. `site` are
    variables that a search may set, and that are left in the user's shell: a site may need them to
    send messages at all. `library_file`: what the library is called in lib/.
    `forms`: how its knobs for collectives that do not block are called (a regular expression)."""

    family: ClassVar[Family]
    same: ClassVar[Sequence[tuple[str, str]]] = ()
    different: ClassVar[Sequence[tuple[str, str]]] = ()
    real: ClassVar[Sequence[str]] = ()
    complaints: ClassVar[Sequence[str]] = ()
    silence: ClassVar[Sequence[str]] = ("",)
    winners: ClassVar[Sequence[Winner]] = ()
    own: ClassVar[tuple[str, ...]] = ()
    loud: ClassVar[Sequence[str]] = ()
    whole: ClassVar[bool] = False
    site: ClassVar[frozenset[str]] = frozenset()
    explained: ClassVar[bool] = True
    library_file: ClassVar[str] = "libmpi.so"
    forms: ClassVar[str] = r"(?!)"

    # --- for families that differ ---------------------------------------------------------------

    def in_force(self, winner: Winner, environment: Mapping[str, str]) -> bool:
        """Whether the sourced variables put the winner in force."""
        wanted = self.family.in_environment(winner.configuration)
        return all(environment.get(name) == value for name, value in wanted.items())

    def preloads(self, environment: Mapping[str, str]) -> bool:
        """Whether the sourced variables make ranks follow the profile."""
        return any("plumbline.profile" in value for value in environment.values())

    def bad_value(self) -> dict[str, str] | None:
        """Variables that the real library complains about; None where it has no way to."""
        return None

    # --- what the tests stand on ----------------------------------------------------------------

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "installed" in metafunc.fixturenames:
            metafunc.parametrize("installed", self.real or [installations.ON_PATH], indirect=True)

    @pytest.fixture
    def files(self) -> dict[str, str]:
        return installations.all_recorded()[self.family.name]

    @pytest.fixture
    def prefix(
        self, tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        """The recorded installation. Where it has a probe, that is the one in use."""
        prefix = installations.write(tmp_path / "opt", files)
        if (prefix / "libexec" / "plumbline").is_dir():
            (prefix / "share" / "plumbline").mkdir(parents=True)
            (prefix / "share" / "plumbline" / "search-spaces").symlink_to(ROOT / "search-spaces")
            monkeypatch.setenv("PLUMBLINE_PREFIX", str(prefix))
        return prefix

    @pytest.fixture
    def found(self, prefix: Path) -> Installation:
        return self.family.find(prefix)[0]

    @pytest.fixture
    def installed(self, request: pytest.FixtureRequest) -> Installation:
        return installations.real(self.family, request.param)

    def space(self, found: Installation) -> Space:
        return space_file.for_library(ROOT / "search-spaces", found.library)

    def exported(self, found: Installation, folder: Path, winners: Sequence[Winner]) -> Path:
        """plumbline.sh with these winners."""
        given = msgspec.structs.replace(
            bundle(*winners, directory=str(folder)), library=found.library
        )
        export(given, [families.of(found.library).script])
        return folder / plumbline_sh.FILE_NAME

    # --- its parts ------------------------------------------------------------------------------

    def test_it_has_a_search_space(self, found: Installation) -> None:
        assert self.space(found).function

    def test_explain_knows_how_some_of_its_algorithms_send(self, found: Installation) -> None:
        entries = self.space(found).function
        schedules = [one.schedule for entry in entries for one in entry.algorithms if one.schedule]
        assert bool(schedules) == self.explained

    def test_its_variables_reach_it(self, found: Installation) -> None:
        """By their beginnings: the linter, launches and the records of factors know them."""
        for knob, value in values(self.space(found)):
            variables = self.family.in_environment({knob: value})
            assert self.family.simulates or libraries.reaching(variables) == variables

    def test_a_format_of_its_own_writes_what_shells_source(self, found: Installation) -> None:
        script = families.of(found.library).script
        assert exporters(self.family.name)[script].family == self.family.name

    def test_the_linter_finds_what_the_library_does_not_take(self, found: Installation) -> None:
        assert (families.of(found.library).lint is None) == self.family.simulates
        if self.family.simulates:
            return
        knob = self.space(found).function[0].knob
        given = self.family.in_environment({knob: "no_such_algorithm"})
        text = "".join(f"export {name}={value}\n" for name, value in given.items())
        context = Context(found.library.id, space_file.known_parameters(ROOT / "search-spaces"))
        findings = formats.check(text, formats.choose("some.sh", text), context)
        assert any(knob in finding.reason for finding in findings), findings

    def test_a_profile_of_an_application_can_be_recorded(
        self, found: Installation, tmp_path: Path
    ) -> None:
        """The library that records enters the ranks, and mpirun is not preloaded."""
        assert isinstance(self.family, EntersRanks) != self.family.simulates
        if self.family.simulates:
            return
        ours = Path("/opt/libplumbline.so")
        added = into_ranks.environment(found, ours, {"PLUMBLINE_CALLS": "/calls"}, {}, tmp_path)
        assert "LD_PRELOAD" not in added
        assert added.keys() <= set(self.family.settings_in(added))
        assert any(str(ours) in text for text in [*added.values(), *_texts(tmp_path)])

    def test_exported_scripts_guard_against_another_version(
        self, found: Installation, prefix: Path, tmp_path: Path
    ) -> None:
        asked = families.question(found.library)
        assert (asked is None) == self.family.simulates, "who says its version to a shell?"
        if asked is None:
            return
        script = self.exported(found, tmp_path / "out", [self.winners[0]])
        words = ["sh", "-c", '. "$1" && env', "sh", str(script)]

        def sourced() -> str:
            given = {"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
            return process.run(words, timeout_seconds=20, environment=given).stdout

        wanted = environment_of(script, {"PATH": os.environ["PATH"]}).keys()
        assert wanted and all(f"{name}=" in sourced() for name in wanted)
        installations.script(prefix / "bin" / asked.tool, "echo another version")
        assert not any(f"{name}=" in sourced() for name in wanted)

    # --- finding --------------------------------------------------------------------------------

    def test_found_under_a_prefix_and_on_path(
        self, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        under = self.family.find(prefix)
        tools = tmp_path / "tools"  # and no other MPI
        tools.mkdir()
        for name in TOOLS:
            (tools / name).symlink_to(shutil.which(name) or "/bin/false")
        monkeypatch.setenv("PATH", f"{prefix / 'bin'}:{tools}")
        assert under and self.family.find(None) == under
        for one in under:
            assert one.library.family == self.family.name
            assert one.mpirun.parent == prefix / "bin"
            assert one.mpicc is not None and one.mpicc.parent == prefix / "bin"
        assert len({one.library.fingerprint for one in under}) == len(under)

    def test_a_run_time_part_alone_is_found(self, prefix: Path) -> None:
        for path in (prefix / "bin").glob("*cc*"):
            path.unlink()
        assert self.family.find(prefix)[0].mpicc is None

    def test_nothing_elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert self.family.find(tmp_path) == self.family.find(None) == []
        installations.write(tmp_path, {f"bin/{name}": "#!/bin/sh\nexit 1\n" for name in STARTERS})
        assert self.family.find(tmp_path) == self.family.find(None) == []

    def test_other_libraries_are_not_this_one(
        self, tmp_path: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor does any other family take this one for its own."""
        for name, files in installations.all_recorded().items():
            if name != self.family.name:
                theirs = installations.write(tmp_path / name, files)
                assert self.family.find(theirs) == [], f"takes {name} for its own"
        for name, other in libraries.families().items():
            if name != self.family.name:
                assert other.find(prefix) == [], f"{name} takes it for its own"

    def fingerprint(self, prefix: Path) -> str:
        return self.family.find(prefix)[0].library.fingerprint

    def test_the_fingerprint_tells_builds_apart_not_builders(
        self, prefix: Path, files: dict[str, str], found: Installation
    ) -> None:
        def changed(change: tuple[str, str]) -> str:
            return self.fingerprint(installations.write(prefix, files, change))

        assert self.different, "what makes another build of it?"
        for change in self.same:
            assert changed(change) == found.library.fingerprint, change
        for change in self.different:
            assert changed(change) != found.library.fingerprint, change

    def test_the_fingerprint_tells_builds_apart_that_say_the_same(self, prefix: Path) -> None:
        """By the bytes of the library, under whatever names it lies there."""
        library = prefix / "lib" / self.library_file
        library.parent.mkdir(exist_ok=True)
        library.write_bytes(b"one build")
        before = self.fingerprint(prefix)
        library.with_name(library.name + ".7").symlink_to(library.name)
        library.with_name(library.name + ".7.1").write_bytes(library.read_bytes())
        assert self.fingerprint(prefix) == before
        library.write_bytes(b"other bytes")
        assert self.fingerprint(prefix) != before

    def test_a_copy_in_another_place_is_another_installation(
        self, prefix: Path, found: Installation
    ) -> None:
        link = prefix.with_name("link")
        link.symlink_to(prefix.name)
        assert self.fingerprint(link) == found.library.fingerprint
        copy = prefix.with_name("copy")
        shutil.copytree(prefix, copy, symlinks=True)
        assert self.fingerprint(copy) != found.library.fingerprint

    def test_its_programs_are_found_under_the_id_that_they_are_built_for(
        self, found: Installation
    ) -> None:
        builds_for(found)

    # --- knobs and search space -----------------------------------------------------------------

    def test_knobs_have_values(self, found: Installation) -> None:
        knobs = self.family.knobs(found)
        assert all(one.name == name for name, one in knobs.items())
        if self.space(found).knobs():
            assert any(one.value for one in knobs.values())
        if self.whole:
            whole = self.family.reports_all
            assert spaces.differences(self.space(found), knobs, reports_all=whole) == []

    def test_what_the_space_says_is_set_and_recognised(self, found: Installation) -> None:
        """What we set for a launch is what a clean environment leaves out, whole."""
        for knob, value in values(self.space(found)):
            variables = self.family.in_environment({knob: value})
            assert variables, knob
            given = {"HOME": "/root", "PATH": "/bin"} | variables
            assert self.family.settings_in(given) == sorted(set(variables) - self.site), knob

    def test_what_is_ours_is_recognised_and_what_is_the_user_s_is_not(self) -> None:
        theirs = dict.fromkeys(["PATH", "HOME", "OMP_NUM_THREADS", "PLUMBLINE_DB", "TMPDIR"], "x")
        assert self.family.settings_in(theirs) == []
        assert self.family.settings_in(theirs | dict.fromkeys(OURS, "x")) == sorted(OURS)

    # --- starting -------------------------------------------------------------------------------

    def test_the_environment_has_what_is_its_own(self, found: Installation) -> None:
        environment = self.family.environment(found)
        assert environment == self.family.environment(found)
        assert all(name.startswith(self.own) for name in environment) or not environment
        tuned = {
            name
            for knob, value in values(self.space(found))
            for name in self.family.in_environment({knob: value})
        }
        # A launch that wants another value has the last word (starter.py).
        switches = set(self.space(found).hot_environment)
        assert not (tuned - switches) & environment.keys()

    @pytest.mark.parametrize("placement", [SMALL, CROWDED, CROWDED.plain(), *HELD])
    def test_as_many_ranks_as_the_placement_says(
        self, placement: Placement, found: Installation, tmp_path: Path
    ) -> None:
        counting = msgspec.structs.replace(found, mpirun=counting_mpirun(tmp_path))
        assert ranks(self.family, counting, placement) == ["a b"] * placement.nprocs

    # --- what it says ---------------------------------------------------------------------------

    def test_a_complaint_is_the_line_that_says_it(self) -> None:
        for text in self.complaints:
            line = self.family.complaint(text)
            assert line and line in [one.strip() for one in text.splitlines()], text
        for text in self.silence:
            assert self.family.complaint(text) is None, text

    # --- exported files -------------------------------------------------------------------------

    def test_a_sourced_script_puts_winners_in_force(
        self, found: Installation, tmp_path: Path
    ) -> None:
        before = {"PATH": os.environ["PATH"], "HOME": "/root"}
        for number, winner in enumerate(self.winners):
            script = self.exported(found, tmp_path / f"out-{number}", [winner])
            after = environment_of(script, before)
            assert self.in_force(winner, after), after
            self._is_recognised(before | after)
        script = self.exported(found, tmp_path / "variants", [variant("MPI_Scan", "x", 1, 9)])
        after = environment_of(script, before)
        assert self.preloads(after)
        self._is_recognised(before | after)

    def _is_recognised(self, environment: dict[str, str]) -> None:
        """Who has sourced the winners and starts another campaign measures the library."""
        left = environment.keys() - set(self.family.settings_in(environment))
        notes = {name for name in left if name.startswith("PLUMBLINE_")}
        assert left - notes <= {"PATH", "HOME"}, left

    def test_canaries_corrupt_what_is_exported_and_nothing_else(
        self, found: Installation, tmp_path: Path
    ) -> None:
        assert self.family.canaries({}, tmp_path) == []
        for number, winner in enumerate(self.winners):
            script = self.exported(found, tmp_path / f"out-{number}", [winner])
            files = {path: path.read_bytes() for path in script.parent.iterdir()}
            sourced = environment_of(script, {"PATH": os.environ["PATH"]})
            scratch = tmp_path / f"scratch-{number}"
            scratch.mkdir()
            canaries = self.family.canaries(sourced, scratch)
            assert canaries, "nothing shows whether it is in force"
            for canary in canaries:
                if canary.fails == "nothing":
                    assert canary.name in sourced
                    continue
                changed = {
                    name
                    for name in canary.environment.keys() | sourced.keys()
                    if canary.environment.get(name) != sourced.get(name)
                }
                assert changed, "a canary that changes nothing"
                ours = {*sourced, *self.loud, *self.family.settings_in(canary.environment)}
                assert changed <= ours
            assert files == {path: path.read_bytes() for path in script.parent.iterdir()}

    # --- the installed ones ---------------------------------------------------------------------

    def test_installed_it_agrees_with_its_search_space(self, installed: Installation) -> None:
        knobs = reported(self.family, installed)
        space, whole = self.space(installed), self.family.reports_all
        assert spaces.differences(space, knobs, reports_all=whole) == []
        known = {one.knob: one.default for one in space.setting if one.default is not None}
        own = {name: knobs[name].value for name in known if name in knobs}
        assert own == {name: known[name] for name in own}

    def test_installed_its_knobs_of_forms_are_searched(self, installed: Installation) -> None:
        searched = {entry.knob for entry in self.space(installed).function}
        known = [name for name in reported(self.family, installed) if re.match(self.forms, name)]
        assert set(known) <= searched, set(known) - searched
        assert known or self.forms == Conformance.forms

    def test_installed_it_is_no_other_library(self, installed: Installation) -> None:
        """What lies beside it under a prefix as common as /usr may be one of another name."""
        for one in libraries.families().values():
            for other in one.find(installed.mpirun.parent.parent):
                same = other.mpirun == installed.mpirun
                assert not same or one.name == self.family.name, one.name

    def test_installed_its_programs_are_found(self, installed: Installation) -> None:
        builds_for(installed)

    @pytest.mark.mpi
    def test_installed_it_starts_ranks(self, installed: Installation) -> None:
        if not self.family.simulates:
            assert ranks(self.family, installed, SMALL) == ["a b"] * 2

    @pytest.mark.mpi
    def test_installed_it_says_what_it_does_not_take(self, installed: Installation) -> None:
        bad = self.bad_value()
        if bad is None:
            pytest.skip(f"{self.family.name} says nothing of bad values")
        probe = ROOT / "build" / paths.build_id(installed.library) / "probe"
        if not probe.is_file():
            pytest.skip(f"no {probe}: make build MPICC={installed.mpicc}")
        done = started(self.family, installed, SMALL, [str(probe), "system"], bad)
        said = self.family.complaint(done.stderr) or self.family.complaint(done.stdout)
        assert said, done
        clean = started(self.family, installed, SMALL, [str(probe), "system"], {})
        assert clean.status == 0 and self.family.complaint(clean.stderr) is None, clean.stderr


def _texts(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.iterdir() if path.is_file()]
