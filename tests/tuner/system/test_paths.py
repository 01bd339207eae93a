"""Where things lie: in a checkout, in an installed tree, and where the environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.system import paths
from plumbline_db.errors import PlumblineError


def installed(prefix: Path) -> Path:
    """An installed tree; returns the place of paths.py in it."""
    (prefix / "share" / "plumbline" / "search-spaces").mkdir(parents=True)
    package = prefix / "lib" / "plumbline" / "python" / "plumbline" / "system"
    package.mkdir(parents=True)
    return package / "paths.py"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PLUMBLINE_PREFIX", "PLUMBLINE_DB", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("own", [None, Path("/own")])
def test_where_the_compiler_is_known_nothing_is_to_be_filled_in(own: Path | None) -> None:
    here = paths.Layout(programs=Path("/none"), search_spaces=Path("/none"), own=own)
    with pytest.raises(PlumblineError, match=r"build (MPICC=)?/usr/bin/smpicc`"):
        here.probe("simgrid-3.32", Path("/usr/bin/smpicc"))
    with pytest.raises(PlumblineError, match="<its "):
        here.probe("openmpi-4.1.4")
    with pytest.raises(PlumblineError, match="build`"):
        here.detection()


def test_a_checkout() -> None:
    root = Path(__file__).resolve().parents[3]
    found = paths.layout()
    assert found.search_spaces == root / "search-spaces"
    assert found.programs == root / "build"
    assert paths.default_database() == root / "state" / "plumbline.db"


def test_an_installed_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "__file__", str(installed(tmp_path)))
    monkeypatch.setenv("XDG_STATE_HOME", "/home/user/state")
    found = paths.layout()
    assert found.search_spaces == tmp_path / "share" / "plumbline" / "search-spaces"
    assert found.programs == tmp_path / "libexec" / "plumbline"
    assert paths.default_database() == Path("/home/user/state/plumbline/plumbline.db")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/user")
    assert paths.default_database() == Path("/home/user/.local/state/plumbline/plumbline.db")


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(tmp_path))
    monkeypatch.setenv("PLUMBLINE_DB", "/data/mine.db")
    assert paths.layout().programs == tmp_path / "libexec" / "plumbline"
    assert paths.default_database() == Path("/data/mine.db")


def test_a_prefix_that_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(tmp_path))
    with pytest.raises(PlumblineError, match=r"search-spaces is missing: set PLUMBLINE_PREFIX"):
        paths.layout()


def test_programs_are_found_by_library(tmp_path: Path) -> None:
    found = paths.Layout(programs=tmp_path, search_spaces=tmp_path)
    with pytest.raises(PlumblineError, match=r"openmpi-4\.1\.4/probe is missing.*make build"):
        found.probe("openmpi-4.1.4")
    (tmp_path / "openmpi-4.1.4").mkdir()
    for name, ask in (("probe", found.probe), ("libplumbline.so", found.preload)):
        (tmp_path / "openmpi-4.1.4" / name).touch()
        assert ask("openmpi-4.1.4") == tmp_path / "openmpi-4.1.4" / name


def test_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It carries sources; programs are in the user's state folder, by the state of these."""
    package = tmp_path / "lib" / "python3.11" / "site-packages" / "plumbline"
    (package / "system").mkdir(parents=True)
    (package / "sources" / "search-spaces").mkdir(parents=True)
    (package / "sources" / "digest").write_text("0123456789ab")
    monkeypatch.setattr(paths, "__file__", str(package / "system" / "paths.py"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = paths.layout()
    own = tmp_path / "state" / "plumbline" / "programs" / "0123456789ab"
    assert (found.programs, found.own, found.sources) == (own, own, package / "sources")
    assert found.search_spaces == package / "sources" / "search-spaces"
    with pytest.raises(PlumblineError, match=r"0123456789ab/mpich-5\.0\.2/probe .*plumbline build"):
        found.probe("mpich-5.0.2")


def test_what_a_user_has_built_comes_before_what_is_installed(tmp_path: Path) -> None:
    installed, own = tmp_path / "installed", tmp_path / "own"
    found = paths.Layout(programs=installed, search_spaces=tmp_path, own=own)
    for folder in (installed, own):
        (folder / "mpich-5.0.2").mkdir(parents=True)
        (folder / "mpich-5.0.2" / "probe").touch()
    assert found.probe("mpich-5.0.2") == own / "mpich-5.0.2" / "probe"
    (own / "mpich-5.0.2" / "probe").unlink()
    assert found.probe("mpich-5.0.2") == installed / "mpich-5.0.2" / "probe"
