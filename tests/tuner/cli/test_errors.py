"""What goes wrong is named with its remedy, under a defined exit status."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.cli import common, options
from plumbline.measure.launches import LaunchStore
from plumbline.settings.toolchain import Variant
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from tests.db import damage
from tests.tuner import planted
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.cli.conftest import SMALL, install
from tests.tuner.simulated import Interrupted, SimulatedStarter, toolchain

READERS = (
    ["results"],
    ["export", "env"],
    ["run", "--", "env"],
    ["serve", "--listen", "127.0.0.1:1"],
    ["db", "check"],
    ["db", "backup", "copy.db"],
)
DAMAGED_READERS = (
    ["results"],
    ["export", "env", "--output", "exported"],
    ["overlap", "compare", "a", "b"],
    ["apply", "--dry-run"],
    ["db", "check", "--json"],
    ["db", "backup", "copy.db"],
)


def refused(said: Result, status: int, *parts: str) -> None:
    assert said.status == status, (said.out, said.err)
    for part in parts:
        assert part in said.err
    assert "Traceback" not in said.err


# --- no MPI -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [["campaign", *SMALL], ["verify", *SMALL], ["measure", "MPI_Bcast"]]
)
def test_no_mpi(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))
    said = plumbline(*words)
    refused(said, 1, "no supported MPI library found on PATH", "openmpi-bin", "--mpi PREFIX")
    said = plumbline(*words, "--mpi", tmp_path / "opt")
    refused(said, 1, f"no supported MPI library found under {tmp_path}/opt")
    assert not (tmp_path / "plumbline.db").exists()


def test_the_doctor_says_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = plumbline("doctor", "--db", tmp_path / "plumbline.db")
    assert said.status == 1
    assert "FAIL  library" in said.out and "no supported MPI library" in said.out
    as_json = plumbline("doctor", "--json", "--db", tmp_path / "plumbline.db")
    assert as_json.status == 1
    assert {one["state"] for one in as_json.json} >= {"fails"}


def test_a_case_that_ends_launches(
    starter: SimulatedStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = SimulatedStarter(planted.costs(), crashes=lambda case, _: case.case == 0)
    install(monkeypatch, dead)
    said = plumbline("measure", "MPI_Bcast", "--launches", "2")
    assert said.status == 1
    assert "[1] failed: it ends launches (SIGSEGV, exit status 139)" in said.out


# --- the database -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", READERS)
def test_no_database(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "none.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUMBLINE_DB", str(path))
    refused(plumbline(*words), 1, f"no database at {path}", "--db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [*READERS, ["campaign", *SMALL]])
@pytest.mark.parametrize("kind", ["text", "sqlite"])
def test_a_file_of_somebody_else(
    words: list[str],
    kind: str,
    starter: SimulatedStarter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "precious.db"
    if kind == "text":
        path.write_text("dear diary")
    else:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE mine (x)")
        other.close()
    before = path.read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUMBLINE_DB", str(path))
    refused(plumbline(*words), 1, f"{path} is", "not Plumbline's", "left as it is")
    assert path.read_bytes() == before
    assert starter.launches == []


@pytest.mark.parametrize("kind", damage.KINDS)
def test_a_damaged_database(
    kind: str,
    starter: SimulatedStarter,
    finished: tuple[Path, Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One message with the way back, of every command that meets the damage; none is a bug."""
    whole, _ = finished
    path = tmp_path / "plumbline.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUMBLINE_DB", str(path))
    shutil.copy(whole, path)
    Database.open(path, write=True).close()
    assert plumbline("db", "backup", "safe.db").status == 0
    good = path.read_bytes()
    for seed in range(2):
        corrupted = damage.corrupt(good, kind, seed)
        for words in (*DAMAGED_READERS, ["campaign", *SMALL]):
            path.write_bytes(corrupted)
            for log in ("plumbline.db-wal", "plumbline.db-shm"):
                Path(log).unlink(missing_ok=True)
            said = plumbline(*words)
            text = said.out + said.err
            assert "Traceback" not in text
            if "is damaged" in text or words[:2] == ["db", "check"]:
                assert said.status == 1
                assert f"newest backup is {tmp_path}/safe.db" in text, (words, seed, said)
                assert text.count("newest backup") == 1


def test_a_database_that_is_being_written(starter: SimulatedStarter, tmp_path: Path) -> None:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True):
        said = plumbline("campaign", *SMALL, "--db", path)
        refused(said, 75, f"is being written by process {os.getpid()}", "try again")
    assert starter.launches == []


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that may not be written, for root neither."""
    if os.geteuid() == 0:
        yield Path("/sys/kernel")
        return
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    yield tmp_path
    tmp_path.chmod(stat.S_IRWXU)


def test_a_folder_that_may_not_be_written(
    starter: SimulatedStarter, finished: tuple[Path, Result], read_only: Path
) -> None:
    said = plumbline("campaign", *SMALL, "--db", read_only / "plumbline.db")
    refused(said, 1, f"cannot write {read_only}/plumbline.db.lock", "--db")
    said = plumbline("campaign", *SMALL, "--db", read_only / "below" / "plumbline.db")
    refused(said, 1, f"cannot create the folder {read_only}/below", "--db")
    said = plumbline("export", "env", "--output", read_only, "--db", finished[0])
    assert said.status == 1
    assert f"cannot write in {read_only}" in said.err or "libplumbline.so is missing" in said.err


def test_no_campaign_yet(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.db"
    Database.open(path, write=True).close()
    refused(plumbline("results", "--db", path), 1, "contains no campaign: run `plumbline campaign`")
    refused(plumbline("run", "--db", path, "--", "env"), 1, "contains no campaign")


def test_a_campaign_that_is_not_there(finished: tuple[Path, Result]) -> None:
    path, _ = finished
    said = plumbline("results", "--campaign", "c-none", "--db", path)
    refused(said, 1, "contains no campaign c-none; it contains: openmpi-4.1.4-4x")


def test_a_campaign_that_is_not_finished(
    starter: SimulatedStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plumbline.db"
    install(monkeypatch, SimulatedStarter(planted.costs(), stop_after=20))
    with pytest.raises(Interrupted):
        plumbline("campaign", *SMALL, "--db", path)
    said = plumbline("run", "--db", path, "--", "env")
    (id,) = (
        line.split()[0] for line in plumbline("results", "--list", "--db", path).out.splitlines()
    )
    continued = f"`plumbline campaign --continue {id}` continues it (it was begun by "
    begun = " ".join(map(str, ("plumbline campaign", *SMALL, "--db", path)))
    refused(said, 1, f"is not finished; {continued}`{begun}`)")
    said = plumbline("results", "--db", path)
    assert said.status == 0
    assert f"The campaign is not finished; {continued}" in " ".join(said.out.split())
    assert plumbline("results", "--json", "--db", path).json["state"] == "interrupted"


def test_an_interrupted_campaign_is_continued_by_its_id(
    starter: SimulatedStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options that it was begun with need not be repeated, and none may be added."""
    path = tmp_path / "plumbline.db"
    install(monkeypatch, SimulatedStarter(planted.costs(), stop_after=20))
    with pytest.raises(Interrupted):
        plumbline("campaign", *SMALL, "--db", path)
    with Database.open(path) as db:
        (begun,) = campaigns.all_campaigns(db)
    refused(
        plumbline("campaign", "--continue", begun.id, "--budget", 3, "--db", path), 2, "leave out"
    )
    refused(plumbline("campaign", "--continue", "c-none", "--db", path), 1, "contains no campaign")
    install(monkeypatch, starter)
    assert plumbline("campaign", "--continue", begun.id, "--db", path).status == 0
    with Database.open(path) as db:
        (finished,) = campaigns.all_campaigns(db)
    assert (finished.id, finished.settings) == (begun.id, begun.settings)
    assert finished.state == "finished"


def test_a_campaign_of_another_library_is_not_continued_here(
    starter: SimulatedStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plumbline.db"
    install(monkeypatch, SimulatedStarter(planted.costs(), stop_after=20))
    with pytest.raises(Interrupted):
        plumbline("campaign", *SMALL, "--db", path)
    monkeypatch.setenv("OMPI_MCA_btl", "self")  # part of what a campaign is
    with Database.open(path) as db:
        (begun,) = campaigns.all_campaigns(db)
    said = plumbline("campaign", "--continue", begun.id, "--db", path)
    refused(said, 2, "cannot be continued here")
    with Database.open(path) as db:
        assert len(campaigns.all_campaigns(db)) == 1


def test_interrupted_by_its_user(
    starter: SimulatedStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    launch = LaunchStore.launch

    def impatient(self: LaunchStore, *arguments: object, **more: object) -> object:
        nonlocal count
        count += 1
        if count > 5:
            raise KeyboardInterrupt
        return launch(self, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(LaunchStore, "launch", impatient)
    said = plumbline("campaign", *SMALL, "--db", tmp_path / "plumbline.db")
    refused(said, 130, "5 launches kept in ", "` continues")
    assert "plumbline campaign --continue" in said.err
    assert len(starter.launches) == 5


# --- files --------------------------------------------------------------------------------------


# An option that names what is written, of each command that has one.
WRITERS = [
    (["measure", "MPI_Bcast"], "--output"),
    (["campaign", *SMALL], "--output"),
    (["reproducibility", "--quick"], "--picture"),
    (["results"], "--picture"),
    (["compare", "a", "b"], "--picture"),
    (["overlap"], "--picture"),
    (["overlap", "compare", "a", "b"], "--picture"),
]


@pytest.mark.parametrize(("words", "option"), WRITERS)
def test_what_cannot_be_written_is_refused_before_anything_is_launched(
    starter: SimulatedStarter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    option: str,
) -> None:
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))
    file = tmp_path / "file"
    file.write_text("mine")
    bad = ["/proc/foo", file / "below"]
    picture = option == "--picture"
    bad += [tmp_path, tmp_path / "none" / "x.svg"] if picture else [file]
    for path in bad:
        refused(plumbline(*words, option, path), 2, "cannot write", str(path), "; name a ")
    assert starter.launches == []
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]  # looking leaves nothing, and made no database


def test_looking_whether_a_file_can_be_written_leaves_it_as_it_is(tmp_path: Path) -> None:
    there, new = tmp_path / "there.svg", tmp_path / "new.svg"
    there.write_text("mine")
    for path in (there, new, Path("/dev/null")):
        assert options.NewFile().convert(path, None, None) == path
    for path in (tmp_path, tmp_path / "a" / "b"):
        assert options.NewFolder().convert(path, None, None) == path
    assert there.read_text() == "mine" and list(tmp_path.iterdir()) == [there]


def test_what_can_no_longer_be_written_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"cannot write .*x\.svg: No such file.*; name"):
        common.write(tmp_path / "gone" / "x.svg", "picture")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(PlumblineError, match=r"cannot create the folder .*file.*: "):
        common.write_records(tmp_path / "file" / "raw", "measure", [[]])


def test_an_export_format_that_does_not_exist(
    finished: tuple[Path, Result], tmp_path: Path
) -> None:
    path, _ = finished
    said = plumbline("export", "xml", "--output", tmp_path / "out", "--db", path)
    if "libplumbline.so is missing" not in said.err:
        refused(said, 2, "unknown export format xml; choose one of: ", " json, ", " mca-params, ")
    assert not (tmp_path / "out").exists()
    refused(plumbline("export", "--db", path), 2, "name a format: ")


def test_an_application_that_does_not_exist(finished: tuple[Path, Result]) -> None:
    said = plumbline("run", "--db", finished[0], "--", "no-such-application", "--help")
    refused(said, 2, "no-such-application is not on PATH")


def test_a_probe_that_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = pytest.importorskip("tests.tuner.simulated").toolchain()
    monkeypatch.setattr(libraries, "find", lambda _: (toolchain.family, toolchain.installation))
    prefix = tmp_path / "prefix"
    (prefix / "share" / "plumbline" / "search-spaces").mkdir(parents=True)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(prefix))
    said = plumbline("measure", "MPI_Bcast")
    refused(said, 1, "openmpi-4.1.4/probe is missing: build the probes", "plumbline build --mpi")


def test_the_same_reason_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said = plumbline("doctor", "--mpi", tmp_path / "none", "--db", tmp_path / "p.db")
    assert said.status == 1 and said.out.count("no supported MPI library found") == 1
    said = plumbline("serve", "--textfile", tmp_path / "x.prom", "--db", tmp_path / "none.db")
    assert said.status == 1 and said.err.count("there is no database") == 1
    assert "there is no database" not in caplog.text


def test_a_function_of_profiles_alone_is_named() -> None:
    """The catalogue has variants of functions that the probe does not measure."""
    variant = Variant("alltoallw_pairwise", "MPI_Alltoallw", "algorithm", [], "")
    catalogue = msgspec.structs.replace(toolchain().catalogue, variants=[variant])
    assert common.functions(catalogue, ["MPI_Bcast"]) == ["MPI_Bcast"]
    with pytest.raises(UsageError, match="MPI_Alltoallw: a profile can replace it"):
        common.functions(catalogue, ["MPI_Alltoallw"])
