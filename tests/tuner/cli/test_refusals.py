"""What a command cannot do is refused before anything is launched, printed or kept, and the message
says what it takes instead. Numbers that are out of range stand in test_numbers.py."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from plumbline_db import campaigns
from plumbline_db.connection import Database
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter

# What a campaign and a verification say alike.
SETTINGS = [
    ("--sizes 1,two", "--sizes takes whole numbers with commas between"),
    ("--sizes ''", "--sizes takes whole numbers with commas between"),
    ("--sizes 0,64", "sizes: name a size or more"),
    ("--sizes 64 --guidelines -GL99", "no guideline is called GL99"),
    ("--sizes 64 --guidelines-file /nowhere", "/nowhere"),
    ("--guidelines GL12,GL77", "no guideline is called GL77; nearest: GL7, "),
    ("--guidelines GL1", "name at least one pattern guideline"),
    ("--guidelines ''", "no guideline is called"),
    ("--functions MPI_Alltoal", "MPI_Alltoal to compare; nearest: MPI_Alltoall"),
    ("--functions MPI_Barrier", "function"),
    ("--functions ''", "function"),
    ("--nprocs 1", "nprocs must be at least 2"),
    ("--type MPI_COMPLEX", "type must be one of MPI_BYTE"),
    ("--op MPI_MOD", "op must be one of MPI_BOR"),
    ("none.toml", "File 'none.toml' does not exist"),
    ("-n 4 --nodes 2", "several nodes need a table"),
    ("-n 4 --bind thread", "Invalid enum value 'thread'"),
    ("-n 4 --map-by slot", "Invalid enum value 'slot'"),
    ("--wait-for-quiet --simulate ompi -n 4", "but these ranks run elsewhere: leave it out"),
]
NOTHING = (
    "{} names no cell of {}: a call without data is not measured; its smallest size here is {}"
)
REFUSED = [
    *((f"campaign {words}", said) for words, said in SETTINGS),
    *((f"verify {words}", said) for words, said in SETTINGS),
    # measurements
    ("measure MPI_Bcats", "the probe knows no function MPI_Bcats; nearest: MPI_Bcast"),
    ("measure MPI_Bcast --variants bcast_as_x", "has no variant bcast_as_x; it has bcast_as_s"),
    ("measure MPI_Bcast --sizes 4,x", "--sizes takes whole numbers"),
    ("measure MPI_Bcast --knob oops", "--knob takes NAME=VALUE, not 'oops'"),
    ("measure MPI_Bcast --knob 'coll_tuned_bcast_algorithm=b c'", "is not allowed in a plan"),
    ("measure MPI_Bcast --knob a=1", "openmpi-4.1.4 reports no parameter a"),
    ("measure MPI_Bcast -n 4 --nodes 2", "several nodes need a table"),
    ("measure MPI_Bcast -n 4 --bind thread", "Invalid enum value 'thread'"),
    ("measure MPI_Bcast -n 4 --map-by slot", "Invalid enum value 'slot'"),
    ("measure --nrep", "Missing argument"),
    ("measure MPI_Bcast --set clock", "--set takes KEY=VALUE, not 'clock'"),
    ("measure MPI_Bcast --set clok=tsc", "no key clok; nearest: clock"),
    ("measure MPI_Bcast --set seed=2", "--set seed=…: use --seed"),
    ("measure MPI_Bcast --set window_us=-1", "-1 is not in the range"),
    ("measure MPI_Bcast --set nrep_max=9", "name it by nrep"),
    ("measure MPI_Bcast --new", "only ping-pongs are stored"),
    ("measure MPI_Bcast --nrep --variants all", "leave out --variants"),
    ("measure MPI_Bcats --nrep", "the probe knows no function MPI_Bcats"),
    ("measure MPI_Bcast --nrep --sizes 0", NOTHING.format("--sizes 0", "MPI_Bcast", 1)),
    ("measure MPI_Gather --nrep --sizes 2 -n 4", NOTHING.format("--sizes 2", "MPI_Gather", 4)),
    (
        "measure MPI_Bcast --nrep --sizes 2 --type MPI_INT",
        NOTHING.format("--sizes 2", "MPI_Bcast", 4),
    ),
    ("measure MPI_Bcast --nrep --set 'nrep=rse: 0.1'", "is not allowed in a plan"),
    ("measure pingpong --sizes 0,8", "a line needs 3 sizes or more"),
    ("measure pingpong --sizes 0,eight", "--sizes takes whole numbers"),
    ("measure pingpong --nprocs 1", "--nprocs 1: 2 at least"),
    ("measure pingpong --variants all", "--variants has no effect on ping-pongs"),
    ("measure pingpong --bind core", "--bind has no effect on ping-pongs"),
    ("reproducibility --sizes 8q", "--sizes takes whole numbers"),
    ("reproducibility --set effects=five", "--set takes numbers"),
    ("reproducibility --nprocs 1", "--nprocs must be"),
    ("reproducibility --trials 1", "--trials must be at least 2"),
    ("reproducibility --functions MPI_Bcats", "knows no function MPI_Bcats"),
    # overlap
    ("overlap --benches sideways", "both, fan_in, fan_out"),
    ("overlap --benches sender,collective:MPI_Bcast", "and collectives"),
    ("overlap --work x", "--work takes whole numbers"),
    ("overlap --picture maps.jpg", "name a file that ends in .svg, .png or .pdf"),
    ("overlap --quick --full", "name one of them"),
    ("overlap --knob no_such_knob=1", "reports no parameter no_such_knob"),
    ("overlap --nodes 2", "several nodes need a table"),
    ("overlap thresholds --triples 3", "--triples 3: fewer than 4"),
    ("overlap thresholds --knob eager", "NAME=VALUE"),
    ("overlap tune --triples 2", "--triples 2: 3 at least"),
    ("overlap timeline --sizes 8,16", "a timeline is of one cell: name one of --sizes"),
    # comparisons
    ("compare a b --set tolerance=0.1", "--set tolerance needs --measure"),
    ("compare a", "name both sides"),
    ("compare --history a b", "leave out A and B"),
    ("compare a b --set average=mode", "'mode' is not one of"),
    ("compare a b --set alpha=nan", "nan is not a number"),
    ("compare a b -n 2", "--nprocs needs --measure"),
    ("compare --measure /a /b --set test=rank-sum", "--set test has no effect with --measure"),
    ("compare --measure /a /b --output x.txt", "name a file that ends in .xml"),
    ("variants --best --kind naive", "naive variants do not race"),
    ("variants --best MPI_Allreduce MPI_Gatherv", "no function MPI_Gatherv"),
    ("variants --best MPI_Allreduce MPI_Reduce_local", "no variants of MPI_Reduce_local to race"),
    # files, databases and people
    ("lint", "name a file"),
    ("lint none", "cannot read"),
    ("lint .", "cannot read"),
    ("lint strange --format toml", "no format toml; there are mpich-json"),
    ("lint strange --library openmpi", "name one as FAMILY-VERSION"),
    ("lint strange --library lam-7.1", "families are intelmpi"),
    ("lint strange", "cannot tell what this is"),
    *(
        (f"{command} {words}", "one of --user, --site and --modules DIR")
        for command in ("apply", "apply --undo")
        for words in ("", "--user --site", "--user --modules m")
    ),
    ("watch --once --status", "exclude each other"),
    ("watch --json", "--json needs"),
    ("watch --check gone.toml", "does not exist"),
    # what the words of a command line are
    ("frobnicate", "No such command 'frobnicate'"),
    ("db burn", "No such command 'burn'"),
    ("campain", "No such command 'campain'. (Did you mean campaign"),
    ("db tabel", "No such command 'tabel'. (Did you mean table"),
    ("results --colour", "No such option"),
    ("run", "Missing argument"),
    ("verify --list --guidelines gl122", "unknown guideline GL122; nearest: GL"),
    ("advise alreduce --bytes 8 -n 4", "for MPI_Alreduce; nearest: MPI_Allr"),
    ("-n 4,8 advise bcast --bytes 8", "--nprocs takes one number here"),
    ("advise --np 4,8 bcast --bytes 8", "--nprocs takes one number here"),
    ("run --no-proof -- ./app", "the program ./app cannot be started"),
    ("run -- mpirun -np 4 ./nosuch", "the program ./nosuch cannot be started"),
    ("record --output x -- mpirun -np 4 nosuch", "nosuch is not on PATH"),
    ("watch", "name a configuration: `plumbline watch --example > watch.toml`"),
    ("watch --once", "name a configuration"),
    ("profile --output x -- nosuchapp", "nosuchapp is not on PATH"),
    ("overlap --sizes x, tune", "--sizes takes whole numbers"),
    ("overlap tune --sizes x,", "--sizes takes whole numbers"),
    *(
        (words, f"{option} is not an option of `plumbline {command}`: leave it out")
        for words, option, command in (
            ("--seed 1 run -- env", "--seed", "run"),
            ("run --seed 1 -- env", "--seed", "run"),
            ("--mpi /opt results", "--mpi", "results"),
            ("overlap --quick tune", "--quick", "overlap tune"),
            ("overlap thresholds --benches ring", "--benches", "overlap thresholds"),
            ("overlap -n 4 compare", "--nprocs", "overlap compare"),
            ("--seed 1 doctor", "--seed", "doctor"),
        )
    ),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_refused(
    starter: SimulatedStarter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))
    Path("strange").write_text("Dear reader,\n")
    said = plumbline(*shlex.split(words))
    assert (said.status, said.out) == (2, ""), said.err
    assert message in " ".join(said.err.split()) and "Traceback" not in said.err
    assert starter.launches == []
    if Path("plumbline.db").exists():  # nothing of a refused campaign stays
        with Database.open(Path("plumbline.db")) as db:
            assert campaigns.all_campaigns(db) == []
