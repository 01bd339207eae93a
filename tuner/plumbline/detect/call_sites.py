"""Call sites as function, file and line: addresses of a recording are looked up in the programs
that were recorded, by binutils' addr2line. What it cannot say stays an address."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from plumbline.detect.recording import CallSite, Frame, Recording
from plumbline.system import process

_AT_ONCE = 2000  # addresses of a command line
_SECONDS = 120.0
_CAP_BYTES = 64 << 20

_Found = dict[tuple[str, int], tuple[Frame, ...]]


def resolved(recording: Recording) -> Recording:
    """The same with the source of all frames that is known. A call that was inlined is a frame of
    its own."""
    frames = {frame for site in recording.call_sites for frame in site.frames}
    sources = look_up(frames)
    sites = tuple(
        CallSite(
            tuple(
                source
                for frame in site.frames
                for source in sources.get((frame.module, frame.address), (frame,))
            )
        )
        for site in recording.call_sites
    )
    return msgspec.structs.replace(recording, call_sites=sites)


def look_up(frames: Iterable[Frame]) -> _Found:
    """Return by module and address, innermost first; without those that nothing is known of."""
    tool = shutil.which("addr2line") or shutil.which("eu-addr2line")
    modules: dict[str, set[int]] = defaultdict(set)
    for frame in frames:
        if not frame.file and frame.address > 0:
            modules[frame.module].add(frame.address)
    sources: _Found = {}
    for module, addresses in modules.items():
        if tool is not None and module.startswith("/") and Path(module).is_file():
            ordered = sorted(addresses)
            for at in range(0, len(ordered), _AT_ONCE):
                sources |= _ask(tool, module, ordered[at : at + _AT_ONCE])
    return sources


def _ask(tool: str, module: str, addresses: Sequence[int]) -> _Found:
    """An address is that of the instruction behind the call: the call is a byte before it."""
    done = process.run(
        [tool, "-a", "-f", "-i", "-C", "-e", module, *(hex(address - 1) for address in addresses)],
        timeout_seconds=_SECONDS,
        cap_bytes=_CAP_BYTES,
    )
    if done.status != 0:
        return {}
    return dict(_parsed(module, done.stdout.splitlines()))


def _parsed(
    module: str, lines: Sequence[str]
) -> Iterator[tuple[tuple[str, int], tuple[Frame, ...]]]:
    """`0x…`, then for each function a line with its name and one with its place."""
    at = 0
    while at < len(lines):
        address = _address(lines[at])
        at += 1
        frames = []
        while at + 1 < len(lines) and _address(lines[at]) < 0:
            file, _, line = lines[at + 1].partition(" (")[0].rpartition(":")
            if file not in ("", "??"):
                number = int(line) if line.isdigit() else 0
                name = "" if lines[at] == "??" else lines[at]
                frames.append(Frame(module, address + 1, name, file, number))
            elif lines[at] != "??":
                frames.append(Frame(module, address + 1, lines[at]))
            at += 2
        if frames:
            yield (module, address + 1), tuple(frames)


def _address(line: str) -> int:
    """−1: no address."""
    try:
        return int(line, 16) if line.startswith("0x") else -1
    except ValueError:
        return -1
