"""What apply and rollback leave in the files of others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from plumbline.applied import apply
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, Library
from plumbline_exporters.family.openmpi import rules_reader as ompi_rules_reader
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES
from tests.db import build
from tests.exporters.bundles import everywhere, tuned, variant
from tests.tuner.applied.people import EIGHT, FOREIGN, FOUR, User, wish

pytestmark = pytest.mark.usefixtures("preload")


def lines(path: Path) -> dict[str, str]:
    """Parameters in a file, as Open MPI reads them."""
    text = path.read_text()
    pairs = [line.split(" = ", 1) for line in text.splitlines() if not line.startswith("#")]
    return dict(pairs)  # type: ignore[arg-type]


# --- once ---------------------------------------------------------------------------------------


def test_lines_for_a_user_who_had_none(user: User) -> None:
    done = user.apply()
    rules = user.store.path(1) / "ompi-rules.conf"
    assert lines(user.file) == {
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_dynamic_rules_filename": str(rules),
    }
    assert "# campaign c-4, 4 ranks" in user.file.read_text()
    assert "# library   openmpi-4.1.4, fingerprint 9d1c5f6a" in rules.read_text()
    assert (done.generation, done.previous, done.campaigns) == (1, 0, ["c-4"])
    (change,) = done.changes
    assert change.action == "create" and change.diff.startswith("--- /dev/null\n+++ ")
    assert set(map(Path, done.files)) < set(user.store.path(1).iterdir())


@pytest.mark.parametrize("before", [None, b"", FOREIGN, FOREIGN + b"\n", b"\xff\x00\r\n# odd\r\n"])
def test_rollback_gives_back_every_byte(user: User, before: bytes | None) -> None:
    if before is not None:
        user.write(before)
    user.apply()
    assert user.file.read_bytes().startswith(before or b"")
    done = user.rollback()
    assert (done.generation, done.previous) == (0, 1)
    if before is None:
        assert not user.file.parent.exists()  # nor the folder that was made for it
    else:
        assert user.file.read_bytes() == before


def test_a_dry_run_changes_nothing_and_says_the_same(user: User) -> None:
    user.write(FOREIGN)
    before = user.everything()
    said = user.apply(dry_run=True)
    assert user.everything() == before and not user.place.root.exists()
    assert msgspec.structs.replace(said, dry_run=False) == user.apply()
    now = user.everything()
    undo = user.rollback(dry_run=True)
    assert user.everything() == now
    assert msgspec.structs.replace(undo, dry_run=False) == user.rollback()


def test_twice_is_once(user: User) -> None:
    user.write(FOREIGN)
    user.apply()
    before = user.everything()
    again = user.apply()
    assert (again.generation, again.changes) == (1, [])
    assert user.everything() == before
    user.rollback()
    done = user.rollback()
    assert (done.generation, done.previous, done.changes) == (0, 0, [])


# --- several campaigns --------------------------------------------------------------------------


def test_campaigns_for_other_ranks_stay_in_force(user: User) -> None:
    user.apply(FOUR)
    done = user.apply(EIGHT)
    assert (done.generation, done.previous, done.campaigns) == (2, 1, ["c-4", "c-8"])
    text = (user.store.path(2) / "ompi-rules.conf").read_text()
    assert "\n4 # ranks" in text and "\n8 # ranks" in text
    assert "campaign  c-4, 4 ranks" in text and "campaign  c-8, 8 ranks" in text
    assert user.rollback().campaigns == ["c-4"]
    assert str(user.store.path(1)) in user.file.read_text()
    assert user.rollback().campaigns == []
    assert not user.file.exists()


def test_what_holds_for_every_number_of_ranks_is_said(user: User) -> None:
    """A file of parameters knows no ranks."""
    eager = {"btl_vader_eager_limit": "8192"}
    four = everywhere(EVERY_FUNCTION, **eager)
    said = "btl_vader_eager_limit=8192 holds for any number of ranks; it was measured with"
    assert f"{said} 4" in user.apply(four).notes
    notes = user.apply(EIGHT).notes
    assert [one for one in notes if "any number of ranks" in one] == [f"{said} 4"]
    eight = msgspec.structs.replace(four, nprocs=8, ppn=8)
    notes = user.apply(EIGHT, eight).notes
    assert {f"{said} 4", f"{said} 8"} <= set(notes)


def test_a_later_campaign_for_the_same_ranks_takes_the_place(user: User) -> None:
    user.apply(FOUR)
    user.apply(EIGHT)
    done = user.apply(tuned("MPI_Allreduce", "rabenseifner", 8192, 65536), id="c-4-new")
    assert done.campaigns == ["c-8", "c-4-new"]
    assert "c-4 is replaced: it was for the same ranks" in done.notes
    assert user.rollback(everything=True).generation == 0
    assert not user.file.exists()


def test_a_whole_site_takes_the_place_of_all_campaigns(user: User) -> None:
    """And the other way round: its rules are for all ranks."""
    user.apply(FOUR)
    user.apply(EIGHT)
    ranged = msgspec.structs.replace(FOUR, nprocs=5, ppn=5, restrictions=["nprocs=5-7"])
    source = wish(FOUR, ranged, id="whole").source
    settings = json.dumps({"command": "site"})
    campaign = msgspec.structs.replace(source.campaign, settings=settings)
    done = user.apply(source=msgspec.structs.replace(source, campaign=campaign))
    assert done.campaigns == ["whole"]
    assert {"c-4 is replaced: it was for the same ranks"} <= set(done.notes)
    assert user.apply(EIGHT).campaigns == ["c-8"]


def test_what_files_cannot_tell_apart_is_refused(user: User) -> None:
    """The same number of ranks on other nodes."""
    user.apply(FOUR)
    before = user.everything()
    two = msgspec.structs.replace(EIGHT, nprocs=4, ppn=2)
    with pytest.raises(PlumblineError, match="different numbers of ranks per node"):
        user.apply(two, nodes=2, ppn=2)
    assert user.everything() == before


SITE_RULES = "1\n7 # bcast\n1\n0\n1\n0 6 0 0\n"


def test_rules_that_the_site_has_stay_beneath_the_winners(user: User) -> None:
    user.apply(FOUR)
    source = wish(EIGHT).source
    done = user.apply(EIGHT, source=msgspec.structs.replace(source, site_rules=SITE_RULES))
    text = (user.store.path(2) / "ompi-rules.conf").read_text()
    assert "MPI_Bcast" in text and "\n0 6 0 0\n" in text
    assert done.campaigns == ["c-4", "c-8"]
    other = msgspec.structs.replace(
        wish(FOUR).source, site_rules=SITE_RULES.replace("6", "5"), winners=[FOUR]
    )
    assert "c-8 was measured over another rules file" in "".join(user.apply(source=other).notes)


def test_a_campaign_that_ran_over_what_was_applied(user: User) -> None:
    """It took our rules for the site's own. Every call is decided as each of the two said."""
    user.apply(FOUR)
    beneath = (user.store.path(1) / "ompi-rules.conf").read_text()
    source = msgspec.structs.replace(wish(EIGHT).source, site_rules=beneath)
    user.apply(EIGHT, source=source)
    file = ompi_rules_reader.read(
        (user.store.path(2) / "ompi-rules.conf").read_text(), second=False
    )
    assert not file.error
    allreduce = COLLECTIVES["MPI_Allreduce"].rule_id
    for nprocs in (2, 3, 4, 5, 7, 8, 9, 64):
        for size in (0, 1023, 1024, 4096, 4097, 8191, 8192, 65536, 65537, 1 << 30):
            wanted = 0
            if nprocs == 4 and 8192 <= size <= 65536:
                wanted = 1
            elif nprocs == 8 and 1024 <= size <= 4096:
                wanted = 6
            assert file.decision(allreduce, nprocs, size)[0] == wanted, (nprocs, size)


def test_after_rolling_back_all_the_way_it_begins_anew(user: User) -> None:
    user.apply(FOUR)
    user.apply(EIGHT)
    user.rollback(everything=True)
    assert user.apply(FOUR).previous == 0
    assert user.rollback().generation == 0
    assert not user.file.exists()


# --- the library was updated, or is another one -------------------------------------------------


def updated() -> Library:
    return msgspec.structs.replace(build.LIBRARY, fingerprint="newer", version="4.1.5")


def test_what_was_measured_with_an_older_build_goes(user: User) -> None:
    user.apply(EIGHT)
    done = user.apply(FOUR, library=updated())
    assert done.campaigns == ["c-4"]
    assert any("was updated since generation 1" in note and "c-8" in note for note in done.notes)
    undone = user.rollback()
    assert undone.generation == 0 and "another build of the library (9d1c5f6a)" in undone.notes[0]
    assert not user.file.exists()


def test_a_place_holds_one_library_and_one_machine(user: User) -> None:
    user.apply(EIGHT)
    other = msgspec.structs.replace(updated(), prefix="/opt/other")
    with pytest.raises(
        PlumblineError, match=r"generation 1 .* for openmpi-4.1.4 in /usr: one place"
    ):
        user.apply(FOUR, library=other)
    machine = msgspec.structs.replace(build.MACHINE, id="m-2", host="node2")
    with pytest.raises(PlumblineError, match=r"measured on node1 .* on node2"):
        user.apply(FOUR, machine=machine)


# --- the user has edited the file ---------------------------------------------------------------


def test_what_the_user_wrote_meanwhile_stays(user: User) -> None:
    user.write(FOREIGN + b"\n")
    user.apply()
    user.file.write_text("# new first line\n" + user.file.read_text() + "pml = ob1\n")
    user.rollback()
    assert user.file.read_bytes() == b"# new first line\n" + FOREIGN + b"\npml = ob1\n"


def test_a_file_that_the_user_filled_is_not_removed(user: User) -> None:
    user.apply()
    user.file.write_text(user.file.read_text() + "pml = ob1\n")
    user.rollback()
    assert user.file.read_text() == "pml = ob1\n"


def test_our_lines_changed_by_hand_are_not_lost(user: User) -> None:
    user.apply()
    user.file.write_text(user.file.read_text().replace("rules = 1", "rules = 0"))
    edited = user.file.read_bytes()
    for work in (user.rollback, user.apply, lambda: user.apply(EIGHT)):
        with pytest.raises(PlumblineError, match=r"our lines were changed(.|\n)*\+.*rules = 0"):
            work()
        assert user.file.read_bytes() == edited
    user.rollback(force=True)
    assert not user.file.exists()


def test_lines_that_the_user_took_out_are_put_back(user: User) -> None:
    user.write(FOREIGN)
    user.apply()
    user.file.write_bytes(FOREIGN)
    assert user.rollback().previous == 0
    done = user.apply()
    assert len(done.changes) == 1
    user.rollback()
    assert user.file.read_bytes() == FOREIGN


def test_damaged_marks_are_named(user: User) -> None:
    user.apply()
    user.file.write_text(user.file.read_text().replace("<<<", "<<"))
    with pytest.raises(PlumblineError, match=r"mca-params.conf: the marks .* are damaged"):
        user.rollback()


def test_a_set_that_is_gone(user: User) -> None:
    user.apply(FOUR)
    user.apply(EIGHT)
    (user.store.path(1) / "ompi-rules.conf").unlink()
    with pytest.raises(PlumblineError, match=r"generation 1 in .* is gone or was changed"):
        user.rollback()
    assert user.rollback(everything=True).generation == 0


# --- values that are there already --------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("coll_tuned_use_dynamic_rules = 0", "line 3 sets coll_tuned_use_dynamic_rules = 0"),
        ("coll_tuned_dynamic_rules_filename=/my/rules", "line 3 sets coll_tuned_dynamic_rules"),
    ],
)
def test_a_contradiction_is_refused(user: User, line: str, reason: str) -> None:
    user.write(b"# one\n\n" + line.encode() + b"\n")
    before = user.everything()
    with pytest.raises(PlumblineError, match=reason):
        user.apply()
    assert user.everything() == before and not user.place.root.exists()
    user.write(b"coll_tuned_use_dynamic_rules = 1\n")  # the same value is none
    user.apply()
    user.rollback()
    assert user.file.read_text() == "coll_tuned_use_dynamic_rules = 1\n"


def test_files_that_are_heard_first_or_later(user: User, tmp_path: Path) -> None:
    override, site = tmp_path / "override.conf", tmp_path / "site.conf"
    place = msgspec.structs.replace(user.place, overrides=[override], overridden=[site])
    site.write_text("coll_tuned_use_dynamic_rules = 0\n")
    done = apply.apply(place, wish(FOUR), now="", dry_run=True)
    assert f"{site}: line 1 sets coll_tuned_use_dynamic_rules = 0" in "".join(done.notes)
    override.write_text("coll_tuned_use_dynamic_rules = 0\n")
    with pytest.raises(PlumblineError, match=f"{override}: line 1 sets"):
        apply.apply(place, wish(FOUR), now="")


def test_variables_of_the_shell_are_told(user: User) -> None:
    done = user.apply(environment={"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"})
    assert any("_rules is set in this shell to 0" in note for note in done.notes)


# --- what variants need -------------------------------------------------------------------------


def test_variants_are_started_by_the_wrapper_with_a_copy_of_the_library(
    user: User, preload: Path
) -> None:
    done = user.apply(FOUR, variant("MPI_Gather", "gather_binomial", 0, 262144))
    (text,) = done.left_out
    wrapper = user.store.path(1) / "plumbline-run"
    assert "MPI_Gather" in text and str(wrapper) in text and os.access(wrapper, os.X_OK)
    copy = user.store.path(1) / "libplumbline.so"
    assert copy.read_bytes() == preload.read_bytes()
    assert "LD_PRELOAD=$plumbline_library" in (user.store.path(1) / "plumbline.sh").read_text()
    assert str(copy) in (user.store.path(1) / "plumbline.sh").read_text()


def test_variants_alone_are_nothing_for_a_parameter_file(user: User) -> None:
    with pytest.raises(PlumblineError, match=r"nothing was applied: all winners are variants"):
        user.apply(variant("MPI_Gather", "gather_binomial", 0, 262144))
    assert not user.place.root.exists()


def test_variants_want_a_library_that_is_built(user: User, preload: Path) -> None:
    preload.unlink()
    with pytest.raises(PlumblineError, match="make build"):
        user.apply(FOUR, variant("MPI_Gather", "gather_binomial", 0, 262144))
    assert not user.place.root.exists()
