"""Non-blocking and persistent forms of collectives: each is right on several numbers of ranks,
wrong data are seen, and a persistent one is set up once for a series."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plumbline.core.plan import blocking, is_form
from tests.probes.conftest import _preloaded
from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi

SETTINGS = "set blocks=2 warmup=2\n"


def forms(probe: Probe) -> list[str]:
    return [each["name"] for each in probe.known()["forms"]]


def good(launch: Launch) -> Launch:
    assert launch.code == 0, launch.stderr
    names = {number: (case.function, case.variant) for number, case in launch.cases.items()}
    assert {names[n]: check for n, check in launch.checks.items() if check.outcome != "ok"} == {}
    return launch


def test_the_probe_names_them_and_their_blocking_function(probe: Probe) -> None:
    known = probe.known()
    functions = {each["name"] for each in known["functions"]}
    names = forms(probe)
    assert len([name for name in names if name.startswith("MPI_I")]) == 16
    assert {blocking(name) for name in names} <= functions
    for form in known["forms"]:
        name, function = form["name"], form["function"]
        assert is_form(name) and function == blocking(name)
        assert form["blocking"] == f"{name[4:].lower()}_as_{function[4:].lower()}"


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_form_is_right(probe: Probe, ranks: int) -> None:
    lines: list[str] = []
    for name in forms(probe):
        variant = f"{name[4:].lower()}_as_{blocking(name)[4:].lower()}"
        for size in (0,) if "arrier" in name else (1, 4096):
            for chosen in ("default", variant):
                what = f"variant={chosen} bytes={size} root={ranks - 1} reps=2"
                lines.append(f"case id={len(lines)} function={name} {what}\n")
    launch = good(probe.run(SETTINGS + "".join(lines), ranks))
    assert len(launch.samples) == 2 * len(lines)
    assert {case.function for case in launch.cases.values()} == set(forms(probe))


def test_wrong_data_of_a_form_are_seen(
    probe: Probe, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library: Path = _preloaded(tmp_path_factory, "unfinished")
    lines = [
        f"case id={number} function={name} bytes=64 reps=1\n"
        for number, name in enumerate(("MPI_Ibcast", "MPI_Bcast"))
    ]
    launch = probe.run(SETTINGS + "".join(lines), 2, environment={"LD_PRELOAD": str(library)})
    assert [launch.checks[number].outcome for number in (0, 1)] == ["wrong", "ok"]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            "function=MPI_Ibcast variant=bcast_binomial bytes=8",
            "has default, library, empty and ib",
        ),
        ("function=MPI_Bcast variant=ibcast_as_bcast bytes=8", "it is of MPI_Ibcast"),
        ("function=MPI_Ireduce variant=ibcast_as_bcast bytes=8", "it is of MPI_Ibcast"),
        ("function=MPI_Ireduce_local bytes=8", "no such function"),
    ],
)
def test_what_no_form_is(probe: Probe, case: str, said: str) -> None:
    probe.refuses(f"case id=0 {case}\n", said)


def test_a_persistent_one_is_set_up_once_a_series(
    probe: Probe, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if "MPI_Bcast_init" not in forms(probe):
        pytest.skip("the library has no persistent collectives")
    library: Path = _preloaded(tmp_path_factory, "setups")
    case = "case id=0 function=MPI_Bcast_init bytes=64 reps=20\n"
    launch = good(
        probe.run("set blocks=3 warmup=2\n" + case, 2, environment={"LD_PRELOAD": str(library)})
    )
    starts, ends = re.findall(r"(starts|frees) (\d+)", launch.stderr)
    # Two blocks and more, and the checks around them; many more calls than that.
    assert int(ends[1]) <= 10 < 60 < int(starts[1])
