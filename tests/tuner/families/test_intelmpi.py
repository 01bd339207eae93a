"""Intel MPI is found, described and understood: as it was recorded, and the installed one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import msgspec
import pytest

from plumbline import libraries
from plumbline.campaign.proof import Failed, Outcomes, environment_of, prove
from plumbline.core.plan import Plan
from plumbline.libraries import DeliberateError, Installation, into_ranks
from plumbline.libraries.intelmpi import LOUD, corrupted
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db.probe_records import Check
from plumbline_db.records import Failure, Winner
from plumbline_exporters.family.intelmpi import knob
from plumbline_exporters.registry import write as write_files
from tests import busy
from tests.exporters.bundles import bundle
from tests.impi import FAMILY, RANKS, WHEEL, launch, run, tuned
from tests.tuner.families import installations
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import write
from tests.tuner.families.recorded.intelmpi import FILES
from tests.tuner.families.started import started


class TestIntelMpi(Conformance):
    family = FAMILY
    explained = False
    real = (WHEEL,)
    same = (("Copyright 2003-2025", "Copyright 2003-2026"), ("Enable or disable", "Switch"))
    different = (("2ac2f63", "2ac2f64"), ("20251215", "20251216"), ("2021.17.2", "2021.17.1"))
    own = ("I_MPI_ROOT", "LD_LIBRARY_PATH", "FI_PROVIDER_PATH")
    loud = tuple(LOUD)
    forms = r"I_MPI_ADJUST_I[A-Z_]+(?<!_LIST)\Z"
    winners = (tuned("MPI_Bcast", 3, 8, 64), tuned("MPI_Barrier", 2), tuned("MPI_Ibcast", 3))
    complaints = (
        "MPI startup(): Incorrect algorithm: BCAST=23, will be ignored\n",
        "MPI startup(): Incorrect adjust value: BCAST=1:5-x, will be ignored\n",
        "MPI startup(): I_MPI_ADJUST_BCASTT environment variable is not supported.\n"
        "MPI startup(): Similar variables:\n\t I_MPI_ADJUST_SCAN\n",
        "MPI startup(): shmm fabric is unknown or has been removed from the product, please use "
        "ofi or shm:ofi instead.\n",
        'MPI startup(): "foo" shm transport is not supported. "bdw_sse" shm transport will be '
        "used.\n",
    )
    silence = (
        "",
        "[0] MPI startup(): library kind: release\n",
        "MPI startup(): Incorrect algorithm: BCAST=99, will be ignored\n",  # a canary's
    )

    @pytest.mark.parametrize(("function", "preset"), [("MPI_Gather", "2"), ("MPI_Allgather", "5")])
    def test_presets_that_are_wrong_for_some_types_are_never_tried(
        self, found: Installation, function: str, preset: str
    ) -> None:
        entry = self.space(found).of(function)
        assert entry is not None
        assert [one.name for one in entry.algorithms if one.left_out] == [preset]

    def in_force(self, winner: Winner, environment: Mapping[str, str]) -> bool:
        name = knob(winner.function)
        preset = winner.configuration[name]
        return preset in [entry.partition(":")[0] for entry in environment[name].split(";")]

    def preloads(self, environment: Mapping[str, str]) -> bool:
        return (
            "plumbline.profile" in environment["PLUMBLINE_PROFILE"]
            and re.fullmatch(r"env LD_PRELOAD=\S+/libplumbline\.so:all", environment["I_MPI_GTOOL"])
            is not None
        )

    def bad_value(self) -> dict[str, str]:
        return self.family.in_environment({"I_MPI_ADJUST_BCAST": "1:5-x"})


def test_a_tool_may_preload_several_libraries(tmp_path: Path) -> None:
    """Of a tool's colons the last one alone stands before the ranks."""
    found = installations.real(FAMILY, WHEEL)
    if shutil.which("cc") is None:
        pytest.skip("no cc on PATH")
    preloaded = [tmp_path / "one.so", tmp_path / "two.so"]
    for one in preloaded:
        command = ["cc", "-shared", "-x", "c", "/dev/null", "-o", str(one)]
        assert process.run(command, timeout_seconds=60).status == 0
    given = {"LD_PRELOAD": str(preloaded[1])}
    added = into_ranks.environment(found, preloaded[0], {}, given, tmp_path)
    done = started(FAMILY, found, RANKS, ["/bin/cat", "/proc/self/maps"], added)
    assert done.status == 0, done.stderr
    assert all(str(one) in done.stdout for one in preloaded)


def test_an_installation_is_described(tmp_path: Path) -> None:
    family, found = libraries.find(write(tmp_path, FILES))
    library = found.library
    assert family.name == "intelmpi"
    assert (library.id, library.version) == ("intelmpi-2021.17.2", "2021.17.2")
    assert library.version_string == "Intel(R) MPI Library 2021.17 for Linux* OS"
    assert (library.prefix, found.mpirun) == (str(tmp_path), tmp_path / "bin" / "mpiexec.hydra")
    assert library.build == {"released": "2021.17", "built": "20251215", "revision": "2ac2f63"}


def test_a_tree_of_versions_is_searched_for_the_latest(tmp_path: Path) -> None:
    write(tmp_path / "mpi" / "latest", FILES)
    assert libraries.find(tmp_path)[1].mpirun == tmp_path / "mpi/latest/bin/mpiexec.hydra"


def test_without_a_header_the_version_has_no_patch_level(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / "include" / "mpi.h").unlink()
    assert libraries.find(tmp_path)[1].library.id == "intelmpi-2021.17"


def test_knobs_are_those_of_both_reports(tmp_path: Path) -> None:
    knobs = FAMILY.knobs(FAMILY.find(write(tmp_path, FILES))[0])
    assert set(knobs) == {
        "I_MPI_DEBUG_OUTPUT",
        "I_MPI_ADJUST_BCAST",
        "I_MPI_ADJUST_BCAST_LIST",
        "I_MPI_FABRICS",
        "I_MPI_SHM_CMA",
    }
    assert list(knobs["I_MPI_ADJUST_BCAST"].choices.values()) == list(range(23))
    assert knobs["I_MPI_ADJUST_BCAST"].value == "-1"
    assert knobs["I_MPI_ADJUST_BCAST_LIST"].choices == {}
    assert (knobs["I_MPI_FABRICS"].value, knobs["I_MPI_FABRICS"].type) == ("shm:ofi", "char")
    assert (knobs["I_MPI_SHM_CMA"].value, knobs["I_MPI_SHM_CMA"].type) == ("", "int")


def test_its_own_libfabric_is_the_one_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any libfabric of the system is taken otherwise. What the user has set follows, or stays."""
    found = FAMILY.find(write(tmp_path, FILES))[0]
    monkeypatch.setenv("LD_LIBRARY_PATH", "/theirs")
    monkeypatch.delenv("FI_PROVIDER_PATH", raising=False)
    assert FAMILY.environment(found) == {
        "I_MPI_ROOT": str(tmp_path),
        "LD_LIBRARY_PATH": f"{tmp_path}/lib:/theirs",
        "FI_PROVIDER_PATH": f"{tmp_path}/lib",
    }
    fabric = tmp_path / "opt" / "mpi" / "libfabric" / "lib"
    (fabric / "prov").mkdir(parents=True)
    assert FAMILY.environment(found)["LD_LIBRARY_PATH"].startswith(f"{fabric}:{tmp_path}/lib:")
    assert FAMILY.environment(found)["FI_PROVIDER_PATH"] == str(fabric / "prov")
    monkeypatch.setenv("FI_PROVIDER_PATH", "/theirs")
    assert "FI_PROVIDER_PATH" not in FAMILY.environment(found)


def test_what_is_bound_and_where() -> None:
    def words(**more: str | bool) -> list[str]:
        return FAMILY.words(msgspec.structs.replace(Placement(nodes=1, ppn=2), **more))

    assert words() == words(bind="plain") == ["-n", "2"]
    assert words(oversubscribed=True) == words(bind="plain", oversubscribed=True) == ["-n", "2"]
    assert words(bind="none") == ["-n", "2", "-genv", "I_MPI_PIN", "off"]
    assert words(bind="core", map_by="socket") == [
        *("-n", "2", "-genv", "I_MPI_PIN_DOMAIN", "core"),
        *("-genv", "I_MPI_PIN_ORDER", "scatter"),
    ]


def test_a_corrupted_value_has_the_same_ranges() -> None:
    assert corrupted("0:0-63;8:64-64;0:65-99") == "0:0-63;99:64-64;0:65-99"
    assert corrupted("3") == "99"
    names = {"I_MPI_ADJUST_REDUCE_SCATTER": "3", "I_MPI_FABRICS": "shm"}
    assert FAMILY.canaries(names, Path("/none")) == [
        DeliberateError(
            name="I_MPI_ADJUST_REDUCE_SCATTER",
            environment=names | LOUD | {"I_MPI_ADJUST_REDUCE_SCATTER": "99"},
            functions=("MPI_Reduce_scatter",),
            fails="launch",
            says=r"\bREDUCE_SCATTER: algo #\S+ has fallback",
            control=names | LOUD,
        )
    ]


# --- the installed one ----------------------------------------------------------------------------


@pytest.mark.mpi
def test_a_canary_ends_the_launch_and_the_values_do_not(
    intel_mpi: Installation, tmp_path: Path
) -> None:
    sourced = {"I_MPI_ADJUST_BCAST": "0:0-63;2:64-64;0:65-2147483647"}
    (canary,) = FAMILY.canaries(sourced, tmp_path)
    assert run(intel_mpi, tmp_path, sourced, ("MPI_Bcast", 64))[0].status == 0
    done, samples = run(intel_mpi, tmp_path, canary.environment, ("MPI_Bcast", 64))
    assert done.status != 0 and not samples
    assert "BCAST: algo" in done.stdout + done.stderr
    # Another function does not notice, and scans notice none.
    (silent,) = FAMILY.canaries({"I_MPI_ADJUST_SCAN": "3"}, tmp_path)
    assert silent.fails == "nothing"
    assert run(intel_mpi, tmp_path, silent.environment, ("MPI_Scan", 64))[0].status == 0
    assert run(intel_mpi, tmp_path, canary.environment, ("MPI_Scan", 64))[0].status == 0


class _Ranks:
    """Launches for a proof. What is `lost` does not reach them."""

    def __init__(self, installation: Installation, folder: Path, lost: str = "") -> None:
        self.installation, self.folder, self.lost = installation, folder, lost

    def __call__(
        self, name: str, number: int, plan: Plan, extra: Mapping[str, str]
    ) -> Outcomes | Failed:
        del name, number
        given = {name: value for name, value in extra.items() if name != self.lost}
        done, records = launch(self.installation, self.folder, given, plan)
        if done.status != 0:
            return Failed(Failure("ended", f"exit status {done.status}"), done.stderr)
        checks = [one for one in records if isinstance(one, Check)]
        cells = [plan.cases[one.case] for one in checks]
        pairs = zip(cells, checks, strict=True)
        return {(cell.function, cell.bytes): check.outcome for cell, check in pairs}


@pytest.mark.mpi
@pytest.mark.parametrize("lost", ["", "I_MPI_ADJUST_REDUCE_SCATTER"])
def test_a_function_that_falls_back_by_itself_is_no_proof(
    intel_mpi: Installation, tmp_path: Path, lost: str
) -> None:
    """Reduce_scatter does where nothing is set: a launch that is loud ends in any case."""
    environment = {"I_MPI_ADJUST_REDUCE_SCATTER": "1"}
    winners = [tuned("MPI_Reduce_scatter", 1)]
    ranks = _Ranks(intel_mpi, tmp_path, lost)
    sizes = {"MPI_Reduce_scatter": [64]}
    found = prove(FAMILY, ranks, Plan("proof", 1, ()), environment, winners, sizes)
    assert bool(found.problems) == bool(lost), found
    assert len(found.statements) == (0 if lost else 1)


@pytest.mark.mpi
@pytest.mark.parametrize("mistake", ["", "I_MPI_ADJUST_BARRIER", "I_MPI_ADJUST_BCAST"])
def test_exported_presets_are_proven_to_be_in_force(
    intel_mpi: Installation, tmp_path: Path, mistake: str
) -> None:
    """And one whose variable has another name is found out."""
    winners = [tuned("MPI_Bcast", 2, 64, 1024), tuned("MPI_Barrier", 2)]
    given = bundle(*winners, directory=str(tmp_path))
    given = msgspec.structs.replace(given, library=intel_mpi.library)
    write_files(given, ["impi-env"])
    script = tmp_path / "plumbline.sh"
    if mistake:
        script.write_text(script.read_text().replace(f"export {mistake}=", f"export {mistake}_X="))

    environment = environment_of(script, dict(os.environ))
    sizes = {"MPI_Bcast": [64, 1024], "MPI_Barrier": [0]}
    ranks = _Ranks(intel_mpi, tmp_path)
    evidence = prove(FAMILY, ranks, Plan("proof", 1, ()), environment, winners, sizes)
    tried = {"I_MPI_ADJUST_BARRIER": "MPI_Barrier", "I_MPI_ADJUST_BCAST": "MPI_Bcast"}
    expected = [function for name, function in tried.items() if name != mistake]
    assert [text.rpartition(": ")[2].split()[0] for text in evidence.statements] == expected
    assert bool(evidence.problems) == bool(mistake)


@pytest.mark.mpi
def test_a_preset_that_does_not_apply_is_replaced_in_silence_unless_that_is_forbidden(
    intel_mpi: Installation, tmp_path: Path
) -> None:
    """Preset 16 of Bcast does not apply on one node."""
    knobs = {"I_MPI_ADJUST_BCAST": "16"}
    done, samples = run(intel_mpi, tmp_path, knobs, ("MPI_Bcast", 64))
    assert done.status == 0 and samples
    assert FAMILY.complaint(done.stdout + done.stderr) is None
    done, samples = run(intel_mpi, tmp_path, FAMILY.in_environment(knobs), ("MPI_Bcast", 64))
    assert done.status != 0 and not samples


@pytest.mark.mpi
@pytest.mark.alone
def test_the_library_s_own_benchmark_finds_the_same_time(
    intel_mpi: Installation, tmp_path: Path
) -> None:
    """Within a factor that errors of units, sizes or ranks are not in. Its figures are means: where
    ranks wait for processors, they are hundreds of times longer than a call."""
    imb = intel_mpi.mpirun.parent / "IMB-MPI1"
    if not imb.is_file():
        pytest.skip(f"no {imb}")
    sizes = tmp_path / "sizes"
    sizes.write_text("65536\n")
    words = [str(imb), "Allreduce", "-npmin", "2", "-iter", "50", "-msglen", str(sizes)]
    means = []
    for _ in range(5):
        said = started(FAMILY, intel_mpi, RANKS, words, {}).stdout
        (mean,) = re.findall(r"^ +65536 +\d+ +\S+ +\S+ +(\S+) *$", said, re.MULTILINE)
        means.append(float(mean))
    _, samples = run(intel_mpi, tmp_path, {}, ("MPI_Allreduce", 65536), reps=500)
    (times,) = samples.values()
    ratio = median(times) / 1000 / min(means)
    if not 1 / 8 < ratio < 8:
        busy.undecided(f"{ratio:.3g} of the time that its benchmark says")
