"""Ranks on several machines: the library's own mpirun here, its daemons there, started by ssh or by
any program that is called as ssh is (`AGENT HOST WORD...`).

All hosts have the probe, the preload library and the MPI library under the same paths, and see one
folder: plans, records and the files of a proof lie there. Each host is asked for its facts once,
by which it is also known that the agent and the folder work."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from plumbline.core.reach import Hosts, Reach
from plumbline.libraries import Family, Installation
from plumbline.system import machine, process
from plumbline.system.placement import Placement, units
from plumbline_db import lock, scratch
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher
from .local import here

_ASKED_AT_ONCE = 16
_ANSWER_SECONDS = 60.0
_FOLDERS, _TOKENS = "job-", "token-"
# The only command that a shell on another host runs; {token} is a quoted path.
_QUESTION = (
    "uname -n && nproc && cat {token} && cat /proc/sys/kernel/random/boot_id && "
    "grep Cpus_allowed_list: /proc/self/status && "
    "grep -m 1 '^model name' /proc/cpuinfo || uname -m"
)


class Facts(msgspec.Struct, frozen=True):
    """The facts that a host says of itself. `boot` is equal for containers of one machine, '' where
    it is not known; `numbers` are those of the processing units that it may use."""

    host: str
    processing_units: int
    cpu_model: str
    boot: str = ""
    numbers: frozenset[int] = frozenset()


class OnHosts:
    """Ranks on hosts, started by the library's mpirun: all that its launchers have in common."""

    alone = staticmethod(here)

    def __init__(self, hosts: Hosts, beside: Path) -> None:
        self._hosts = hosts
        self._shared = Path(hosts.folder or beside / "jobs").absolute()

    def processing_units(self) -> int | None:
        return least_units(self._facts)

    @contextmanager
    def folder(self, id: str) -> Iterator[Path]:
        del id
        self._require_shared()
        with scratch.folder(self._shared, _FOLDERS) as folder:
            yield folder

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        words, environment = self.command(family, installation, job)
        return process.run(words, timeout_seconds=job.timeout_seconds, environment=environment)

    def command(
        self, family: Family, installation: Installation, job: Job
    ) -> tuple[list[str], dict[str, str]]:
        reach = Reach(
            names=self._hosts.names,
            agent=self._agent,
            interface=self._hosts.interface,
            variables=sorted(job.extra),
        )
        words = [str(installation.mpirun), *family.words(job.placement, reach), *job.program]
        return words, job.environment

    @cached_property
    def _agent(self) -> str:
        """One program, as every mpirun takes it; with arguments it is a script, whose path is the
        same in every launch. One that is there already is believed if nobody else could write it.
        """
        words = self._hosts.agent_words
        if len(words) == 1:
            return words[0]
        text = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
        self._require_shared()
        if re.search(r"\s", str(self._shared)):
            raise PlumblineError(
                f"{self._shared}: mpirun takes no agent from a path with blanks; name another "
                "folder (`folder` in the table)"
            )
        script = self._shared / f"agent-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        if not _is_mine(script, text):
            try:
                with scratch.replacing(script) as part:
                    part.write_text(text)
                    part.chmod(0o755)
            except OSError as error:
                raise PlumblineError(
                    f"cannot write {script}: {error.strerror}; remove it, or name another folder "
                    "(`folder` in the table hosts)"
                ) from error
        return str(script)

    @cached_property
    def _facts(self) -> list[Facts]:
        """Return the facts about all hosts. Raises PlumblineError, naming the host, where one does
        not answer."""
        self._require_shared()
        for path in self._shared.glob(_TOKENS + "*"):
            with contextlib.suppress(OSError):  # of another user, or gone
                if path.lstat().st_mtime < time.time() - scratch.OLD_SECONDS:
                    path.unlink()
        with tempfile.NamedTemporaryFile("w", prefix=_TOKENS, dir=self._shared) as file:
            token = os.urandom(8).hex()
            file.write(token + "\n")
            file.flush()
            with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
                return list(
                    pool.map(
                        lambda name: self._ask(name, Path(file.name), token), self._hosts.names
                    )
                )

    def _ask(self, name: str, file: Path, token: str) -> Facts:
        question = _QUESTION.format(token=shlex.quote(str(file)))
        words = ["/bin/sh", "-c"] if is_here(name) else [self._agent, name]
        done = process.run([*words, question], timeout_seconds=_ANSWER_SECONDS)
        lines = done.stdout.split("\n")
        if done.status != 0 or len(lines) < 3 or not lines[1].isdigit():
            how = "no answer" if done.timed_out else f"exit status {done.status}"
            raise PlumblineError(
                f"host {name} cannot be reached: `{shlex.join([*words, 'uname -n'])}` must answer "
                f"without a question ({how}: {done.stderr.strip()[-300:]})"
            )
        if lines[2] != token:
            raise PlumblineError(
                f"host {name} does not see the folder {self._shared}: name one that all hosts see "
                "under the same path (`folder` in the table hosts)"
            )
        has_allowed_list = len(lines) > 4 and lines[4].startswith("Cpus_allowed_list:")
        model = " ".join(lines[5 if has_allowed_list else 3 :]).strip().removeprefix("model name")
        return Facts(
            host=lines[0],
            processing_units=int(lines[1]),
            cpu_model=model.lstrip("\t :"),
            boot=lines[3] if has_allowed_list else "",
            numbers=units(lines[4].partition(":")[2]) if has_allowed_list else frozenset(),
        )

    def _require_shared(self) -> None:
        """Made where it is not there; refused where others may rename what lies in it."""
        try:
            lock.make(self._shared)
        except OSError as error:
            raise PlumblineError(
                f"cannot create the folder {self._shared}: {error.strerror}; name another one "
                "(`folder` in the table hosts)"
            ) from error
        lock.require_closed(self._shared)


@launcher("hosts", table=Hosts)
class SeveralHosts(OnHosts):
    """The hosts that a campaign file names."""

    name = "hosts"
    start_command = OnHosts.command

    def machine(self, placement: Placement) -> Machine:
        """Known by the hosts in use, in their order, and by what they are."""
        facts_of_hosts = self._facts[: placement.nodes]
        facts_texts = [
            f"{facts.host} {facts.processing_units} {facts.cpu_model}" for facts in facts_of_hosts
        ]
        names = [facts.host for facts in facts_of_hosts]
        shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} and {len(names) - 1} more"
        return machine_of(shown, facts_texts, facts_of_hosts)


def machine_of(shown: str, facts_texts: Sequence[str], hosts: Sequence[Facts]) -> Machine:
    """Return the machine that `hosts` are, called `shown`. Its id depends on all `facts_texts`."""
    models = dict.fromkeys(facts.cpu_model for facts in hosts)
    return msgspec.structs.replace(
        machine.this_machine(),
        id=hashlib.sha256("\n".join(facts_texts).encode()).hexdigest()[:16],
        host=shown,
        cpu_model=" | ".join(models),
        processing_units=least_units(hosts),
    )


def least_units(facts: Sequence[Facts]) -> int:
    """Processing units that a host has to itself, of the host that has the fewest. Containers of
    one machine that may use the same ones share them."""
    shares = []
    for host in facts:
        alike = [other_host for other_host in facts if other_host.boot == host.boot != ""]
        together = frozenset[int]().union(*(host_alike.numbers for host_alike in alike))
        share = max(1, len(together) // len(alike)) if alike else host.processing_units
        shares.append(min(host.processing_units, share))
    return min(shares)


def _is_mine(script: Path, text: str) -> bool:
    """Return whether it is there as it was written, and by this user alone."""
    try:
        facts = script.lstat()
        closed = stat.S_ISREG(facts.st_mode) and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return closed and facts.st_uid == os.geteuid() and script.read_text() == text
    except (OSError, UnicodeDecodeError):
        return False


def is_here(name: str) -> bool:
    """Return whether `name` is this host's, or one of its addresses is."""
    if name.partition(".")[0] == socket.gethostname().partition(".")[0]:
        return True
    with contextlib.suppress(OSError):
        for family, _, _, _, address in socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind(address)
                return True
    return False
