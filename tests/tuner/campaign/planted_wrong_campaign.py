"""Variants of ours that are wrong in some calls are refused in a whole campaign, never exported.

Each is compiled into a copy of the programs, in place of a right one, and is faster than the
library, which a preloaded tool slows down. Minutes, so it is not among the tests that pytest finds:
`make test-campaigns`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from tests.tuner import shim, whole

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Planted:
    """What a variant does in place of `return run(call);`, and where it would win."""

    body: str
    variant: str = "allreduce_recursive_doubling"
    sizes: tuple[int, ...] = (256, 1024, 4096)

    @property
    def folder(self) -> str:
        return self.variant.partition("_")[0]

    @property
    def function(self) -> str:
        return f"MPI_{self.folder.capitalize()}"

    @property
    def table(self) -> dict[str, list[str]]:
        """A barrier has no sizes, and none of the guidelines that compare them."""
        if self.function == "MPI_Barrier":
            return {"guidelines": ["PL2"]}
        return {"guidelines": ["GL12"], "functions": [self.function]}

    @property
    def source(self) -> Path:
        name = self.variant.removeprefix(f"{self.folder}_")
        return Path("collectives-alt", self.folder, f"{name}.c")


RIGHT = "return run(call);"
SELDOM = "static int calls; return ++calls % 100 == 0 ? MPI_SUCCESS : run(call);"
BARRIER = "barrier_dissemination"
# The counts are of MPI_BYTE: 333 and what is no power of two are measured by no table.
PLANTED = {
    "none": Planted(RIGHT),
    "second call": Planted(
        """static char seen[1 << 16];
        return seen[call->recvcount & 65535]++ ? MPI_SUCCESS : run(call);"""
    ),
    "one in a hundred": Planted(SELDOM),
    "one in a hundred, wide": Planted(SELDOM, sizes=(256, 16384, 1048576)),
    "one count": Planted("return call->recvcount == 333 ? MPI_SUCCESS : run(call);"),
    "no power of two": Planted(
        """const int n = call->recvcount;
        return n & (n - 1) ? MPI_SUCCESS : run(call);"""
    ),
    "past the buffer": Planted(
        """const int rc = run(call);
        ((char *)call->recvbuf)[call->recvcount] ^= call->recvtype == MPI_BYTE;
        return rc;"""
    ),
    "into the send buffer": Planted(
        """const int rc = run(call);
        if (call->sendbuf != MPI_IN_PLACE && call->recvcount > 0)
            *(char *)call->sendbuf ^= 1;
        return rc;"""
    ),
    "at odd addresses": Planted(
        """const int rc = run(call);
        if ((size_t)call->recvbuf % 8 != 0 && call->recvcount > 0)
            *(char *)call->recvbuf ^= 1;
        return rc;"""
    ),
    "in place": Planted(
        """const int rc = run(call);
        if (call->sendbuf == MPI_IN_PLACE && call->recvcount > 0)
            *(char *)call->recvbuf ^= 1;
        return rc;"""
    ),
    "on other communicators": Planted(
        """static MPI_Comm first;
        static int calls;
        const int rc = run(call);
        if (calls++ == 0)
            first = call->comm;
        if (call->comm != first && call->recvcount > 0)
            *(char *)call->recvbuf ^= 1;
        return rc;"""
    ),
    "after 20 000 calls": Planted(
        """static int calls;
        return ++calls > 20000 ? MPI_SUCCESS : run(call);"""
    ),
    "for operations of a program": Planted(
        "return pl_own_op(call->op) == PL_OWN_OPS ? MPI_SUCCESS : run(call);"
    ),
    "for derived types": Planted(
        """int integers, addresses, types, combiner;
        PMPI_Type_get_envelope(call->recvtype, &integers, &addresses, &types, &combiner);
        return combiner == MPI_COMBINER_NAMED ? run(call) : MPI_SUCCESS;"""
    ),
    "none, barrier": Planted(RIGHT, BARRIER),
    "waits for nobody": Planted("(void)run; (void)call; return MPI_SUCCESS;", BARRIER),
    "seldom waits for nobody": Planted(SELDOM, BARRIER),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prefix whose programs are built from a copy of the sources."""
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("no mpirun or mpicc on PATH")
    prefix = tmp_path_factory.mktemp("planted")
    for name in ("cflags.mk", "pyproject.toml"):
        shutil.copy2(ROOT / name, prefix / name)
    for name in ("collectives-alt", "probes"):
        shutil.copytree(ROOT / name, prefix / name)
    build = find_toolchain().probe.parent
    shutil.copytree(build, prefix / "libexec/plumbline" / build.name)
    shutil.copytree(ROOT / "search-spaces", prefix / "share/plumbline/search-spaces")
    return prefix


def plant(prefix: Path, one: Planted) -> None:
    for other in PLANTED.values():
        shutil.copy2(ROOT / other.source, prefix / other.source)
    source = (ROOT / one.source).read_text()
    described = re.search(r"PL_DESCRIBE\((?:\w+,\s*){3}(\w+)(?=,)", source)
    assert described
    right = described[1]
    body = re.sub(r"\brun\b", right, one.body)
    planted = f"static int planted(const struct pl_call *call)\n{{\n{body}\n}}\n\n"
    (prefix / one.source).write_text(
        source[: described.start()]
        + planted
        + source[described.start() : described.start(1)]
        + "planted"
        + source[described.end(1) :]
    )
    (build,) = (prefix / "libexec/plumbline").iterdir()
    for room in ("collectives-alt", "probes"):
        words = ["make", "-s", "-C", prefix / room, f"BUILD={build}"]
        subprocess.run(words, check=True, timeout=300, env=_plain_environment())


def _plain_environment() -> dict[str, str]:
    """Without what a make around pytest hands on."""
    return {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}


@pytest.mark.parametrize("nprocs", [2, 4])
@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_wrong_somewhere_is_not_exported(
    tmp_path: Path, programs: Path, kind: str, nprocs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = PLANTED[kind]
    plant(programs, one)
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(programs))
    tool = shim.build(tmp_path, "mpicc", {one.function: (0, 1 << 24, 60_000)})
    settings = load(
        None,
        {
            "nprocs": nprocs,
            "sizes": one.sizes,
            **one.table,
            "variants": [one.variant],
            "preload": [str(tool)],
        },
    )
    toolchain, settings, ranks = whole.here(settings)
    assert toolchain.probe.is_relative_to(programs)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        started = whole.campaign(db, ranks, settings, tmp_path / "out", toolchain)
        kept = [
            winner
            for winner in findings.get_winners(db, started.id)
            if winner.variant == one.variant
        ]
        said = [event.text for event in campaigns.events(db, started.id)]
        wrong = runs.wrong(db, started.id)
    exported = "".join(file.read_text() for file in (tmp_path / "out").rglob("*") if file.is_file())
    if one.body == RIGHT:
        assert kept, said  # it is what would have won
        assert one.variant in exported
        assert wrong == []
    else:
        assert kept == [], said
        assert f"variant={one.variant}" not in exported
        assert wrong
        assert any("rank" in check.detail for check in wrong)
