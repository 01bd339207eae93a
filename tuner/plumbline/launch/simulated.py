"""Ranks that SimGrid simulates, through smpirun: one process, one core, any number of nodes. The
platform and the hosts are files in the job's folder.

Many ranks take a simulator long. So their cases are shared out between as many processes as there
are cores, and what was measured before is not measured again (parts.py): what a launch
leaves behind are the records of one. The network of a simulator is solved anew whenever a message
ends, so that one case with thousands of messages at once can take hours. A case whose simulation
takes too long is given up, and those that go with it; what is left of its part begins anew."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from plumbline.core.guidelines import calls
from plumbline.launch.simulation import Simulation, hostfile, machine, overheads, platform
from plumbline.libraries import Family, Installation
from plumbline.libraries.simgrid import SETTLING, options_in
from plumbline.system import machine as this_machine
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db import ndjson
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher, parts
from .local import short_lived
from .parts import Record, case_lines, words_of

# The knowledge of a simulated machine that was measured already: it repeats itself, so nothing is
# measured twice under the same knobs and rules. Kept as long as the launcher is; launches keep what
# they were given.
# A profile matters to a case where it has rules of functions that the case calls: a mock-up calls
# those that its guideline names (guidelines.toml).

_Key = tuple[str, ...]


class Known:
    def __init__(self) -> None:
        self._records: dict[_Key, list[Record]] = {}

    def look_up(self, keys: dict[int, _Key]) -> dict[int, list[Record]]:
        """The records of the cases that are known, with the ids that they have now."""
        return {
            number: [record | {"case": number} for record in self._records[key]]
            for number, key in keys.items()
            if key in self._records
        }

    def learn(self, keys: dict[int, _Key], records: Iterable[Record]) -> None:
        """Learn from a launch that has come to its end."""
        records_by_case: dict[int, list[Record]] = {}
        for record in records:
            if record["record"] in ("case", "begin", "check", "samples", "refused"):
                records_by_case.setdefault(record["case"], []).append(record)
        for number, key in keys.items():
            if number in records_by_case:
                self._records.setdefault(key, records_by_case[number])


def known_keys(plan: str, command: Sequence[str], profile: str) -> dict[int, _Key]:
    """Return what the times of each case of a plan depend on. `command`: how ranks are started,
    without names of files; `profile`: the text of the one in force."""
    head = tuple(
        " ".join(word for word in line.split() if not word.startswith(("run=", "seed=")))
        for line in plan.splitlines()
        if not line.startswith("case ")
    )
    key_by_case = {}
    for number, line in case_lines(plan).items():
        case = words_of(line)
        rules = rules_of(profile, case["function"], case.get("variant", "default"))
        key_by_case[number] = (*command, *head, line, *rules)
    return key_by_case


def rules_of(profile: str, function: str, variant: str) -> list[str]:
    """The rules that calls of a variant may meet; all of them where nobody says what it calls."""
    rules = [line for line in profile.splitlines() if line.startswith("rule ")]
    reached = calls(function, variant)
    if reached is None:
        return rules
    while True:
        met = [line for line in rules if words_of(line)["function"] in reached]
        more = [calls(words_of(line)["function"], words_of(line)["variant"]) for line in met]
        further = {call for calls_ in more for call in calls_ or ()} - set(reached)
        if any(cases is None for cases in more):
            return rules
        if not further:
            return met
        reached = {*reached, *further}


# smpirun passes words through a shell that splits and expands them.
_SAFE = re.compile(r"[\w./:=+,@%-]+\Z")


# With fewer ranks a second process would not save time.
MANY = 64
_PROFILE = "PLUMBLINE_PROFILE"
# Starts a part: its name and plan -> the words of the command, and the file of its records.
_Command = Callable[[str, str], tuple[list[str], Path]]


class _PartEnded(msgspec.Struct, frozen=True):
    """One process of a part. `records` of one that was given up say only that. `file` is where they
    lie; `whole`: there is nothing more to come. `bad`: text from the line on that is no record, or
    not one of the part's plan."""

    finished: process.Finished
    records: list[Record]
    file: Path
    whole: bool
    bad: str = ""


@launcher("simulated", table=Simulation)
class Simulated:
    name = "simulated"

    def __init__(self, machine: Simulation, beside: Path | None = None) -> None:
        del beside
        self._machine = machine
        self._known = Known()

    def machine(self, placement: Placement) -> Machine:
        return machine(self._machine, placement)

    def processing_units(self) -> int | None:
        return None

    folder = staticmethod(short_lived)

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        del family
        options = options_in(job.environment)
        if installation.library.build["selector"] in SETTLING:
            settled = dict(job.environment) | {"PLUMBLINE_SETTLE": "1"}
            job = msgspec.structs.replace(job, environment=settled)
        plan = _plan_of(job.program)
        if job.placement.nprocs < MANY or plan is None or parts.whole(plan):
            words = self.command(installation, job.program, job.placement, job.folder, options)
            return process.run(
                words, timeout_seconds=job.timeout_seconds, environment=job.environment
            )
        return self._in_parts(installation, job, plan, options)

    def _in_parts(
        self, installation: Installation, job: Job, plan: str, options: Sequence[str]
    ) -> process.Finished:
        started = time.monotonic()
        program = job.program[0]
        depends = self.command(installation, [program], job.placement, job.folder, options)
        known_as = _keys(plan, depends, job.environment)
        known_records = self._known.look_up(known_as)
        # At least one case is measured, because the header comes from its launch.
        without = set(list(known_records)[: len(parts.case_lines(plan)) - 1])

        def command(name: str, text: str) -> tuple[list[str], Path]:
            folder = job.folder / name
            folder.mkdir()
            file, out = folder / "plan", folder / "records.ndjson"
            file.write_text(text)
            words = [program, "--plan", str(file), "--out", str(out)]
            return self.command(installation, words, job.placement, folder, options), out

        ends = _Pool(
            command,
            job.environment,
            cores=this_machine.processing_units(),
            case_seconds=self._machine.case_seconds,
            timeout_seconds=job.timeout_seconds,
        ).run(parts.split(plan, without))
        records_given = [record for number in sorted(without) for record in known_records[number]]
        # Parts with bad records come last, with the case that was running.
        broken = sorted((end for end in ends if not end.whole), key=lambda part: bool(part.bad))
        joined = parts.join(
            [end.records for end in ends if end.whole],
            [ended.records for ended in broken],
            _with_orders(records_given),
        )
        target = Path(job.program[-1])
        if not broken:
            target.write_text(parts.write(joined))
            self._known.learn(known_as, joined)
        else:
            bad = broken[-1].bad
            _write_part(target, parts.write(joined) + bad, [ended.file for ended in broken])
        finished = [end.finished for end in ends]
        worst = next((process for process in finished if process.timed_out), None)
        worst = worst or next((process for process in finished if process.status != 0), finished[0])
        return msgspec.structs.replace(
            worst,
            stderr="".join(process.stderr for process in finished),
            seconds=time.monotonic() - started,
        )

    def alone(
        self, installation: Installation, program: list[str], seconds: float
    ) -> process.Finished:
        """Return how one process is started: what smpicc makes is no program of its own, but
        SimGrid loads it, with one rank on one node, whatever the machine is like."""
        node = Simulated(Simulation(library=self._machine.library))
        with short_lived("") as folder:
            words = node.command(installation, program, Placement(nodes=1, ppn=1), folder)
            return process.run(words, timeout_seconds=seconds)

    def command(
        self,
        installation: Installation,
        program: list[str],
        placement: Placement,
        folder: Path,
        options: Sequence[str] = (),
    ) -> list[str]:
        unfit = [word for word in (*program[1:], str(folder), *options) if not _SAFE.match(word)]
        if unfit:
            raise PlumblineError(
                f"smpirun cannot use {unfit[0]!r}: choose a path without blanks and special "
                "characters (TMPDIR names the folder of temporary files)"
            )
        platform_file, host_file = folder / "platform.xml", folder / "hosts"
        platform_file.write_text(platform(self._machine, placement))
        host_file.write_text(hostfile(self._machine, placement))
        return [
            *(str(installation.mpirun), "-quiet", "-np", str(placement.nprocs)),
            *("-platform", str(platform_file), "-hostfile", str(host_file)),
            "--log=root.thresh:error",
            f"--cfg=smpi/coll-selector:{installation.library.build['selector']}",
            "--cfg=smpi/simulate-computation:no",
            *overheads(self._machine),
            *options,
            *program,
        ]


def _plan_of(program: Sequence[str]) -> str | None:
    """The plan of a probe that is to measure; None for other programs."""
    if len(program) != 5 or (program[1], program[3]) != ("--plan", "--out"):
        return None
    return Path(program[2]).read_text()


def _keys(plan: str, command: Sequence[str], environment: Mapping[str, str]) -> dict[int, _Key]:
    """`command`: with the last of options that stand twice, in one order."""
    options = dict(word.split(":", 1) for word in command if word.startswith("--cfg="))
    words = [f"{name}:{value}" for name, value in sorted(options.items())]
    places = [word for word in command if word in ("-np",) or word.isdigit()]
    profile = environment.get(_PROFILE, "")
    text = Path(profile).read_text() if profile and Path(profile).is_file() else profile
    return known_keys(plan, [*places, *words], text)


def _write_part(target: Path, text: str, records: Sequence[Path]) -> None:
    """Write a part as old as what was written last by those that have not come to their end."""
    part = _part_of(target)
    part.write_text(text)
    ages = [_part_of(record).stat().st_mtime for record in records if _part_of(record).is_file()]
    if ages:
        os.utime(part, (max(ages), max(ages)))


def _with_orders(known_records: Sequence[parts.Record]) -> list[parts.Record]:
    """Cases that were not measured again stand first in the orders of the blocks."""
    blocks: dict[int, list[int]] = {}
    for known_case in known_records:
        if known_case["record"] == "samples":
            for block in known_case["blocks"]:
                blocks.setdefault(block, []).append(known_case["case"])
    orders = [{"record": "order", "block": block, "cases": of_} for block, of_ in blocks.items()]
    return [*known_records, *orders]


class _Pool:
    def __init__(
        self,
        command: _Command,
        environment: Mapping[str, str],
        *,
        cores: int,
        case_seconds: float,
        timeout_seconds: float,
    ) -> None:
        """`case_seconds`: of a processor, for one case; 0: without a limit. `timeout_seconds`: of
        all."""
        self._command = command
        self._environment = environment
        self._cores = cores
        self._case_seconds = case_seconds
        self._deadline = time.monotonic() + timeout_seconds
        self._stop = threading.Event()
        self._ends: list[_PartEnded] = []

    def run(self, plans: Sequence[str]) -> list[_PartEnded]:
        with ThreadPoolExecutor(self._cores) as pool:
            try:
                for done in [pool.submit(self._part, *numbered) for numbered in enumerate(plans)]:
                    done.result()
            except BaseException:
                self._stop.set()
                raise
        return self._ends

    def _part(self, number: int, plan: str) -> None:
        again = 0
        while plan and not self._stop.is_set():
            words, file = self._command(f"{number}-{again}", plan)
            watch = _Watch(file, plan, self._case_seconds, self._stop)
            finished = process.run(
                words,
                timeout_seconds=max(1.0, self._deadline - time.monotonic()),
                environment=self._environment,
                give_up=watch.is_too_long,
            )
            records, bad = _written(file, plan)
            if watch.stuck is None:
                whole = file.is_file() and bad is None
                self._ends.append(_PartEnded(finished, records, file, whole, bad or ""))
                return
            given_up = parts.too_much(plan, watch.stuck)
            case = parts.words_of(parts.case_lines(plan)[watch.stuck])
            why = (
                f"its simulation takes more than {self._case_seconds:g} s of a processor (seen "
                f"with {case['variant']} at {case['bytes']} B)"
            )
            fine = msgspec.structs.replace(finished, status=0)
            self._ends.append(
                _PartEnded(fine, parts.given_up(records, given_up, why), file, whole=True)
            )
            plan = parts.rest(plan, given_up)
            again += 1


class _Watch:
    """A watch on whether the case that is under way has been so too long: then `stuck` is its
    id."""

    def __init__(self, file: Path, plan: str, case_seconds: float, stop: threading.Event) -> None:
        self.stuck: int | None = None
        self._records, self._file = file, _part_of(file)
        self._plan = plan
        self._case_seconds = case_seconds
        self._stop = stop
        self._seen, self._since = (0, 0), 0.0

    def is_too_long(self, processor_seconds: float) -> bool:
        """The time of a processor, so that it is no matter who else computes."""
        if self._stop.is_set():
            return True
        try:
            status = self._file.stat()
            size_and_time = (status.st_size, status.st_mtime_ns)  # a line may be written over
        except FileNotFoundError:  # not begun; or whole, and renamed
            size_and_time = (0, 0)
        if size_and_time != self._seen:
            self._seen, self._since = size_and_time, processor_seconds
        if not self._case_seconds or processor_seconds - self._since <= self._case_seconds:
            return False
        self.stuck = (
            parts.under_way(_written(self._records, self._plan)[0]) if size_and_time[0] else None
        )
        return self.stuck is not None


def _part_of(records: Path) -> Path:
    return records.with_name(records.name + ".part")


def _written(records: Path, plan: str) -> tuple[list[Record], str | None]:
    """Return what a probe has written by now, as far as it is what its plan asks for; and the text
    from where it is not (empty where only something is missing; None: all is right)."""
    file = records if records.is_file() else _part_of(records)
    try:
        try:
            right, bad = len(ndjson.decode(file, partial=file != records, plan=plan)), False
        except ndjson.BadRecordsError as error:
            right, bad = len(error.records), True
        lines = file.read_text(errors="replace").split("\n")
    except (OSError, PlumblineError):  # it is not there, or not any more
        return [], None
    rest = "\n".join(lines[right:])
    return [msgspec.json.decode(line) for line in lines[:right]], rest if bad else None
