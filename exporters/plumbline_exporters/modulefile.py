"""Modulefiles, in Tcl (environment-modules, Lmod) and in Lua (Lmod): what plumbline.sh sets,
without the preload library, and `plumbline-run` on PATH, which starts programs with it.

`module use DIR` and `module load plumbline`. Loading is refused where the library is another one,
and where a variable has a value of the user's: unloading could not give that back. (For a ~/ that
a value begins with, environment-modules writes the home folder.)"""

from __future__ import annotations

import re

from plumbline_exporters import families, quoting, shells
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.quoting import lua, tcl
from plumbline_exporters.registry import exporter

FILE_NAME = "plumbline"
LUA_FILE_NAME = "plumbline.lua"

_TCL_CHECK = """\
if {{[module-info mode load] && ![info exists env(PLUMBLINE_CHECKED)]}} {{
    set said ""
    catch {{set said [lindex [split [exec {command} 2>/dev/null </dev/null] "\\n"] 0]}}
    if {{$said ne "" && ![regexp {pattern} $said]}} {{
        puts stderr "plumbline: made for {library}, and {tool} on PATH says: $said"
        set refused 1
    }}
}}
"""

_TCL_VALUE = """\
if {{[module-info mode load] && [info exists env({name})] && $env({name}) ne {value}}} {{
    puts stderr "plumbline: {name} is set already: unset it first"
    set refused 1
}}
"""

_LUA_CHECK = """\
if mode() == "load" and not os.getenv("PLUMBLINE_CHECKED") then
    local said = (capture({command}) or ""):match("^[^\\n]*")
    local first, last = said:find({answer}, 1, true)
    if said ~= "" and (not first or said:sub(last + 1, last + 1):match("[%d.]")) then
        LmodError("plumbline: made for ", {library}, ", and {tool} on PATH says: ", said)
    end
end
"""

_LUA_VALUE = """\
if mode() == "load" and (os.getenv("{name}") or {value}) ~= {value} then
    LmodError("plumbline: {name} is set already: unset it first")
end
"""


@exporter(
    "modulefile",
    "modulefile in Tcl",
    needs=(shells.WRAPPER,),
)
def files(bundle: Bundle) -> dict[str, str]:
    values = shells.variables(bundle)
    lines = ["#%Module1.0"]
    lines += heading(bundle, f"Modulefile for {bundle.library.id}, written by Plumbline.")
    lines.append(f"module-whatis {tcl(_whatis(bundle))}")
    lines.append(f"proc ModulesHelp {{}} {{ puts stderr {tcl(_help(bundle))} }}")
    lines.append("set refused 0")
    text = "\n".join(lines) + "\n"
    asked = families.question(bundle.library)
    if asked is not None:
        text += _TCL_CHECK.format(
            command=" ".join(tcl(word) for word in asked.words),
            pattern=tcl(re.escape(asked.answer) + r"([^0-9.]|$)"),
            library=quoting.in_tcl(quoting.said(bundle.library.id)),
            tool=asked.tool,
        )
    for name, value in values.items():
        text += _TCL_VALUE.format(name=name, value=tcl(value))
    sets = [f"    setenv {name} {tcl(value)}" for name, value in values.items()]
    sets.append(f"    append-path PATH {tcl(str(bundle.directory))}")
    return {
        FILE_NAME: text + "\n".join(["if {$refused} {", "    break", "} else {", *sets, "}"]) + "\n"
    }


@exporter(
    "modulefile-lua",
    "modulefile in Lua, for Lmod",
    needs=(shells.WRAPPER,),
)
def lua_files(bundle: Bundle) -> dict[str, str]:
    values = shells.variables(bundle)
    about = heading(bundle, f"Modulefile for {bundle.library.id}, written by Plumbline.")
    lines = ["--" + line.removeprefix("#") for line in about]
    lines += [f"whatis({lua(_whatis(bundle))})", f"help({lua(_help(bundle))})"]
    text = "\n".join(lines) + "\n"
    asked = families.question(bundle.library)
    if asked is not None:
        text += _LUA_CHECK.format(
            command=lua(f"{asked.command} 2>/dev/null </dev/null"),
            answer=lua(asked.answer),
            library=lua(quoting.said(bundle.library.id)),
            tool=asked.tool,
        )
    for name, value in values.items():
        text += _LUA_VALUE.format(name=name, value=lua(value))
    sets = [f'setenv("{name}", {lua(value)})' for name, value in values.items()]
    sets.append(f'append_path("PATH", {lua(str(bundle.directory))})')
    return {LUA_FILE_NAME: text + "\n".join(sets) + "\n"}


def _whatis(bundle: Bundle) -> str:
    what = f"Collectives of {bundle.library.id}, tuned by Plumbline ({bundle.campaign.named})"
    return quoting.said(what)


def _help(bundle: Bundle) -> str:
    text = f"Sets what was found best for {bundle.library.id} on {bundle.machine.host}."
    if bundle.variants:
        text += f" Variants are in force for what {shells.WRAPPER} starts."
    return quoting.said(text)
