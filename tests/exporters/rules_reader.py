"""Reads a rules file as Open MPI 4.1 and 5.0 do, but complains where they are silent."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

Blocks = dict[int, list[list[int]]]


@dataclass(frozen=True)
class RulesFile:
    version: int
    collectives: dict[int, Blocks]

    def decision(self, collective: int, nprocs: int, size: int) -> list[int]:
        """[algorithm, fan-out, segment size, requests]; zeros where the library decides."""
        blocks = self.collectives.get(collective)
        if blocks is None:
            return [0, 0, 0, 0]
        listed = list(blocks)
        block = blocks[listed[max(bisect.bisect_right(listed, nprocs) - 1, 0)]]
        sizes = [rule[0] for rule in block]
        rule = block[bisect.bisect_right(sizes, size) - 1]
        return rule[1:] if rule[1] else [0, 0, 0, 0]


def read(text: str) -> RulesFile:
    version = 1
    if text.startswith("rule-file-version-2\n"):
        version = 2
        text = text.split("\n", 1)[1]
    numbers = _numbers(text)
    collectives: dict[int, Blocks] = {}
    for _ in range(next(numbers)):
        id = next(numbers)
        assert id not in collectives and 0 <= id < 22
        blocks = collectives[id] = {}
        for _ in range(next(numbers)):
            nprocs = next(numbers)
            assert not blocks or nprocs > max(blocks), "communicator sizes must ascend"
            width = 4 if version == 1 else 5
            block = [[next(numbers) for _ in range(width)] for _ in range(next(numbers))]
            sizes = [rule[0] for rule in block]
            assert sizes[0] == 0, "the first rule of a block must be for size 0"
            assert sizes == sorted(set(sizes)), "message sizes must ascend"
            blocks[nprocs] = [rule if version == 2 else [*rule, 0] for rule in block]
    assert next(numbers, None) is None, "something follows the last rule"
    return RulesFile(version, collectives)


def _numbers(text: str) -> Iterator[int]:
    for line in text.split("\n"):
        for word in line.split("#", 1)[0].split():
            assert word == str(int(word)), f"{word} would be read as octal or not at all"
            yield int(word)
