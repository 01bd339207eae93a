"""What a user types to get winners, wherever that is printed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.libraries import Family, Installation, gate, of_name
from plumbline.results import putting_in_use
from plumbline_db import findings, machines
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Winner
from tests.db import build
from tests.exporters.bundles import tuned, variant
from tests.tuner import simulated

SETTING = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
VARIANT = variant("MPI_Bcast", "bcast_binomial", 1, 64)


def _use(db: Database, *won: Winner, **changes: object) -> putting_in_use.Use:
    campaign = build.later(db, build.CAMPAIGN.id, 1, **changes)
    findings.put_winners(db, campaign.id, list(won))
    return putting_in_use.use(db, campaign, won)


def _typed(db: Database, *won: Winner, **changes: object) -> str:
    use = _use(db, *won, **changes)
    assert use.command and not use.refused
    return use.command


@pytest.fixture
def db(home: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A database on the machine that has the library of its campaigns."""

    def installed(library: Library, *_: object) -> tuple[Family | None, Installation]:
        here = simulated.toolchain().installation
        return of_name(library.family), msgspec.structs.replace(here, library=library)

    monkeypatch.setattr(gate, "installed", installed)
    return Database.open(home / "results.db", write=True)


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


def test_where_apply_refuses_a_start_is_named(db: Database, home: Path) -> None:
    """Somebody's own line in the parameter file is against the winner."""
    ours = home / ".openmpi" / "mca-params.conf"
    ours.parent.mkdir()
    ours.write_text("coll_tuned_use_dynamic_rules = 0\n")
    assert _typed(db, SETTING).startswith("plumbline run --campaign c-20250301-a -- mpirun ")


def test_where_the_library_is_another_one_the_reason_is_named(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def updated(*_: object) -> None:
        raise PlumblineError("the library was updated")

    monkeypatch.setattr(gate, "installed", updated)
    use = _use(db, SETTING)
    assert not use.command and use.refused.endswith("is not applied: the library was updated")
