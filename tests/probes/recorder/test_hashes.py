"""The recorder's hashes are those of hashes.py, whichever code computes them."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from plumbline.detect.kinds import Element, dtype_of
from tests.probes.launch import ROOT
from tests.probes.recorder.programs import HERE, recorder
from tests.tuner.detect import hashes

SIZES = [0, 1, 3, 8, 12, 63, 64, 65, 72, 100, 128, 513, 4095, 4096, 4104, 8200, 30011]
# Gone through in several pieces.
LARGE = [131072, 131080, 200011]
IN_PIECES = (Element.INT8, Element.INT32, Element.FLOAT64, Element.COMPLEX128, Element.BYTE)


def contents() -> list[tuple[Element, bytes]]:
    random = np.random.default_rng(1)
    found = []
    for element in Element:
        for size in [*SIZES, *(LARGE if element in IN_PIECES else [])]:
            content = random.bytes(size)
            dtype = dtype_of(element)
            if dtype is not None and np.dtype(dtype).kind in "fc":
                kind = np.dtype(dtype)
                content = random.normal(size=size // kind.itemsize).astype(kind).tobytes()
                content += random.bytes(size % kind.itemsize)
            found.append((element, content))
        found.append((element, b"\xff" * 8192))
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    objects = recorder().library.parent / "obj" / "probes" / "recorder"
    program = tmp_path_factory.mktemp("hashes") / "hashes"
    parts = [str(objects / f"{name}.o") for name in ("hash", "hash_avx2", "hashing")]
    command = ["gcc", "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'probes'}"]
    source = str(HERE / "hashes.c")
    subprocess.run([*command, source, *parts, "-o", str(program)], check=True, timeout=60)
    return program


def test_hashes(program: Path) -> None:
    given = contents()
    frames = [struct.pack("=BI", element, len(content)) + content for element, content in given]
    done = subprocess.run([program], input=b"".join(frames), capture_output=True, check=True)
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert len(lines) == 2 * len(given)
    for number, (element, content) in enumerate(given):
        of_all, here = lines[2 * number : 2 * number + 2]
        assert of_all[0] == here[0]
        poly = hashes.poly(content, element)
        assert (poly, poly) == (int(of_all[1]), int(here[1])), (element, len(content))
        sketch = hashes.sketch(content, element)
        extremes = hashes.extremes(content, element) if len(content) > 64 else np.zeros(8)
        if np.isnan(extremes).any() or np.isnan(sketch).any():
            continue
        for line in (of_all, here):
            numbers = np.array(line[2:], float)
            bound = len(content) * np.finfo(float).eps * sketch[2]
            assert np.abs(numbers[:3] - sketch).max() <= bound, (element, len(content))
            assert (numbers[3:] == extremes).all(), (element, len(content))
