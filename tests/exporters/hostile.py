"""Texts that do harm where a file does not quote them, and the real shells that read exported
files. A text that is carried out makes the file `CARRIED_OUT` in the shell's own folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from plumbline_db.records import Winner
from plumbline_exporters import modulefile, plumbline_sh, quoting, shells
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import texts
from tests.exporters.bundles import bundle, tuned, variant

CARRIED_OUT = "carried-out"
SHELLS = ["env", "csh", "fish", "modulefile", "modulefile-lua"]
LMODS = [
    root / "usr/share/lmod/lmod/libexec/lmod"
    for root in (Path("/"), Path(__file__).parents[2] / "build/lmod")
]
LMOD = next((str(path) for path in LMODS if path.exists()), None)
_TOUCH = f"touch {CARRIED_OUT}"
_PIECES = [
    *("$", "`", "'", '"', "\\", "!", "{", "}", "[", "]", "(", ")", "<", ">", ";", "&", "|", "#"),
    *("~", "*", "?", "^", "%", "=", ",", ":", "/", " ", "\t", "-", "--", "a", "Z", "0", "_", "é"),
    *("\N{GRINNING FACE}", "$HOME", "${x", "!!", "%s", "\\n", "\\", "[[", "]]", "\\u0024", "--[["),
    *(f"$({_TOUCH})", f"`{_TOUCH}`", f"'; {_TOUCH}; '", f'"; {_TOUCH}; "', f"({_TOUCH})"),
    *(f"[exec {_TOUCH}]", f'"; exec {_TOUCH}; #', f"}}; exec {_TOUCH}; {{"),
    *(f'") os.execute("{_TOUCH}") --', f"]] os.execute('{_TOUCH}') --[["),
]
# What ends a line somewhere, or is seen nowhere.
_ENDS = ["\n", "\r", "\r\n", "\x00", "\x0b", "\x0c", "\x1b", "\x1d", "\x85", "\u2028", "\udcff"]
_AFTER = [f"{_TOUCH}\n", f"exec {_TOUCH}\n", f'os.execute("{_TOUCH}")\n']

# environment-modules writes the home folder for a ~/ that a value begins with.
visible = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join).map(lambda one: f"x{one}")
anything = st.lists(
    st.sampled_from([*_PIECES, *_AFTER]) | st.sampled_from(_ENDS), min_size=1, max_size=12
).map("".join)


def knobs(values: Mapping[str, str]) -> Winner:
    return msgspec.structs.replace(tuned("MPI_Bcast", "1"), configuration=dict(values))


def made(folder: Path, text: str, values: Mapping[str, str]) -> Bundle:
    """A bundle in which every word that only people read is `text`."""
    given = bundle(
        variant("MPI_Gather", "gather_binomial", 0, 262144),
        tuned("MPI_Allreduce", "basic_linear", 8192, 65536),
        knobs(values),
    )
    replace = msgspec.structs.replace
    value = text.encode(errors="ignore").decode()
    settings = msgspec.json.encode({"environment": {"X": value}}).decode()
    return replace(
        given,
        campaign=replace(given.campaign, id=text, settings=settings, started=text, finished=text),
        machine=replace(given.machine, id=text, host=text, cpu_model=text),
        library=replace(given.library, id=text, fingerprint=text),
        winners=[replace(one, removes=[text]) for one in given.winners],
        created=text,
        directory=folder,
        started=[text],
    )


def written(given: Bundle, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for _, name, text in texts(given, SHELLS):
        (folder / name).write_text(text, encoding="utf-8", newline="")
        found.append(folder / name)
    return found


def _posix(shell: str) -> Callable[[Path], list[str]]:
    return lambda folder: [
        shell,
        "-c",
        f". {quoting.sh(f'{folder}/{plumbline_sh.FILE_NAME}')}; env -0",
    ]


def _module(command: str, name: str) -> Callable[[Path], list[str]]:
    """By the real module command; the other modulefile is out of its way."""

    def words(folder: Path) -> list[str]:
        other = {modulefile.FILE_NAME, modulefile.LUA_FILE_NAME} - {name}
        for one in other:
            (folder / one).unlink(missing_ok=True)
        return ["bash", "-c", f'eval "$({command} sh load {modulefile.FILE_NAME})"; env -0']

    return words


# Lmod's own translation of Tcl loses tabs, rare letters and backslashes at the end of a path. (It
# takes the Lua file where both are there.)
INEXACT = "Lmod, of Tcl"
# What reads a file of each kind; None where it is not here.
READERS: dict[str, Callable[[Path], list[str]] | None] = {
    "dash": _posix("dash") if shutil.which("dash") else None,
    "bash": _posix("bash") if shutil.which("bash") else None,
    "tcsh": (
        lambda folder: [
            "tcsh", "-f", "-c", f"source {quoting.csh(f'{folder}/{shells.CSH_FILE_NAME}')}\nenv -0",
        ]
    ) if shutil.which("tcsh") else None,
    "fish": (
        lambda folder: [
            "fish", "--no-config", "-c",
            f"source {quoting.fish(f'{folder}/{shells.FISH_FILE_NAME}')}\nenv -0",
        ]
    ) if shutil.which("fish") else None,
    "environment-modules": _module("modulecmd", modulefile.FILE_NAME)
    if shutil.which("modulecmd") else None,
    "Lmod": _module(LMOD, modulefile.LUA_FILE_NAME) if LMOD else None,
    INEXACT: _module(LMOD, modulefile.FILE_NAME) if LMOD else None,
}  # fmt: skip


def heard(
    reader: Callable[[Path], list[str]], folder: Path, inside: Path, says: str | None = None
) -> dict[str, str]:
    """The variables of ours after a shell has read the files in `folder`. `says`: what the library
    on PATH says when it is asked for its version (None: nobody asks)."""
    tools = inside / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "said").write_bytes(os.fsencode(says or ""))
    (tools / "ompi_info").write_text(f"#!/bin/sh\nexec cat '{tools}/said'\n")
    (tools / "ompi_info").chmod(0o755)
    checked = {"PLUMBLINE_CHECKED": "1"} if says is None else {}
    done = subprocess.run(
        reader(folder),
        env={
            "PATH": f"{tools}:/usr/bin:/bin", "HOME": str(inside), "LC_ALL": "C.UTF-8",
            "MODULEPATH": str(folder), "LMOD_SYSTEM_DEFAULT_MODULES": "",
        } | checked,
        cwd=inside, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pairs = (os.fsdecode(one).partition("=") for one in done.stdout.split(b"\0"))
    return {name: value for name, _, value in pairs if name.startswith("OMPI_MCA_t_")}
