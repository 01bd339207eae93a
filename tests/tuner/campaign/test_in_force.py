"""The files of a finished campaign in force for an application, or a reason why not; no two
databases share a folder of them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import in_force
from plumbline.campaign.in_force import Shown
from plumbline.settings import ranks_asked, starting
from plumbline.settings.toolchain import Toolchain
from plumbline.system import answers
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from tests.tuner import planted
from tests.tuner.campaign.test_campaign import Deaf, run
from tests.tuner.simulated import SimulatedStarter, toolchain


@dataclass
class Place:
    database: Path
    folder: Path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("finished")
    place = Place(folder / "plumbline.db", folder / "exports")
    settings = planted.settings(guidelines=["GL12", "GL16"], sizes=[1024, 16384])
    with Database.open(place.database, write=True) as db:
        run(db, place.folder, SimulatedStarter(planted.costs()), settings)
    return place


@pytest.fixture
def place(finished: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Tests share it, so a test leaves files and database as they were."""
    monkeypatch.setattr(in_force, "find_toolchain", lambda *_, **__: toolchain())
    monkeypatch.setattr(starting, "starter", lambda *_: SimulatedStarter(planted.costs()))
    return finished


@pytest.fixture
def copied(place: Place, tmp_path: Path) -> Place:
    """Return a campaign whose database may be changed."""
    return Place(Path(shutil.copy(place.database, tmp_path)), place.folder)


def test_the_user_s_environment_with_the_files_in_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_OWN", "kept")
    found = in_force.files(place.database, None, None)
    assert found.script == place.folder / "plumbline.sh"
    assert found.winners and found.campaign.state == "finished"
    environment = in_force.environment(found)
    assert environment["MY_OWN"] == "kept"
    assert environment["PATH"] == os.environ["PATH"]
    rules = str(place.folder / ompi_rules.RULES_FILE_NAME)
    assert environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == rules
    assert "libplumbline.so" in environment["OMPI_MCA_mca_base_env_list_internal"]
    assert "LD_PRELOAD" not in environment  # for the ranks alone


def test_it_is_proven(place: Place) -> None:
    found = in_force.files(place.database, None, None)
    said = in_force.proven(found, in_force.environment(found))
    functions = {winner.function for winner in found.winners}
    assert functions == {"MPI_Allreduce", "MPI_Scan"}
    for function in functions:
        assert any(function in one and "decides" in one for one in said)


def test_what_is_not_in_force_is_an_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = in_force.files(place.database, None, None)
    environment = in_force.environment(found)
    monkeypatch.setattr(starting, "starter", lambda *_: Deaf())
    with pytest.raises(PlumblineError, match=r"not in force: .*goes unnoticed"):
        in_force.proven(found, environment)
    without = {name: value for name, value in environment.items() if "dynamic_rules_f" not in name}
    with pytest.raises(PlumblineError, match="set no parameter of the library"):
        in_force.proven(found, without)


def test_a_launch_that_fails_proves_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = SimulatedStarter(planted.costs(), crashes=lambda *_: True)
    monkeypatch.setattr(starting, "starter", lambda *_: dead)
    found = in_force.files(place.database, None, None)
    with pytest.raises(PlumblineError, match="canary launch failed: SIGSEGV, exit status 139"):
        in_force.proven(found, in_force.environment(found))


def test_a_file_that_was_changed_or_lost_is_named(place: Place) -> None:
    rules = place.folder / ompi_rules.RULES_FILE_NAME
    original = rules.read_text()
    rules.write_text(original + "# a note\n")
    with pytest.raises(
        PlumblineError, match=rf"{rules} is not the file that was confirmed; .*`plu"
    ):
        in_force.files(place.database, None, None)
    rules.unlink()
    with pytest.raises(PlumblineError, match=rf"{rules} is not the file that was confirmed"):
        in_force.files(place.database, None, None)
    rules.write_text(original)
    assert in_force.files(place.database, None, None)


def test_another_library_than_the_campaign_s(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*_: object, **__: object) -> Toolchain:
        here = toolchain()
        library = msgspec.structs.replace(here.installation.library, fingerprint="another")
        installation = msgspec.structs.replace(here.installation, library=library)
        return msgspec.structs.replace(here, installation=installation)

    monkeypatch.setattr(in_force, "find_toolchain", other)
    with pytest.raises(
        PlumblineError, match=r"was made for openmpi-4\.1\.4 .*this is .*\(another\): name .*--mpi"
    ):
        in_force.files(place.database, None, None)


def test_a_campaign_that_is_not_finished(copied: Place) -> None:
    with Database.open(copied.database, write=True) as db:
        found = campaigns.get(db, None)
        campaigns.put(db, msgspec.structs.replace(found, state="running", finished=""))
    with pytest.raises(PlumblineError, match=rf"`plumbline campaign --continue {found.id}`"):
        in_force.files(copied.database, None, None)


def test_a_campaign_without_files(copied: Place) -> None:
    with Database.open(copied.database, write=True) as db:
        found = campaigns.get(db, None)
        for one in campaigns.exports(db, found.id):
            campaigns.forget_export(db, found.id, one.path)
    with pytest.raises(PlumblineError, match="has exported nothing to source"):
        in_force.files(copied.database, None, None)


HELD = "measured with mpirun -np 4 --oversubscribe --bind-to core:overload-allowed"
PLAIN = "confirmed also with mpirun -np 4 --oversubscribe"


@pytest.mark.parametrize(
    ("placed", "application", "said"),
    [
        ([HELD], "mpirun -np 4 --oversubscribe ./app", True),
        ([HELD], "mpirun --bind-to core:overload-allowed --oversubscribe -np 4 ./app", False),
        ([HELD], "mpirun -np 4 --oversubscribe --bind-to none ./app", True),
        ([HELD, PLAIN], "mpirun -np 4 --oversubscribe ./app", False),
        ([HELD, PLAIN], "mpirun -np 4 --oversubscribe --bind-to none ./app", True),
        (["measured with srun --cpu-bind=cores"], "srun --cpu-bind cores ./app", False),
        (["measured with mpiexec.hydra -n 2"], "mpiexec -genv I_MPI_PIN off -n 2 ./app", True),
        ([], "mpirun -np 4 --bind-to core ./app", False),
    ],
)
def test_an_application_whose_ranks_are_bound_otherwise(
    place: Place, placed: list[str], application: str, said: bool
) -> None:
    found = msgspec.structs.replace(in_force.files(place.database, None, None), placed=placed)
    sentence = in_force.elsewhere(found, application.split())
    assert bool(sentence) == said
    assert all(way in sentence for way in placed) or not said


def test_a_proof_is_remembered_for_the_same_files(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = in_force.files(place.database, None, None)
    start = ranks_asked.of(["./application"], {})
    proofs: list[Shown] = []

    def counted(*words: object) -> Shown:
        proofs.append(shown(*words))
        return proofs[-1]

    shown = in_force.shown
    monkeypatch.setattr(in_force, "shown", counted)

    def lately(**own: str) -> Shown:
        environment = in_force.environment(found) | own
        with answers.remembered(tmp_path / "answers"):
            return in_force.shown_lately(found, environment, start, tmp_path)

    first, second = lately(), lately()
    assert first.statements == proofs[0].statements and len(proofs) == 1
    assert all("(shown by a job at " in statement for statement in second.statements[-1:])
    assert msgspec.structs.replace(second, statements=first.statements) == first
    lately(OMPI_MCA_coll="^sm")
    assert len(proofs) == 2
    rules = place.folder / ompi_rules.RULES_FILE_NAME
    original = rules.read_text()
    rules.write_text(original + "# a note\n")
    lately()
    rules.write_text(original)
    assert len(proofs) == 3
