"""One run of a user's command with every rank recorded into a folder, and the call sites of a
recording as function, file and line."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.read import ABOUT, About
from plumbline.detect.recording import SUFFIX, CallSite, Frame, Recording
from plumbline.results.profiling import library_of, recorded_run, usual_environment
from plumbline.system import paths, process, version
from plumbline_db import scratch
from plumbline_db.errors import UsageError

# Call sites as function, file and line: addresses of a recording are looked up in the programs that
# were recorded, by binutils' addr2line. What it cannot say stays an address.

_AT_ONCE = 2000  # addresses of a command line
_SECONDS = 120.0
_CAP_BYTES = 64 << 20

_Found = dict[tuple[str, int], tuple[Frame, ...]]


def resolved(recording: Recording) -> Recording:
    """The same with the source of all frames that is known. A call that was inlined is a frame of
    its own."""
    frames = {frame for site in recording.call_sites for frame in site.frames}
    sources = _look_up(frames)
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


def _look_up(frames: Iterable[Frame]) -> _Found:
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


_MOST_SITES = 10


class _RecordedSite(msgspec.Struct, frozen=True):
    """A call site that sends: what it sent, on all ranks."""

    place: str
    frames: list[str]
    messages: int
    bytes: int


class RecordingSummary(msgspec.Struct, frozen=True):
    """`matched` messages have both sides, `verified` ones equal contents too. `lost`: events that
    there was no room for. `seconds`: from the first MPI_Init to the last end."""

    folder: str
    command: list[str]
    status: int
    library: str
    ranks: int
    finished: int
    seconds: float
    events: int
    sent: int
    sent_bytes: int
    matched: int
    verified: int
    unmatched: int
    collectives: int
    lost: int
    communicators: int
    functions: dict[str, int]
    sites: list[_RecordedSite]


def summary(recording: Recording, folder: str, status: int) -> RecordingSummary:
    """`functions`: events by the function that began them; collectives once a rank."""
    events = recording.events
    sends = events[(events["kind"] == EventKind.SEND) & ((events["flags"] & Flag.CANCELLED) == 0)]
    counted = np.bincount(
        events["function"][events["kind"] != EventKind.OUTPUT], minlength=len(recording.functions)
    )
    return RecordingSummary(
        folder=folder,
        command=list(recording.command),
        status=status,
        library=recording.library,
        ranks=recording.nprocs,
        finished=sum(rank.finished for rank in recording.ranks),
        seconds=max(rank.end_ns for rank in recording.ranks) / 1e9,
        events=len(events),
        sent=len(sends),
        sent_bytes=int(sends["bytes"].sum()),
        matched=len(recording.messages),
        verified=int(recording.messages["verified"].sum()),
        unmatched=len(recording.unmatched()),
        collectives=int((events["kind"] == EventKind.INPUT).sum()),
        lost=sum(rank.lost for rank in recording.ranks),
        communicators=len(recording.communicators),
        functions={
            name: int(count)
            for name, count in zip(recording.functions, counted, strict=True)
            if count
        },
        sites=_sites(recording, sends["call_site"], sends["bytes"]),
    )


def _sites(recording: Recording, numbers: np.ndarray, sizes: np.ndarray) -> list[_RecordedSite]:
    has_site = numbers >= 0
    count = len(recording.call_sites)
    messages = np.bincount(numbers[has_site], minlength=count)
    total = np.bincount(numbers[has_site], weights=sizes[has_site], minlength=count)
    order = sorted(np.flatnonzero(messages).tolist(), key=lambda site: (-total[site], site))
    return [
        _RecordedSite(
            place=str(recording.call_sites[site]),
            frames=[str(CallSite((frame,))) for frame in recording.call_sites[site].frames],
            messages=int(messages[site]),
            bytes=int(total[site]),
        )
        for site in order[:_MOST_SITES]
    ]


LIMIT_BYTES = 256 << 20


def record(
    command: Sequence[str],
    program: Path,
    mpi_prefix: Path | None,
    folder: Path,
    limit_bytes: int = LIMIT_BYTES,
) -> About:
    """Runs `command` to its end; `program` is where its first word was found. Each rank writes at
    most `limit_bytes` into `folder`, which all nodes must see. Raises PlumblineError where no rank
    was recorded."""
    _require_empty(folder)
    family, installation = library_of(program.absolute(), mpi_prefix)
    recorder = paths.layout().recorder(paths.build_id(installation.library))
    folder.mkdir(parents=True, exist_ok=True)
    variables = {
        "PLUMBLINE_RECORD": str(folder.absolute()),
        "PLUMBLINE_RECORD_BYTES": str(limit_bytes),
    }
    with scratch.folder(folder.absolute()) as own:
        environment = usual_environment(family, installation)
        run = recorded_run(command, installation, recorder, variables, own, environment)
    run.require(any(folder.glob(f"rank-*{SUFFIX}")))
    about = About(1, version.PLUMBLINE, list(command), run.started, run.status)
    with scratch.replacing(folder / ABOUT) as path:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=2))
    return about


def _require_empty(folder: Path) -> None:
    if folder.is_dir() and next(folder.iterdir(), None) is not None:
        raise UsageError(f"{folder} is not empty; name another folder for the recording")
