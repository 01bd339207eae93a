"""The two families of errors: what a user can put right, and everything else (bugs)."""

from __future__ import annotations


class PlumblineError(Exception):
    """Something the user can put right. The message names the thing and the remedy."""

    exit_code = 1


class UsageError(PlumblineError):
    """Bad input: an option, a file, a value."""

    exit_code = 2


class TryLaterError(PlumblineError):
    """Nothing is wrong, but now is not the time (database locked, machine busy)."""

    exit_code = 75
