"""Applied winners are called active only where the real library rejects a deliberately wrong rule
in their place: whatever silences them is found, and named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.applied import apply
from plumbline.applied.generations import Source, Store
from plumbline.applied.targets import Place, Where
from plumbline.campaign import applied_proof
from plumbline.daemon import taking
from plumbline.daemon.configuration import Applying
from plumbline.libraries import gate
from plumbline.settings.toolchain import find_toolchain
from plumbline.system import paths
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_exporters.bundle import load_bundle
from tests.probes import mpich
from tests.sampled import by_default
from tests.tuner import planted_site
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.started import environment

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

RULES = planted_site.by_rules("MPI_Allreduce", "recursive_doubling", 2)
PROFILE = planted_site.by_profile("MPI_Bcast", "bcast_binomial", 2)
PARAMETERS = Path(".openmpi") / "mca-params.conf"

# What takes the rules out of use: lines of the user's file, variables, and what the remedy names.
SILENCERS = [
    ("coll = ^tuned", {}, "coll = ^tuned (take it out of {file}:1)"),
    ("coll_tuned_priority = 0", {}, "coll_tuned_priority = 0 (take it out of {file}:1)"),
    ("", {"OMPI_MCA_coll": "basic,libnbc"}, "coll = basic,libnbc (unset OMPI_MCA_coll)"),
    (
        "",
        {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"},
        "says false (environment): unset OMPI_MCA_coll_tuned_use_dynamic_rules",
    ),
    ("", {"OMPI_MCA_mca_base_param_files": "/nowhere"}, "unset OMPI_MCA_mca_base_param_files"),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, installation = libraries.find()
    if installation.library.family != "openmpi":
        pytest.skip(f"mpirun is that of {installation.library.id}")
    paths.layout().preload(installation.library.id)  # an error says how to build it
    return planted_site.site(tmp_path_factory.mktemp("site"), [RULES])


@pytest.fixture(scope="module")
def both(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with a rule and a variant."""
    return planted_site.site(tmp_path_factory.mktemp("both"), [RULES, PROFILE])


def started(home: Path, *words: object, **own: str) -> Result:
    """Return what a user with this home and these variables gets."""
    clean = environment()
    with pytest.MonkeyPatch.context() as patched:
        for name in [each for each in os.environ if each not in clean]:
            patched.delenv(name)
        for name, value in {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **own}.items():
            patched.setenv(name, value)
        return plumbline(*words)


def test_active_rules_are_proven_by_apply_and_doctor(database: Path, tmp_path: Path) -> None:
    dry = started(tmp_path, "apply", "--user", "--dry-run", "--db", database)
    assert dry.status == 0 and "active:" not in dry.err
    done = started(tmp_path, "apply", "--user", "--db", database)
    assert done.status == 0, done.err
    assert "plumbline: active: openmpi-" in done.err
    assert "MPI_Allreduce at 1024 B; the library rejects a deliberately wrong" in done.err
    unproven = started(tmp_path, "apply", "--user", "--no-proof", "--json", "--db", database)
    told = json.loads(unproven.out)
    assert unproven.status == 0 and told["active"] == []
    assert told["not_checked"] == ["--no-proof was given"]
    looked = started(tmp_path, "doctor", "--json", "--db", database)
    (active,) = (each for each in json.loads(looked.out) if each["text"].startswith("active"))
    assert active["state"] == "fine" and "MPI_Allreduce at 1024 B" in active["text"]


@pytest.mark.parametrize(
    ("line", "variables", "named"), by_default(SILENCERS[1:3], [SILENCERS[0], *SILENCERS[3:]])
)
def test_what_silences_rules_is_found_and_named(
    database: Path, tmp_path: Path, line: str, variables: dict[str, str], named: str
) -> None:
    file = tmp_path / PARAMETERS
    file.parent.mkdir()
    file.write_text(f"{line}\n")
    cause, *remedy = named.format(file=file).removesuffix(")").split(" (")
    apply = ("apply", "--user", "--json", "--db", database)
    done = started(tmp_path, *apply, **variables)
    if line.startswith("coll ="):
        assert done.status == 1 and "Nothing was changed" in done.err
        assert f"{file}: line 1 forces {line}: coll/tuned answers nothing then" in done.err
        file.write_text("")
        assert started(tmp_path, *apply).status == 0
        file.write_text(f"{line}\n{file.read_text()}")
    else:
        assert done.status == 3, done.out + done.err
        told = json.loads(done.out)
        assert told["active"] == []
        texts = told["not_in_force"]
        assert any(all(part in text for part in (cause, *remedy)) for text in texts), texts
    if variables.keys() - {"OMPI_MCA_coll"}:
        return  # `doctor` asks as `apply` does: lines and one variable show it
    looked = started(tmp_path, "doctor", "--json", "--db", database, **variables)
    found = [each for each in json.loads(looked.out) if each["state"] == "inactive"]
    assert found and any(all(part in each["text"] for part in (cause, *remedy)) for each in found)
    assert looked.status in (1, 3)


def test_rules_that_are_not_active_are_printed_and_are_an_exit_code(
    database: Path, tmp_path: Path
) -> None:
    applied = started(tmp_path, "apply", "--user", "--db", database, OMPI_MCA_coll="^tuned")
    assert applied.status == 3 and "plumbline: NOT ACTIVE: " in applied.err


def test_a_user_s_file_silences_what_the_site_has(
    database: Path, tmp_path: Path, open_folder: Path
) -> None:
    """It is heard first."""
    own = {"OPAL_SYSCONFDIR": str(open_folder)}
    done = started(tmp_path, "apply", "--site", "--json", "--db", database, **own)
    assert done.status == 0 and json.loads(done.out)["active"], done.err
    file = tmp_path / PARAMETERS
    file.parent.mkdir()
    for line in ("coll_tuned_use_dynamic_rules = 0", "coll_tuned_dynamic_rules_filename = /x"):
        file.write_text(f"{line}\n")
        looked = started(tmp_path, "doctor", "--json", "--db", database, **own)
        found = [each for each in json.loads(looked.out) if each["state"] == "inactive"]
        assert found and all(f"take it out of {file}:1" in each["text"] for each in found)


# Lines that a login file may have behind ours.
EACH = "for name in ${!OMPI_MCA_mca_base_env_*}; do"
OVERRIDES = [
    ("", ""),
    ("export OMPI_MCA_coll_tuned_use_dynamic_rules=0", "is 0 in a new login shell, not 1"),
    ("export OMPI_MCA_coll=basic,libnbc", "ignores a deliberately wrong setting for MPI_Allr"),
    (f"{EACH} unset $name; done", "PLUMBLINE_PROFILE is not set"),
    (  # a profile without the library that reads it
        f'{EACH} export $name="${{!name#LD_PRELOAD=*;}}"; done',
        "wrong setting for MPI_Bcast at 1024 B",
    ),
    ("exit 7", ""),
]


def test_mpich_s_own_variables_silence_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this shell, and in the file that login shells read."""
    found, _ = mpich.built("mpich-5.0")
    knob = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
    winner = planted_site.by_knob("MPI_Allreduce", 2, knob, "recursive_doubling")
    site = planted_site.site(tmp_path, [winner], found)
    home = tmp_path / "home"
    home.mkdir()
    words = ("--user", "--json", "--mpi", found, "--db", site)
    done = started(home, "apply", *words, SHELL="/bin/bash")
    assert done.status == 0 and json.loads(done.out)["active"], done.err
    looked = started(home, "doctor", "--json", "--db", site, SHELL="/bin/bash")
    (active,) = (each for each in json.loads(looked.out) if each["text"].startswith("active"))
    assert active["state"] == "fine" and "mpich-5.0" in active["text"]  # beside the one on PATH
    done = started(home, "apply", *words, SHELL="/bin/bash", **{knob: "ring"})
    assert done.status == 3
    assert f"these may be the reason: {knob}=ring" in json.loads(done.out)["not_in_force"][0]
    with (home / ".profile").open("a") as file:
        file.write(f"export {knob}=ring\n")
    done = started(home, "apply", *words, SHELL="/bin/bash")
    assert done.status == 3
    assert f"these may be the reason: {knob}=ring" in json.loads(done.out)["not_in_force"][0]


@pytest.mark.parametrize(("line", "wrong"), OVERRIDES)
def test_login_shells_are_asked_what_they_set(
    both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, wrong: str
) -> None:
    """As for libraries that read no parameter files; here of one that can be checked."""
    for name in [each for each in os.environ if "_MCA_" in each]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    login = tmp_path / ".profile"
    place = Place("user", tmp_path / "data", "openmpi", False, [Where(login, "lines", "sh")])
    family, installation = libraries.find()
    with Database.open(both) as db:
        (campaign,) = campaigns.all_campaigns(db)
        loaded = load_bundle(db, campaign.id, Path(), gate.of_library, created="")
    source = Source(loaded.campaign, loaded.winners)
    wish = apply.Wish(source, loaded.machine, family, installation, {})
    apply.apply(place, wish, now="")
    with login.open("a") as file:
        file.write(f"{line}\n")
    store = Store(place.root, place.name, shared=False)
    one = store.read(1)
    assert one is not None
    found = applied_proof.check(one, store.path(1), None, both)
    assert [wrong in text for text in found.not_active] == ([True] if wrong else [])
    if line == "exit 7":
        assert found.active == [] and "ends with status 7" in found.not_checked[0]
    elif not wrong:
        (active,) = found.active
        assert "MPI_Allreduce at 1024 B; MPI_Bcast at 1024 B" in active


def test_the_daemon_sees_what_the_library_ignores(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps nothing that nobody uses."""
    assert started(tmp_path, "apply", "--user", "--db", database).status == 0
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in [each for each in os.environ if "_MCA_" in each]:
        monkeypatch.delenv(name)
    toolchain, where = find_toolchain(), Applying(auto=True, scope="user")
    assert taking.ignored(where, toolchain, database) == []
    file = tmp_path / PARAMETERS
    written = file.read_text()
    file.write_text(f"coll = ^tuned\n{written}")
    (why,) = taking.ignored(where, toolchain, database)
    assert f"coll = ^tuned (take it out of {file}:1)" in why
    file.write_text(written)
    (rules,) = (tmp_path / "data").rglob("ompi-rules.conf")
    rules.unlink()
    (why,) = taking.ignored(where, toolchain, database)
    assert "are gone or were changed: `plumbline apply` writes them again" in why


def test_modules_are_not_checked(both: Path, tmp_path: Path, open_folder: Path) -> None:
    done = started(tmp_path, "apply", "--modules", open_folder, "--json", "--db", both)
    told = json.loads(done.out)
    assert done.status == 0 and told["active"] == []
    assert "has loaded the module plumbline/openmpi-" in told["not_checked"][0]


def test_ranks_that_cannot_be_started_are_no_proof(database: Path, tmp_path: Path) -> None:
    variables = {"OMPI_MCA_plm": "nowhere"}
    done = started(tmp_path, "apply", "--user", "--json", "--db", database, **variables)
    told = json.loads(done.out)
    assert done.status == 0 and told["active"] == [] and told["not_in_force"] == []
    (why,) = told["not_checked"]
    assert "no ranks can be started here" in why
