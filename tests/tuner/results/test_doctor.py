"""What the doctor finds, on a machine where nothing works and on one where all does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.results import doctor
from plumbline.results.doctor import DoctorFinding, examine
from plumbline.settings import ranks, site_rules, starting
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import Others
from plumbline_db.connection import Database
from plumbline_db.probe_records import Factor, ProbeRecord
from plumbline_db.records import Run
from tests.tuner import simulated
from tests.tuner.simulated import Costs, SimulatedStarter


def found(database: Path) -> dict[str, list[DoctorFinding]]:
    grouped: dict[str, list[DoctorFinding]] = {}
    for one in examine(None, database):
        grouped.setdefault(one.subject, []).append(one)
    return grouped


@dataclass
class Machine:
    """With the simulated library; a test changes what it likes."""

    toolchain: Toolchain
    database: Path
    change: Callable[..., None]

    def found(self) -> dict[str, list[DoctorFinding]]:
        return found(self.database)


@pytest.fixture
def healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A quiet one with eight processing units."""
    toolchain = simulated.toolchain()
    starter = SimulatedStarter(Costs())
    monkeypatch.setattr(libraries, "find", lambda _: (toolchain.family, toolchain.installation))
    known = [libraries.RulesKnown("rules are as known", True)]
    monkeypatch.setattr(toolchain.family, "rules", lambda _: iter(known), raising=False)
    monkeypatch.setattr(doctor, "find_toolchain", lambda *_, **__: toolchain)
    monkeypatch.setattr(starting, "starter", lambda *_: starter)
    monkeypatch.setattr(doctor, "processing_units", lambda: 8)
    monkeypatch.setattr(ranks, "processing_units", lambda: 8)
    monkeypatch.setattr(doctor.machine, "look", lambda: Others(0.1))
    for name in simulated.OpenMpi().settings_in(dict(doctor.os.environ)):
        monkeypatch.delenv(name)
    return Machine(toolchain, tmp_path / "state" / "plumbline.db", monkeypatch.setattr)


def test_a_healthy_machine(healthy: Machine, tmp_path: Path) -> None:
    of = healthy.found()
    bad = [one for those in of.values() for one in those if one.state in ("fails", "warns")]
    assert bad == []
    subjects = ["library", "probe", "rules", "search space", "launch", "factors", "libraries"]
    assert list(of) == [
        *subjects,
        "machine",
        "database",
        "tools",
        "extras",
        "simulator",
        "schedulers",
    ]
    assert f"{len(healthy.toolchain.catalogue.variants)} variants" in of["probe"][0].text
    assert len(of["launch"]) == 2
    assert "switches knobs" in of["launch"][1].text
    assert "MVAPICH2 was run by Plumbline as 2.3.7" in of["libraries"][1].text
    assert "will be made" in of["database"][0].text
    assert not (tmp_path / "state").exists()


def test_rules_of_a_site_are_said(healthy: Machine) -> None:
    """With them no knob can be switched inside a launch, and a campaign does not want to."""
    site = site_rules.ActiveSiteRules(Path("/etc/rules.conf"), "", "file (/etc/mca.conf:4)")
    healthy.change(site_rules, "find", lambda *_: site)
    launch = healthy.found()["launch"]
    assert launch[1].state == "notes"
    assert "/etc/rules.conf, by file (/etc/mca.conf:4), is in force" in launch[1].text


def test_poor_factors_are_warned_of_and_missing_ones_said(healthy: Machine) -> None:
    reason = "the kernel sets no frequencies here"
    poor = [
        Factor("governor", ["powersave"]),
        Factor("turbo", [], f"/sys/a: No such file or directory; {reason}"),
        Factor("frequency_limits", [], f"/sys/b: No such file or directory; {reason}"),
    ]

    class Poor(SimulatedStarter):
        def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
            header, *rest = records
            return run, [msgspec.structs.replace(header, factors=poor), *rest]  # type: ignore[type-var]

    healthy.change(starting, "starter", lambda *_: Poor(Costs()))
    warned, noted, fine = healthy.found()["factors"]
    assert warned.state == "warns" and "cpupower frequency-set" in warned.text
    assert noted.state == "notes"
    assert noted.text == f"not known: turbo, frequency_limits: {reason}"
    assert fine.text == "1 of 3 are recorded here"


def test_a_debug_build_is_warned_of(healthy: Machine) -> None:
    build = {"compiler": "GNU 12.2.0", "debug": "yes"}
    library = msgspec.structs.replace(healthy.toolchain.installation.library, build=build)
    debug = msgspec.structs.replace(healthy.toolchain.installation, library=library)
    healthy.change(libraries, "find", lambda _: (healthy.toolchain.family, debug))
    _, said, warned = healthy.found()["library"]
    assert said.text == "built with GNU 12.2.0, debugging yes"
    assert warned.state == "warns" and "debugging" in warned.text


def test_nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check is still made, and says its own."""
    monkeypatch.setenv("PATH", str(tmp_path))
    of = found(tmp_path / "plumbline.db")
    for subject in ("library", "probe", "search space", "launch", "environment"):
        (one,) = of[subject]
        assert one.state == "fails"
        assert "no supported MPI library found on PATH" in one.text
    assert of["database"][0].state == "fine"
    assert of["machine"]
    assert [one.state for one in of["tools"]] == ["notes"]
    (one,) = of["simulator"]
    assert one.state == "notes" and "Debian: libsimgrid-dev" in one.text


def test_a_space_that_does_not_agree(healthy: Machine) -> None:
    knobs = {
        name: knob
        for name, knob in healthy.toolchain.knobs.items()
        if name != "coll_tuned_priority"
    }
    other = msgspec.structs.replace(healthy.toolchain, knobs=knobs)
    healthy.change(doctor, "find_toolchain", lambda *_, **__: other)
    (one,) = healthy.found()["search space"]
    assert one.state == "warns"
    assert one.text.startswith("coll_tuned_priority ")


@pytest.mark.parametrize(
    ("starter", "text"),
    [
        (SimulatedStarter(Costs(), crashes=lambda *_: True), "exit status 139.*Segmentation"),
        (SimulatedStarter(Costs(), corrupt=lambda _: "not_in_force"), "not_in_force"),
    ],
)
def test_a_launch_that_fails(healthy: Machine, starter: SimulatedStarter, text: str) -> None:
    healthy.change(starting, "starter", lambda *_: starter)
    launches = healthy.found()["launch"]
    assert [one.state for one in launches] == ["fails", "fails"]
    assert re.search(text, launches[0].text)


def test_a_crowded_and_busy_machine(healthy: Machine) -> None:
    healthy.change(doctor, "processing_units", lambda: 1)
    healthy.change(ranks, "processing_units", lambda: 1)
    loop = Others(1.9, [("sh (process 12, user anna)", 1.9)])
    healthy.change(doctor.machine, "look", lambda: loop)
    texts = [one.text for one in healthy.found()["machine"] if one.state == "warns"]
    assert any("1 processing unit for 2 ranks by default: oversubscribed" in one for one in texts)
    assert any("1.9 processors" in one and "sh (process 12, user anna)" in one for one in texts)


def test_settings_that_applications_see_and_campaigns_do_not(
    healthy: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_coll_tuned_priority", "5")
    (one,) = healthy.found()["environment"]
    assert one.state == "warns"
    assert "OMPI_MCA_coll_tuned_priority is set" in one.text


def test_the_database(healthy: Machine, tmp_path: Path) -> None:
    path = tmp_path / "plumbline.db"
    Database.open(path, write=True).close()
    (one,) = found(path)["database"]
    assert one.state == "fine" and str(path) in one.text
    path.write_text("something else")
    (one,) = found(path)["database"]
    assert one.state == "fails" and "is damaged" in one.text  # it was ours


def test_a_folder_that_may_not_be_written(healthy: Machine, tmp_path: Path) -> None:
    healthy.change(doctor.os, "access", lambda *_: False)
    (one,) = healthy.found()["database"]
    assert one.state == "fails"
    assert f"{tmp_path} is not writable: name another file with --db" in one.text


def test_rules_files_that_the_shell_names_are_linted(
    healthy: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rules.conf"
    monkeypatch.setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", str(path))
    path.write_text("1\n7\n2\n0\n1\n0 0 0 0\n4\n1\n0 6 0 0\n")
    (wrong,) = [one for one in healthy.found()["rules"] if str(path) in one.text]
    assert wrong.state == "warns" and "1 finding; plumbline lint --library" in wrong.text
    path.write_text("1\n7\n3\n0\n1\n0 0 0 0\n4\n1\n0 6 0 0\n5\n1\n0 0 0 0\n")
    (right,) = [one for one in healthy.found()["rules"] if str(path) in one.text]
    assert right.state == "fine" and right.text.endswith("0 findings")
