"""What a user types to get winners, wherever that is printed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.results import putting_in_use
from plumbline_db import machines
from plumbline_db.connection import Database
from plumbline_db.records import Winner
from tests.db import build
from tests.exporters.bundles import tuned, variant

SETTING = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
VARIANT = variant("MPI_Bcast", "bcast_binomial", 1, 64)


def _typed(db: Database, *winners: Winner, **changes: object) -> str:
    return putting_in_use.command(db, msgspec.structs.replace(build.CAMPAIGN, **changes), winners)


@pytest.fixture
def db(tmp_path: Path) -> Database:
    db = Database.open(tmp_path / "results.db", write=True)
    build.started(db)
    return db


def test_settings_of_the_library_are_applied(db: Database) -> None:
    assert _typed(db, SETTING) == "plumbline apply --user --campaign c-20250301-a"


def test_a_variant_of_ours_needs_a_start_with_the_preload_library(db: Database) -> None:
    run = "plumbline run --campaign c-20250301-a -- mpirun --oversubscribe -np 4 ./app"
    for winners in ([VARIANT], [SETTING, VARIANT]):
        assert sorted(_typed(db, *winners).split()) == sorted(run.split())
    assert _typed(db, VARIANT).startswith("plumbline run --campaign c-20250301-a -- mpirun ")


def test_variants_of_an_imported_campaign_are_exported_and_sourced(db: Database) -> None:
    command = _typed(db, VARIANT, key="node7: k")
    assert command.startswith("plumbline export env --campaign c-20250301-a --output winners && ")
    assert "&& . winners/plumbline.sh && mpirun" in command


def test_a_login_shell_sources_variants_too(db: Database) -> None:
    mpich = msgspec.structs.replace(
        build.LIBRARY, id="mpich-4.3", family="mpich", version="4.3", fingerprint="aaaa"
    )
    machines.put_library(db, mpich)
    command = _typed(db, VARIANT, library_fingerprint="aaaa")
    assert command == "plumbline apply --user --campaign c-20250301-a"
