"""What apply and rollback leave in the files of others, whatever happens between."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline import paths
from plumbline.applied import apply, files, rollback
from plumbline.applied.outcome import Outcome
from plumbline.applied.places import Place, Where
from plumbline.applied.sets import Source, Store
from plumbline.libraries import Installation, families
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.records import Library, Winner
from plumbline_exporters.lint import rules_reader
from plumbline_exporters.ompi_tuned import COLLECTIVES
from tests.db import build
from tests.exporters.bundles import everywhere, tuned, variant

FOREIGN = b"# mine\nbtl = self,vader\nmpi_yield_when_idle = 1"  # no line break at the end
FOUR = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
EIGHT = tuned("MPI_Allreduce", "rabenseifner", 1024, 4096, nprocs=8)
CALLS = ("rename", "mkdir", "rmdir")


@pytest.fixture(autouse=True)
def preload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    library = tmp_path / "built.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(paths.Layout, "preload", lambda *_: library)
    yield library


class User:
    """A person with a home and one parameter file in it, as `--user` finds it for Open MPI."""

    def __init__(self, home: Path, name: str = "openmpi", form: str = "mca") -> None:
        self.home = home
        self.file = home / ".openmpi" / "mca-params.conf"
        self.place = Place(
            scope="user",
            root=home / "data" / "applied",
            name=name,
            shared=False,
            where=[Where(self.file, "lines", form)],  # type: ignore[arg-type]
        )
        self.store = Store(self.place.root, name, shared=False)

    def write(self, data: bytes) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data)

    def apply(self, *winners: Winner, **changes: object) -> Outcome:
        dry_run = bool(changes.pop("dry_run", False))
        return apply.apply(self.place, wish(*winners, **changes), now="2026", dry_run=dry_run)

    def rollback(self, **options: bool) -> Outcome:
        return rollback.rollback("user", self.place.root, self.place.name, **options)

    def everything(self) -> dict[Path, bytes]:
        return {one: one.read_bytes() for one in self.home.rglob("*") if one.is_file()}


def wish(*winners: Winner, library: Library = build.LIBRARY, **changes: object) -> apply.Wish:
    given = winners or (FOUR,)
    nprocs = given[0].nprocs
    campaign = msgspec.structs.replace(
        build.CAMPAIGN, id=f"c-{nprocs}", nprocs=nprocs, ppn=nprocs, state="finished"
    )
    mine = {name: changes.pop(name) for name in ("id", "nodes", "ppn") if name in changes}
    return msgspec.structs.replace(
        apply.Wish(
            source=Source(msgspec.structs.replace(campaign, **mine), list(given)),
            machine=build.MACHINE,
            family=families()[library.family],
            installation=Installation(library, Path("/opt/bin/mpirun"), None),
            environment={},
        ),
        **changes,
    )


@pytest.fixture
def user(tmp_path: Path) -> User:
    found = User(tmp_path / "home")
    found.home.mkdir()
    return found


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
    assert (done.set, done.previous, done.campaigns) == (1, 0, ["c-4"])
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
    assert (done.set, done.previous) == (0, 1)
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
    assert (again.set, again.changes) == (1, [])
    assert user.everything() == before
    user.rollback()
    done = user.rollback()
    assert (done.set, done.previous, done.changes) == (0, 0, [])


# --- several campaigns --------------------------------------------------------------------------


def test_campaigns_for_other_ranks_stay_in_force(user: User) -> None:
    user.apply(FOUR)
    done = user.apply(EIGHT)
    assert (done.set, done.previous, done.campaigns) == (2, 1, ["c-4", "c-8"])
    text = (user.store.path(2) / "ompi-rules.conf").read_text()
    assert "\n4 # ranks" in text and "\n8 # ranks" in text
    assert "campaign  c-4, 4 ranks" in text and "campaign  c-8, 8 ranks" in text
    assert user.rollback().campaigns == ["c-4"]
    assert str(user.store.path(1)) in user.file.read_text()
    assert user.rollback().campaigns == []
    assert not user.file.exists()


def test_a_later_campaign_for_the_same_ranks_takes_the_place(user: User) -> None:
    user.apply(FOUR)
    user.apply(EIGHT)
    done = user.apply(tuned("MPI_Allreduce", "rabenseifner", 8192, 65536), id="c-4-new")
    assert done.campaigns == ["c-8", "c-4-new"]
    assert "c-4 gives way: it was for the same ranks" in done.notes
    assert user.rollback(everything=True).set == 0
    assert not user.file.exists()


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
    file = rules_reader.read((user.store.path(2) / "ompi-rules.conf").read_text(), second=False)
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
    assert user.rollback().set == 0
    assert not user.file.exists()


# --- the library was updated, or is another one -------------------------------------------------


def updated() -> Library:
    return msgspec.structs.replace(build.LIBRARY, fingerprint="newer", version="4.1.5")


def test_what_was_measured_with_an_older_build_goes(user: User) -> None:
    user.apply(EIGHT)
    done = user.apply(FOUR, library=updated())
    assert done.campaigns == ["c-4"]
    assert any("was updated since set 1" in note and "c-8" in note for note in done.notes)
    undone = user.rollback()
    assert undone.set == 0 and "another build of the library (9d1c5f6a)" in undone.notes[0]
    assert not user.file.exists()


def test_a_place_holds_one_library_and_one_machine(user: User) -> None:
    user.apply(EIGHT)
    other = msgspec.structs.replace(updated(), prefix="/opt/other")
    with pytest.raises(PlumblineError, match=r"set 1 .* for openmpi-4.1.4 in /usr: one place"):
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
    with pytest.raises(PlumblineError, match=r"set 1 in .* is gone or was changed"):
        user.rollback()
    assert user.rollback(everything=True).set == 0


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
    with pytest.raises(PlumblineError, match=r"all winners are variants"):
        user.apply(variant("MPI_Gather", "gather_binomial", 0, 262144))
    assert not user.place.root.exists()


def test_variants_want_a_library_that_is_built(user: User, preload: Path) -> None:
    preload.unlink()
    with pytest.raises(PlumblineError, match="make build"):
        user.apply(FOUR, variant("MPI_Gather", "gather_binomial", 0, 262144))
    assert not user.place.root.exists()


# --- files and folders --------------------------------------------------------------------------


def test_what_is_private_is_so_while_it_is_written(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write(FOREIGN)
    user.file.chmod(0o600)
    seen = []
    copystat = shutil.copystat

    def look(source: Path, part: Path) -> None:
        seen.append((part.read_bytes()[: len(FOREIGN)], stat.S_IMODE(part.stat().st_mode)))
        copystat(source, part)

    monkeypatch.setattr(shutil, "copystat", look)
    mask = os.umask(0)
    try:
        user.apply()
    finally:
        os.umask(mask)
    assert seen == [(FOREIGN, 0o600)] and stat.S_IMODE(user.file.stat().st_mode) == 0o600


def test_mode_and_link_stay(user: User) -> None:
    real = user.home / "dotfiles" / "mca"
    real.parent.mkdir()
    real.write_bytes(FOREIGN)
    real.chmod(0o640)
    user.file.parent.mkdir()
    user.file.symlink_to("../dotfiles/mca")
    done = user.apply()
    assert done.changes[0].real == str(real)
    assert user.file.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "plumbline" in real.read_text()
    user.rollback()
    assert user.file.is_symlink() and real.read_bytes() == FOREIGN
    assert sorted(one.name for one in real.parent.iterdir()) == ["mca"]


@pytest.mark.parametrize("what", ["folder", "loop", "read-only"])
def test_files_that_are_left_alone(user: User, what: str) -> None:
    user.file.parent.mkdir()
    if what == "folder":
        user.file.mkdir()
    elif what == "loop":
        user.file.symlink_to(user.file.name)
    else:
        user.file.write_bytes(FOREIGN)
        user.file.chmod(0o444)
    with pytest.raises(PlumblineError, match=r"no plain file|cannot read|is read-only"):
        user.apply()
    assert not user.place.root.exists()


def test_one_at_a_time(user: User) -> None:
    with user.store.locked():
        for work in (user.apply, user.rollback):
            with pytest.raises(TryLaterError, match="another plumbline apply or rollback"):
                work()


def test_somebody_else_is_quicker(user: User) -> None:
    user.write(FOREIGN)
    found = files.read(user.file)
    user.write(b"other")
    with pytest.raises(TryLaterError, match="has just been changed by somebody else"):
        files.replace(found, b"ours", "openmpi")
    assert user.file.read_bytes() == b"other"


class Site(User):
    """What others read: a file of a site, and one that is ours as a whole."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.whole = root / "profile.d" / "plumbline.sh"
        where = [*self.place.where, Where(self.whole, "whole", "sh")]
        self.place = msgspec.structs.replace(self.place, scope="site", shared=True, where=where)
        self.store = Store(self.place.root, self.place.name, shared=True)

    def rollback(self, **options: bool) -> Outcome:
        return rollback.rollback("site", self.place.root, self.place.name, **options)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that everybody can read; pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def site(open_folder: Path) -> Site:
    found = Site(open_folder / "etc")
    (found.home / "profile.d").mkdir(parents=True)
    found.write(FOREIGN)
    return found


def test_everybody_can_read_it_whatever_the_umask(site: Site) -> None:
    mask = os.umask(0o077)
    try:
        site.apply()
    finally:
        os.umask(mask)
    ours = [site.place.root, site.store.folder, site.store.path(1), site.whole]
    for path in [*ours, *site.store.path(1).iterdir()]:
        assert path.stat().st_mode & 0o004, path
    site.rollback()
    assert not site.whole.exists() and site.file.read_bytes() == FOREIGN


def test_a_closed_folder_is_refused_for_a_site(site: Site) -> None:
    site.home.chmod(0o700)
    try:
        with pytest.raises(PlumblineError, match="is closed to other users"):
            site.apply()
    finally:
        site.home.chmod(0o755)
    assert site.file.read_bytes() == FOREIGN and not site.place.root.exists()


def test_a_file_that_is_not_ours_is_not_overwritten(site: Site) -> None:
    site.whole.write_text("# somebody's\n")
    with pytest.raises(PlumblineError, match="is there and is not ours"):
        site.apply(force=True)
    assert site.whole.read_text() == "# somebody's\n" and site.file.read_bytes() == FOREIGN


def test_a_file_that_is_no_longer_ours_is_not_rolled_over(site: Site) -> None:
    site.apply(FOUR)
    site.apply(EIGHT)
    site.whole.write_text("# somebody's\n")
    with pytest.raises(PlumblineError, match="not ours any more"):
        site.rollback()
    assert site.whole.read_text() == "# somebody's\n"
    site.rollback(everything=True)
    assert site.whole.read_text() == "# somebody's\n" and site.file.read_bytes() == FOREIGN


def test_another_file_is_another_set(user: User) -> None:
    """As when a login file appears that the shell reads in the place of the one before."""
    user.apply()
    other = user.home / "other.conf"
    moved = msgspec.structs.replace(user.place, where=[Where(other, "lines", "mca")])
    assert apply.apply(moved, wish(), now="2026").set == 2
    assert apply.apply(moved, wish(), now="2026").changes == []
    user.rollback(everything=True)
    assert not other.exists() and not user.file.exists()


def test_sets_of_somebody_else(user: User) -> None:
    user.apply()
    lock = user.store.folder / ".lock"
    lock.unlink()
    lock.mkdir()  # stands for one that may not be written
    with pytest.raises(PlumblineError, match=r"cannot write .*\.lock"):
        user.rollback()


# --- interrupted --------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize("undo", [False, True])
def test_killed_anywhere_the_next_one_ends_it(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, undo: bool
) -> None:
    """Before every rename, mkdir and rmdir in turn: each file is the old or the new one, and
    the same command brings it to its end. What a killed process leaves is left here as well."""
    ends = set()
    for after in range(200):
        site = Site(open_folder / str(after))
        (site.home / "profile.d").mkdir(parents=True)
        site.write(FOREIGN)
        site.apply(FOUR)
        old = {path: path.read_bytes() for path in (site.file, site.whole)}
        killed = False
        with monkeypatch.context() as patched:
            left = iter(range(after))

            def step(real, left=left):  # type: ignore[no-untyped-def]
                def call(*words, **options):  # type: ignore[no-untyped-def]
                    if next(left, None) is None:
                        raise Killed
                    return real(*words, **options)

                return call

            for name in CALLS:
                patched.setattr(os, name, step(getattr(os, name)))
            patched.setattr(Path, "unlink", lambda *_, **__: None)
            try:
                site.rollback() if undo else site.apply(EIGHT)
            except Killed:
                killed = True
        now = {path: path.read_bytes() if path.exists() else None for path in old}
        if undo:
            assert all(now[path] in (None, FOREIGN, old[path]) for path in old)
            site.rollback()
            assert site.file.read_bytes() == FOREIGN
        else:
            done = site.apply(EIGHT)
            assert done.campaigns == ["c-4", "c-8"]
            for path in (site.file, site.whole):
                text = path.read_text()
                assert f">>> plumbline openmpi {done.set} >>>" in text
            site.rollback(everything=True)
            assert site.file.read_bytes() == FOREIGN and not site.whole.exists()
        assert os.listdir(site.file.parent) == [site.file.name]
        ends.add(killed)
        if not killed:
            break
    assert ends == {True, False}


KILL = """
import os, signal, sys
from pathlib import Path
from plumbline import paths
from tests.tuner.applied.test_apply import EIGHT, Site

root, work, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
real = os.rename

def rename(*words, **options):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return real(*words, **options)

os.rename = rename
paths.Layout.preload = lambda *_: root / "built.so"
site = Site(root)
site.apply(EIGHT) if work == "apply" else site.rollback()
"""


@pytest.mark.parametrize(
    ("work", "renames"), [("apply", 0), ("apply", 1), ("apply", 2), ("rollback", 0)]
)
def test_kill_9(open_folder: Path, work: str, renames: int) -> None:
    """Before the set is there, before the first file of others is replaced, before the second."""
    root = Path(__file__).parents[3]
    site = Site(open_folder / "etc")
    (site.home / "profile.d").mkdir(parents=True)
    (site.home / "built.so").write_bytes(b"")
    site.write(FOREIGN)
    site.apply(FOUR)
    old = (site.file.read_bytes(), site.whole.read_bytes())
    words = [sys.executable, "-c", KILL, str(site.home), work, str(renames)]
    folders = os.pathsep.join(str(root / one) for one in ("", "tuner", "db", "exporters"))
    done = subprocess.run(words, env=os.environ | {"PYTHONPATH": folders}, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    now = (site.file.read_bytes(), site.whole.read_bytes())
    assert [mine == before for mine, before in zip(now, old, strict=True)] == [
        renames < 2 or work == "rollback",
        True,
    ]
    if work == "apply":
        assert site.apply(EIGHT).campaigns == ["c-4", "c-8"]
    site.rollback(everything=True)
    assert site.file.read_bytes() == FOREIGN and not site.whole.exists()
    assert os.listdir(site.file.parent) == [site.file.name]


# --- login shells -------------------------------------------------------------------------------


LIBRARY = msgspec.structs.replace(
    build.LIBRARY, id="intelmpi-2021.17", family="intelmpi", version="2021.17"
)
PRESET = everywhere("MPI_Allreduce", I_MPI_ADJUST_ALLREDUCE="3")


def said_by(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("shell", "form", "file"),
    [
        ("sh", "sh", "plumbline.sh"),
        ("bash", "sh", "plumbline.sh"),
        ("tcsh", "csh", "plumbline.csh"),
    ],
)
def test_lines_in_a_login_file(tmp_path: Path, shell: str, form: str, file: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    user = User(tmp_path / "a home", "intelmpi", form)
    user.write(b"# mine\n")
    user.apply(PRESET, library=LIBRARY)
    read = f"{'source' if form == 'csh' else '.'} '{user.file}'"
    options = ["-f"] if shell == "tcsh" else ["-e"]
    found = said_by(shell, *options, "-c", f"{read}\necho $I_MPI_ADJUST_ALLREDUCE")
    assert found == "0:0-2147483647@0-3;3:0-2147483647@4-4;0:0-2147483647@5-2147483647"
    (user.store.path(1) / file).unlink()  # what is lost keeps nobody from logging in
    assert said_by(shell, *options, "-c", f"{read}\necho in") == "in"


def test_a_login_file_that_sets_it_already(tmp_path: Path) -> None:
    user = User(tmp_path, "intelmpi", "sh")
    user.write(b"export I_MPI_ADJUST_ALLREDUCE=2\n")
    with pytest.raises(PlumblineError, match="line 1 sets I_MPI_ADJUST_ALLREDUCE"):
        user.apply(PRESET, library=LIBRARY)
