"""Whose a collective is on several nodes of Open MPI 5: as a file, and on two hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from plumbline_exporters.family.openmpi import han as ompi_han
from plumbline_exporters.family.openmpi import mca_params
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import PAST_HAN
from tests.exporters import mpi
from tests.exporters.bundles import BY_SIZE, SAFE, bundle, tuned
from tests.hosts import Hosts
from tests.tuner.families.installations import prefix_of


def past_han(
    function: str, bytes_from: int = 0, bytes_to: int = UNBOUNDED_BYTES, nprocs: int = 4
) -> Winner:
    one = tuned(function, SAFE.get(function, "2"), bytes_from, bytes_to, nprocs)
    return msgspec.structs.replace(one, configuration=one.configuration | dict([PAST_HAN]))


def owners(*winners: Winner) -> dict[str, dict[int, dict[int, str]]]:
    return ompi_han.owners(bundle(*winners, version="5.0.11"))


def test_no_file_where_nobody_makes_way() -> None:
    assert ompi_han.files(bundle(tuned("MPI_Bcast", "chain"), version="5.0.11")) == {}
    assert "han" not in str(mca_params.parameters(bundle(tuned("MPI_Bcast", "2"))))


def test_the_parameters_say_where_the_file_is_and_leave_the_priority() -> None:
    values = mca_params.parameters(bundle(past_han("MPI_Bcast", 8, 64), version="5.0.11"))
    assert values == {
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_dynamic_rules_filename": "/out/ompi-rules.conf",
        "coll_han_use_dynamic_file_rules": "1",
        "coll_han_dynamic_rules_filename": "/out/ompi-han-rules.conf",
    }


def test_only_the_sizes_of_a_winner_are_taken_from_han() -> None:
    """Neighbours that meet are one range; others leave a gap. Blocks count as one rank's."""
    found = owners(
        past_han("MPI_Reduce", 100, 199),
        past_han("MPI_Reduce", 200, 299),
        past_han("MPI_Reduce", 1000),
        past_han("MPI_Allgather", 101, 1023),
        past_han("MPI_Allgather", 1024, 2047),
        past_han("MPI_Scatter", nprocs=8),
    )
    assert found["MPI_Reduce"] == {
        1: {0: "han"},
        4: {0: "han", 100: "tuned", 200: "tuned", 300: "han", 1000: "tuned"},
        5: {0: "han"},
    }
    assert found["MPI_Allgather"][4] == {0: "han", 26: "tuned", 256: "tuned", 513: "han"}
    assert found["MPI_Scatter"] == {1: {0: "han"}, 8: {0: "tuned"}, 9: {0: "han"}}


def test_what_han_does_not_own_cannot_be_taken_from_it() -> None:
    with pytest.raises(PlumblineError, match=r"MPI_Alltoall, .* has no rules for it"):
        owners(past_han("MPI_Alltoall"))
    with pytest.raises(PlumblineError, match=r"openmpi-4\.1\.4 has no rules for it"):
        ompi_han.owners(bundle(past_han("MPI_Bcast")))


def test_the_file() -> None:
    (text,) = ompi_han.files(bundle(past_han("MPI_Barrier"), version="5.0.11")).values()
    body = [line.partition("#")[0].strip() for line in text.splitlines()]
    assert [line for line in body if line] == [
        *("1", "barrier", "1", "2", "3"),
        *("1", "1", "0 han"),
        *("4", "1", "0 tuned"),
        *("5", "1", "0 han"),
    ]


# --- on two hosts -------------------------------------------------------------------------------

Answers = dict[tuple[str, int], str]


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The prefix of Open MPI 5 and the canary program built for it."""
    prefix = prefix_of("openmpi-5.0")
    assert prefix is not None
    program = tmp_path_factory.mktemp("canary") / "canary"
    source = Path(__file__).with_name("canary.c")
    yield prefix, mpi.build(source, program, mpicc=str(prefix / "bin" / "mpicc"))


def asked(
    hosts: Hosts, five: tuple[Path, Path], files: dict[str, str], calls: list[tuple[str, int]]
) -> Answers:
    """A launch for each call: after a refused one, others may fail too."""
    prefix, program = five
    command = hosts.command(2, [str(program)], None, prefix)
    found: Answers = {}
    for call in calls:
        found |= mpi.answers_of(command, [call], mpi.environment(**files))
    return found


def files(folder: Path, *winners: Winner) -> dict[str, str]:
    """What the exported parameters set, with the canary in the rules of coll/tuned."""
    given = bundle(*winners, version="5.0.11", directory=str(folder))
    for name, text in (ompi_rules.rules_files(given) | ompi_han.files(given)).items():
        rules = name == ompi_rules.RULES_FILE_NAME
        (folder / name).write_text(mpi.canary(text) if rules else text)
    return {f"OMPI_MCA_{name}": value for name, value in mca_params.parameters(given).items()}


@pytest.mark.mpi
def test_rules_decide_on_two_hosts_where_han_makes_way(
    two_hosts: Hosts, five: tuple[Path, Path], tmp_path: Path
) -> None:
    winners = [past_han(function, 1200, 6000) for function in ("MPI_Reduce", "MPI_Bcast")]
    inside = [(one.function, size) for one in winners for size in (1200, 6000)]
    outside = [(one.function, size) for one in winners for size in (1196, 6004)]
    given = files(tmp_path, *winners)
    assert asked(two_hosts, five, given, inside) == dict.fromkeys(inside, "refused")
    assert asked(two_hosts, five, given, outside) == dict.fromkeys(outside, "ok")
    alone = {name: value for name, value in given.items() if "coll_han" not in name}
    assert asked(two_hosts, five, alone, inside) == dict.fromkeys(inside, "ok")


@pytest.mark.mpi
def test_every_function_of_han_can_be_taken_from_it(
    two_hosts: Hosts, five: tuple[Path, Path], tmp_path: Path
) -> None:
    """What coll/han does not own is decided by the rules alone."""
    winners = [past_han(f, *((1200, 6000) if f in BY_SIZE else ())) for f in ompi_han.FUNCTIONS] + [
        tuned("MPI_Alltoall", "2"),
        tuned("MPI_Scan", "2"),
        tuned("MPI_Reduce_scatter", "4"),
    ]
    calls = [(one.function, 2400) for one in winners]
    found = asked(two_hosts, five, files(tmp_path, *winners), calls)
    assert found == dict.fromkeys(calls, "refused")
