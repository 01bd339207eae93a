"""MVAPICH 3 and 4, which are made from MPICH: found by mpiname, and told what to do by MPICH's
variables (each with a name of MVAPICH's own, MVP_…) and by some of its own.

Nobody has seen it run, so it is taken for less than MPICH: its variables are set for a launch as a
whole, and written into no selection file. From 4.1 on it tunes itself while a program runs: that is
off while it is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from plumbline.libraries import DeliberateError, Installation, Knob, family, hydra, mpiname
from plumbline.libraries.mpich import OF_THE_SITE, Mpich
from plumbline_exporters.family.mpich import coll

TUNES_ITSELF = "MPIR_CVAR_ENABLE_DYNAMIC_TUNING"
_SETTINGS = re.compile(rf"(MPIR_CVAR|MPIR_PARAM|MPICH|MVP)_(?!{OF_THE_SITE})")
NO_SUCH_VALUE = "canary"


@family
class Mvapich(Mpich):
    name = "mvapich"
    untried = (
        "MVAPICH 3 and 4 were never run by Plumbline. What is MPICH's was run there; its own "
        "algorithms and parameters are from its documentation"
    )

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        answer = mpiname.ask(prefix, "MVAPICH", added)
        return [mpiname.installation(answer, self.name)] if answer else []

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        """Algorithms by name: their numbers are not known, and the leave to choose is none."""
        return {
            name: msgspec.structs.replace(
                knob, choices={key: 0 for key in knob.choices if key not in ("auto", "dynamic")}
            )
            for name, knob in super().knobs(installation).items()
        }

    def environment(self, installation: Installation) -> dict[str, str]:
        return super().environment(installation) | {TUNES_ITSELF: "0"}

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        """MPI_Init ends a launch whose variable has no legal value."""
        del folder
        canaries = []
        for name in sorted(environment):
            if name.startswith("MPIR_CVAR_") and name != TUNES_ITSELF:
                wrong = {**environment, name: NO_SUCH_VALUE}
                canaries.append(
                    DeliberateError(name, wrong, coll.functions_of(name), fails="launch")
                )
        return canaries

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        return sorted(name for name in environment if _SETTINGS.match(name) or name in hydra.OURS)
