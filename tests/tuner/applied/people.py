"""People and sites whose files apply writes, as tests have them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.applied import apply, standing
from plumbline.applied.generations import Source, Store
from plumbline.applied.targets import AppliedOutcome, Place, Where
from plumbline.libraries import Installation, families
from plumbline_db.records import Library, Winner
from tests.db import build
from tests.exporters.bundles import tuned

FOREIGN = b"# mine\nbtl = self,vader\nmpi_yield_when_idle = 1"  # no line break at the end
FOUR = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
EIGHT = tuned("MPI_Allreduce", "rabenseifner", 1024, 4096, nprocs=8)


class User:
    """A person with a home and one parameter file in it, as `--user` finds it for Open MPI."""

    def __init__(self, home: Path, name: str = "openmpi", form: str = "parameters") -> None:
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

    def apply(self, *winners: Winner, **changes: object) -> AppliedOutcome:
        dry_run = bool(changes.pop("dry_run", False))
        return apply.apply(self.place, wish(*winners, **changes), now="2026", dry_run=dry_run)

    def rollback(self, **options: bool) -> AppliedOutcome:
        return standing.rollback("user", self.place.root, self.place.name, **options)

    def everything(self) -> dict[Path, bytes]:
        return {one: one.read_bytes() for one in self.home.rglob("*") if one.is_file()}


class Site(User):
    """What others read: a file of a site, and one that is ours as a whole."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.whole = root / "profile.d" / "plumbline.sh"
        where = [*self.place.where, Where(self.whole, "whole", "sh")]
        self.place = msgspec.structs.replace(self.place, scope="site", shared=True, where=where)
        self.store = Store(self.place.root, self.place.name, shared=True)

    def rollback(self, **options: bool) -> AppliedOutcome:
        return standing.rollback("site", self.place.root, self.place.name, **options)


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
