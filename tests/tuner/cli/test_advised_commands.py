"""The commands in which a campaign ends work on the machine that prints them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from plumbline.libraries import Knob, gate
from plumbline.libraries.openmpi import OpenMpi
from plumbline_db import findings
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, Winner
from tests.db import build
from tests.exporters.bundles import everywhere, tuned, variant
from tests.tuner.cli.command import plumbline

OF_DEBIAN = "mtl = ^ofi\npml = ^ucx\n"
PROCESS = everywhere(EVERY_FUNCTION, btl_vader_eager_limit="32768", pml="ob1")
RULE = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
VARIANT = variant("MPI_Bcast", "bcast_binomial", 1, 64)
SITE = "apply --site --campaign"
MODULES = "apply --modules modules --campaign"


@pytest.fixture
def site(home: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the parameter file of a site, as Debian leaves it; modulefiles would get into a folder
    that is closed to others."""
    file = open_folder / "openmpi-mca-params.conf"
    file.write_text(OF_DEBIAN)
    listed = f"{home}/.openmpi/mca-params.conf,{file}"
    files = Knob("mca_base_param_files", listed, "string", False, {})
    for asked in ("knobs", "reported_in"):
        monkeypatch.setattr(OpenMpi, asked, lambda *_: {files.name: files})
    home.chmod(0o700)
    monkeypatch.chdir(home)
    return file


def advised(database: Path, *won: Winner) -> list[str]:
    """Return what follows `for …:  ` after a campaign with these winners."""
    with Database.open(database, write=True) as db:
        findings.put_winners(db, build.done(db).id, list(won))
    said = plumbline("results", "--db", database).out.splitlines()
    return [line.partition(":  ")[2] for line in said if line.startswith("for a ")]


@pytest.mark.parametrize(
    ("won", "way"),
    [([PROCESS], MODULES), ([PROCESS, VARIANT], MODULES), ([VARIANT], MODULES), ([RULE], SITE)],
    ids=["Debian's line is against it", "some are variants", "all are variants", "nothing is"],
)
def test_the_command_for_a_site_works_when_it_is_typed(
    site: Path, tmp_path: Path, won: list[Winner], way: str
) -> None:
    database = tmp_path / "plumbline.db"
    user, command = advised(database, *won)
    assert user.startswith("plumbline run -- mpirun ") and way in command
    done = plumbline(*shlex.split(command)[1:], "--db", database)
    assert done.status == 0 and "would be applied: c-20250301-a" in done.err, done.err
    own = "so they cannot load this module"
    assert (own in done.err) == (way == MODULES)
    assert site.read_text() == OF_DEBIAN and list(site.parent.iterdir()) == [site]
    assert not (Path.cwd() / "modules").exists()


def test_a_line_of_others_is_named_and_what_leaves_it_alone(site: Path, tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    advised(database, PROCESS)
    done = plumbline("apply", "--site", "--db", database)
    assert done.status == 1 and f"{site}: line 2 sets pml = ^ucx, wanted is ob1" in done.err
    assert "use --modules DIR, which changes no file of others" in done.err
    assert site.read_text() == OF_DEBIAN


def test_where_nothing_works_the_reason_is_printed(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "plumbline.db"
    ours = Path("modules", "plumbline", "openmpi-4.1.4")
    ours.parent.mkdir(parents=True)
    ours.write_text("# somebody's\n")
    assert len(advised(database, VARIANT)) == 1
    said = " ".join(plumbline("results", "--db", database).out.split())
    assert "nothing can be applied for a site: " in said and "was not written by Plumbline" in said

    def nowhere(*_: object) -> None:
        raise PlumblineError("openmpi-4.1.4 is not installed")

    monkeypatch.setattr(gate, "installed", nowhere)
    assert advised(database, RULE) == []
    said = plumbline("results", "--db", database).out
    assert "campaign c-20250301-a is not applied: openmpi-4.1.4 is not installed" in said
