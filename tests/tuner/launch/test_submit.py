"""One job that holds a campaign: its script, the words that submit it, and that there is one of
them. The schedulers' commands are programs that write down their words; a real Slurm is in
test_slurm.py."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest

from plumbline.launch import submit
from plumbline.launch.allocation import JobTable
from plumbline_db.errors import PlumblineError
from tests.tuner.cli.command import plumbline

# What each command answers; the words that it gets are written down.
ANSWERS = {
    "sbatch": "echo '17;cluster'",
    "squeue": "cat {folder}/there",
    "qsub": "echo 17.server",
    "qstat": "echo pbs_version = 20.0",
    "qselect": "cat {folder}/there",
    "flux": "case $1 in batch) echo f17 ;; *) cat {folder}/there ;; esac",
    "bsub": "echo 'Job <17> is submitted to queue <normal>.'",
    "bjobs": "cat {folder}/there; echo 'Job <x> is not found' >&2; exit 255",
}
TABLE = JobTable(queue="long", account="me", constraint="fast", minutes=90, options=("--nice=9",))
NAME = "plumb-2d711642b"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "commands"
    folder.mkdir()
    for name, answer in ANSWERS.items():
        text = '#!/bin/sh\nfor word in "$(basename "$0")" "$@"; do printf "%s\\n" "$word"; done >>'
        text += f'"{folder}/asked"\n{answer.format(folder=folder)}\n'
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "there").touch()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def asked(commands: Path) -> list[str]:
    return (commands / "asked").read_text().splitlines()


def request(folder: Path, table: JobTable = TABLE) -> submit.Request:
    own = folder / 'it\'s "a" $HOME of `x`'
    own.mkdir(exist_ok=True)
    return submit.Request(
        table=table,
        nodes=2,
        ppn=32,
        command=["/bin/echo", "a b", "$(rm -rf x)", "'"],
        folder=own,
        files=own / "jobs",
        campaign="x",
    )


WORDS = {
    "slurm": "sbatch --parsable --job-name={name} --export=ALL --no-requeue --output={log}"
    " --open-mode=append --nodes=2 --ntasks-per-node=32 --exclusive --time=90 --partition=long"
    " --account=me --constraint=fast --nice=9",
    "pbs": "qsub -N {name} -S /bin/bash -V -r n -o /dev/null -e /dev/null"
    " -l select=2:ncpus=32:mpiprocs=32:fast -l place=scatter:excl -l walltime=5400 -q long -A me"
    " --nice=9",
    "flux": "flux batch --job-name={name} --output=/dev/null --error=/dev/null --nodes=2"
    " --nslots=64 --exclusive --time-limit=90m --queue=long --bank=me --requires=fast --nice=9",
    "lsf": "bsub -J {name} -o {log} -rn -n 64 -R span[ptile=32] -R fast -x -W 90 -q long -P me"
    " --nice=9 /bin/bash",
}


@pytest.mark.parametrize("scheduler", WORDS)
def test_the_words(scheduler: str, commands: Path, tmp_path: Path) -> None:
    wanted = request(tmp_path)
    done = submit.submit(submit.SCHEDULERS[scheduler], wanted)
    assert done == submit.Submitted({"pbs": "17.server", "flux": "f17"}.get(scheduler, "17"))
    words = [word.format(name=wanted.name, log=wanted.log) for word in WORDS[scheduler].split()]
    assert asked(commands)[-len(words) - 1 :] == [*words, str(wanted.script)]
    assert wanted.name == NAME and len(NAME) == 15  # PBS takes no more letters


def test_torque_has_other_words(commands: Path, tmp_path: Path) -> None:
    (commands / "qstat").write_text("#!/bin/sh\necho Version: 6.1 >&2\n")
    submit.submit(submit.SCHEDULERS["pbs"], request(tmp_path))
    assert "nodes=2:ppn=32:fast" in asked(commands) and "-n" in asked(commands)


def test_what_is_not_named_is_the_schedulers_choice(commands: Path, tmp_path: Path) -> None:
    table = JobTable(exclusive=False)
    for scheduler, known in submit.SCHEDULERS.items():
        words = known.submitting(request(tmp_path, table))
        assert not {"--exclusive", "-x", "-q", "-A", "-P", "-W"} & set(words), scheduler
        assert not any(word.startswith(("--time", "--part", "walltime")) for word in words)
        assert "" not in words


def test_the_script_runs_what_was_typed(commands: Path, tmp_path: Path) -> None:
    table = msgspec.structs.replace(TABLE, setup="export MODULE='loaded  \"it\"'  # as it is\n")
    wanted = request(tmp_path, table)
    command = ["/bin/sh", "-c", 'echo "$1/$PLUMBLINE_JOB/$MODULE"; pwd', "x", "a 'b' $c"]
    wanted = msgspec.structs.replace(wanted, command=command)
    submit.submit(submit.SCHEDULERS["slurm"], wanted)
    for _ in range(2):
        subprocess.run([wanted.script], check=True, cwd="/")
    said = ["a 'b' $c/1/loaded  \"it\"", str(wanted.folder)]
    assert wanted.log.read_text().splitlines() == 2 * said
    assert wanted.script.stat().st_mode & 0o777 == 0o700
    assert len(wanted.text().splitlines()) <= 40


@pytest.mark.parametrize(
    ("scheduler", "line", "state"),
    [
        ("slurm", "16|PENDING", "PENDING"),
        ("pbs", "16", "queued or running"),
        ("flux", "16|RUN", "RUN"),
        ("lsf", "16|PEND", "PEND"),
    ],
)
def test_there_is_one_job(
    scheduler: str, line: str, state: str, commands: Path, tmp_path: Path
) -> None:
    (commands / "there").write_text(line + "\n")
    done = submit.submit(submit.SCHEDULERS[scheduler], request(tmp_path))
    assert done == submit.Submitted("16", state)
    words = asked(commands)
    assert words[-1] == NAME and not {"sbatch", "qsub", "batch", "bsub"} & set(words)


@pytest.mark.parametrize("scheduler", WORDS)
def test_a_scheduler_that_does_not_answer_gets_no_job(
    scheduler: str, commands: Path, tmp_path: Path
) -> None:
    for name in ("squeue", "qselect", "flux", "bjobs"):
        (commands / name).write_text("#!/bin/sh\necho is down >&2\nexit 1\n")
    with pytest.raises(PlumblineError, match="fails: is down"):
        submit.submit(submit.SCHEDULERS[scheduler], request(tmp_path))
    assert not (commands / "asked").exists()


def test_what_the_scheduler_refuses_is_said(commands: Path, tmp_path: Path) -> None:
    (commands / "sbatch").write_text("#!/bin/sh\necho invalid partition >&2\nexit 1\n")
    with pytest.raises(PlumblineError, match=r"sbatch fails: invalid partition; its script is"):
        submit.submit(submit.SCHEDULERS["slurm"], request(tmp_path))
    (commands / "sbatch").write_text("#!/bin/sh\necho hm\n")
    with pytest.raises(PlumblineError, match="sbatch answers 'hm' in place of a number"):
        submit.submit(submit.SCHEDULERS["slurm"], request(tmp_path))


# --- the command ----------------------------------------------------------------------------------


def typed(folder: Path, *words: str) -> list[str]:
    return ["campaign", *words, "--db", str(folder / "plumbline.db")]


def test_the_command(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job has room for the largest layout; the same campaign has the same job, however long it
    may take and whoever pays."""
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text('layouts = ["1x4", "3x2"]\n[job]\nqueue = "long"\n')
    words = typed(tmp_path, "c.toml", "--submit", "slurm,minutes=30,account=7")
    said = plumbline(*words)
    assert said.status == 0, said.err
    assert "submitted job 17 of Slurm: 3 nodes with 4 ranks each" in said.out
    assert f"tail -F {tmp_path}/jobs/plumb-" in said.out and "scancel 17" in said.out
    assert {
        "--nodes=3",
        "--ntasks-per-node=4",
        "--partition=long",
        "--time=30",
        "--account=7",
    } < set(asked(commands))
    (script,) = (tmp_path / "jobs").glob("plumb-*.sh")
    assert script.read_text().endswith(f" -m plumbline {shlex.join(words)}\n")
    (commands / "there").write_text("16|RUNNING\n")
    words = typed(tmp_path, "c.toml", "--submit", "slurm", "--new", "--json")
    said = plumbline(*words)
    found = json.loads(said.out)
    assert found == {"job": "16", "state": "RUNNING", "log": str(script.with_suffix(".log"))}


def test_a_whole_site_has_one_job(commands: Path, tmp_path: Path) -> None:
    """Check that the job has room for all layouts, and is not that of the largest campaign."""
    words = ["-n", "8", "--submit", "slurm,queue=long"]
    plain = plumbline(*typed(tmp_path, *words))
    file = tmp_path / "site.toml"
    file.write_text("nodes = 4\n[site]\nranks_per_node = [2, 4]\nranks = [4, 8]\n")
    site = plumbline(*typed(tmp_path, str(file), *words))
    assert (plain.status, site.status) == (0, 0), site.err
    assert "submitted job 17 of Slurm: 4 nodes with 4 ranks each" in site.out
    scripts = list((tmp_path / "jobs").glob("plumb-*.sh"))
    assert len(scripts) == 2 and any(str(file) in script.read_text() for script in scripts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--submit", "slurm", "--site"], "nprocs must be given"),
        (["--submit", "slurm"], "nprocs must be given"),
        (["--submit", "sge"], "one of slurm, pbs, flux, lsf"),
        (["--submit", "lsf,long"], "then KEY=VALUE"),
        (["--submit", "lsf,minuets=3", "-n", "4"], "unknown key `minuets`; nearest: minutes"),
        (["--continue", "x", "--submit", "pbs"], "give these, not --continue"),
        (["--submit", "lsf,minutes=x", "-n", "4"], "minutes: Expected `int`, got `str`"),
        (["--submit", "lsf", "-n", "4", "--wait-for-quiet"], "leave it out"),
        (["--submit", "pbs", "-n", "4", "--simulate", "ompi"], "at most one of the tables"),
    ],
)
def test_what_cannot_be_submitted(
    words: list[str], said: str, commands: Path, tmp_path: Path
) -> None:
    found = plumbline(*typed(tmp_path, *words))
    assert found.status == 2 and said in found.err
    assert not (commands / "asked").exists()
