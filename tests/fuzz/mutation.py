"""Inputs that are nearly right: seeds with bytes, lines and numbers changed, at random but by a
seed. What is kept here needs no coverage; `make fuzz` has libFuzzer for that."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

_PIECES = [
    *(b"\0", b"\n", b"\r", b"\xff", b"=", b'"', b"[", b"]", b"{", b"}", b"#", b"\\", b"|", b":"),
    *(b"-1", b"0", b"9" * 5000, b"18446744073709551616", b"1e999", b"nan", b"inf", b"0x", b"08"),
    *(b"[" * 2000, b"a." * 2000, b"\xed\xa0\x80", b"\\u0000", b"\\ud800", b"/" * 300, b"true"),
]


def mutants(seeds: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Without end; the seeds themselves come first."""
    yield b""
    yield from seeds
    chance = random.Random(seed)
    while True:
        data = chance.choice(seeds) if seeds else b""
        for _ in range(chance.choice((1, 1, 2, 4))):
            data = _changed(data, seeds, chance)
        yield data


def _changed(data: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    length = min(len(data) - at, int(2 ** chance.uniform(0, 8)))
    match chance.randint(0, 6):
        case 0:
            return data[:at] + data[at + length :]
        case 1:
            return data[:at] + chance.choice(_PIECES) + data[at:]
        case 2:
            return data[:at] + chance.choice(_PIECES) + data[at + length :]
        case 3:
            return data[:at] + chance.randbytes(min(length, 8)) + data[at + min(length, 8) :]
        case 4:
            return data[: at + length] + data[at:]
        case 5:
            other = chance.choice(seeds)
            start = chance.randint(0, len(other))
            return data[:at] + other[start : start + 4 * length] + data[at + length :]
        case _:
            lines = data.split(b"\n")
            chance.shuffle(lines)
            return b"\n".join(lines)
