"""The two families of errors: what a user can put right, and everything else (bugs)."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Errors of the machine, not of the program.
_OF_MACHINE = {
    errno.EAGAIN,
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.EROFS,
    errno.ESTALE,
}


NAME = "plumbline"


def command_name() -> str:
    """Return what a shell needs to start this program again: its name if PATH leads to it,
    otherwise the path by which it was started, as `.venv/bin/plumbline` in a checkout."""
    started = sys.argv[0] if sys.argv else ""
    if os.path.basename(started) != NAME or not os.path.dirname(started):
        return NAME
    on_path = shutil.which(NAME)
    try:
        by_name = on_path is not None and os.path.samefile(on_path, started)
    except OSError:  # the program was removed while it ran
        by_name = True
    return NAME if by_name else shlex.quote(started)


def typed(*words: object) -> str:
    """Return the command that runs this program with these words, quoted for a shell: whatever a
    name in it contains, somebody who copies the command runs this command alone."""
    return f"{command_name()} {shlex.join(map(str, words))}"


class PlumblineError(Exception):
    """Something the user can put right. The message names the thing and the remedy."""

    exit_code = 1


class UsageError(PlumblineError):
    """Bad input: an option, a file, a value."""

    exit_code = 2


class NotJoinedError(PlumblineError):
    """Launches that differ in what run times depend on, and so are not one sample."""


class TryLaterError(PlumblineError):
    """Nothing is wrong, but now is not the time (database locked, machine busy)."""

    exit_code = 75


def is_of_machine(error: BaseException) -> bool:
    """Return whether such a thing is behind it, which may be gone when somebody tries again."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    return isinstance(cause, OSError) and cause.errno in _OF_MACHINE


@contextmanager
def of_machine() -> Iterator[None]:
    """Turns what any file and any process may meet, a full disk or a limit, into an error with a
    remedy. Other OSErrors are expected where they come, or bugs."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_MACHINE:
            raise
        where = f" ({error.filename})" if error.filename else ""
        raise PlumblineError(
            f"{error.strerror}{where}: check free space, quotas, limits and the disk, and run the "
            "command again"
        ) from error
