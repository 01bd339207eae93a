"""The compiled core under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from plumbline.system import paths

ROOT = Path(__file__).resolve().parents[3]
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"


def test_nothing_is_read_or_written_outside(tmp_path: Path) -> None:
    flags = [f"EXTRA_CFLAGS={SANITIZED}", f"LDFLAGS={SANITIZED}", "CFLAGS=-O0 -g"]
    make = ["make", "-C", str(ROOT / "tuner/detection"), f"BUILD={tmp_path}", *flags]
    subprocess.run([*make, "-j", "2", "all"], check=True, capture_output=True)
    found = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    )
    ended = subprocess.run(
        [sys.executable, "-m", "tests.tuner.detection.soup", str(tmp_path / "libdetection.so")],
        cwd=ROOT,
        env=os.environ
        | {"LD_PRELOAD": found.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0:exitcode=97"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout == "looked at\n"


def test_the_library_has_no_other_names_than_its_own() -> None:
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", str(paths.layout().detection())],
        check=True,
        capture_output=True,
        text=True,
    )
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    assert names and all(name.startswith("pl_") for name in names)


def test_parts_of_memory(tmp_path: Path) -> None:
    sources = [ROOT / "tuner/detection" / "memory.c", ROOT / "tuner/detection" / "store.c"]
    flags = ["-std=c11", "-D_GNU_SOURCE", "-g", *SANITIZED.split(), f"-I{ROOT / 'tuner/detection'}"]
    program = tmp_path / "memory"
    own = Path(__file__).with_name("memory.c")
    subprocess.run(["cc", *flags, str(own), *map(str, sources), "-o", str(program)], check=True)
    ended = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("the same, 8 chunks\n", "")
