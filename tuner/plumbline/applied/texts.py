"""What is written: the files of a generation, and our lines in the files of others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plumbline.applied import conflicts
from plumbline.applied.blocks import block, find, without
from plumbline.applied.generations import PRELOAD, Source
from plumbline.applied.places import Place, Where
from plumbline.libraries import gate
from plumbline_db import regular
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Machine
from plumbline_exporters import (
    csh,
    environment,
    families,
    fish,
    modulefile,
    plumbline_sh,
    quoting,
    registry,
)
from plumbline_exporters.bundle import Bundle


def bundle(
    sources: Sequence[Source], library: Library, machine: Machine, directory: Path, *, unsafe: bool
) -> Bundle:
    """All winners of these campaigns; the last one speaks for them, also of the rules that the site
    has had beneath them."""
    newest = sources[-1].campaign
    return Bundle(
        campaign=newest,
        machine=machine,
        library=library,
        winners=[winner for source in sources for winner in source.winners],
        created=newest.finished,
        directory=directory,
        refusal=gate.of_library(library),
        preload_library=directory / PRELOAD,
        unsafe=unsafe,
        others=[source.campaign for source in sources[:-1]],
        site_rules=sources[-1].site_rules,
        started=[line for source in sources for line in source.started],
    )


def contents(made: Bundle, preload: Path) -> dict[str, bytes]:
    """The files of a generation, by name. Raises PlumblineError where winners cannot be had
    together, or the preload library is not built."""
    formats = list(registry.exporters(made.library.family))
    found = {name: text.encode() for _, name, text in registry.texts(made, formats)}
    if made.variants:
        # A copy, so that the next build changes nothing for those who run.
        try:
            found[PRELOAD] = preload.read_bytes()
        except OSError as error:
            raise PlumblineError(
                f"winners are variants, which need {preload}, and it cannot be read "
                f"({error.strerror}): build it for this MPI library (plumbline build, make build)"
            ) from error
    return found


def of_target(place: Place, where: Where, number: int, made: Bundle) -> str:
    """What our part of a file is to be: lines with their marks, or the whole of it."""
    folder = made.directory
    about = [
        quoting.comment(f"{made.library.id}, fingerprint {made.library.fingerprint}"),
        *(
            quoting.comment(f"campaign {campaign.named}, {campaign.nprocs} ranks")
            for campaign in [*made.others, made.campaign]
        ),
    ]
    match where.form:
        case "parameters":
            line = families.parameter_file(made.library).line
            lines = [line(name, value) for name, value in wanted(where, made).items()]
        case "sh":
            script = quoting.sh(str(folder / plumbline_sh.FILE_NAME))
            lines = [f"if [ -r {script} ]; then . {script}; fi"]
        case "csh":
            script = quoting.csh(str(folder / csh.FILE_NAME))
            lines = [f"if ( -r {script} ) source {script}"]
        case "fish":
            script = quoting.fish(str(folder / fish.FILE_NAME))
            lines = [f"test -r {script}; and source {script}"]
        case "modulefile":
            first, *rest = modulefile.files(made)[modulefile.FILE_NAME].rstrip("\n").split("\n")
            return f"{first}\n" + block(place.name, number, rest)
        case "modulefile-lua":
            text = modulefile.lua_files(made)[modulefile.LUA_FILE_NAME]
            lines = text.rstrip("\n").split("\n")
            return block(place.name, number, lines, "--")
    return block(place.name, number, [*about, *lines])


def wanted(where: Where, made: Bundle) -> dict[str, str]:
    """Names and values that a file puts in force, as those who read it call them."""
    if where.form == "parameters":
        return families.parameter_file(made.library).parameters(made)
    return environment.variables(made)


def require_free(place: Place, where: Where, text: str, made: Bundle) -> None:
    """Raises PlumblineError where the file, or one that is heard before it, contradicts."""
    ours = wanted(where, made)
    if where.kind == "whole":
        if text and find(text, place.name) is None:
            raise PlumblineError(
                f"{where.path} is there and is not ours: move it away, or use another place"
            )
        return
    # Lines keep their numbers.
    foreign = "\n".join("" if mine else line for line, mine in _owned(text, place.name))
    if where.form == "parameters":
        file = families.parameter_file(made.library)
        found = [
            (where.path, conflict)
            for conflict in conflicts.in_parameters(foreign, ours, file, made.library)
        ]
        for path in place.overrides:
            if path.is_file():
                text = without(regular.text(path, "replace"), place.name)
                said = conflicts.in_parameters(text, ours, file, made.library)
                found += [(path, conflict) for conflict in said]
    else:
        found = [(where.path, conflict) for conflict in conflicts.in_shell(foreign, ours)]
    if found:
        told = "; ".join(f"{path}: {conflict}" for path, conflict in found)
        raise PlumblineError(
            f"{told}. Nothing was changed: remove these lines and apply again, or keep them and "
            "use --modules DIR, which changes no file of others"
        )


def _owned(text: str, name: str) -> list[tuple[str, bool]]:
    mine = find(text, name)
    return [
        (line, mine is not None and mine.first <= number <= mine.last)
        for number, line in enumerate(text.split("\n"))
    ]


def left_out(where: Sequence[Where], made: Bundle) -> list[str]:
    """What files of these forms do not put in force by themselves."""
    variants = made.variants
    if not variants or any(place.form == "sh" for place in where):
        return []
    functions = ", ".join(sorted({winner.function for winner in variants}))
    return [
        f"variants ({functions}) need the preload library: in force for what is started by "
        f"{made.directory / environment.WRAPPER}"
    ]
