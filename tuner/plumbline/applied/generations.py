"""Generations on disk: STORE/NAME/NUMBER holds the files of one, what it was made from
(generation.json), and copies of the files of others as they were before. A generation is there as a
whole or not at all, and stays as it is: jobs that have begun may still read it when another one is
in force."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.applied import files
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.layout import SITE, asked
from plumbline_db.lock import open_lock, require
from plumbline_db.records import Campaign, Library, Machine, Winner

RECORD = "generation.json"
FORMAT = "plumbline-generation"
PRELOAD = "libplumbline.so"


class Source(msgspec.Struct, frozen=True):
    """A campaign and its winners, as they were when they were applied. `site_rules`: the rules file
    that was in force beneath them, `started` how ranks were (Bundle)."""

    campaign: Campaign
    winners: list[Winner]
    site_rules: str = ""
    started: list[str] = []

    @property
    def layout(self) -> tuple[int, int, int]:
        return self.campaign.nprocs, self.campaign.nodes, self.campaign.ppn

    def gives_way(self, newer: Source) -> bool:
        """Return whether it is not applied beside a newer one: both are for the same ranks, or one
        of them is for all ranks of a site."""
        of_site = (asked(source.campaign).command == SITE for source in (self, newer))
        return any(of_site) or self.layout == newer.layout


class AppliedFile(msgspec.Struct, frozen=True):
    """A file that others read. `lines`: ours stand between marks, `text` is them with their marks;
    `whole`: it is ours, `text` is all of it. `before`: the copy of what was there (None: nothing
    was). `made`: folders that were made for it, outermost first."""

    path: str
    kind: Literal["lines", "whole"]
    text: str
    before: str | None = None
    made: list[str] = []


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`previous` was in force before (0: nothing); `files` are names and checksums. `scope`: for
    whom it is; empty where that is not known."""

    format: str
    version: int
    name: str
    number: int
    previous: int
    applied: str
    machine: Machine
    library: Library
    unsafe: bool
    sources: list[Source]
    files: dict[str, str]
    targets: list[AppliedFile]
    scope: str = ""


class Store:
    """The generations of one name. `shared`: other users read them."""

    def __init__(self, root: Path, name: str, *, shared: bool) -> None:
        self.folder = root / name
        self.name = name
        self.shared = shared

    def path(self, number: int) -> Path:
        return self.folder / str(number)

    def numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdecimal())

    def generations(self, scope: str) -> list[Generation]:
        """Return those of one scope. Two may have their generations in one folder (--store)."""
        every_generation = [
            generation_read
            for number in self.numbers()
            if (generation_read := self.read(number)) is not None
        ]
        return [generation for generation in every_generation if generation.scope in ("", scope)]

    def read(self, number: int) -> Generation | None:
        """None where it is gone. Raises PlumblineError where its record cannot be read, or where
        somebody else may have written it, or a file beside it."""
        path = self.path(number) / RECORD
        for inside in [path, *self.path(number).glob("*")]:
            require(inside, self.folder.parent)
        try:
            return msgspec.json.decode(user_files.read(path), type=Generation)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
            raise PlumblineError(f"{path} cannot be read: {error}") from error

    def intact(self, generation: Generation) -> bool:
        """Return whether its files are what they were written as."""
        folder = self.path(generation.number)
        try:
            return all(
                sha256(user_files.read(folder / name)) == checksum
                for name, checksum in generation.files.items()
            )
        except OSError:
            return False

    def write(self, one: Generation, contents: Mapping[str, bytes]) -> None:
        """All of a new generation. A text that starts with #! is a program."""
        part = self.folder / f".{one.number}.{os.getpid()}"
        try:
            part.mkdir()
            record = msgspec.json.format(msgspec.json.encode(one), indent=1) + b"\n"
            for name, data in [*contents.items(), (RECORD, record)]:
                mode = 0o755 if data.startswith(b"#!") else 0o644
                files.write_new(part / name, data, self._mode(mode))
            part.chmod(self._mode(0o755))
            files.sync_folder(part)
            part.rename(self.path(one.number))
            files.sync_folder(self.folder)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise PlumblineError(f"cannot write in {self.folder}: {error.strerror}") from error

    def _mode(self, mode: int) -> int:
        """Return the mode of a file: what all may read stays so, whatever the umask of an
        administrator is."""
        if self.shared:
            return mode
        mask = os.umask(0o077)
        os.umask(mask)
        return mode & ~mask

    def is_rolled_back(self, scope: str) -> bool:
        """Return whether nothing is in force because `rollback` took everything out."""
        return self._mark(scope).exists()

    def mark_rolled_back(self, scope: str, rolled_back: bool) -> None:
        """Keep whether `rollback` took everything out, so that nobody else is suspected."""
        mark = self._mark(scope)
        try:
            if not rolled_back:
                mark.unlink(missing_ok=True)
            elif not mark.exists():
                files.write_new(mark, b"", self._mode(0o644))
        except OSError as error:
            raise PlumblineError(f"cannot write {mark}: {error.strerror}") from error

    def _mark(self, scope: str) -> Path:
        return self.folder / f"rolled-back-{scope}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else changes these generations meanwhile, or could have. What an interrupted run
        has left goes."""
        require(self.folder, self.folder.parent)
        self._make()
        path = self.folder / ".lock"
        try:
            lock = os.fdopen(open_lock(path), "rb")
        except OSError as error:
            raise PlumblineError(
                f"cannot write {path}: {error.strerror}; ask who owns these generations"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TryLaterError(
                    f"another plumbline apply is running in {self.folder}"
                ) from error
            except OSError as error:
                raise PlumblineError(
                    f"{self.folder} is on a file system without locks ({error.strerror}); name "
                    "another place with --store"
                ) from error
            for temporary in self.folder.glob(".[0-9]*.[0-9]*"):
                shutil.rmtree(temporary, ignore_errors=True)
            yield

    def _make(self) -> None:
        try:
            for folder in [*reversed(self.folder.parents), self.folder]:
                if not folder.exists():
                    folder.mkdir()
                    folder.chmod(self._mode(0o755))
        except OSError as error:
            raise PlumblineError(
                f"cannot make {self.folder}: {error.strerror}; name another place with --store"
            ) from error


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
