"""The commands of four schedulers, as far as Plumbline uses them: one program, linked under their
names. What they print is in the form that the real ones print. Jobs run at once, on this machine.
No package is imported: it starts often.

The folder FAKE_SCHEDULER has `fates`, a word a line for each job that is submitted (`run` when
there is none), and a folder for each job with its name, its state and what it was submitted
with."""

from __future__ import annotations

import os
import sys

HOME = os.environ["FAKE_SCHEDULER"]
JOBS = f"{HOME}/jobs"

# What becomes of a job -> how squeue (sacct), qstat (state, exit status), flux and bjobs name
# that.
STATES = {
    "run": ("RUNNING", "R", "RUN||", "RUN|-"),
    "node": ("NODE_FAIL", "F -3", "INACTIVE|FAILED|exec", "EXIT|TERM_EXTERNAL_SIGNAL: host died"),
    "cancel": (
        "CANCELLED by 1000",
        "F 271",
        "INACTIVE|CANCELED|cancel",
        "EXIT|TERM_OWNER: killed",
    ),
    "late": (
        "TIMEOUT",
        "F -29",
        "INACTIVE|TIMEOUT|timeout",
        "EXIT|TERM_RUNLIMIT: killed",
    ),
    "fail": ("FAILED", "F 1", "INACTIVE|FAILED|", "EXIT|-"),
    "wait": ("PENDING", "Q", "SCHED||", "PEND|-"),
}


ENDS = '/bin/bash "$0"; if [ "$(cat "$1")" = run ]; then printf fail > "$1"; fi'


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def word(name: str) -> str:
    """The first line of the file `name`, which loses it."""
    path = f"{HOME}/{name}"
    first, _, rest = read(path).partition("\n") if os.path.exists(path) else ("", "", "")
    write(path, rest)
    return first


def submit(words: list[str], name: str, number: str, shown: str) -> int:
    fate = word("fates") or "run"
    if fate == "refuse":
        return fail("submit error: Invalid account")
    job = f"{JOBS}/{number}"
    os.mkdir(job)
    write(f"{job}/argv", "\0".join(words))
    write(f"{job}/name", name)
    write(f"{job}/fate", "run" if fate == "unheard" else fate)
    if fate in ("run", "unheard"):
        clean = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        nowhere = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in range(3)]
        argv = ["/bin/bash", "-c", ENDS, words[-1], f"{job}/fate"]
        os.posix_spawn(argv[0], argv, clean, file_actions=nowhere, setsid=True)
    if fate == "lose":
        write(f"{job}/name", "of-somebody-else")
        write(f"{job}/fate", "wait")
    if fate == "unheard":
        return fail("submit error: Socket timed out on send/recv operation")
    print(shown)
    return 0


def fail(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


def jobs() -> list[tuple[str, str, str]]:
    """Number, name and fate of each."""
    found = sorted(os.listdir(JOBS), key=int)
    return [(one, read(f"{JOBS}/{one}/name"), read(f"{JOBS}/{one}/fate")) for one in found]


def value(words: list[str], key: str) -> str:
    """Of `--key=value` or `--key value`."""
    for number, one in enumerate(words):
        if one.startswith(key + "="):
            return one.partition("=")[2]
        if one == key:
            return words[number + 1]
    return ""


def cancel(ids: list[str]) -> int:
    for id in ids:
        write(f"{JOBS}/{id}/fate", "cancel")
    return 0


def main(command: str, words: list[str]) -> int:
    number = str(len(os.listdir(JOBS)) + 1)
    asked = command in ("squeue", "sacct", "qstat", "qselect", "bjobs") or words[:1] == ["jobs"]
    if asked and word("mute"):
        return fail(f"{command}: error: Unable to contact the server (connect failure)")
    if command == "sbatch":
        return submit(words, value(words, "--job-name"), number, number)
    if command == "sacct":
        return fail("Slurm accounting storage is disabled")
    if command == "squeue":
        for id, name, fate in jobs():
            if name in value(words, "--name").split(","):
                print(f"{id}|{STATES[fate][0]}")
        return 0
    if command == "scancel":
        return cancel([one for one in words if one.isdigit()])
    if command == "qsub":
        return submit(words, words[words.index("-N") + 1], number, f"{number}.head")
    if command == "qselect":
        wanted = words[words.index("-N") + 1]
        print("\n".join(f"{id}.head" for id, name, _ in jobs() if name == wanted))
        return 0
    if command == "qstat":
        return qstat(words)
    if command == "qdel":
        return cancel([one.partition(".")[0] for one in words])
    if command == "pbsnodes":
        print("n1\n     Mom = n1\n     np = 8\n     resources_available.ncpus = 8\n")
        return 0
    if command.startswith(("b", "lsid")):
        return lsf(command, words, number)
    return flux(words, number)


def lsf(command: str, words: list[str], number: str) -> int:
    if command == "bsub":
        name = words[words.index("-J") + 1]
        return submit(words, name, number, f"Job <{number}> is submitted to queue <normal>.")
    if command == "bkill":
        return cancel(words)
    if command == "lsid":
        print("IBM Spectrum LSF Standard 10.1.0.13\nMy cluster name is c1\nMy master name is head")
        return 0
    if command == "bhosts":
        print("HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV")
        print("n1                 ok              -      8      0      0      0      0      0")
        return 0
    name = words[words.index("-J") + 1] if "-J" in words else ""
    ids = [one for one in words if one.isdigit()]
    rows = [row for row in jobs() if row[0] in ids or row[1] == name]
    for id, named, fate in rows:
        print(f"{id}|{named}|{STATES[fate][3]}")
    if not rows:
        return fail(f"Job <{name or ids[0]}> is not found")
    return 0


def qstat(words: list[str]) -> int:
    torque = os.path.exists(f"{HOME}/torque")
    if words == ["--version"]:
        print("Version: 6.1.2\nCommit: 1" if torque else "pbs_version = 20.0.1")
        return 0
    if "-B" in words:
        print("Server: head\n    server_state = Active")
        return 0
    if torque and "-x" in words:
        return fail("qstat: invalid option -- 'x'")
    known = {f"{id}.head": (name, fate) for id, name, fate in jobs()}
    status = 0
    for id in (one for one in words if not one.startswith("-")):
        if id not in known:
            print(f"qstat: Unknown Job Id {id}", file=sys.stderr)
            status = 153
            continue
        name, fate = known[id]
        letter, _, code = STATES[fate][1].partition(" ")
        if torque and letter == "F":
            letter, code = "C", {"-29": "-11"}.get(code, code)
        print(f"Job Id: {id}\n    Job_Name = {name}\n    Job_Owner = me@head")
        print(f"    job_state = {letter}" + (f"\n    Exit_status = {code}" if code else ""))
        print("    Variable_List = PBS_O_HOME=/home/me,\n\tPBS_O_LANG=C\n")
    return status


def flux(words: list[str], number: str) -> int:
    if words[0] == "batch":
        return submit(words, value(words, "--job-name"), number, f"ƒ{number}")
    if words[0] == "jobs":
        ids = [one[1:] for one in words[1:] if one.startswith("f")]
        for id in ids:
            if not os.path.isdir(f"{JOBS}/{id}"):
                return fail(f"flux-jobs: ERROR: JobID f{id} unknown")
        for id, name, fate in jobs():
            if id in ids or name == value(words, "--name"):
                print(f"ƒ{id}|{STATES[fate][2]}")
        return 0
    if words[0] == "cancel":
        return cancel([one[1:] for one in words[1:]])
    if words[0] == "resource":
        print("2|16|tux[1-2]")
        return 0
    print("commands:    \t\t0.67.0")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.basename(sys.argv[0]), sys.argv[1:]))
