"""How ranks were started, read off stored command lines."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from plumbline_db import runs, started
from plumbline_db.connection import Database
from plumbline_db.records import Suite
from tests.db import build

PROBE = ["/opt/plumbline/probe", "--plan", "/tmp/x/plan", "--out", "/tmp/x/records.ndjson"]
HELD = ["/usr/bin/mpirun.openmpi", "-np", "4", "--oversubscribe", "--bind-to", "core"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/usr/bin/mpirun.openmpi", "-np", "4", *PROBE], "mpirun.openmpi -np 4"),
        (
            [
                *("/m/mpirun", "-np", "2", "--host", "a:1", "--mca", "plm_rsh_agent", "/s/agent"),
                *("-x", "UCX_TLS", "-x", "A", "--bind-to", "core", *PROBE),
            ],
            "mpirun -np 2 --host a:1 --mca plm_rsh_agent agent --bind-to core",
        ),
        (
            ["/m/mpiexec.hydra", "-n", "2", "-launcher-exec", "/s/agent", "-iface", "eth1", *PROBE],
            "mpiexec.hydra -n 2 -iface eth1",
        ),
        (
            ["srun", "--mpi=pmix", "--ntasks=4", "env", "LD_PRELOAD=/x", "A=b", *PROBE],
            "srun --mpi=pmix --ntasks=4",
        ),
        (["flux", "run", "--ntasks=4", "--env=LD_PRELOAD=/x", *PROBE], "flux run --ntasks=4"),
        (["/usr/bin/mpirun", "-np", "4", "/opt/plumbline/probe", "--serve"], "mpirun -np 4"),
        (["mpirun"], "mpirun"),
        ([], ""),
    ],
)
def test_words(argv: Sequence[str], words: str) -> None:
    assert " ".join(started.words(argv)) == words


def put(db: Database, suite: Suite, argv: Sequence[str], **environment: str) -> None:
    sequence = len(runs.listing(db, build.CAMPAIGN.id))
    launch = msgspec.structs.replace(
        build.run(suite.name, sequence), argv=[*argv, *PROBE], environment=environment
    )
    runs.put(db, launch, build.records(launch, [build.Timed()]), suite)


def test_lines(db: Database) -> None:
    campaign = build.started(db)
    assert started.lines(db, campaign.id) == []
    put(db, Suite("before"), HELD)
    put(db, Suite("confirm", 1), HELD)
    held = "measured with mpirun.openmpi -np 4 --oversubscribe --bind-to core"
    assert started.lines(db, campaign.id) == [held]
    put(db, Suite("search", 1), ["mpirun", "-np", "3"])
    for _ in range(2):
        put(db, Suite("accept", 1, "first"), HELD[:4])
    also = "confirmed also with mpirun.openmpi -np 4 --oversubscribe"
    assert started.lines(db, campaign.id) == [held, also]


def test_simulated_ranks_are_not_started_by_words(db: Database) -> None:
    campaign = build.started(db)
    put(db, Suite("before"), ["/usr/bin/smpirun", "-np", "4", "--cfg=smpi/bcast:mpich"])
    assert started.lines(db, campaign.id) == []


def test_the_first_that_was_started_alike(db: Database) -> None:
    build.started(db)
    put(db, Suite("before"), HELD)
    put(db, Suite("confirm", 1), HELD, A="b")
    put(db, Suite("confirm", 1, "plain"), HELD[:4], A="b")
    put(db, Suite("confirm", 2, "plain"), HELD[:4], A="b")
    asked = msgspec.structs.replace(build.run(), argv=[*HELD[:4], *PROBE], environment={"A": "b"})
    found = started.first_alike(db, asked)
    assert found is not None and found[0].endswith("confirm-1-plain-002")
    assert started.first_alike(db, msgspec.structs.replace(asked, environment={})) is None
    assert started.first_alike(db, msgspec.structs.replace(asked, argv=["srun", *PROBE])) is None
