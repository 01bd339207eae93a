"""Environment modules, Lmod's or the Tcl ones: what loading one adds to the environment."""

from __future__ import annotations

import os
import shutil

from plumbline.system import process
from plumbline_db.errors import PlumblineError

PREFIX = "module:"  # `module:openmpi/5.0.3` in place of a prefix

# The module command prints shell code, which ends with a status; the name is passed as an argument.
_LOAD = 'code=$("$1" sh load "$2") && eval "$code" && exec env -0'
_SHELL_OWN = {"_", "PWD", "SHLVL", "OLDPWD"}


def loaded(name: str) -> dict[str, str]:
    """The variables that `module load NAME` sets or changes. Raises PlumblineError, with what the
    module command says, where it cannot be loaded."""
    command = os.environ.get("LMOD_CMD") or os.environ.get("MODULES_CMD")
    command = command or shutil.which("modulecmd")
    if command is None:
        raise PlumblineError(
            f"module {name}: no module command here (LMOD_CMD, MODULES_CMD or modulecmd on PATH); "
            "name the prefix of the installation instead"
        )
    before = dict(os.environ)
    words = ["/bin/sh", "-c", _LOAD, "sh", command, name]
    done = process.run(words, timeout_seconds=60, environment=before)
    if done.status != 0:
        complaint = done.stderr.strip()[-500:] or f"status {done.status}"
        raise PlumblineError(
            f"module {name} cannot be loaded: {complaint}; `module avail` lists them"
        )
    after = dict(word.split("=", 1) for word in done.stdout.split("\0") if "=" in word)
    return {
        key: value
        for key, value in after.items()
        if before.get(key) != value and key not in _SHELL_OWN
    }
