"""Files of others: how they are read, compared and replaced.

Replaced by temporary name, fsync and rename, so that a reader sees the old file or the new one.
Mode, owner and attributes stay; a symbolic link stays one, what it leads to is replaced."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import stat
from pathlib import Path

import msgspec

from plumbline_db import user_files
from plumbline_db.errors import PlumblineError, TryLaterError


class _OwnBlock(msgspec.Struct, frozen=True):
    """Lines `first` to `last` of a text, counted from 0, marks included; `text` is all of them."""

    number: int
    text: str
    first: int
    last: int


def block_of(name: str, number: int, lines: list[str], comment: str = "#") -> str:
    """The lines of generation `number`, with their marks; every line ends with a line break."""
    whole = [
        f"{comment} >>> plumbline {name} {number} >>> written by plumbline apply, removed by "
        "plumbline apply --undo",
        *lines,
        f"{comment} <<< plumbline {name} <<<",
    ]
    return "".join(f"{line}\n" for line in whole)


def find_block(text: str, name: str) -> _OwnBlock | None:
    """None where there is none. Raises PlumblineError where its marks are damaged: nobody can tell
    then which lines are whose."""
    begin = re.compile(rf"\S+ >>> plumbline {re.escape(name)} (\d+) >>>")
    end = re.compile(rf"\S+ <<< plumbline {re.escape(name)} <<<\s*\Z")
    lines = _lines(text)
    starts = [number for number, line in enumerate(lines) if begin.match(line)]
    ends = [number for number, line in enumerate(lines) if end.match(line)]
    if not starts and not ends:
        return None
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        where = ", ".join(str(number + 1) for number in sorted(starts + ends))
        raise PlumblineError(
            f"the marks of plumbline {name} are damaged (lines {where}): there must be one line "
            "with >>> and one with <<< below it; take our lines out by hand"
        )
    first, last = starts[0], ends[0]
    number = int(begin.sub(r"\1", lines[first]).split()[0])
    return _OwnBlock(number, "".join(lines[first : last + 1]), first, last)


def put_block(text: str, name: str, new: str) -> str:
    """`text` with the block `new` in the place of the one of that name, or at the end."""
    old = find_block(text, name)
    if old is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        return text + gap + new
    lines = _lines(text)
    return "".join(lines[: old.first]) + new + "".join(lines[old.last + 1 :])


def without_block(text: str, name: str) -> str:
    """`text` as others have written it."""
    old = find_block(text, name)
    if old is None:
        return text
    lines = _lines(text)
    return "".join(lines[: old.first] + lines[old.last + 1 :])


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only a line break ends one: what else Unicode knows stays
    inside."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


class FileAsItIs(msgspec.Struct, frozen=True):
    """A file as it is: `data` None where there is none. `real` is `path`, or what it leads to."""

    path: Path
    real: Path
    data: bytes | None

    @property
    def text(self) -> str:
        return text_of(self.data or b"")

    @property
    def is_link(self) -> bool:
        return self.path.is_symlink()


def text_of(data: bytes) -> str:
    """Any bytes as text, and back by `bytes_of` without a loss."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def read(path: Path) -> FileAsItIs:
    """Raises PlumblineError where it is no plain file, or cannot be read."""
    try:
        real = path.resolve()
        if real.exists() and not real.is_file():
            raise PlumblineError(f"{path} is not a plain file; nothing can be written there")
        return FileAsItIs(path, real, user_files.read(real) if real.exists() else None)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a link that leads to itself"
        raise PlumblineError(f"cannot read {path}: {reason}") from error


def writable(file: FileAsItIs) -> None:
    """Raises PlumblineError where `replace` would fail, before anything is written."""
    folder = next(parent for parent in file.real.parents if parent.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PlumblineError(
            f"{file.path} cannot be written: {folder} is not writable for you; ask its owner, or "
            "apply for yourself alone (--user)"
        )
    if file.data is not None and not os.stat(file.real).st_mode & stat.S_IWUSR:
        raise PlumblineError(f"{file.path} is read-only: run chmod u+w if you want to change it")
    if file.data is not None:
        _require_owner(file)


def _require_owner(file: FileAsItIs) -> None:
    """Require that what is replaced belongs to who replaces it, unless he may give it back."""
    kept = os.stat(file.real)
    is_own = kept.st_uid == os.geteuid() and kept.st_gid in (os.getegid(), *os.getgroups())
    if os.geteuid() != 0 and not is_own:
        raise PlumblineError(
            f"{file.path} belongs to user {kept.st_uid}, group {kept.st_gid}, and would not any "
            "more: let its owner, or root, do this"
        )


def replace(file: FileAsItIs, data: bytes | None, whose: str, *, mode: int = 0o666) -> None:
    """Write `data` into the file (None: remove it), if it is still as it was read. A new file gets
    `mode`, less the umask unless it is for all (0o644). `whose` names the temporary file: nobody
    else uses that name now, so an existing one is a remainder of a killed process."""
    if read(file.path).data != file.data:
        raise TryLaterError(f"{file.path} has just been changed by somebody else; try again")
    part = file.real.with_name(f".{file.real.name}.plumbline-{whose}")
    try:
        part.unlink(missing_ok=True)
        if data is None:
            file.real.unlink(missing_ok=True)
        else:
            file.real.parent.mkdir(parents=True, exist_ok=True)
            _write(file, part, data, mode)
        sync_folder(file.real.parent)
    except OSError as error:
        raise PlumblineError(f"cannot write {file.path}: {error.strerror}") from error


def _write(current: FileAsItIs, part: Path, data: bytes, mode: int) -> None:
    try:
        # A file that others must not read is created unreadable for them.
        first = 0o600 if current.data is not None else 0o666
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, first), "wb") as file:
            file.write(data)
            file.flush()
            if current.data is not None:
                kept = os.stat(current.real)
                shutil.copystat(current.real, part)
                os.utime(part)
                made = os.stat(part)
                if (made.st_uid, made.st_gid) != (kept.st_uid, kept.st_gid):
                    os.chown(part, kept.st_uid, kept.st_gid)
                    os.chmod(part, stat.S_IMODE(kept.st_mode))
            elif mode != 0o666:
                os.chmod(part, mode)
            os.fsync(file.fileno())
        part.rename(current.real)
    finally:
        part.unlink(missing_ok=True)


def write_new(path: Path, data: bytes, mode: int) -> None:
    """A file of our own in a folder that nobody reads yet, whole on disk."""
    with path.open("xb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def diff(path: Path, before: bytes | None, after: bytes | None) -> str:
    """Return the difference as `diff -u` would say it; empty when nothing changes."""
    old_lines, new_lines = (
        text_of(content or b"").splitlines(keepends=True) for content in (before, after)
    )
    old = "/dev/null" if before is None else str(path)
    new = "/dev/null" if after is None else str(path)
    text = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old_lines, new_lines, old, new)
    )
    # Bytes that are not text are escaped for the terminal.
    return text.encode("utf-8", "backslashreplace").decode()
