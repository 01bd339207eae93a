"""Open MPI libraries that the linter's tests ask, with the programs that ask them."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from plumbline.system import process
from plumbline.system.process import Finished
from tests import own_core
from tests.exporters import mpi
from tests.tuner.families.installations import ON_PATH, prefix_of

HERE = Path(__file__).parent
SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"
RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
_ATTEMPTS = 3


def rules_in_force(path: Path) -> dict[str, str]:
    return {SWITCH: "1", RULES: str(path)}


class OpenMpi(msgspec.Struct, frozen=True):
    """`folder` has its programs; `hazards` and `canary` are built for it."""

    folder: str
    id: str
    hazards: Path
    canary: Path

    def environment(self, **changes: str) -> dict[str, str]:
        return mpi.environment(**changes)

    def run(
        self, program: Path, *words: str, nprocs: int = 4, limit: float = 60, **values: str
    ) -> Finished:
        """Nobody of it is left when this returns, whatever the ranks do."""
        start = [*own_core.words(), f"{self.folder}mpirun", "-n", str(nprocs), "--oversubscribe"]
        return process.run(
            [*start, program, *words], timeout_seconds=limit, environment=self.environment(**values)
        )

    def outcome(self, rules: Path | None, *hazards: str, limit: int = 30) -> str:
        """`right`, `wrong` (data), `error`, or `hang`: a rank is not done so many seconds after all
        have started."""
        values = {} if rules is None else rules_in_force(rules)
        done = self.run(self.hazards, f"seconds={limit}", *hazards, **values)
        if "MPI_ERRORS_ARE_FATAL" in done.stderr:
            return "error"  # also when mpirun, which has said so, does not end
        assert not done.timed_out, done.stderr
        if "hang" in done.stdout.split():
            return "hang"
        if done.status != 0:
            return "error"
        return "wrong" if "wrong" in done.stdout else "right"

    def refused(
        self, rules: Path, calls: list[tuple[str, int]], **values: str
    ) -> dict[tuple[str, int], bool]:
        """Whether an algorithm that does not exist (99) serves each call of the canary program.
        A busy machine's mpirun may lose sight of a rank ("with PID 0"): then it is asked again."""
        words = [f"{function}:{size}" for function, size in calls]
        for _ in range(_ATTEMPTS):
            done = self.run(self.canary, *words, **(rules_in_force(rules) | values))
            if done.status == 0:
                break
        assert done.status == 0, done.stderr
        lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
        found = {(function, int(size)): answer == "refused" for function, size, answer in lines}
        assert list(found) == calls, done.stderr
        return found

    def parameters(self, **values: str) -> dict[str, str]:
        """What the library takes for the values of its MCA parameters."""
        done = process.run(
            [f"{self.folder}ompi_info", "--parsable", "--all", "--level", "9"],
            timeout_seconds=60,
            environment=self.environment(**values),
            cap_bytes=1 << 24,
        )
        assert done.status == 0, done.stderr
        lines = [line.split(":", 6) for line in done.stdout.splitlines()]
        return {words[4]: words[6] for words in lines if words[3:6:2] == ["param", "value"]}


@pytest.fixture(scope="session", params=[ON_PATH, "openmpi-5.0"])
def open_mpi_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> OpenMpi:
    prefix = prefix_of(request.param)
    if prefix is None and shutil.which("mpicc") is None:
        pytest.skip("no mpicc on PATH")
    folder = "" if prefix is None else f"{prefix}/bin/"
    built = tmp_path_factory.mktemp("hazards")
    mpicc = f"{folder}mpicc"
    found = process.run(
        [f"{folder}ompi_info", "--version"], timeout_seconds=60, environment=mpi.environment()
    )
    return OpenMpi(
        folder,
        "openmpi-" + found.stdout.split()[2].removeprefix("v"),
        mpi.build(HERE / "hazards.c", built / "hazards", "-Werror", mpicc=mpicc),
        mpi.build(HERE.parent / "canary.c", built / "canary", "-Werror", mpicc=mpicc),
    )
