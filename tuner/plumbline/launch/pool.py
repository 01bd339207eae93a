"""Parts of a simulated launch, as many at a time as there are cores. A case whose simulation takes
too long is given up, and those that go with it; what is left of its part begins anew.

The network of a simulator is solved anew whenever a message ends, so that one case with thousands
of messages at once can take hours, whatever the others do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from plumbline.system import process
from plumbline_db import ndjson
from plumbline_db.errors import PlumblineError

from . import parts
from .parts import Record

# How to start a part: its name and plan -> words, and where its records go.
Command = Callable[[str, str], tuple[list[str], Path]]


class PartEnded(msgspec.Struct, frozen=True):
    """One process of a part. `records` of one that was given up say only that. `file` is where they
    lie; `whole`: there is nothing more to come. `bad`: text from the line on that is no record, or
    not one of the part's plan."""

    finished: process.Finished
    records: list[Record]
    file: Path
    whole: bool
    bad: str = ""


class Pool:
    def __init__(
        self,
        command: Command,
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
        self._ends: list[PartEnded] = []

    def run(self, plans: Sequence[str]) -> list[PartEnded]:
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
            records, bad = written(file, plan)
            if watch.stuck is None:
                whole = file.is_file() and bad is None
                self._ends.append(PartEnded(finished, records, file, whole, bad or ""))
                return
            gone = parts.too_much(plan, watch.stuck)
            case = parts.words_of(parts.case_lines(plan)[watch.stuck])
            why = (
                f"its simulation takes more than {self._case_seconds:g} s of a processor (seen "
                f"with {case['variant']} at {case['bytes']} B)"
            )
            fine = msgspec.structs.replace(finished, status=0)
            self._ends.append(PartEnded(fine, parts.given_up(records, gone, why), file, whole=True))
            plan = parts.rest(plan, gone)
            again += 1


class _Watch:
    """Whether the case that is under way has been so too long: then `stuck` is its id."""

    def __init__(self, file: Path, plan: str, case_seconds: float, stop: threading.Event) -> None:
        self.stuck: int | None = None
        self._records, self._file = file, part_of(file)
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
            seen = (status.st_size, status.st_mtime_ns)  # a line may be written over
        except FileNotFoundError:  # not begun; or whole, and renamed
            seen = (0, 0)
        if seen != self._seen:
            self._seen, self._since = seen, processor_seconds
        if not self._case_seconds or processor_seconds - self._since <= self._case_seconds:
            return False
        self.stuck = parts.under_way(written(self._records, self._plan)[0]) if seen[0] else None
        return self.stuck is not None


def part_of(records: Path) -> Path:
    return records.with_name(records.name + ".part")


def written(records: Path, plan: str) -> tuple[list[Record], str | None]:
    """What a probe has written by now, as far as it is what its plan asks for; and the text from
    where it is not (empty where only something is missing; None: all is right)."""
    file = records if records.is_file() else part_of(records)
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
