"""The commands of the four pages of the first hour, typed on the real library in four places: a
wheel where dpkg and apt are hidden, a fresh Debian, one without dpkg and apt, and a real Slurm
(`make test-install`; a place takes some five minutes, `ARGS="-k slurm"` types in one).

What is not typed as it stands on a page is told in the tables below, and nothing else is left."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging import places
from tests.packaging.debian import CHECKOUT, USER, Debian, NotHere
from tests.packaging.places import Place
from tests.packaging.test_needs import System
from tests.page_commands import Typed, printed, spoken, typed
from tests.slurm import Cluster

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(3600)]

# In this order: what the first one measures, the others use.
PAGES = ("administrator.md", "user.md", "library-developer.md", "researcher.md")

# Two ranks, and as little as finds the winner that places.BAD_RULES leaves to be found.
# No variant of MPI_Allreduce is tried, so that it is a parameter, which `apply --user` can write.
SMALL = "--sizes 1024,16384 --guidelines GL12 --launches 6 --set launches_max=6 --set rounds=1"
SMALL += " --set variants=bcast_binomial"
ADDED = {
    "campaign": f"-n 2 {SMALL}",
    "verify": "--launches 6 --set launches_max=6",
    "measure": "--launches 4",
    "compare": "--launches 4 --functions MPI_Bcast -n 2 --sizes 1024,4096",
}
INSTEAD = {
    # -np 3 asks for more slots than two cores are.
    r"mpirun -np 3": "mpirun --oversubscribe -np 3",
    r"(-np|-n|--np|--nprocs) 4\b": r"\1 2",
    # Installations that nobody but the page's reader has: the one that is there, on both sides.
    r"/opt/(openmpi-\d[\d.]*|mine)": "{prefix}",
    r"lint FILE": "lint mine.conf",
    r"--modules DIR": "--modules modules",
    r"^record$": "record --output recorded -- mpirun -np 2 ./app",
    r"^detect$": "detect recorded",
}
NOT_TYPED = {
    "serve": "it answers until it is ended; `make test-pages` asks it",
    "apply --site": "it changes what everybody has; tests/tuner/deploy has a prefix of its own",
    "watch watch.toml": "it runs until it is ended; `make test-daemon` has it running",
    "campaign -n 3": "minutes for what `campaign -n 4` shows",
    "suite gather-over-bytes --nprocs 4": "minutes; tests/tuner/suites run it",
    "reproducibility --quick": "three minutes on a quiet machine; tests/tuner/reproducibility",
}
# What a user types behind them, and what is no command of ours.
BEHIND = {
    "user.md": (
        ". tuned/plumbline.sh && mpirun -np 2 ./app",
        "bash -c '. plumbline-completion.sh && complete -p plumbline'",
    )
}
# Prints the same everywhere, as the machine is simulated.
SIMULATED = "researcher.md"


def words_here(command: Typed, prefix: Path) -> str:
    """As it is typed in the places."""
    text = shlex.join(command.words)
    for pattern, other in INSTEAD.items():
        text = re.sub(pattern, other.format(prefix=prefix), text)
    if "--simulate" not in text and "--profile" not in text:
        text = f"{text} {ADDED.get(command.words[0], '')}".strip()
    elif "--profile" in text:
        text += f" {SMALL}"
    return text


def lines_of(page: str, place: Place) -> Iterator[tuple[str, list[str]]]:
    """What is typed, and what it has to print."""
    for command, below in printed(page):
        target = f" > {command.file}" if command.file else ""
        line = f"plumbline {words_here(command, place.prefix)}{target}"
        yield line, below if page == SIMULATED else []
    for command in spoken(page):
        if command.text not in NOT_TYPED:
            yield f"plumbline {words_here(command, place.prefix)}", []
    for line in BEHIND.get(page, ()):
        yield line, []


def types(page: str, place: Place) -> None:
    """All of it, and a line for each. 3 is an answer: something is slower, or violated."""
    for line, below in lines_of(page, place):
        since = time.monotonic()
        done = place.bash(line)
        told = done.stdout + done.stderr
        print(f"{place.name}: {done.returncode} {time.monotonic() - since:5.1f} s  {line}")
        assert done.returncode in (0, 3) and "Traceback" not in told, f"{line}\n{told}"
        flat = " ".join(told.split())
        assert [text for text in below if text not in flat] == [], f"{line}\n{told}"


def test_what_is_not_typed_stands_on_a_page() -> None:
    texts = {command.text for page in PAGES for command in (*typed(page), *spoken(page))}
    assert NOT_TYPED.keys() <= texts
    for pattern in INSTEAD:
        assert any(re.search(pattern, text) for text in texts), pattern


# --- places ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_a_wheel(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("wheel")
    path = str(System(folder).commands)
    place = places.on_this_machine("wheel", folder, environment / "bin" / "plumbline", path)
    for words in ("build", "build smpicc"):
        done = place.bash(f"plumbline {words}")
        assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def under_slurm(slurm: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Place:
    program = Path(sys.executable).with_name("plumbline")
    return places.under_slurm(tmp_path_factory.mktemp("slurm-user"), program, slurm)


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Debian:
    """With what README's way brings, and SimGrid, which docs/researcher.md asks for."""
    try:
        fresh = Debian.fresh(tmp_path_factory.mktemp("debian") / "root")
    except NotHere as reason:
        pytest.skip(f"no fresh Debian: {reason}")
    fresh.checks_out()
    told = fresh.makes("setup", "build")
    assert "installing" in told and "python3-venv" in told and "libopenmpi-dev" in told, told
    install = ("apt-get", "install", "--yes", "--quiet", "--no-install-recommends")
    fresh.run(*install, "libsimgrid-dev", check=True)
    fresh.makes("build", "MPICC=smpicc")
    fresh.gives_to_user()
    return fresh


@pytest.fixture(scope="module")
def in_debian(debian: Debian) -> Place:
    return places.in_debian("debian", debian)


@pytest.fixture(scope="module")
def without_dpkg(debian: Debian, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The same system without package managers, where a user without root makes all of it anew."""
    bare = debian.copy(tmp_path_factory.mktemp("bare") / "root")
    bare.loses_package_managers()
    bare.clears([path.name for path in Path(f"{bare.root}/home/{USER}").iterdir()])
    bare.checks_out()
    for words in (["setup", "build"], ["build", "MPICC=smpicc"]):
        told = bare.makes(*words, user=USER)
        assert "apt" not in told and "dpkg" not in told, told
    assert bare.run("bash", "-c", "command -v dpkg apt-get", user=USER).stdout == ""
    assert bare.run("test", "-x", f"{CHECKOUT}/.venv/bin/plumbline").returncode == 0
    return places.in_debian("without dpkg", bare)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("place", ["of_a_wheel", "under_slurm", "in_debian", "without_dpkg"])
def test_page(place: str, page: str, request: pytest.FixtureRequest) -> None:
    types(page, request.getfixturevalue(place))


def test_srun_under_slurm(under_slurm: Place) -> None:
    """After the pages: winners reach ranks that srun starts in a batch script."""
    done = under_slurm.bash("plumbline run -- srun --mpi=pmix --ntasks=2 ./app")
    assert done.returncode == 0, done.stderr
    assert re.search(r"[1-9] winners? of openmpi\S+ in force", done.stderr), done.stderr
    assert "ompi-rules.conf decides" in done.stderr, done.stderr
