"""What is missing of tools and headers, on systems with other package managers, or with none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDS = ROOT / "packaging" / "needs.sh"
MANAGERS = ("apt-get", "apt", "dpkg", "dpkg-query", "dnf", "zypper", "sudo")


class System:
    """All commands of this machine but for package managers; `hides` some more."""

    def __init__(self, folder: Path) -> None:
        self.commands = folder / "commands"
        self.commands.mkdir()
        found: dict[str, str] = {}
        for place in filter(os.path.isdir, os.environ["PATH"].split(":")):
            for command in os.scandir(place):
                found.setdefault(command.name, command.path)
        for name in found.keys() - set(MANAGERS):
            os.symlink(found[name], self.commands / name)

    def hides(self, *names: str) -> None:
        for name in names:
            (self.commands / name).unlink()

    def has(self, name: str, text: str = 'echo "$(basename "$0") $*" >>"$ASKED"') -> None:
        (self.commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.commands / name).chmod(0o755)

    def lacks_headers(self, *names: str) -> None:
        """Compilers that find all headers but these."""
        for name in ("cc", "gcc"):
            compiler = (self.commands / name).resolve()
            self.hides(name)
            tests = " ".join(f'*"<{header}>"*) exit 1 ;;' for header in names)
            self.has(
                name,
                f'text=$(cat); case "$text" in {tests} esac\nprintf "%s" "$text" | {compiler} "$@"',
            )

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(self.commands),
            "HOME": os.environ["HOME"],
            "ASKED": str(self.commands.parent / "asked"),
        }
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=ROOT,
            env=environment | variables,
        )

    def asked(self) -> list[str]:
        path = self.commands.parent / "asked"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_where_all_is_there_no_package_manager_is_asked(system: System) -> None:
    done = system.run(str(NEEDS), "build", "python", "mpi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_make_build_without_dpkg_and_apt(system: System, tmp_path: Path) -> None:
    """The C programs, for the MPI that is there, and no word of a package manager."""
    done = system.run("make", "build", f"VENV={tmp_path}/venv")
    assert done.returncode == 0, done.stderr
    assert "apt" not in done.stdout + done.stderr and "not found" not in done.stderr
    assert (tmp_path / "venv" / "stamps" / "run-packages").is_file()


@pytest.mark.parametrize(
    ("manager", "remedy"),
    [
        ("dnf", "dnf install hwloc-devel xxhash-devel"),
        ("zypper", "zypper install hwloc-devel xxhash-devel"),
        ("", "install it by the means of this system"),
    ],
)
def test_what_is_missing_is_named_and_not_installed(
    system: System, manager: str, remedy: str
) -> None:
    system.lacks_headers("hwloc.h", "xxhash.h")
    if manager:
        system.has(manager)
    done = system.run(str(NEEDS), "build")
    assert done.returncode == 1
    assert done.stderr == f"missing: hwloc.h, xxhash.h. Install it first: {remedy}\n"
    assert system.asked() == []


def test_apt_installs_what_is_missing_and_no_more(system: System) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root installs packages")
    system.lacks_headers("hwloc.h")
    system.has("apt-get")
    done = system.run(str(NEEDS), "build")
    assert (done.returncode, done.stdout) == (0, "installing libhwloc-dev\n")
    assert system.asked()[0].startswith("apt-get update")
    assert system.asked()[1].endswith("--no-install-recommends libhwloc-dev")


def test_it_goes_on_without_what_is_only_wanted(system: System) -> None:
    system.lacks_headers("papi.h")
    done = system.run(str(NEEDS), "build")
    assert done.returncode == 0
    assert done.stderr.startswith("without papi.h (")


def test_an_mpi_that_is_named_is_enough(system: System, tmp_path: Path) -> None:
    """No other one is asked for, nor installed."""
    wrapper = (system.commands / "mpicc").resolve()
    system.hides("mpicc", "mpirun")
    system.has("apt-get")
    (tmp_path / "mpicc").symlink_to(wrapper)
    named = system.run(str(NEEDS), "mpi", MPICC=str(tmp_path / "mpicc"))
    assert (named.returncode, named.stderr, system.asked()) == (0, "", [])
    other = system.run(str(NEEDS), "mpi", MPICC="/nowhere/mpicc")
    assert (other.returncode, system.asked()) == (1, [])
    assert other.stderr.startswith("no MPI library behind MPICC=/nowhere/mpicc")


def test_every_line_of_the_table_has_a_way_to_look() -> None:
    rows = [
        line.split("|")
        for line in (ROOT / "packaging" / "needs.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    groups = {"build", "python", "mpi", "test", "fuzz", "browser", "install"}
    assert {row[0] for row in rows} == groups
    for row in rows:
        assert len(row) == 7 and row[1] in ("needed", "wanted") and row[4], row
        assert row[3].split()[0] in ("command", "header", "python", "mpi", "package"), row
