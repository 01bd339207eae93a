"""Places of the parts of an installation: probes, preload library, search spaces.

A source checkout, an installed prefix and a wheel have different layouts; all are described here
and nowhere else. PLUMBLINE_PREFIX names a prefix explicitly."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import msgspec

from plumbline_db.errors import PlumblineError, command_name, typed
from plumbline_db.records import Library


class Layout(msgspec.Struct, frozen=True):
    """`programs` holds one folder per build id, with `probe`, `loops`, `libplumbline.so` and
    `librecorder.so` (for SimGrid `probe` and `plumbline.o`, to be linked in). `own` is the place of
    those that `plumbline build` makes, outside a checkout; what it makes them of are `sources`."""

    programs: Path
    search_spaces: Path
    own: Path | None = None
    sources: Path | None = None

    def remedy(self, mpicc: Path | None) -> str:
        """Against a program that is missing; `mpicc`: the library's own, where it is known."""
        if self.own is None:
            return f"`make build MPICC={shlex.quote(str(mpicc)) if mpicc else '<its mpicc>'}`"
        return (
            f"`{typed('build', mpicc)}`"
            if mpicc
            else f"`{command_name()} build --mpi <its prefix>`"
        )

    def probe(self, build_id: str, mpicc: Path | None = None) -> Path:
        """`mpicc`: the library's own, where it is known."""
        return self._built(build_id, "probe", mpicc)

    def loops(self, build_id: str) -> Path:
        return self._built(build_id, "loops")

    def preload(self, build_id: str) -> Path:
        linked = self._found(build_id, "plumbline.o")
        return linked if linked.is_file() else self._built(build_id, "libplumbline.so")

    def recorder(self, build_id: str) -> Path:
        return self._built(build_id, "librecorder.so")

    def detection(self) -> Path:
        """The compiled core of `plumbline detect`, which is one for all MPI libraries."""
        path = self._found("detection", "libdetection.so")
        if not path.is_file():
            command = "`make build`" if self.own is None else f"`{command_name()} build`"
            raise PlumblineError(f"{path} is missing: build it with {command}")
        return path

    def _built(self, build_id: str, name: str, mpicc: Path | None = None) -> Path:
        path = self._found(build_id, name)
        if not path.is_file():
            raise PlumblineError(
                f"{path} is missing: build the probes for {build_id} with {self.remedy(mpicc)}"
            )
        return path

    def _found(self, build_id: str, name: str) -> Path:
        """Return where it is, else where it would be."""
        path = self.programs / build_id / name
        own_path = self.own / build_id / name if self.own else path
        return own_path if own_path.is_file() or self.own == self.programs else path


def build_id(library: Library) -> str:
    """Return what probes/mpi-id.sh calls the library that programs are built for: one for all
    libraries that SimGrid re-creates."""
    return f"{library.family}-{library.version}"


def layout() -> Layout:
    """The layout in force: PLUMBLINE_PREFIX, else the checkout this file lies in, else the prefix
    it is installed under (PREFIX/lib/plumbline/python/plumbline/system/paths.py), else what a wheel
    carries."""
    named = os.environ.get("PLUMBLINE_PREFIX")
    if named:
        return _installed(Path(named).absolute())
    this_file = Path(__file__).resolve()
    checkout = this_file.parents[3]
    if (checkout / "search-spaces").is_dir() and (checkout / "probes").is_dir():
        spaces = checkout / "search-spaces"
        return Layout(programs=checkout / "build", search_spaces=spaces, sources=checkout)
    prefix, carried = this_file.parents[5], this_file.parents[1] / "sources"
    if carried.is_dir() and not _spaces(prefix).is_dir():
        own = _own(carried)
        return Layout(
            programs=own, search_spaces=carried / "search-spaces", own=own, sources=carried
        )
    return _installed(prefix)


def _installed(prefix: Path) -> Layout:
    carried = prefix / "lib" / "plumbline" / "python" / "plumbline" / "sources"
    result = Layout(
        programs=prefix / "libexec" / "plumbline",
        search_spaces=_spaces(prefix),
        own=_own(carried),
        sources=carried,
    )
    if not result.search_spaces.is_dir():
        raise PlumblineError(
            f"{result.search_spaces} is missing: set PLUMBLINE_PREFIX to the prefix that "
            "`make install` was given"
        )
    return result


def _spaces(prefix: Path) -> Path:
    return prefix / "share" / "plumbline" / "search-spaces"


def _own(sources: Path) -> Path:
    """Return the folder of one state of the sources: programs of another version would not fit."""
    digest = sources / "digest"
    name = digest.read_text() if digest.is_file() else "unknown"
    return state_folder() / "programs" / name


def state_folder() -> Path:
    """The user's."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "plumbline"


def default_database() -> Path:
    """PLUMBLINE_DB, else state/plumbline.db in a checkout, else the user's state folder."""
    named = os.environ.get("PLUMBLINE_DB")
    if named:
        return Path(named)
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "probes").is_dir():
        return checkout / "state" / "plumbline.db"
    return state_folder() / "plumbline.db"
