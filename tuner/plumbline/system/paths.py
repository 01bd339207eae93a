"""Where the parts of an installation lie: probes, preload library, search spaces.

A source checkout and an installed prefix have different layouts; both are described here and
nowhere else. PLUMBLINE_PREFIX names an installation explicitly."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library


class Layout(msgspec.Struct, frozen=True):
    """`programs` holds one folder per build id, with `probe`, `loops`, `libplumbline.so` and
    `librecorder.so` (for SimGrid `probe` and `plumbline.o`, to be linked in)."""

    programs: Path
    search_spaces: Path

    def probe(self, build_id: str) -> Path:
        return self._built(build_id, "probe")

    def loops(self, build_id: str) -> Path:
        return self._built(build_id, "loops")

    def preload(self, build_id: str) -> Path:
        linked = self.programs / build_id / "plumbline.o"
        return linked if linked.is_file() else self._built(build_id, "libplumbline.so")

    def recorder(self, build_id: str) -> Path:
        return self._built(build_id, "librecorder.so")

    def detection(self) -> Path:
        """The compiled core of `plumbline detect`, which is one for all MPI libraries."""
        path = self.programs / "detection" / "libdetection.so"
        if not path.is_file():
            raise PlumblineError(f"{path} is missing: build it with `make build`")
        return path

    def _built(self, build_id: str, name: str) -> Path:
        path = self.programs / build_id / name
        if not path.is_file():
            raise PlumblineError(
                f"{path} is missing: build the probes for {build_id} with "
                "`make build MPICC=<its mpicc>`"
            )
        return path


def build_id(library: Library) -> str:
    """What probes/mpi-id.sh calls the library that programs are built for: one for all libraries
    that SimGrid re-creates."""
    return f"{library.family}-{library.version}"


def layout() -> Layout:
    """The layout in force: PLUMBLINE_PREFIX, else the checkout this file lies in, else the prefix
    it is installed under (PREFIX/lib/plumbline/python/plumbline/system/paths.py)."""
    named = os.environ.get("PLUMBLINE_PREFIX")
    if named:
        return _installed(Path(named).absolute())
    here = Path(__file__).resolve()
    checkout = here.parents[3]
    if (checkout / "search-spaces").is_dir() and (checkout / "probes").is_dir():
        return Layout(programs=checkout / "build", search_spaces=checkout / "search-spaces")
    return _installed(here.parents[5])


def _installed(prefix: Path) -> Layout:
    result = Layout(
        programs=prefix / "libexec" / "plumbline",
        search_spaces=prefix / "share" / "plumbline" / "search-spaces",
    )
    if not result.search_spaces.is_dir():
        raise PlumblineError(
            f"{result.search_spaces} is missing: set PLUMBLINE_PREFIX to the prefix that "
            "`make install` was given"
        )
    return result


def default_database() -> Path:
    """PLUMBLINE_DB, else state/plumbline.db in a checkout, else the user's state folder."""
    named = os.environ.get("PLUMBLINE_DB")
    if named:
        return Path(named)
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "probes").is_dir():
        return checkout / "state" / "plumbline.db"
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "plumbline" / "plumbline.db"
