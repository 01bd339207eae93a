"""`preload` of a campaign file: libraries of the user's in every launch, behind ours."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import in_force
from plumbline.campaign.proof import environment_of
from plumbline.settings import campaign_file, identity
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.layout import fixed
from plumbline_exporters import plumbline_sh
from plumbline_exporters.registry import write
from tests.exporters.bundles import bundle, library, variant
from tests.tuner import fake_mpi, planted
from tests.tuner.simulated import toolchain

OURS = "/opt/plumbline/libplumbline.so"


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    path = tmp_path / "tool.so"
    path.write_bytes(b"one build")
    return path


# --- the key --------------------------------------------------------------------------------------


def test_paths_are_relative_to_the_file(tool: Path, tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(f'nprocs = 2\npreload = ["tool.so", "{tool}", "{os.devnull}"]\n')
    with pytest.raises(UsageError, match="preload: the file '/dev/null' does not exist"):
        campaign_file.load(file, {})
    file.write_text(f'nprocs = 2\npreload = ["tool.so", "{tool}"]\n')
    assert campaign_file.load(file, {}).fixed.preload == [str(tool)]


def test_none_is_not_written() -> None:
    """So that campaigns without it keep their identity."""
    assert planted.settings().fixed.preload == planted.settings(preload=[]).fixed.preload == []
    assert planted.settings(preload=[]) == planted.settings()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preload": ["/none/tool.so"]}, "the file '/none/tool.so' does not exist; name a library"),
        ({"environment": {"LD_PRELOAD": "x"}}, r'LD_PRELOAD.*preload = \["/path/tool\.so"\]'),
        ({"preload": "tool.so"}, "preload"),
    ],
)
def test_what_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planted.settings(**changes)


def test_a_path_that_would_be_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "a:b.so"
    path.touch()
    with pytest.raises(UsageError, match="would split this path at ':'; move it"):
        planted.settings(preload=[str(path)])


def test_nothing_is_preloaded_into_simulated_ranks(tool: Path) -> None:
    with pytest.raises(UsageError, match="simulated ranks are no processes to preload into"):
        campaign_file.load(None, {"simulate": "ompi", "preload": [str(tool)]})


def test_it_is_part_of_what_a_campaign_is(db: Database, tool: Path) -> None:
    def id() -> str:
        return identity.begin(db, toolchain(), planted.settings(preload=[str(tool)]), new=False).id

    plain = identity.begin(db, toolchain(), planted.settings(), new=False)
    first = id()
    assert first == id() != plain.id
    tool.write_bytes(b"another build")
    assert id() not in (first, plain.id)
    assert fixed(campaigns.get(db, first)) == f"LD_PRELOAD={tool}"


# --- launches -------------------------------------------------------------------------------------


def test_every_launch_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Path) -> None:
    """And nothing of what the shell preloads."""
    monkeypatch.setenv("LD_PRELOAD", "")
    assert "LD_PRELOAD" not in fake_mpi.starter(tmp_path, "env >&2").clean_environment()
    ranks = fake_mpi.starter(tmp_path, "env >&2", preloaded=["/none/a.so", "/none/b.so"])
    assert ranks.clean_environment()["LD_PRELOAD"] == "/none/a.so:/none/b.so"
    run, _ = ranks.start("c", "s", 0, "plan", {"B": "2"})
    assert "LD_PRELOAD=/none/a.so:/none/b.so\n" in run.stderr
    assert run.environment == {"LD_PRELOAD": "/none/a.so:/none/b.so", "B": "2"}


def test_a_list_of_mpirun_s_says_it_for_the_ranks(tmp_path: Path) -> None:
    """`mpirun -x LD_PRELOAD` beside it, on other hosts, would take its place."""
    ranks = fake_mpi.starter(tmp_path, "true", preloaded=["/none/a.so"])
    listed = {"OMPI_MCA_mca_base_env_list": f"LD_PRELOAD={OURS}:/none/a.so;PLUMBLINE_PROFILE=p"}
    run, _ = ranks.start("c", "s", 0, "plan", listed)
    assert run.environment == listed


# --- exported files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "family", "format", "variable"),
    [
        ("4.1.4", "openmpi", "env", "OMPI_MCA_mca_base_env_list_internal"),
        ("5.0.11", "openmpi", "env", "OMPI_MCA_mca_base_env_list"),
        ("5.0.2", "mpich", "mpich-env", "LD_PRELOAD"),
        ("2021.17.2", "intelmpi", "impi-env", "I_MPI_GTOOL"),
    ],
)
def test_exported_files_put_ours_before_it_and_keep_it(
    tmp_path: Path, tool: Path, version: str, family: str, format: str, variable: str
) -> None:
    made = msgspec.structs.replace(
        bundle(variant("MPI_Scan", "x", 1, 9), directory=str(tmp_path / "out")),
        library=library(version, family),
    )
    write(made, [format])
    given = {"PATH": os.environ["PATH"], "LD_PRELOAD": f"{tool}:/none/theirs.so"}
    after = environment_of(tmp_path / "out" / plumbline_sh.FILE_NAME, given)
    assert f"{OURS}:{tool}:/none/theirs.so" in after[variable]
    again = environment_of(tmp_path / "out" / plumbline_sh.FILE_NAME, given | after)
    assert again == {} or f"{OURS}:{tool}:/none/theirs.so" in again.get(variable, after[variable])


def test_run_puts_it_before_what_the_user_preloads(
    tmp_path: Path, tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bundle(variant("MPI_Scan", "x", 1, 9), directory=str(tmp_path / "out"))
    write(made, ["env"])
    found = in_force.ActiveFiles(
        campaign=made.campaign,
        settings=planted.settings(preload=[str(tool)]),
        winners=made.winners,
        script=tmp_path / "out" / plumbline_sh.FILE_NAME,
        toolchain=toolchain(),
    )
    monkeypatch.setenv("LD_PRELOAD", f"/none/theirs.so:{tool}")
    environment = in_force.environment(found)
    expected = f"LD_PRELOAD={OURS}:{tool}:/none/theirs.so;"
    assert expected in environment["OMPI_MCA_mca_base_env_list_internal"]
    assert environment["LD_PRELOAD"] == f"{tool}:/none/theirs.so"
