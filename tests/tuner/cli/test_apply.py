"""plumbline apply and its --undo as they are typed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from plumbline.applied import standing, targets
from plumbline.applied.files import block_of
from plumbline.applied.generations import AppliedFile, Store
from plumbline.libraries import Knob, families, gate
from plumbline.libraries.openmpi import OpenMpi
from plumbline.results import doctor
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from tests.db import build
from tests.tuner import simulated
from tests.tuner.cli.command import Result, plumbline

Finished = tuple[Path, Result]


def test_dry_run_apply_and_rollback(finished: Finished, home: Path) -> None:
    database, _ = finished
    file = home / ".openmpi" / "mca-params.conf"
    said = plumbline("apply", "--user", "--dry-run", "--db", database)
    assert said.status == 0, said.err
    assert "+coll_tuned_use_dynamic_rules = 1\n" in said.out
    assert f"{file} would be made" in said.err and "would be applied: openmpi-4.1.4-4x" in said.err
    assert list(home.iterdir()) == []
    said = plumbline("apply", "--no-proof", "--user", "--db", database)
    assert said.status == 0 and f"{file} was made" in said.err
    assert "(generation 1 of openmpi)" in said.err
    assert (
        plumbline("apply", "--no-proof", "--user", "--db", database).err.count("nothing to change")
        == 1
    )
    said = plumbline("apply", "--undo", "--user")
    assert said.status == 0 and f"{file} was removed" in said.err
    assert "-coll_tuned_use_dynamic_rules = 1\n" in said.out
    assert "applied: nothing" in said.err and not file.exists()


def test_what_the_library_does_not_read_has_an_exit_status(
    finished: Finished, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = OpenMpi().knobs(simulated.toolchain().installation)["mca_base_param_files"]
    for asked in ("knobs", "reported_in"):
        monkeypatch.setattr(OpenMpi, asked, lambda *_: {files.name: files})
    said = plumbline("apply", "--no-proof", "--user", "--db", finished[0])
    assert said.status == 3
    assert "NOT ACTIVE: coll_tuned_use_dynamic_rules = 1: openmpi-4.1.4 says no such" in said.err
    said = plumbline("apply", "--no-proof", "--user", "--json", "--db", finished[0])
    assert said.status == 3 and len(said.json["not_in_force"]) > 1
    assert plumbline("apply", "--undo", "--user").status == 0


def test_variants_alone_are_refused_with_the_command_that_works(
    finished: Finished, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "variants.db"
    shutil.copy(finished[0], path)
    with Database.open(path, write=True) as db:
        campaign = campaigns.with_winners(db)[-1].id
        first = findings.get_winners(db, campaign)[0]
        alone = msgspec.structs.replace(first, variant="allreduce_ring", configuration={})
        findings.put_winners(db, campaign, [alone])
    said = plumbline("apply", "--user", "--db", path)
    assert said.status == 1 and "nothing was applied: all winners are variants" in said.err
    assert "Nothing is wrong with them" in said.err
    assert f"plumbline run --campaign {campaign} -- mpirun " in said.err


def test_as_json(finished: Finished, home: Path) -> None:
    done = plumbline("apply", "--no-proof", "--user", "--json", "--db", finished[0]).json
    assert (done["scope"], done["generation"], done["previous"], done["dry_run"]) == (
        "user",
        1,
        0,
        False,
    )
    (change,) = done["changes"]
    assert (change["action"], Path(change["path"]).name) == ("create", "mca-params.conf")
    assert {Path(one).name for one in done["files"]} >= {"ompi-rules.conf", "plumbline-run"}
    undone = plumbline("apply", "--undo", "--user", "--json").json
    assert (undone["generation"], undone["previous"]) == (0, 1)


def test_in_a_tree_of_modules(finished: Finished, home: Path, open_folder: Path) -> None:
    """And by a real module command, where there is one."""
    tree = open_folder / "modules"
    said = plumbline("apply", "--no-proof", "--modules", tree, "--db", finished[0])
    assert said.status == 0, said.err
    assert f"module use {tree} && module load plumbline/openmpi-4.1.4" in said.err
    ours = tree / "plumbline"
    assert sorted(os.listdir(ours)) == ["openmpi-4.1.4", "openmpi-4.1.4.lua"]
    if shutil.which("modulecmd"):
        done = subprocess.run(
            ["modulecmd", "sh", "load", "plumbline/openmpi-4.1.4"],
            env={"PATH": "/usr/bin:/bin", "MODULEPATH": str(tree), "PLUMBLINE_CHECKED": "1"},
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        rules = tree / ".plumbline" / "openmpi-4.1.4" / "1" / "ompi-rules.conf"
        assert f"OMPI_MCA_coll_tuned_dynamic_rules_filename={rules};" in done.stdout
    said = plumbline("apply", "--undo", "--modules", tree)
    assert said.status == 0 and "was removed" in said.err
    assert not ours.exists()


def test_a_library_that_was_updated(
    finished: Finished, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = msgspec.structs.replace(build.LIBRARY, fingerprint="newer")
    installation = msgspec.structs.replace(simulated.toolchain().installation, library=newer)
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(OpenMpi, "find", lambda *_: [installation])
    said = plumbline("apply", "--no-proof", "--user", "--db", finished[0])
    assert said.status == 1
    assert "is not applied: made for openmpi-4.1.4 (fingerprint 9d1c5f6a)" in said.err
    assert "has openmpi-4.1.4 (newer): the library was updated" in said.err
    assert list(home.iterdir()) == []
    out = home / "out"
    said = plumbline("export", "env", "--output", out, "--db", finished[0])
    assert said.status == 1 and "is not exported: made for openmpi-4.1.4" in said.err
    assert not out.exists()


def test_the_doctor_knows_what_is_applied_and_whether_it_still_fits(
    finished: Finished, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parameter file cannot look at the library that reads it."""

    def told() -> list[str]:
        return [f"{one.scope} {one.applied.number} {one.other}" for one in standing.standing(None)]

    assert told() == []
    plumbline("apply", "--no-proof", "--user", "--db", finished[0])
    assert told() == ["user 1 None"]
    one = next(doctor._applied(None, finished[0]))
    assert one.state == "notes"
    assert "generation 1 of openmpi is applied (--user): openmpi-4" in one.text
    monkeypatch.setattr(gate, "other", lambda _: "made for another one")
    (one,) = doctor._applied(None, finished[0])
    assert one.state == "warns"
    assert one.text.endswith("made for another one; plumbline apply --undo --user takes it out")
    plumbline("apply", "--undo", "--user")
    assert told() == []


def test_nothing_there_to_roll_back(home: Path) -> None:
    said = plumbline("apply", "--undo", "--user")
    assert said.status == 1 and "nothing was applied there" in said.err
    said = plumbline("apply", "--undo", "--site", "--store", home / "none")
    assert said.status == 1 and f"{home}/none contains no generations" in said.err


def test_a_store_of_one_s_own_and_several_libraries(finished: Finished, home: Path) -> None:
    store = home / "store"
    said = plumbline("apply", "--no-proof", "--user", "--store", store, "--db", finished[0])
    assert said.status == 0 and str(store / "openmpi" / "1") in said.out
    other = home / ".profile"
    lines = block_of("mpich", 1, ["true"])
    target = AppliedFile(path=str(other), kind="lines", text=lines)
    one = Store(store, "openmpi", shared=False).read(1)
    assert one is not None
    mpich = msgspec.structs.replace(one, name="mpich", targets=[target], files={})
    (store / "mpich").mkdir()
    Store(store, "mpich", shared=False).write(mpich, {})
    other.write_text(lines)
    said = plumbline("apply", "--undo", "--user", "--store", store)
    assert said.status == 2 and "choose one with --undo NAME: mpich, openmpi" in said.err
    said = plumbline("apply", "--undo", "../none", "--user", "--store", store)
    assert said.status == 2 and "../none was not applied there" in said.err
    said = plumbline("apply", "--undo", "mpich", "--user", "--store", store)
    assert said.status == 0 and not other.exists()
    said = plumbline("apply", "--undo", "--user", "--store", store)
    assert said.status == 0 and "applied: nothing" in said.err
    assert not (home / ".openmpi").exists()


# --- which installation -------------------------------------------------------------------------


def test_a_library_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(tmp_path))
    gone = msgspec.structs.replace(build.LIBRARY, prefix=str(tmp_path / "none"))
    assert gate.other(gone) is None  # nothing to compare with
    with pytest.raises(PlumblineError, match="is installed neither under"):
        gate.installed(gone)


# --- places -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shell", "there", "file", "form"),
    [
        ("/bin/bash", [], ".profile", "sh"),
        ("/bin/bash", [".bash_profile", ".bash_login"], ".bash_profile", "sh"),
        ("/bin/bash", [".bash_login"], ".bash_login", "sh"),
        ("/usr/bin/zsh", [], ".zprofile", "sh"),
        ("/bin/dash", [".bash_profile"], ".profile", "sh"),
        ("/bin/tcsh", [], ".login", "csh"),
        ("/usr/bin/fish", [], ".config/fish/config.fish", "fish"),
    ],
)
def test_what_a_login_shell_reads(
    home: Path, monkeypatch: pytest.MonkeyPatch, shell: str, there: list[str], file: str, form: str
) -> None:
    for name in there:
        (home / name).touch()
    monkeypatch.setenv("SHELL", shell)
    monkeypatch.delenv("ZDOTDIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    library = msgspec.structs.replace(build.LIBRARY, id="mpich-5.0.2", family="mpich")
    installation = msgspec.structs.replace(simulated.toolchain().installation, library=library)
    place = targets.place("user", families()["mpich"], installation)
    (where,) = place.where
    assert (where.path, where.kind, where.form) == (home / file, "lines", form)
    assert place.root == home / ".local" / "share" / "plumbline" / "applied"


def test_shells_and_libraries_without_a_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/xonsh")
    library = msgspec.structs.replace(build.LIBRARY, id="mpich-5.0.2", family="mpich")
    installation = msgspec.structs.replace(simulated.toolchain().installation, library=library)
    with pytest.raises(
        PlumblineError, match="does not know which file /usr/bin/xonsh reads at login"
    ):
        targets.place("user", families()["mpich"], installation)
    with pytest.raises(PlumblineError, match="is simulated: nothing is applied"):
        targets.place("user", families()["simgrid"], installation)
    other = Knob("mca_base_param_files", "/elsewhere.conf", "string", False, {})
    monkeypatch.setattr(OpenMpi, "knobs", lambda *_: {other.name: other})
    here = simulated.toolchain()
    with pytest.raises(PlumblineError, match=r"does not read .*mca-params.conf, but /elsewhere"):
        targets.place("user", here.family, here.installation)


def test_a_site_of_another_family(home: Path) -> None:
    library = msgspec.structs.replace(build.LIBRARY, id="mpich-5.0.2", family="mpich")
    installation = msgspec.structs.replace(simulated.toolchain().installation, library=library)
    place = targets.place("site", families()["mpich"], installation)
    assert [str(one.path) for one in place.where] == [
        "/etc/profile.d/plumbline-mpich.sh",
        "/etc/profile.d/plumbline-mpich.csh",
    ]
    assert place.root == Path("/etc/plumbline")
