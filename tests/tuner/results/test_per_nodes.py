"""A modulefile for each number of nodes, loaded by the real module command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from plumbline.libraries import gate
from plumbline_db.connection import Database
from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters.registry import is_ours
from tests.exporters.bundles import tuned, variant, winner
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.results.test_site import RING, put, whole_site

PROFILE = "plumbline.profile"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gate, "other", lambda library: None)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        put(db, tmp_path, (1, 4), 1, variant("MPI_Allreduce", RING, 1024, 16384))
        put(db, tmp_path, (4, 1), 2, tuned("MPI_Allreduce", "nonoverlapping", 512, 20000))
        put(db, tmp_path, (4, 8), 3, tuned("MPI_Bcast", "binomial", 0, UNBOUNDED_BYTES))
    return tmp_path / "plumbline.db"


def export(database: Path, folder: Path, *words: str) -> Result:
    return plumbline("export", *words, "--per-nodes", "--output", folder, "--db", database)


def rules(folder: Path, nodes: str, name: str) -> list[str]:
    text = (folder / ".plumbline" / nodes / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def loaded(folder: Path, module: str, environment: dict[str, str]) -> dict[str, str]:
    """The environment after `module load`."""
    script = f'eval "$(modulecmd sh load {module})"; env -0'
    done = subprocess.run(
        ["bash", "-c", script],
        env=os.environ | {"MODULEPATH": str(folder), "PLUMBLINE_CHECKED": "1"} | environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(word.split("=", 1) for word in done.stdout.split("\0") if "=" in word)


def test_a_module_for_each_number_of_nodes(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "modules"
    said = export(database, folder)
    assert said.status == 0
    assert f"module use {folder} && module load plumbline/4-nodes" in said.err
    modules = {path.name for path in (folder / "plumbline").iterdir()}
    assert modules == {"1-node", "1-node.lua", "4-nodes", "4-nodes.lua"}
    assert all(is_ours(path) for path in (folder / "plumbline").iterdir())


def test_rules_without_nodes_are_of_campaigns_on_as_many(database: Path, tmp_path: Path) -> None:
    """A profile names nodes and ranks, so its rules serve parts of a larger job too; a rules file
    goes by the number of ranks alone."""
    folder = tmp_path / "modules"
    assert export(database, folder).status == 0
    assert not (folder / ".plumbline" / "1-node" / "ompi-rules.conf").exists()
    table = "\n".join(rules(folder, "4-nodes", "ompi-rules.conf"))
    assert "32 # ranks and more" in table and "4 # ranks and more" in table
    for nodes in ("1-node", "4-nodes"):
        (rule,) = rules(folder, nodes, PROFILE)[2:]
        assert f"nprocs=4-4 nodes=1-1 ppn=4-4 bytes=1024-16384 variant={RING}" in rule


def test_rules_that_a_site_carried_over_have_their_module(tmp_path: Path, database: Path) -> None:
    """Two nodes have no campaign; what is for several numbers of nodes stands in every profile."""
    with Database.open(database, write=True) as db:
        whole_site(db, tmp_path, 5, "nodes=2-2")
    folder = tmp_path / "modules"
    assert export(database, folder).status == 0
    for nodes in ("1-node", "2-nodes", "4-nodes"):
        assert any("nprocs=9-16 nodes=2-2" in rule for rule in rules(folder, nodes, PROFILE))
    assert not (folder / ".plumbline" / "2-nodes" / "ompi-rules.conf").exists()


def test_the_module_command_sets_the_files_of_its_nodes(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "modules"
    assert export(database, folder).status == 0
    name = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
    four = loaded(folder, "plumbline/4-nodes", {})
    assert four[name] == str(folder / ".plumbline" / "4-nodes" / "ompi-rules.conf")
    assert str(folder / ".plumbline" / "4-nodes") in four["PATH"].split(":")
    assert name not in loaded(folder, "plumbline/1-node", {})


def test_nothing_is_written_over_files_of_others(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "modules"
    (folder / "plumbline").mkdir(parents=True)
    (folder / "plumbline" / "4-nodes").write_text("mine\n")
    said = export(database, folder)
    assert said.status == 1 and "was not written by Plumbline" in said.err
    assert [path.name for path in folder.rglob("*")] == ["plumbline", "4-nodes"]
    assert export(database, folder, "--force").status == 0
    assert export(database, folder).status == 0  # its own files are replaced


def test_campaigns_that_one_process_cannot_hold_are_named(tmp_path: Path, database: Path) -> None:
    first, second = (winner("*", {"btl_vader_eager_limit": size}) for size in ("8192", "16384"))
    with Database.open(database, write=True) as db:
        put(db, tmp_path, (2, 2), 4, first)
        put(db, tmp_path, (2, 3), 5, second)
    said = export(database, tmp_path / "modules")
    assert said.status == 0
    assert "2-nodes: left out c-2x2" in said.err and "a process has one value" in said.err


def test_formats_are_not_named_beside_it(database: Path, tmp_path: Path) -> None:
    said = export(database, tmp_path, "env")
    assert said.status == 2 and "name no format" in said.err
