"""Every format keeps the contract of the registry; files are written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from plumbline_db import scratch
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Export
from plumbline_exporters import registry
from plumbline_exporters.bundle import NO_SUM, Bundle, load_bundle
from plumbline_exporters.registry import _with_sum, exporter, exporters, is_ours, write
from tests.db import build
from tests.exporters.bundles import all_may_leave, bundle, everywhere, tuned, variant

FULL = (
    tuned("MPI_Allreduce", "basic_linear", 8192, 65536),
    variant("MPI_Gather", "gather_binomial", 0, 262144),
)

# Of the library's own parameters every format says those of its library.
FULL_OF = {
    f"{name}-env": (everywhere("MPI_Allreduce", **knobs), *FULL[1:])
    for name, knobs in (
        ("mvapich2", {"MV2_INTER_ALLREDUCE_TUNING": "2"}),
        ("mvapich", {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"}),
    )
}


def placed(folder: Path, *winners: object) -> Bundle:
    return bundle(*(winners or FULL), directory=folder)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(exporters()))
class TestEveryFormat:
    def test_is_described(self, name: str) -> None:
        assert exporters()[name].name == name
        assert exporters()[name].summary
        assert set(exporters()[name].needs) <= set(exporters())

    def test_is_pure(self, name: str) -> None:
        files = exporters()[name].files
        full = bundle(*FULL_OF.get(name, FULL))
        assert files(full) == files(full)

    def test_texts_are_whole_and_say_where_they_come_from(self, name: str) -> None:
        for file, text in exporters()[name].files(bundle(*FULL_OF.get(name, FULL))).items():
            assert Path(file).name == file
            assert text.endswith("\n")
            for fact in ("node1", "9d1c5f6a", "c-20250301-a", "2025-03-01T12:00:00Z", "GL12 16384"):
                assert fact in text

    def test_copes_with_no_winners(self, name: str) -> None:
        for text in exporters()[name].files(bundle()).values():
            assert not re.search(r"\bMPI_", text)


def test_a_format_of_another_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"simgrid-env is for simgrid, .* there are .*ompi-rules"):
        write(placed(tmp_path), ["simgrid-env"])
    assert list(tmp_path.iterdir()) == []


def test_every_format_is_in_the_table() -> None:
    """A module under @exporter that MODULES, or its family, leaves out is known to nobody."""
    room = Path(registry.__file__).parent
    found = {path.stem for path in room.glob("*.py") if "\n@exporter(" in path.read_text()}
    assert found == set(registry.MODULES)
    written = sum(path.read_text().count("\n@exporter(") for path in room.rglob("*.py"))
    script = "from plumbline_exporters.registry import exporters; print(len(exporters()))"
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | path, stdout=-1)
    assert int(done.stdout) == written


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="two exporters are called env"):
        exporter("env", "another")(lambda bundle: {})


def test_writing(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    exports = write(placed(folder), ["env", "json", "env"])
    assert [(e.format, Path(e.path).name) for e in exports] == [
        ("ompi-rules", "ompi-rules.conf"),
        ("profile", "plumbline.profile"),
        ("env", "plumbline.sh"),
        ("json", "plumbline.json"),
    ]
    assert sorted(os.listdir(folder)) == sorted(Path(e.path).name for e in exports)
    for export in exports:
        assert hashlib.sha256(Path(export.path).read_bytes()).hexdigest() == export.sha256
        assert export.created == "2025-03-01T12:00:00Z"
        assert Path(export.path).parent == folder


def test_files_are_readable_for_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        (export,) = write(placed(tmp_path), ["json"])
    finally:
        os.umask(mask)
    assert Path(export.path).stat().st_mode & 0o777 == 0o644


def test_refusal_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    write(placed(tmp_path), ["env"])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    bad = placed(tmp_path, tuned("MPI_Bcast", "1"), tuned("MPI_Allreduce", "ring", 1024, 4096))
    with pytest.raises(PlumblineError, match="do not commute"):
        write(bad, ["json", "env"])
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"unknown export format xml; choose one of: .*fish, impi-env"
    ):
        write(placed(tmp_path), ["json", "xml"])
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(PlumblineError, match=r"cannot write in .*file"):
        write(placed(file), ["json"])


def test_relative_folder_is_a_bug() -> None:
    with pytest.raises(ValueError, match="not absolute"):
        write(placed(Path("out")), ["json"])


@pytest.mark.parametrize("name", list(exporters()))
def test_every_file_says_that_it_is_as_it_was_written(name: str, tmp_path: Path) -> None:
    given = bundle(*FULL_OF.get(name, FULL))
    for file, text in exporters()[name].files(given).items():
        assert NO_SUM in text
        path = tmp_path / file
        path.write_text(_with_sum(text))
        assert is_ours(path)
        path.write_text(path.read_text().replace("node1", "node2"))
        assert not is_ours(path)


def test_what_is_as_it_was_written_is_replaced(tmp_path: Path) -> None:
    write(placed(tmp_path), ["env", "json"])
    exports = write(placed(tmp_path, FULL[0]), ["env", "json"])
    for one in exports:
        assert hashlib.sha256(Path(one.path).read_bytes()).hexdigest() == one.sha256
    assert "gather_binomial" not in (tmp_path / "plumbline.json").read_text()


@pytest.mark.parametrize("whose", ["foreign", "changed", "link", "folder"])
def test_what_is_not_ours_is_refused_and_replaced_by_force(tmp_path: Path, whose: str) -> None:
    """Before any file is written."""
    out, mine = tmp_path / "out", tmp_path / "mine"
    write(placed(out), ["mca-params"])
    file = out / "mca-params.conf"
    mine.write_text("btl = self,vader\n")
    if whose == "foreign":
        file.write_text("btl = self,vader\n")
    elif whose == "changed":
        file.write_text(file.read_text() + "btl = self,vader\n")
    else:
        file.unlink()
        file.symlink_to(mine) if whose == "link" else file.mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in out.iterdir()}
    with pytest.raises(PlumblineError, match=r"mca-params\.conf: .*plumbline apply.*--force"):
        write(placed(out, FULL[0]), ["json", "mca-params"])
    assert {path: path.is_file() and path.read_bytes() for path in out.iterdir()} == before
    if whose == "folder":
        with pytest.raises(PlumblineError, match=r"out/mca-params\.conf: a folder"):
            write(placed(out, FULL[0]), ["json", "mca-params"], force=True)
        assert sorted(out.iterdir()) == sorted(before)
    else:
        write(placed(out, FULL[0]), ["json", "mca-params"], force=True)
        assert is_ours(file)
    assert mine.read_text() == "btl = self,vader\n"


def test_what_a_killed_export_has_left_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each rename; also with the same process id, as in a container. It goes with the next
    one."""
    root = Path(__file__).parents[2]
    folders = os.pathsep.join(str(root / one) for one in ("", "tuner", "db", "exporters"))
    files = ["ompi-rules.conf", "plumbline.json", "plumbline.profile", "plumbline.sh"]
    for renames in range(5):
        words = [sys.executable, "-c", KILLED, str(tmp_path), str(renames)]
        ran = subprocess.run(words, env=os.environ | {"PYTHONPATH": folders}, check=False)
        assert ran.returncode == (0 if renames == 4 else -signal.SIGKILL)
        left = [name for name in os.listdir(tmp_path) if name not in files]
        assert len(left) == (renames < 4)
    (tmp_path / f".plumbline.json.{os.getpid()}.part").touch()
    monkeypatch.setattr(scratch, "_cleared", set())
    write(placed(tmp_path), ["env", "json"])


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.exporters.test_registry import placed, write

left = int(sys.argv[2])
real = os.rename

def rename(*words, **options):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return real(*words, **options)

os.rename = rename
write(placed(Path(sys.argv[1])), ["env", "json"])
"""


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (export,) = write(placed(tmp_path), ["json"])
    old = Path(export.path).read_bytes()

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(PlumblineError, match="No space left"):
        write(placed(tmp_path, FULL[0]), ["json"])
    assert Path(export.path).read_bytes() == old
    assert os.listdir(tmp_path) == ["plumbline.json"]


def test_bundle_from_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        campaign = build.finished(db)
    with Database.open(tmp_path / "plumbline.db") as db:
        loaded = load_bundle(
            db,
            None,
            Path("out"),
            lambda _: all_may_leave,
            created="now",
            preload_library=Path("lib.so"),
        )
    assert loaded.campaign == campaign
    assert loaded.library == build.LIBRARY and loaded.machine == build.MACHINE
    assert [winner.function for winner in loaded.winners] == ["MPI_Allreduce", "MPI_Gather"]
    assert loaded.directory == tmp_path / "out"
    assert loaded.preload_library == tmp_path / "lib.so"
    formats = [export.format for export in write(loaded, ["env", "mca-params", "json"])]
    assert formats == ["ompi-rules", "profile", "env", "mca-params", "json"]


def test_json_holds_everything(tmp_path: Path) -> None:
    (export,) = write(placed(tmp_path), ["json"])
    document = json.loads(Path(export.path).read_text())
    assert document["format"] == "plumbline-winners" and document["version"] == 1
    assert document["winners"] == [msgspec.to_builtins(winner) for winner in FULL]
    assert document["machine"] == msgspec.to_builtins(build.MACHINE)
    assert document["library"]["fingerprint"] == "9d1c5f6a"
    assert document["campaign"] == msgspec.to_builtins(build.CAMPAIGN)
    assert document["created"] == "2025-03-01T12:00:00Z"


def test_exports_are_records(tmp_path: Path) -> None:
    assert all(isinstance(export, Export) for export in write(placed(tmp_path), ["env"]))
