"""Fuzzers of the readers in C: the reader under sanitizers, all else of the probe as it is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
READERS = ("plan", "profile")
SANITIZERS = "address,undefined"
_PRELOAD = ROOT / "collectives-alt" / "preload"


def _source(path: Path, objects: Path) -> Path:
    """Return the source of an object; an old build may have objects whose source is gone."""
    return ROOT / "probes" / path.relative_to(objects).with_suffix(".c")


def program(build: Path, name: str, target: Path, *, clang: bool = False) -> Path:
    """With clang it is driven by libFuzzer, else it takes the files that it is given. `build` is
    the build folder of an MPI library, whose mpicc is on PATH."""
    if name == "plan":
        own = [*sorted((ROOT / "probes").glob("plan*.c")), ROOT / "probes" / "names.c"]
        objects = build / "obj" / "probes"
        left_out = {objects / "probe.o", *(objects / f"{path.stem}.o" for path in own)}
        loops = objects / "loops"
        others = [
            path
            for path in sorted(objects.rglob("*.o"))
            if path not in left_out and path.parent != loops and _source(path, objects).exists()
        ]
    else:
        own = [_PRELOAD / f"{one}.c" for one in ("profile", "rule", "overlap", "classes", "canary")]
        others = []
    driver = [] if clang else [HERE / "replay.c"]
    sanitizers = f"-fsanitize={SANITIZERS}{',fuzzer' if clang else ''}"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", sanitizers, "-fno-sanitize-recover=all"]
    flags += [f"-I{ROOT / folder}" for folder in ("collectives-alt", "collectives-alt/common")]
    flags += [f"-I{ROOT / 'probes'}", '-DPL_VERSION="fuzz"']
    inputs = [HERE / f"{name}.c", *driver, *own, *others, build / "libcollectives-alt.a"]
    compiler = {"OMPI_CC": "clang"} if clang else {}
    parallel = ["-lgomp"] if any(b"GOMP_" in path.read_bytes() for path in others) else []
    subprocess.run(
        ["mpicc", *flags, *map(str, inputs), "-o", str(target), "-lm", "-pthread", *parallel],
        env=os.environ | compiler, check=True, timeout=240,
    )  # fmt: skip
    return target
