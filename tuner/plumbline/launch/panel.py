"""Ranks that stay alive between launches: `mpirun … probe --serve`, started once and visited by one
plan after the other (docs/design/campaign.md).

A member is known by everything that its processes read when they start, but for the profile of the
preload library, which they can read again. The launch stays the statistical replicate: launches of
one experiment visit members of their own (Experiment)."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from plumbline.launch import RECORDS, Job, Launcher
from plumbline.launch.groups import groups_of
from plumbline.libraries import Family, Installation
from plumbline.system import machine, sessions
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline.system.responder import Responder
from plumbline_db.probe_records import Check, Header, ProbeRecord
from plumbline_exporters.profile import FILE_NAME

MOST_PROCESSES = 1024  # ranks of all members
_END = b"end\n"
_ANSWER = re.compile(rb"probe: visit \d+ ends with (\d+)\r?\n")
REFUSED = 2  # the probe's code for a plan that it does not take; its process goes on
_END_SECONDS = 30.0  # for MPI_Finalize after a measurement that failed
_NAMED_FILE = re.compile(r"/[^\s:,;=\"']+")
_MOST_TEXT_BYTES = 1 << 20  # larger files name no other files


@runtime_checkable
class KeepsRanks(Launcher, Protocol):
    """A launcher whose ranks can stay alive: its mpirun runs here as long as they do, and hands its
    standard input to rank 0."""

    def start_command(
        self, family: Family, installation: Installation, job: Job
    ) -> tuple[list[str], dict[str, str]]:
        """The command line that starts the ranks of `job`, and its whole environment."""
        ...


class PanelExperiment(msgspec.Struct, frozen=True):
    """The experiment that launches are samples of. None of them visits a member that another one
    has visited, unless there are `members` (0: no limit) with its key already, and then members
    are not visited more often than `most_visits` on average (0: no limit). What is `part_of` an
    experiment visits none that another part has visited. `sets_knobs`: later launches set knobs,
    for which ranks start. `own_ranks`: launches visit no ranks of a larger number. `fresh`: each
    launch starts ranks, as that of a user does."""

    name: str = ""
    members: int = 0
    most_visits: float = 0.0
    part_of: str = ""
    sets_knobs: bool = False
    own_ranks: bool = False
    in_company: bool = False
    fresh: bool = False

    @property
    def names(self) -> list[str]:
        """Return the names under which visits are counted."""
        return [self.name, self.part_of] if self.part_of else [self.name]


class MemberVisit(msgspec.Struct, frozen=True):
    """A launch that was answered by a member. `number` counts the visits of the member from 1; the
    first one started it. `profile_at_start` is the path of the profile that its processes were
    started with, `profile` that of the one which they have read again."""

    finished: Finished
    member: str
    number: int
    profile_at_start: str
    profile: str

    def corrected(self, records: Sequence[ProbeRecord]) -> list[ProbeRecord]:
        """Return the records with the profile that was in force in the header's environment, which
        is that of the start."""
        if self.profile_at_start == self.profile:
            return list(records)
        return [
            msgspec.structs.replace(
                record,
                environment={
                    name: value.replace(self.profile_at_start, self.profile)
                    for name, value in record.environment.items()
                },
            )
            if isinstance(record, Header)
            else record
            for record in records
        ]


class ReadAtStart(msgspec.Struct, frozen=True):
    """The input of the processes of a member: `key` is a digest of what they read once; `profile`
    is the path of the profile of the preload library, and `digest` that of its text ("" where there
    is none)."""

    key: str
    profile: str = ""
    digest: str = ""


class Member:
    """Ranks that wait for plans, so many of them. `name` tells members apart, in all campaigns;
    `in_force` is the digest of their profile; `is_shared`: campaigns of fewer ranks visit them
    too."""

    def __init__(
        self,
        read: ReadAtStart,
        ranks: int,
        responder: Responder,
        closing: contextlib.ExitStack,
        *,
        is_shared: bool,
    ) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        self.name = f"{now} {responder.pid}"
        self.key = read.key
        self.profile_at_start = read.profile
        self.in_force = read.digest
        self.is_shared = is_shared
        self.visits = 0
        self.experiments: Counter[str] = Counter()  # visits of each
        self.last_use = 0
        self.bytes = 0
        self.responder = responder
        self._closing = closing
        self._ranks = ranks
        self._processes: list[int] = []

    def visit(self, job: Job, read: ReadAtStart, groups: int = 1) -> Finished:
        """Measures the plan of `job` on its first ranks, as many as the job has, with the profile
        in force that its processes would read; and on so many `groups` at the same time those
        beside it (`beside`)."""
        self.visits += 1
        started = time.monotonic()
        ranks = job.placement.nprocs
        words = [f"{job.folder / 'plan'}", f"{job.folder / RECORDS}"]
        if read.digest != self.in_force:
            words += [str(self._ranks), read.profile]
            self.in_force = read.digest
        elif ranks < self._ranks:
            words.append(str(ranks))
            words += ["", str(groups)] if groups > 1 else []
        request = "\t".join(words).encode() + b"\n"
        answer = self.responder.ask(request, job.timeout_seconds)
        status = answer.code
        if status is None:
            status = self.responder.status
        elif status not in (0, REFUSED):
            self.responder.await_end(_END_SECONDS)
            status = self.responder.status
        else:
            self._weigh()
        return Finished(
            argv=self.responder.argv,
            status=status,
            timed_out=answer.timed_out,
            stdout=answer.stdout,
            stderr=answer.stderr,
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """Ends the ranks, and removes their folder."""
        try:
            self.responder.close()
        finally:
            self._closing.close()

    def _weigh(self) -> None:
        if not self._processes:
            leader = self.responder.pid
            self._processes = [leader, *sessions.descendants(leader)]
        self.bytes = sum(map(machine.memory_of_process, self._processes))


def beside(file: Path, group: int) -> Path:
    """Return the file of a group: the first one has the file itself."""
    return file.with_name(f"{file.name}.{group}") if group else file


class Panel:
    """The members of one command. `most_bytes`: memory that they may take on this node (None: half
    of what is available, theirs included). `placement`: that of the ranks whose first ones measure
    launches of fewer ranks (None: each launch visits as many ranks as it has). `side_by_side`: the
    numbers of ranks of which groups may measure at the same time. `choice`: what a library chooses
    when these ranks start, once a starter has asked."""

    choice: dict[str, str] | None = None

    def __init__(
        self,
        family: Family,
        installation: Installation,
        launcher: KeepsRanks,
        most_bytes: int | None = None,
        placement: Placement | None = None,
    ) -> None:
        self.placement = placement
        self.side_by_side: set[int] = set()
        self.launcher = launcher
        self._family = family
        self._installation = installation
        self._most_bytes = most_bytes
        self._members: list[Member] = []
        self._visits = 0

    def __enter__(self) -> Panel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def members(self) -> list[Member]:
        """Living members, in the order in which they were started."""
        for member in list(filter(_has_ended, self._members)):
            self._end(member)
        return list(self._members)

    def visit(self, job: Job, experiment: PanelExperiment, groups: int = 1) -> MemberVisit | None:
        """Measures the plan of `job`, whose program is the probe that serves, or those of so many
        groups (`groups` returns how many there may be). Of the members with its key that launches
        of `experiment` may visit, the oldest one of those that they have visited least takes it;
        else a new one. None: its mpirun does not hand on standard input, so that the probe ends at
        once."""
        start = self._start_of(job, experiment)
        read = self._read_at_start(start)
        started = time.monotonic()
        while True:
            member = self._free(read.key, experiment) or self._start(read, start)
            member.experiments.update(experiment.names)
            self._visits += 1
            member.last_use = self._visits
            done = member.visit(job, read, groups)
            if done.timed_out or done.status == REFUSED or _has_begun(job):
                break
            self._end(member)
            if member.visits == 1 and done.status == 0:
                return None
            if member.visits == 1:
                break  # they cannot be started; others had ended before they were asked
        finished = msgspec.structs.replace(done, seconds=time.monotonic() - started)
        return MemberVisit(
            finished, member.name, member.visits, member.profile_at_start, read.profile
        )

    def withdraw(self, experiment: PanelExperiment) -> None:
        """The last visit is no sample of `experiment`: the member may be visited for it again."""
        for member in self._members:
            if member.last_use == self._visits:
                member.experiments.subtract(experiment.names)

    def end(self, name: str) -> None:
        """Ends a member whose state is in doubt."""
        for member in list(self._members):
            if member.name == name:
                self._end(member)

    def serves(self, placement: Placement) -> bool:
        """Return whether the first ones of the shared ranks are where ranks with this placement
        are: on the first nodes, with as many ranks each, or on the first node alone, bound and
        oversubscribed alike."""
        whole = self.placement
        if whole is None or placement.oversubscribed != whole.oversubscribed:
            return False
        if whole.map_by == "node" and placement.nodes < whole.nodes:
            return False
        is_alike = placement.ppn == whole.ppn and placement.nodes <= whole.nodes
        return is_alike or (placement.nodes == 1 and placement.ppn <= whole.ppn)

    def groups(self, job: Job, experiment: PanelExperiment) -> int:
        """Return how many groups of as many ranks as a job has measure its launch."""
        own = job.placement
        allowed = experiment.in_company or own.nprocs in self.side_by_side
        if self.placement is None or not allowed or self._start_of(job, experiment) is job:
            return 1
        return groups_of(self.placement, own)

    def end_own(self) -> None:
        """Ends the members that campaigns of other numbers of ranks do not visit."""
        for member in list(self._members):
            if not member.is_shared:
                self._end(member)

    def close(self) -> None:
        """Ends all members: all are asked before the first one is waited for."""
        for member in self._members:
            member.responder.ask_to_end()
        while self._members:
            self._end(self._members[-1])

    def _start_of(self, job: Job, experiment: PanelExperiment) -> Job:
        """Return the job that starts the ranks for a launch: the shared ones, unless it needs its
        own, or reads exported files, which are of one number of ranks alone."""
        whole, own = self.placement, job.placement
        if whole is None or experiment.own_ranks:
            return job
        if not (self.serves(own) and self._is_common(job)):
            return job
        whole = msgspec.structs.replace(whole, bind=own.bind, map_by=own.map_by)
        return msgspec.structs.replace(job, placement=whole)

    @staticmethod
    def _is_common(job: Job) -> bool:
        return not _contents(" ".join(job.of_launch.values()))

    def _free(self, key: str, experiment: PanelExperiment) -> Member | None:
        if experiment.fresh:
            return None
        alike = [
            member
            for member in self.members
            if member.key == key and not _is_of_another_part(member, experiment)
        ]
        if not alike:
            return None
        least = min(alike, key=lambda member: member.experiments[experiment.name])
        if not least.experiments[experiment.name]:
            return least
        visits = 1 + sum(member.experiments[experiment.name] for member in alike)
        is_often = 0 < experiment.most_visits < visits / len(alike)
        return least if 0 < experiment.members <= len(alike) and not is_often else None

    def _read_at_start(self, job: Job) -> ReadAtStart:
        """Return what the processes of a member read when they start: the command line, the
        environment, and the contents of the files that variables beyond a clean environment name.
        The folder of the launch (TMPDIR) is left out."""
        words, environment = self.launcher.start_command(self._family, self._installation, job)
        own = {name: value for name, value in environment.items() if value != str(job.folder)}
        files = _contents(" ".join(job.extra.values()))
        profiles = [path for path in files if path.endswith(FILE_NAME)]
        profile = profiles[0] if len(profiles) == 1 else ""
        digest = files.pop(profile, "")
        if profile:
            own = {name: value.replace(profile, FILE_NAME) for name, value in own.items()}
        parts = (words, sorted(own.items()), sorted(files.items()))
        key = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
        return ReadAtStart(key, profile, digest)

    def _start(self, read: ReadAtStart, job: Job) -> Member:
        self._make_room(job.placement.nprocs)
        with contextlib.ExitStack() as closing:
            folder = closing.enter_context(self.launcher.folder(job.id))
            words, environment = self.launcher.start_command(
                self._family, self._installation, msgspec.structs.replace(job, folder=folder)
            )
            responder = Responder(words, environment, _ANSWER, _END)
            whole = self.placement
            is_shared = whole is not None and job.placement.nprocs == whole.nprocs
            member = Member(
                read,
                job.placement.nprocs,
                responder,
                closing.pop_all(),
                is_shared=is_shared and self._is_common(job),
            )
        self._members.append(member)
        return member

    def _make_room(self, ranks: int) -> None:
        """Ends the members that were used least recently until one more is within the bounds."""
        while self._members and not self._has_room(ranks):
            self._end(min(self._members, key=lambda member: member.last_use))

    def _has_room(self, ranks: int) -> bool:
        """Return whether one more member, as large as the largest one, is within the bounds."""
        taken = sum(member.bytes for member in self._members)
        more = max(member.bytes for member in self._members)
        most = self._most_bytes
        if most is None:
            most = (machine.available_memory() + taken) // 2
        shares_memory = machine.shared_is_half_empty()
        processes = (len(self._members) + 1) * ranks
        return taken + more <= most and shares_memory and processes <= MOST_PROCESSES

    def _end(self, member: Member) -> None:
        self._members.remove(member)
        member.close()


def _is_of_another_part(member: Member, experiment: PanelExperiment) -> bool:
    visited = member.experiments
    return bool(experiment.part_of and visited[experiment.part_of] > visited[experiment.name])


def _has_ended(member: Member) -> bool:
    return not member.responder.is_alive


def is_doubtful(records: Sequence[ProbeRecord]) -> bool:
    """Return whether a call went wrong, so that later calls of the same ranks prove nothing."""
    checks = (record for record in records if isinstance(record, Check))
    return any(check.outcome in ("wrong", "error") for check in checks)


def _has_begun(job: Job) -> bool:
    """Return whether the probe has written records of the plan, whole or not."""
    records = job.folder / RECORDS
    return records.exists() or records.with_name(f"{RECORDS}.part").exists()


def _contents(text: str) -> dict[str, str]:
    """Digests of the files that `text` names, and of those that these name."""
    digests: dict[str, str] = {}
    texts = [text]
    while texts:
        for name in _NAMED_FILE.findall(texts.pop()):
            if name in digests or not os.path.isfile(name):
                continue
            try:
                contents = Path(name).read_bytes()
            except OSError:  # the library will not read it either
                continue
            digests[name] = hashlib.sha256(contents).hexdigest()
            if len(contents) <= _MOST_TEXT_BYTES and b"\0" not in contents:
                texts.append(contents.decode(errors="replace"))
    return digests
