"""Ways in which disks, crashes and people corrupt a file, drawn from a seed."""

from __future__ import annotations

import random

KINDS = ("bit", "head", "zeros", "garbage", "exchanged", "cut", "sector")
_PAGE = 4096


def corrupt(good: bytes, kind: str, seed: int) -> bytes:
    """Another content than `good`."""
    chance = random.Random(f"{kind} {seed}")
    corrupted = good
    while corrupted == good:
        corrupted = _corrupt(bytearray(good), kind, chance)
    return corrupted


def _corrupt(data: bytearray, kind: str, chance: random.Random) -> bytes:
    pages = len(data) // _PAGE
    page = slice(at := _PAGE * chance.randrange(pages), at + _PAGE)
    if kind == "bit":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "head":
        data[chance.randrange(100)] ^= 1 << chance.randrange(8)
    elif kind == "zeros":
        data[page] = bytes(_PAGE)
    elif kind == "garbage":
        data[page] = chance.randbytes(_PAGE)
    elif kind == "exchanged":
        # In the half with the trees: samples that stand in each other's place, nothing shows.
        page = slice(at := _PAGE * chance.randrange(pages // 2), at + _PAGE)
        other = slice(at := _PAGE * chance.randrange(1, pages), at + _PAGE)
        data[page], data[other] = data[other], data[page]
    elif kind == "sector":
        at = 512 * chance.randrange(len(data) // 512)
        data[at : at + 512] = bytes(512)
    else:
        del data[chance.randrange(len(data)) :]
    return bytes(data)
