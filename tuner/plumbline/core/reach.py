"""Several machines that ranks are started on: the table `hosts` of a campaign file, and what a
library's mpirun has to know of it. Pure; how ranks are started there is in launch/hosts.py."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from plumbline.core.unmeasured import Unmeasured
from plumbline_db import user_files
from plumbline_db.errors import UsageError

# Names and addresses; options and characters that split lists of hosts or shell words are excluded.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:,/@-]*\Z")


class Hosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `hosts`. names: the hosts; file: or a file with one a line (slots and comments are
    passed over). agent: the program that starts a command on a host, called as `AGENT HOST
    WORD...`, with arguments of its own where it is a list. interface: network interfaces or
    networks that the library may use, with commas between (empty: its choice). folder: a folder
    that all hosts see under this name, for plans and records (empty: beside the database)."""

    names: list[str] = []
    file: str = ""
    agent: str | list[str] = "ssh"
    interface: str = ""
    folder: Unmeasured[str] = ""

    def __post_init__(self) -> None:
        if bool(self.names) == bool(self.file):
            raise ValueError("hosts: give either `names` or `file`")
        for name in self.names:
            if not _NAME.match(name):
                raise ValueError(f"names: {name!r} is not a host name")
        if len(set(self.names)) != len(self.names):
            raise ValueError("names: name each host once; the ranks of a node follow from nprocs")
        if not self.agent or not all(self.agent):
            raise ValueError("agent: a program, or a list of a program and its arguments")
        if self.interface and not _INTERFACE.match(self.interface):
            raise ValueError(f"interface: {self.interface!r} is neither an interface nor a network")
        if self.folder and not Path(self.folder).is_absolute():
            raise ValueError(f"folder: {self.folder!r} must be the whole path, for all hosts")

    @property
    def agent_words(self) -> list[str]:
        return [self.agent] if isinstance(self.agent, str) else list(self.agent)


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The words that mpirun is told of several hosts. `agent` is one program, by name or path.
    `variables` are names of variables that the ranks on all hosts must have."""

    names: list[str]
    agent: str
    interface: str = ""
    variables: list[str] = []


def named(hosts: Hosts) -> Hosts:
    """The hosts themselves in place of a file. Raises UsageError."""
    if not hosts.file:
        return hosts
    path = Path(hosts.file)
    try:
        lines = user_files.text(path).splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"hosts: cannot read {path}: {error}") from error
    words = (line.partition("#")[0].split() for line in lines)
    # `name`, `name slots=4` (Open MPI), `name:4` (hydra).
    names = [word[0].partition(":")[0] for word in words if word]
    try:
        return msgspec.structs.replace(hosts, names=list(dict.fromkeys(names)), file="")
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
