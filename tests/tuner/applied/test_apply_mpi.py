"""Applied winners decide what the installed Open MPI does, until they are rolled back; and what
each of the two files that it reads is worth."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.applied import apply, standing, targets
from plumbline.applied.targets import AppliedOutcome, Place
from plumbline.libraries import Family, Installation
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from tests.exporters import mpi
from tests.exporters.conftest import canary_program, open_mpi  # noqa: F401 - fixtures
from tests.tuner.applied.people import FOREIGN, FOUR, wish

pytestmark = pytest.mark.mpi

CALLS = [("MPI_Allreduce", 16384), ("MPI_Allreduce", 4096)]


class Here:
    """The Open MPI on PATH, with a home and a folder of settings of its own."""

    def __init__(self, home: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.program = program
        self.site = home / "etc"
        self.site.mkdir()
        for name in list(os.environ):
            if name.startswith("OMPI_MCA_"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("OPAL_SYSCONFDIR", str(self.site))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.setattr(paths.Layout, "preload", lambda *_: Path("/nowhere.so"))
        self.family: Family
        self.installation: Installation
        self.family, self.installation = libraries.find()
        if self.family.name != "openmpi":
            pytest.skip("the MPI on PATH is no Open MPI")

    def place(self, scope: targets.Scope) -> Place:
        return targets.place(scope, self.family, self.installation)

    def apply(self, place: Place) -> AppliedOutcome:
        """The rules in force are canaries then: a call that they serve is refused."""
        asked = wish(FOUR, family=self.family, installation=self.installation)
        done = standing.noted(
            apply.apply(place, asked, now=""), place, self.family, self.installation
        )
        (rules,) = (Path(file) for file in done.files if file.endswith("ompi-rules.conf"))
        rules.write_text(mpi.canary(rules.read_text()))
        return done

    def answers(self) -> list[str]:
        found = mpi.answers(self.program, CALLS, 4, mpi.environment())
        return list(found.values())


@pytest.fixture
def here(
    open_folder: Path,
    canary_program: Path,  # noqa: F811
    open_mpi: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Here:
    return Here(open_folder, canary_program, monkeypatch)


def test_for_a_user(here: Here) -> None:
    file = here.home / ".openmpi" / "mca-params.conf"
    file.parent.mkdir()
    file.write_bytes(FOREIGN)
    place = here.place("user")
    done = here.apply(place)
    assert f"ompi_info of {here.installation.library.id} reports these values" in done.notes
    assert done.not_in_force == []
    assert any("is read by every Open MPI that you start" in note for note in done.notes)
    assert here.answers() == ["refused", "ok"]
    standing.rollback("user", place.root, place.name)
    assert file.read_bytes() == FOREIGN
    assert here.answers() == ["ok", "ok"]


def test_for_a_site(here: Here) -> None:
    """And what a user's own file says is heard first: that is said, and true."""
    (here.site / "openmpi-mca-params.conf").write_bytes(FOREIGN)
    place = here.place("site")
    assert [one.path for one in place.where] == [here.site / "openmpi-mca-params.conf"]
    assert place.root == here.site / "plumbline"
    assert targets.site_root(None, None) == place.root
    here.apply(place)
    assert here.answers() == ["refused", "ok"]
    own = here.home / ".openmpi" / "mca-params.conf"
    assert own in place.overrides
    own.parent.mkdir()
    own.write_text("coll_tuned_use_dynamic_rules = 0\n")
    assert here.answers() == ["ok", "ok"]
    with pytest.raises(PlumblineError, match=f"{own}: line 1 sets coll_tuned_use_dynamic_rules"):
        here.apply(place)


def test_what_the_library_does_not_read_is_said(here: Here) -> None:
    place = here.place("user")
    elsewhere = here.home / "elsewhere.conf"
    wrong = msgspec.structs.replace(place.where[0], path=elsewhere)
    done = here.apply(msgspec.structs.replace(place, where=[wrong]))
    assert len(done.not_in_force) == 2
    assert all(one.startswith("coll_tuned_") for one in done.not_in_force)


def test_a_site_without_a_folder_of_settings(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPAL_SYSCONFDIR", str(here.home / "none"))
    with pytest.raises(PlumblineError, match="whose folder is not there"):
        here.place("site")


@pytest.mark.parametrize("listed", ["^tuned", "basic,libnbc,self"])
def test_a_list_of_components_without_tuned_is_not_active(
    here: Here, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    """The library reports our values all the same, and nothing reads them."""
    monkeypatch.setenv("OMPI_MCA_coll", listed)
    done = here.apply(here.place("user"))
    (reason,) = done.not_in_force
    assert f"coll = {listed}" in reason and "coll/tuned answers nothing" in reason
