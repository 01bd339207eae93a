"""Starts the probe under the real mpirun and decodes what it writes."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from plumbline_db import ndjson
from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    Header,
    Load,
    Order,
    ProbeRecord,
    Samples,
)
from tests import own_core, plans
from tests.db import build

R = TypeVar("R")
ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def build_folder(mpicc: str | Path = "mpicc") -> Path:
    """Where the programs for the MPI behind `mpicc` are built."""
    words = [str(ROOT / "probes" / "mpi-id.sh"), str(mpicc)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return ROOT / "build" / done.stdout.strip()


def listed(table: str) -> list[str]:
    """The names in one of the probe's tables, in its order."""
    text = (ROOT / "probes" / table).read_text()
    return re.findall(r"^PL_\w+\((\w+)\)", text, re.MULTILINE)


def functions_of_the_probe() -> list[str]:
    text = (ROOT / "collectives-alt" / "common" / "functions.def").read_text()
    return [f"MPI_{name}" for name in re.findall(r"^PL_FUNCTION\(\w+, (\w+)\)", text, re.MULTILINE)]


def decode(path: Path) -> list[ProbeRecord]:
    """All complete lines of a record file."""
    decoder = msgspec.json.Decoder(ProbeRecord)
    text = path.read_bytes()
    return [decoder.decode(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


@dataclass(frozen=True)
class Launch:
    code: int
    stdout: str
    stderr: str
    out: Path
    records: list[ProbeRecord] = field(default_factory=list)

    @property
    def header(self) -> Header:
        return self.of(Header)[0]

    @property
    def configs(self) -> dict[str, ConfigRecord]:
        return {record.id: record for record in self.of(ConfigRecord)}

    @property
    def cases(self) -> dict[int, CaseRecord]:
        return {record.case: record for record in self.of(CaseRecord)}

    @property
    def checks(self) -> dict[int, Check]:
        return {record.case: record for record in self.of(Check)}

    @property
    def orders(self) -> list[list[int]]:
        return [record.cases for record in self.of(Order)]

    @property
    def samples(self) -> list[build.Block]:
        return build.by_block(self.of(Samples) + self.of(Order))

    @property
    def load(self) -> Load:
        return self.of(Load)[0]

    @property
    def footer(self) -> Footer:
        return self.of(Footer)[0]

    def of(self, kind: type[R]) -> list[R]:
        return [record for record in self.records if isinstance(record, kind)]


@dataclass(frozen=True)
class Probe:
    """`binary` under mpirun; plans and records live in `folder`."""

    binary: Path
    folder: Path
    faulty: Path

    def command(self, ranks: int, environment: dict[str, str]) -> list[str]:
        argv = [*own_core.words(), "mpirun", "--oversubscribe", "-np", str(ranks)]
        for name, value in environment.items():
            argv += ["-x", f"{name}={value}"]
        return argv

    def write(self, lines: str, name: str = "plan") -> Path:
        plan = self.folder / f"{name}.txt"
        plan.write_text(plans.complete(f"plumbline-plan 1\n{lines}"))
        return plan

    def run(
        self,
        lines: str,
        ranks: int = 2,
        environment: dict[str, str] | None = None,
        out: Path | None = None,
    ) -> Launch:
        out = out or self.folder / "records.ndjson"
        return self.start(
            [
                *(*self.command(ranks, environment or {}), str(self.binary)),
                *("--plan", str(self.write(lines)), "--out", str(out)),
            ],
            out,
        )

    def good(self, *arguments: Any, **more: Any) -> Launch:
        """What `run` does, of a launch that must come to its end."""
        launch = self.run(*arguments, **more)
        assert launch.code == 0, launch.stderr
        return launch

    def refuses(self, lines: str, *words: str, ranks: int = 0) -> None:
        """A plan by itself, or where so many ranks start with it."""
        if ranks:
            launch = self.run(lines, ranks)
        else:
            plan = str(self.write(lines))
            launch = self.start([str(self.binary), "--check-plan", plan])
        assert (launch.code, launch.records) == (2, []), launch.stderr
        assert all(word in launch.stderr for word in words), launch.stderr

    def slow(self, rank: int) -> dict[str, str]:
        """The environment in which a rank sleeps 3 ms in each MPI_Reduce_local."""
        return {"LD_PRELOAD": str(self.faulty), "PLUMBLINE_TEST_SLOW_RANK": str(rank)}

    def fault(self, name: str) -> dict[str, str]:
        """The environment in which calls are broken so: faulty.c."""
        return {"LD_PRELOAD": str(self.faulty), "PLUMBLINE_TEST_FAULT": name}

    def known(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.start([str(self.binary), "--list"]).stdout)
        return found

    def start(
        self, argv: list[str], out: Path | None = None, environment: dict[str, str] | None = None
    ) -> Launch:
        began = time.monotonic()
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=200,
            env=os.environ | ENVIRONMENT | (environment or {}),
            stdin=subprocess.DEVNULL,
            check=False,
        )
        virtual = any(word.startswith("LEARNING_NS=") for word in argv)  # by a clock of its own
        seconds = math.inf if virtual else time.monotonic() - began
        out = out or self.folder / "none"
        records = decode(out) if out.exists() else []
        if out.exists() and "--plan" in argv:
            plan = Path(argv[argv.index("--plan") + 1])
            assert ndjson.decode(out, plan=plan.read_text(), seconds=seconds) == records
        return Launch(done.returncode, done.stdout, done.stderr, out, records)
